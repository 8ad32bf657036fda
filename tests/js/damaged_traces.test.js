/** A damaged trace file is refused in one sentence, in under a second; or it opens, and everything that the page reads of it is there. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FileError, LARGEST } from "../../static/data/file_error.js";
import { createFileTraces } from "../../static/data/file_traces.js";
import { modelTrace } from "../../static/data/model_trace.js";
import { readTraceFile } from "../../static/data/trace_file.js";
import { MOST } from "../../static/data/trace_schema.js";
import { createSources } from "../../static/data/traces.js";
import { attentionsOf } from "../../static/model/description.js";
import { createFileMode } from "../../static/shell/saved_traces.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";

const SAVED = new Uint8Array(readFileSync(new URL("saved_trace.safetensors", import.meta.url)));
const CATALOGUE = JSON.parse(readFileSync(new URL("../../static/i18n/en.json", import.meta.url), "utf8"));
const LENGTH = Number(new DataView(SAVED.buffer).getBigUint64(0, true));
const HEADER = JSON.parse(new TextDecoder().decode(SAVED.subarray(8, 8 + LENGTH)));
const META = JSON.parse(HEADER.__metadata__.chumoku);
const BYTES = SAVED.subarray(8 + LENGTH);

/** @param {string} header @param {Uint8Array} [bytes] @returns {ArrayBuffer} */
function fileOf(header, bytes = BYTES) {
  const text = new TextEncoder().encode(header);
  const all = new Uint8Array(8 + text.length + bytes.length);
  new DataView(all.buffer).setBigUint64(0, BigInt(text.length), true);
  all.set(text, 8);
  all.set(bytes, 8 + text.length);
  return all.buffer;
}

/** The saved trace with other metadata, or another header. @param {any} meta @param {any} [header] */
const withMeta = (meta, header = HEADER) =>
  fileOf(JSON.stringify({ ...header, __metadata__: { chumoku: JSON.stringify(meta) } }));

/** Opens a file as the page does, and reads what it draws at first and of every head. @param {ArrayBuffer} buffer */
async function opened(buffer) {
  const store = createStore({ ...DEFAULTS });
  const sources = createSources({}, /** @type {any} */ ({}), { named: () => undefined, known: () => undefined });
  let key = "";
  const files = createFileMode(store, {
    load: async () => {},
    open: async (bytes, name) => {
      const found = await sources.open(bytes, name);
      key = found.key;
      return found;
    },
  });
  const file = { size: buffer.byteLength, name: "x.safetensors", arrayBuffer: async () => buffer };
  await files.open(/** @type {any} */ (file));
  const decoded = readTraceFile(buffer, () => undefined);
  const traces = createFileTraces(decoded, { key, name: "x", known: undefined, namesOf: /** @type {any} */ (null) });
  const overview = await traces.overview();
  for (const { id, n_layer, n_head } of attentionsOf(traces.model)) {
    const trace = modelTrace({ key, model: traces.model, overview, attention: id });
    assert.ok(trace.queries.tokens.every(({ text }) => typeof text === "string"));
    assert.equal(typeof trace.seconds, "number");
    for (let layer = 0; layer < n_layer; layer++) {
      for (let head = 0; head < n_head; head++) trace.picture(layer, head);
      if (overview.lacks("detail") === null) await traces.detail({ ...store.get(), attention: id, layer, head: 0 });
    }
  }
  return decoded;
}

test("a file opens beside a line of the list of models, which names no special tokens", () => {
  const decoded = readTraceFile(withMeta({ ...META, special: { ...META.special, mask: null } }), () => undefined);
  const known = { name: META.model, vocab_size: META.description?.vocab_size };
  const { model } = createFileTraces(decoded, { key: "x", name: "x", known, namesOf: /** @type {any} */ (null) });
  assert.equal(model.special.mask, null);
  assert.equal(model.special.pad, META.special.pad);
});

