/** Opening a saved trace: which model it needs, and whose description it takes. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { checkDims, describedBy, readTraceFile } from "../../static/data/trace_file.js";
import { createFileMode } from "../../static/shell/saved_traces.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";

const { decoder, translator } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const { description } = decoder;
const META = {
  version: 2,
  model: "tiny",
  text: "x",
  description_id: description.id,
  tokens: [{ index: 0, id: 5, text: "x", bytes: "78" }],
  masks: { causal: true, padding: true },
  dims: {},
  seconds: 0.1,
  run: { model: "tiny", input: { text: "x" } },
};

/** The bytes of a file without tensors: 8 bytes with the header's length, then the header. @param {object} meta @returns {ArrayBuffer} */
function fileOf(meta) {
  const header = new TextEncoder().encode(JSON.stringify({ __metadata__: { chumoku: JSON.stringify(meta) } }));
  const bytes = new Uint8Array(8 + header.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(header.length), true);
  bytes.set(header, 8);
  return bytes.buffer;
}

test("a file needs a model only for the description that it lacks", () => {
  assert.equal(describedBy(fileOf(META)), "tiny");
  assert.equal(describedBy(fileOf({ ...META, description })), null);
  assert.throws(() => describedBy(fileOf({ ...META, version: 1 })), { code: "version" });
  assert.throws(() => describedBy(new ArrayBuffer(4)), { code: "not_ours" });
});

for (const [name, known] of Object.entries({
  "no model of that name": undefined,
  "a model that is not described": { name: "tiny" },
  "another model of that name": { name: "tiny", description: { ...description, id: "another" } },
})) {
  test(`a file without a description is refused beside ${name}`, () =>
    assert.throws(() => readTraceFile(fileOf(META), () => known), { code: "no_description" }));
}

test("a file without a description takes the one that it names", () =>
  // It has no tensors: the next check, which needs the description.
  assert.throws(() => readTraceFile(fileOf(META), () => decoder), { code: "no_patterns" }));

/** Whether a role of cross-attention may have `n` rows, between 3 tokens and 2. @param {string} role @param {number} n @param {object} [said] */
function fits(role, n, said = {}) {
  const description = structuredClone(translator.description);
  const cross = description.attentions.find(({ id }) => id === "cross");
  cross.roles[role] = { dims: "kv_head position d_head", taps: [`cross.${role}`], ...said };
  const tensor = { shape: [cross.n_kv_head, n, cross.d_head], dims: ["kv_head", "position", "d_head"] };
  const meta = { tokens: [0, 1, 2], target_tokens: [0, 1], description };
  try {
    checkDims(/** @type {any} */ ({ meta, tensors: { [`cross.${role}`]: tensor } }));
    return true;
  } catch {
    return false;
  }
}

test("a tensor has a row for each query, or for each key where its role says so", () => {
  assert.deepEqual([fits("q", 2), fits("q", 3)], [true, false]);
  assert.deepEqual([fits("k_rotated", 3, { rows: "key" }), fits("k_rotated", 2, { rows: "key" })], [true, false]);
});

/** Opens a file; the models that were loaded. @param {object} meta @param {() => Promise<unknown>} answer */
async function loadedFor(meta, answer) {
  const store = createStore({ ...DEFAULTS });
  const loaded = /** @type {string[]} */ ([]);
  const files = createFileMode(store, {
    load: (name) => {
      loaded.push(name);
      return answer();
    },
    open: async () => ({ key: "opened", meta, model: decoder }),
  });
  const buffer = fileOf(meta);
  const file = { size: buffer.byteLength, name: "x.safetensors", arrayBuffer: async () => buffer };
  await files.open(/** @type {any} */ (file));
  assert.equal(store.get().file, "opened");
  return loaded;
}

test("a file that describes itself opens without a server", async () =>
  assert.deepEqual(await loadedFor({ ...META, description }, () => Promise.reject(new Error("away"))), []));

test("for a file that does not, only its own model is loaded, and reading reports a failure", async () => {
  assert.deepEqual(await loadedFor(META, async () => {}), ["tiny"]);
  assert.deepEqual(await loadedFor(META, () => Promise.reject(new Error("away"))), ["tiny"]);
});

test("a file closes an open lesson, which needs the server; back to live does not open it again", async () => {
  const store = createStore({ ...DEFAULTS, text: "Hi", lesson: "attention", lessonStep: 3 });
  const meta = { ...META, description };
  const files = createFileMode(store, {
    load: async () => {},
    open: async () => ({ key: "opened", meta, model: decoder }),
  });
  const buffer = fileOf(meta);
  const file = { size: buffer.byteLength, name: "x.safetensors", arrayBuffer: async () => buffer };
  await files.open(/** @type {any} */ (file));
  const place = () => [store.get().file, store.get().lesson, store.get().lessonStep];
  assert.deepEqual(place(), ["opened", null, 1]);
  files.close();
  assert.deepEqual([...place(), store.get().text], [null, null, 1, "Hi"]);
});

test("a position kind and a norm order that this page has never heard of damage no file", () => {
  const other = JSON.parse(
    JSON.stringify(description)
      .replaceAll('"positions":"learned"', '"positions":"spiral"')
      .replaceAll('"place":"pre"', '"place":"sandwich"'),
  );
  const config = { position: "spiral", norm_order: "sandwich" };
  assert.notDeepEqual(other, description);
  const file = fileOf({ ...META, description: other, config });
  assert.throws(() => readTraceFile(file, () => undefined), { code: "no_patterns" }); // its metadata is in order
});