/** Microseconds of work, which other programs on the machine do not lengthen. */
function cpu() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** How a file ends: "opens", or the sentence it is refused with. @param {ArrayBuffer} buffer */
async function outcome(buffer) {
  const began = cpu();
  try {
    await opened(buffer);
    return "opens";
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const sentence = CATALOGUE[`open.error.${error.code}`].replace(
      /\{(\w+)\}/g,
      (/** @type {string} */ _, /** @type {string} */ name) => {
        assert.notEqual(error.vars[name], undefined, `${error.code} does not say ${name}`);
        return String(error.vars[name]);
      },
    );
    assert.ok(sentence.length < 300, sentence);
    return sentence;
  } finally {
    assert.ok(cpu() - began < 1e6, "it took over a second");
  }
}

/** Numbers in [0, 1) that are the same in every run (mulberry32). @param {number} seed */
function chance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Every place in a value: the object or list, and the name in it. @param {any} value @returns {[any, string][]} */
const placesIn = (value) =>
  typeof value === "object" && value !== null
    ? Object.keys(value).flatMap((name) => [/** @type {[any, string]} */ ([value, name]), ...placesIn(value[name])])
    : [];

const HUGE = Array.from({ length: 9000 }, () => 0);
const WRONG = [undefined, null, true, -1, 0.5, 0, 2 ** 40, 1e300, "x", "", [], {}, [null], HUGE, { length: 3 }];

test("the saved trace opens", async () => assert.equal(await outcome(SAVED.buffer), "opens"));

test("any one value of the metadata may be anything", async () => {
  const random = chance(1);
  const pick = (/** @type {any[]} */ from) => from[Math.floor(random() * from.length)];
  const ends = { opens: 0, refused: 0 };
  for (let i = 0; i < 700; i++) {
    const meta = structuredClone(META);
    const [where, name] = i % 3 ? pick(placesIn(meta)) : [meta, pick(Object.keys(meta))];
    where[name] = pick(WRONG);
    ends[(await outcome(withMeta(meta))) === "opens" ? "opens" : "refused"]++;
  }
  assert.ok(ends.opens > 20 && ends.refused > 350, JSON.stringify(ends));
});

test("any one value of the header may be anything", async () => {
  const random = chance(2);
  const pick = (/** @type {any[]} */ from) => from[Math.floor(random() * from.length)];
  for (let i = 0; i < 200; i++) {
    const header = structuredClone(HEADER);
    const { __metadata__: _, ...entries } = header;
    const [where, name] = pick(placesIn(entries));
    (where === entries ? header : where)[name] = pick(WRONG);
    await outcome(fileOf(JSON.stringify(header)));
  }
});

test("any byte may be flipped, and the file cut anywhere", async () => {
  const random = chance(3);
  for (let i = 0; i < 200; i++) {
    const bytes = SAVED.slice();
    bytes[Math.floor(random() * (i % 4 ? LENGTH + 8 : bytes.length))] ^= 1 << Math.floor(random() * 8);
    await outcome(bytes.buffer);
    await outcome(SAVED.slice(0, Math.floor(random() * SAVED.length)).buffer);
  }
});

const layered = (/** @type {number} */ n) => {
  const meta = structuredClone(META);
  const [one] = meta.description.attentions;
  one.n_layer = n;
  for (const role of Object.values(/** @type {any} */ (one.roles)))
    role.taps = Array.from({ length: n }, (_, i) => role.taps[i] ?? `${i}`);
  meta.description.stacks[0].layers = Array.from({ length: n }, () => meta.description.stacks[0].layers[0]);
  return meta;
};
/** Many entries that each claim all bytes, at places where they must be copied. */
const overlapping = () => {
  const span = [1, 4 * Math.floor((BYTES.length - 1) / 4) + 1];
  const entry = { dtype: "F32", shape: [(span[1] - span[0]) / 4], data_offsets: span };
  return Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`x${i}`, entry]));
};
const [FIRST] = Object.keys(HEADER).filter((name) => name !== "__metadata__");

/** Each with a part of the sentence that refuses it. @type {Record<string, [string, () => ArrayBuffer]>} */
const DAMAGED = {
  "seconds as text": ["seconds cannot be read", () => withMeta({ ...META, seconds: "x" })],
  "a shape of nothing times terabytes": [
    "shapes do not match: embedding is 0 × 1099511627776",
    () => withMeta(META, { ...HEADER, [FIRST]: { dtype: "F32", shape: [0, 2 ** 40], data_offsets: [0, 0] } }),
  ],
  "a shape whose product overflows": [
    "shapes do not match: embedding is 1125899906842624",
    () => withMeta(META, { ...HEADER, [FIRST]: { ...HEADER[FIRST], shape: Array(99).fill(2 ** 50) } }),
  ],
  "5,000 made-up layers": ["header is larger than 8 MB", () => withMeta(layered(5000))],
  "500 made-up layers": ["only some of the layers", () => withMeta(layered(500))],
  "a million heads": [
    "n_head cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].n_head = 1e6;
      return withMeta(meta);
    },
  ],
  "a million tokens": [
    "tokens cannot be read",
    () => withMeta({ ...META, tokens: Array.from({ length: 50_000 }, (_, index) => ({ ...META.tokens[0], index })) }),
  ],
  "numbers for another side": [
    "target_tokens cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].queries = "target";
      return withMeta(meta);
    },
  ],
  "entries that overlap": ["data_offsets cannot be read", () => withMeta(META, { ...HEADER, ...overlapping() })],
  "100,000 entries": [
    "too many tensors",
    () =>
      withMeta(
        META,
        Object.fromEntries(
          Array.from({ length: 70_000 }, (_, i) => [`x${i}`, { dtype: "F32", shape: [1], data_offsets: [0, 4] }]),
        ),
      ),
  ],
  "a name that every object has": [
    "__proto__ cannot be read",
    () => withMeta(META, JSON.parse(JSON.stringify(HEADER).replace(JSON.stringify(FIRST), '"__proto__"'))),
  ],
  "a tap that every object has": [
    "description.attentions[0].roles.scores.taps[1] cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].roles.scores.taps[1] = "constructor";
      return withMeta(meta);
    },
  ],
  "a role with other dimensions than its tensors": [
    `dims.${META.description.attentions[0].roles.scores.taps[0]} cannot be read`,
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].roles.scores.dims = "x";
      return withMeta(meta);
    },
  ],
  "an identity of nothing": [
    "description.attentions[0].identities cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].identities[0].of = [];
      return withMeta(meta);
    },
  ],
  "an identity of too few roles": [
    "description.attentions[0].identities cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].identities[0].of.pop();
      return withMeta(meta);
    },
  ],
  "an identity of a role that is not there": [
    "description.attentions[0].identities cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.attentions[0].identities[0].gives = "x";
      return withMeta(meta);
    },
  ],
  "nested without end": ["not a trace of Chumoku", () => fileOf(`${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}`)],
  "a header of the whole file": [
    "header is larger than 8 MB",
    () => fileOf(" ".repeat(LARGEST - 100), new Uint8Array(0)),
  ],
  "a number beyond all": [
    "seconds cannot be read",
    () => fileOf(JSON.stringify(HEADER).replace('\\"seconds\\":', '\\"seconds\\":1e999,\\"was\\":')),
  ],
  "an answer from a stack that is not there": [
    "description.logits.stack cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.logits.stack = "x";
      return withMeta(meta);
    },
  ],
  "a stack of a side that is not there": [
    "side cannot be read",
    () => {
      const meta = structuredClone(META);
      meta.description.stacks[0].side = "target";
      return withMeta(meta);
    },
  ],
};
for (const [what, [said, file]] of Object.entries(DAMAGED)) {
  test(`refused in under a second: ${what}`, async () => {
    const sentence = await outcome(file());
    assert.ok(sentence.includes(said), sentence);
  });
}

test("the limits leave room for what we make", () => {
  assert.ok(MOST.layers >= 96 && MOST.tokens >= 2048);
  assert.ok(LENGTH < 100_000);
});
