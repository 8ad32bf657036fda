/** The river's geometry: what reaches the chosen token, and where its lines are. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { changeIn } from "../../static/chart/matrix/sheet.js";
import { riversOf } from "../../static/data/wire.js";
import { headsChange } from "../../static/model/compare/compare.js";
import { peaksOf, rollout, widthsBetween } from "../../static/model/contribution_rollout.js";
import { edgeKey, knockoutsOf, toggled, withoutKnockouts } from "../../static/model/interventions.js";
import { namesOf, nameText } from "../../static/model/labels.js";
import { between, stageOf, swollen } from "../../static/river/draw/animation.js";
import { drawHeads, drawHeadWords, drawOpened } from "../../static/river/draw/heads.js";
import { drawMoving } from "../../static/river/draw/scene.js";
import { drawLabels } from "../../static/river/draw/text.js";
import {
  columnAt,
  layerAt,
  layersOf,
  nearestPlace,
  placeAfterKey,
  stripAt,
  unnamedAt,
  widestAt,
} from "../../static/river/input/places.js";
import { carriersIn, decidingEdges, edgesTo } from "../../static/river/knockout_effects.js";
import { foldsOf, labelledRows, rowsOf } from "../../static/river/layout/bands.js";
import { heightsOf, rowsAbove, WRITTEN } from "../../static/river/layout/frame.js";
import { heightOfOpen, linesOfHead, squareAt, squaresOf } from "../../static/river/layout/heads.js";
import { riverLayout } from "../../static/river/layout/layout.js";
import { ghostsOf, lineAt, markChanged, markShown, showNamed } from "../../static/river/layout/lines.js";
import { readsLayers } from "../../static/river/panel.js";
import { changeTone } from "../../static/river/style.js";
import { barsOf, headLegendOf, hiddenWords, wroteOf } from "../../static/river/words/names.js";
import { testWith } from "./words.js";

Object.assign(globalThis, { document: { documentElement: { lang: "en", dataset: {} } } });

/** float32 in base64. @param {number[]} values */
const encoded = (values) => ({ data: btoa(String.fromCharCode(...new Uint8Array(new Float32Array(values).buffer))) });

/** As the server says it. @param {any} river */
const answered = ({ flows, ffn, ...river }) => ({
  ...river,
  ffn: ffn && encoded(ffn),
  flows: flows.map((/** @type {any} */ flow) => ({ ...flow, share: encoded(flow.share), own: encoded(flow.own) })),
});

/** @param {number[][]} rows  one list for each layer: share[q][k], row by row */
const alone = (rows, tokens = 2) => ({
  ...{ stack: "main", side: "source", layers: rows.length, tokens, ffn: rows.flatMap(() => new Array(tokens).fill(1)) },
  flows: [
    {
      attention: "self",
      queries: "source",
      keys: "source",
      share: rows.flat(),
      own: new Array(rows.length * tokens).fill(0.25),
    },
  ],
});

/** Two layers of two tokens: from the top, 1/4 goes to token 0, then 1/2 of what is left. */
const SMALL = alone([
  [1, 0, 0.5, 0.5],
  [1, 0, 0.25, 0.75],
]);

/** An encoder of one layer and three tokens, and a decoder of one layer and two that reads it. */
const PAIR = [
  {
    ...{ stack: "encoder", side: "source", layers: 1, tokens: 3, ffn: [1, 1, 1] },
    flows: [
      {
        ...{ attention: "encoder", queries: "source", keys: "source", own: [0, 0, 0] },
        share: [0.5, 0.25, 0.25, 0, 1, 0, 0.25, 0.25, 0.5],
      },
    ],
  },
  {
    ...{ stack: "decoder", side: "target", layers: 1, tokens: 2, ffn: [1, 1] },
    flows: [
      { attention: "self", queries: "target", keys: "target", share: [1, 0, 0.5, 0.5], own: [0.5, 0.25] },
      { attention: "cross", queries: "target", keys: "source", share: [0.5, 0, 0, 0.25, 0.25, 0], own: [0.5, 0.5] },
    ],
  },
];

/** @param {any[]} rivers */
const rivers = (...rivers) => riversOf({ rivers: rivers.map(answered) });

const FRAME = { width: 1000, room: 300, right: 200, labels: [60, 60], answers: 6, type: 1, fat: 40 };

/** @param {ArrayLike<number>} values */
const plain = (values) => Array.from(values);

test("shares are multiplied back from the chosen token", () => {
  const [reach] = rollout(rivers(SMALL), "main", 1);
  assert.deepEqual(reach.at.map(plain), [
    [0.25 + 0.375, 0.375],
    [0.25, 0.75],
    [0, 1],
  ]);
  const each = { index: [0, 1], rows: [0, 1] };
  const one = { index: [0, 0], rows: [0] };
  assert.deepEqual(plain(widthsBetween(reach.flows[0], 1, each, each)), [0, 0, 0.25, 0.75]);
  assert.deepEqual(plain(widthsBetween(reach.flows[0], 0, each, each)), [0.25, 0, 0.375, 0.375]);
  assert.deepEqual(plain(widthsBetween(reach.flows[0], 0, each, one)), [0.25, 0.75], "both keys in one row");
  assert.deepEqual(peaksOf(reach), [0.625, 1]);
});

test("shares of many tokens come without those of later keys, as float16", () => {
  const halves = new Uint16Array([0x3c00, 0x3800, 0x3800, 0x3c00, 0x3400, 0x3a00]); // 1, ½, ½; 1, ¼, ¾
  const data = btoa(String.fromCharCode(...new Uint8Array(halves.buffer)));
  const [whole] = rivers(SMALL);
  const flows = whole.flows.map((flow) => ({
    ...flow,
    share: { dtype: "float16", data },
    own: encoded([...flow.own]),
    packed: true,
  }));
  const packed = riversOf({ rivers: [{ ...whole, flows, ffn: null }] });
  const each = { index: [0, 1], rows: [0, 1] };
  const [a, b] = [packed, [whole]].map((river) => rollout(river, "main", 1)[0]);
  assert.deepEqual(a.at.map(plain), b.at.map(plain));
  for (const layer of [0, 1])
    assert.deepEqual(widthsBetween(a.flows[0], layer, each, each), widthsBetween(b.flows[0], layer, each, each));
  assert.deepEqual(edgesTo(a, 1, "source", 0), edgesTo(b, 1, "source", 0));
  assert.deepEqual(edgesTo(a, 0, "source", 1), []);
});

test("a decoder leaves to its own stream what it does not read", () => {
  const [decoder, encoder] = rollout(rivers(...PAIR), "decoder", 1);
  // Cross-attention comes last in a layer: of 1, a quarter each is read from tokens 0 and 1; half goes on downwards.
  assert.deepEqual(decoder.taken?.map(plain), [[0.25, 0.25, 0]]);
  assert.deepEqual(decoder.at.map(plain), [
    [0.25, 0.25],
    [0, 1],
  ]);
  assert.deepEqual(plain(encoder.at[1]), [0.25, 0.25, 0]);
  assert.deepEqual(plain(encoder.at[0]), [0.125, 0.0625 + 0.25, 0.0625]);
});

test("nothing is lost: what reaches the embeddings adds up to 1", () => {
  const [decoder, encoder] = rollout(rivers(...PAIR), "decoder", 1);
  const sum = [...decoder.at[0], ...encoder.at[0]].reduce((all, part) => all + part, 0);
  assert.equal(sum, 1);
});

test("lines are stacked without gaps around the middle of their rows", () => {
  const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, FRAME);
  const [{ rows }] = scene.bands;
  for (const layer of [0, 1]) {
    for (const [end, at, name] of /** @type {const} */ ([
      ["y0", layer, "key"],
      ["y1", layer + 1, "query"],
    ])) {
      const reach = rollout(rivers(SMALL), "main", 1)[0].at[at];
      for (const token of [0, 1]) {
        const lines = scene.lines.filter((line) => line.layer === layer && line[name] === token);
        if (!lines.length) continue;
        const tops = lines.map((line) => line[end] - line.width / 2);
        const bottoms = lines.map((line) => line[end] + line.width / 2);
        assert.equal(Math.min(...tops), rows[token].y - (reach[token] * FRAME.fat) / 2);
        assert.equal(Math.max(...bottoms), rows[token].y + (reach[token] * FRAME.fat) / 2);
        assert.deepEqual(tops.slice(1), bottoms.slice(0, -1));
      }
    }
  }
});

test("an encoder stands above the decoder, to the left of it, and its river runs on", () => {
  const scene = riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, FRAME);
  const [decoder, encoder] = scene.bands;
  assert.equal(encoder.stack, "encoder");
  assert.ok(encoder.bottom < decoder.top);
  assert.ok(encoder.columns[0].x1 < decoder.columns[0].x0);
  const cross = scene.lines.filter(({ attention }) => attention === "cross");
  assert.deepEqual(
    cross.map(({ from, to, x0, key }) => [from, to, x0, key]),
    [0, 1].map((key) => [1, 0, decoder.columns[0].x0, key]),
  );
  assert.ok(
    cross.every(({ own }) => !own),
    "reading the token of the same index is not its own stream",
  );
  assert.deepEqual(
    scene.streams.map(({ width, x0, x1 }) => [width, x0, x1]),
    [0, 1].map(() => [10, encoder.columns[0].x1, decoder.columns[0].x0]),
  );
});

test("the names of all stacks' layers are one line above every row, where no line crosses them", () => {
  const { bands, lines } = riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, FRAME);
  const [decoder, encoder] = bands;
  assert.equal(decoder.titles, encoder.titles);
  assert.ok(lines.every(({ y0, y1, width }) => Math.min(y0, y1) - width / 2 > decoder.titles));
  assert.ok(decoder.top - encoder.bottom < encoder.top, "no room is lost between them");
});

test("of the lines that the sentence names, the widest is always drawn", () => {
  const { lines } = riverLayout(rollout(rivers(SMALL), "main", 1), 1, FRAME);
  const looks = lines.filter(({ own }) => !own);
  const widest = looks.reduce((best, line) => (line.width > best.width ? line : best));
  for (const line of looks) line.shown = false;
  showNamed(lines, []);
  assert.ok(looks.every(({ shown }) => !shown));
  showNamed(lines, looks);
  assert.deepEqual(
    looks.filter(({ shown }) => shown),
    [widest],
  );
});

test("the widest lines are drawn until they carry 80 % of what a layer moves", () => {
  const lines = [0.4, 0.1, 0.3, 0.2, 5].map((share, i) => /** @type {any} */ ({ share, own: i === 4, shown: false }));
  markShown(lines);
  assert.deepEqual(
    lines.map(({ shown }) => shown),
    [true, false, true, true, false],
    "0.4 + 0.3 is less than 80 % of 1; what is its own counts on neither side",
  );
});

test("above 64 tokens, neighbours below 1 % share a row that can be opened", () => {
  const peaks = [0.5, ...new Array(64).fill(0.001), 0.02, 0.001, 0.5];
  const spans = (/** @type {any[]} */ folds) => folds.map(({ from, to }) => [from, to]);
  assert.deepEqual(spans(foldsOf(peaks, 3)), [
    [0, 1],
    [1, 3],
    [3, 4],
    [4, 65],
    [65, 66],
    [66, 67],
    [67, 68],
  ]);
  assert.equal(foldsOf(peaks, 3, [1]).length, 8);
  assert.equal(foldsOf(peaks.slice(0, 64), null).length, 64, "each has its own");
});

test("the chosen row is as high as its river is thick, and has a label before others", () => {
  const folds = [0, 1, 2, 3].map((from) => ({ from, to: from + 1 }));
  const rows = rowsOf(folds, { top: 10, pitch: 8, chosen: 2, thick: 30 });
  assert.deepEqual(
    rows.map(({ y, height }) => [y, height]),
    [
      [14, 8],
      [22, 8],
      [41, 30],
      [60, 8],
    ],
  );
  const kept = labelledRows(rows, [0.1, 0.5, 0, 0.3], { chosen: 2, apart: 15 });
  assert.deepEqual([...kept].map(({ from }) => from).sort(), [1, 2, 3]);
});

test("the picture keeps its height while a text is written, and labels thin out", () => {
  /** @param {number} n */
  const scene = (n) => {
    const share = Array.from({ length: n * n }, (_, i) => (i % n <= i / n ? 1 / (Math.floor(i / n) + 1) : 0));
    return riverLayout(rollout(rivers(alone([share, share], n)), "main", n - 1), n - 1, { ...FRAME, labels: [60] });
  };
  const of = (/** @type {number} */ n) => scene(n).bands[0];
  const named = (/** @type {number} */ n) => [...of(n).labelled].map(({ from }) => from).sort((a, b) => a - b);
  assert.ok(of(8).bottom < of(14).bottom, "a short text needs less");
  for (const n of [18, 30, 50]) assert.ok(Math.abs(of(n).bottom - of(14).bottom) < 1, `${n} tokens`);
  assert.equal(of(18).labelled.size, 18);
  for (const n of [26, 30, 50]) {
    const { rows, labelled } = of(n);
    assert.ok(labelled.has(rows[n - 1]), "the chosen one keeps its name");
    const at = [...labelled].map(({ y }) => y).sort((a, b) => a - b);
    assert.ok(at.length > n / 4 && Math.min(...at.slice(1).map((y, i) => y - at[i])) >= 12.99, `${n} tokens: of 12 px`);
  }
  assert.deepEqual(named(27).slice(0, 12), named(26).slice(0, 12), "they stay where the text goes on");
});

/** Each token attends to itself and to those before it alike. @param {number} n @param {number} layers */
const story = (n, layers = 1) =>
  alone(
    Array.from({ length: layers }, () =>
      Array.from({ length: n * n }, (_, i) => (i % n > i / n ? 0 : 1 / (1 + Math.floor(i / n)))),
    ),
    n,
  );

/** The whole model on a screen, as the page draws it: 6 layers of 8 heads. @param {number} n  tokens @param {[number, number]} window  @param {[number, number]} at  width and top of the picture @param {number} [count]  for how many rows */
function whole(n, [, high], [width, top], count = n) {
  const rolled = rollout(rivers(story(n, 6)), "main", n - 1);
  const heads = [{ stack: "main", attention: "self", count: 8, ratio: 1, order: () => [...Array(8).keys()] }];
  const base = { ...FRAME, width, right: 190, labels: [80], heads, fold: high - top };
  const shared = { high, fold: base.fold, across: width - 190 - 94, type: 1, heads, count, alone: false };
  return riverLayout(rolled, n - 1, { ...base, ...heightsOf(rolled, shared) });
}

test("while a text is written, all heads stand still, and its rows share one height", () => {
  for (const { window, at } of SCREENS) {
    const still = (/** @type {number} */ n) => {
      const { bands, squares, said, height } = whole(n, window, at, 14 + WRITTEN);
      const places = [...squares.flatMap(({ x, y, width }) => [x, y, width]), said?.y ?? 0, bands[0].bottom];
      return [height, ...places.map(Math.round)];
    };
    for (let n = 16; n <= 40; n++) assert.deepEqual(still(n), still(15), `${n} tokens at ${window}`);
  }
});

/** @type {{window: [number, number], at: [number, number], usual: number, numbered: number}[]} `usual`: with that many tokens or fewer, heads stand 4 high; `numbered`: each has its number */
const SCREENS = [
  { window: [1280, 720], at: [1240, 222], usual: 16, numbered: 22 },
  { window: [1440, 900], at: [1400, 240], usual: 22, numbered: 26 },
];

test("as a text grows, the heads leave the rows their height: each has its name in one column", () => {
  for (const { window, at, usual, numbered } of SCREENS) {
    for (let n = 14; n <= 26; n++) {
      const { bands, squares, said, height } = whole(n, window, at);
      const [{ rows, labelled }] = bands;
      const which = `${n} tokens at ${window}`;
      assert.equal(labelled.size, n, which);
      assert.ok(n <= 16 || rows[0].height >= 12, `${which}: ${rows[0].height}`);
      assert.equal(squares.length, 48);
      assert.equal(new Set(squares.map(({ y }) => y)).size, n <= usual ? 4 : 2, which);
      assert.ok(squares.every(({ width, height }) => width === height && width >= 32));
      assert.equal(
        squares.every((one) => one.numbered),
        n <= numbered,
        which,
      );
      assert.ok(height <= window[1] - at[1], `${which}: on the first screen`);
      assert.ok(said && said.y > bands[0].bottom && squares.every(({ y, over }) => y - over > said.y));
      const [first, next] = squares;
      assert.ok(next.x >= first.x + first.width + 6, "a red tick stands between two");
    }
  }
});

/** What is written of a scene's rows: their names with the size of their letters. @param {ReturnType<typeof riverLayout>} scene @param {{pointed?: number[]}} [of] */
function namesOn({ bands: [band] }, { pointed = [] } = {}) {
  const written = /** @type {{text: string, size: number, y: number}[]} */ ([]);
  const pen = {
    font: "",
    measureText: (/** @type {string} */ text) => ({ width: 6 * text.length }),
    fillText: (/** @type {string} */ text, /** @type {number} */ _x, /** @type {number} */ y) =>
      written.push({ text, size: Number.parseFloat(pen.font.split(" ")[1]), y }),
  };
  const names = band.rows.map((_, i) => ({ word: `w${i}`, nth: null }));
  const style = { type: 1, font: "sans", least: 0, colours: {} };
  const words = { names, wrote: [], used: null, pointed: pointed.map((row) => band.rows[row]) };
  drawLabels(/** @type {any} */ (pen), band, words, /** @type {any} */ (style));
  return written;
}

test("names have 12 pixels or more; of more rows, as many as do not touch, and always those that are asked for", () => {
  for (const { window, at } of SCREENS) {
    for (let n = 17; n <= 26; n++) {
      const sizes = namesOn(whole(n, window, at)).map(({ size }) => size);
      assert.ok(sizes.length === n && Math.min(...sizes) >= 12, `${n} tokens at ${window}: ${Math.min(...sizes)}`);
    }
    const scene = whole(60, window, at);
    const some = namesOn(scene);
    assert.ok(some.length > 15 && some.length < 60 && some.every(({ size }) => size >= 12));
    const hidden = scene.bands[0].rows.findIndex((row) => !scene.bands[0].labelled.has(row));
    const more = namesOn(scene, { pointed: [hidden] });
    const [{ rows, columns }] = scene.bands;
    const unnamed = (/** @type {number} */ row) => unnamedAt(scene, columns[3].x0 + 20, rows[row].y);
    assert.deepEqual(unnamed(hidden), { band: 0, row: hidden }, "pointed at anywhere in its row");
    assert.equal(unnamed(59), null, "one that has its name already");
    assert.ok(more.some(({ text }) => text === `w${hidden}`));
    for (const names of [some, more]) {
      const ys = names.map(({ y }) => y).sort((a, b) => a - b);
      assert.ok(Math.min(...ys.slice(1).map((y, i) => y - ys[i])) >= 12, "none touches another");
    }
  }
});

test("the pointer finds the line it is on, not its stream", () => {
  const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, FRAME);
  for (const line of scene.lines) Object.assign(line, { shown: !line.own });
  const edge = scene.lines.find(({ own, layer }) => !own && layer === 1);
  assert.ok(edge);
  const [x, y] = [(edge.x0 + edge.x1) / 2, (edge.y0 + edge.y1) / 2];
  assert.equal(lineAt(scene.lines, x, y), edge);
  assert.equal(lineAt(scene.lines, edge.x0 + 1, edge.y0 + edge.width / 2 + 7), edge);
  assert.equal(lineAt(scene.lines, x, y - 60), null);
  const hair = (/** @type {number} */ below) => ({ ...edge, width: 0.5, y0: edge.y0 + below, y1: edge.y1 + below });
  const near = edge.width / 2 + 7;
  const beside = (/** @type {number} */ below) => lineAt([edge, hair(near), hair(40)], edge.x0 + 1, edge.y0 + below);
  assert.equal(beside(near), edge, "12 px around a thick line are its own, though a hair line lies there");
  assert.deepEqual(beside(40), hair(40), "further away, the one under the pointer");
  assert.equal(lineAt([hair(near)], edge.x0 + 1, edge.y0 + near + 9), null, "8 px around a hair line");
  const around = (/** @type {Partial<typeof edge>} */ of, /** @type {number} */ far, /** @type {number} */ ofHair) =>
    lineAt([{ ...hair(0), ...of }], edge.x0 + 1, edge.y0 + far, ofHair) !== null;
  assert.ok(around({}, 3.5, 4) && !around({}, 5.5, 4), "4 px around a hair line are its own, for a mouse");
  assert.ok(around({}, 7.5, 8), "for a finger 8");
  for (const seen of [{ width: 2 }, { notable: true }, { change: -0.5 }, { was: 3 }])
    assert.ok(around(seen, 7.5, 4) && !around(seen, 10, 4), "a line that is wide or dark enough to be seen");
});

test("a layer's column is a place from its name to its best guess; a phone's one layer is open already", () => {
  const rolled = rollout(rivers(...PAIR), "decoder", 1);
  const scene = riverLayout(rolled, 1, FRAME);
  const [decoder, encoder] = scene.bands;
  const middle = (/** @type {typeof decoder} */ { columns: [{ x0, x1 }] }) => (x0 + x1) / 2;
  for (const band of scene.bands)
    for (const y of [band.titles - 4, band.top + 3, band.bottom - 1])
      assert.deepEqual(columnAt(scene, middle(band), y), { stack: band.stack, layer: 0 });
  assert.deepEqual(columnAt(scene, middle(decoder), scene.lens), { stack: "decoder", layer: 0 });
  assert.equal(columnAt(scene, middle(decoder), scene.lens + 20), null);
  assert.equal(columnAt(scene, middle(encoder), encoder.bottom + 5), null);
  assert.equal(columnAt(scene, encoder.columns[0].x0 - 3, encoder.top + 3), null);
  assert.equal(columnAt({ ...scene, only: { stack: "decoder", layer: 0 } }, middle(decoder), decoder.top + 3), null);
});

test("arrow keys walk through rows and layers, from an encoder's river down to the decoder", () => {
  const scene = riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, FRAME);
  const at = { band: 0, row: 0, layer: 0 };
  assert.deepEqual(placeAfterKey(scene, at, "ArrowUp"), { band: 1, row: 2, layer: 1 });
  assert.deepEqual(placeAfterKey(scene, { band: 1, row: 2, layer: 1 }, "ArrowDown"), at);
  assert.deepEqual(placeAfterKey(scene, at, "ArrowLeft"), at);
  assert.equal(placeAfterKey(scene, at, "x"), null);
  assert.deepEqual(layerAt(scene, { band: 1, row: 2, layer: 1 }), { stack: "decoder", layer: 0 });
  assert.deepEqual(nearestPlace(scene, { band: 3, row: 9, layer: 9 }), { band: 1, row: 2, layer: 1 });
});

test("a place stands for the widest line at its token in its layer", () => {
  const scene = riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, FRAME);
  assert.equal(widestAt(scene, { band: 1, row: 0, layer: 1 })?.attention, "cross");
  assert.equal(widestAt(scene, { band: 1, row: 2, layer: 1 }), null);
  const read = widestAt(scene, { band: 0, row: 1, layer: 0 });
  assert.deepEqual([read?.query, read?.share], [1, 0.25]);
});

const SELF = /** @type {any} */ ([{ id: "self" }]);
const EDGE = { attention: "self", layer: 1, query: 1, key: 0 };

test("a knockout is an intervention of the run, and a second click restores the line", () => {
  const ablated = { kind: "ablate", where: { layer: 0, role: "z", head: 1 } };
  const cut = toggled([ablated], [EDGE], SELF);
  assert.deepEqual(cut, [ablated, { kind: "mask", where: { ...EDGE, role: "mask" }, allow: false }]);
  assert.deepEqual(knockoutsOf(cut, SELF), [EDGE]);
  assert.deepEqual(toggled(cut, [EDGE], SELF), [ablated]);
  assert.deepEqual(withoutKnockouts(cut), [ablated]);
});

test("of several edges, those that are missing are cut", () => {
  const both = [EDGE, { ...EDGE, layer: 0 }];
  const cut = toggled(toggled([], [EDGE], SELF), both, SELF);
  assert.deepEqual(knockoutsOf(cut, SELF), both);
  assert.deepEqual(toggled(cut, both, SELF), []);
});

test("an edit in every layer is an edge in each, and restoring one leaves the others", () => {
  const self = /** @type {any} */ ([{ id: "self", n_layer: 3 }]);
  const where = { layer: null, role: "mask", query: 1, key: 0 };
  const every = { kind: "mask", where, allow: false };
  const edges = [0, 1, 2].map((layer) => ({ ...EDGE, layer }));
  assert.deepEqual(knockoutsOf([every], self), edges);
  assert.deepEqual(knockoutsOf(toggled([every], [EDGE], self), self), [edges[0], edges[2]]);
  assert.deepEqual(toggled([every], edges, self), []);
});

test("an edge of one head is another knockout, and a mask that allows is not one", () => {
  const where = { layer: 0, role: "mask", query: 1, key: 0 };
  assert.deepEqual(knockoutsOf([{ kind: "mask", where, allow: true }], SELF), []);
  const edge = { attention: "self", layer: 0, query: 1, key: 0 };
  const both = toggled(toggled([], [{ ...edge, head: 2 }], SELF), [edge], SELF);
  assert.deepEqual(both[0].where, { ...edge, head: 2, role: "mask" });
  assert.deepEqual(knockoutsOf(both, SELF), [{ ...edge, head: 2 }, edge]);
  assert.deepEqual(knockoutsOf(toggled(both, [{ ...edge, head: 2 }], SELF), SELF), [edge]);
  assert.deepEqual(knockoutsOf([{ kind: "mask", where, allow: false }], SELF), [
    { attention: "self", layer: 0, query: 1, key: 0 },
  ]);
});

test("the edges that decide most lead to one token, in all layers that allow it", () => {
  const [reach] = rollout(rivers(SMALL), "main", 1);
  assert.deepEqual(
    edgesTo(reach, 1, "source", 0).map(({ layer }) => layer),
    [0, 1],
  );
  assert.deepEqual(edgesTo(reach, 1, "source", 1), [], "to itself it always attends");
  assert.deepEqual(edgesTo(reach, 0, "source", 1), [], "the mask forbids it");
  /** @param {object} edge @param {number} delta */
  const effect = (edge, delta) => [JSON.stringify(edge), /** @type {any} */ ({ ...EDGE, ...edge, p: 0.5, delta })];
  const effects = new Map(/** @type {any} */ ([effect({}, -0.5), effect({ layer: 0, query: 0 }, -9)]));
  assert.deepEqual(decidingEdges(reach, 1, effects), edgesTo(reach, 1, "source", 0));
  assert.deepEqual(decidingEdges(reach, 1, new Map(/** @type {any} */ ([effect({}, 0.1)]))), []);
});

test("what is cut leaves a ghost as wide as its line was", () => {
  const before = rollout(rivers(SMALL), "main", 1);
  const after = rollout(
    rivers(
      alone([
        [1, 0, 0.5, 0.5],
        [1, 0, 0, 1],
      ]),
    ),
    "main",
    1,
  );
  const [scene, was] = [after, before].map((rolled) => riverLayout(rolled, 1, FRAME));
  const unseen = { ...EDGE, layer: 1, query: 0, key: 0 };
  const [ghost, thin] = ghostsOf([EDGE, unseen], scene, was, before);
  const [ofHead] = ghostsOf([{ ...EDGE, head: 5 }], scene, was, before); // of one head: what the line has lost
  assert.equal(ofHead.width, 0.25 * FRAME.fat);
  assert.equal(ghost.width, 0.25 * FRAME.fat);
  assert.deepEqual([thin.width, thin.x0, thin.y1], [0, scene.bands[0].columns[1].x0, scene.bands[0].rows[0].y]);
  const ofFirst = { ...EDGE, layer: 0, head: 5 };
  const [kept] = ghostsOf([ofFirst], scene, was, before);
  const left = scene.lines.find((line) => edgeKey(line) === edgeKey({ ...ofFirst, head: undefined }));
  assert.ok(left && kept.y0 - left.y0 >= left.width / 2 + 5, "apart from what the other heads still pass on");
});

const FALLS = { "river.points": "{points} points", "river.points_brief": "{points} pts", "river.others": "others" };

testWith(FALLS)("where the difference is shown, an answer has its change in percentage points, if it is known", () => {
  const answer = (/** @type {number} */ id, /** @type {number} */ p) => ({ id, p, token: null, name: `a${id}` });
  const facts = { answers: [answer(1, 0.62), answer(2, 0.3), answer(3, 0.08)], fall: null };
  const answersBefore = [answer(1, 0.976), answer(2, 0.012)];
  const bars = barsOf({ ...facts, answersBefore, difference: true }, 3);
  assert.deepEqual(
    bars.map(({ change, signed }) => [change, signed]),
    [
      ["−36 points", true], // 98 → 62 %, though it is 35.6 before rounding
      ["+29 points", true],
      ["≈\u00a0+7.4 points", true], // not listed before: less than the last one that is
    ],
  );
  assert.deepEqual(
    bars.map(({ points }) => points),
    ["−36 pts", "+29", "+7.4"], // on a phone the first says the unit
  );
  const few = barsOf({ ...facts, answersBefore: [answer(1, 0.976), answer(9, 2e-4)], difference: true }, 2);
  assert.deepEqual(
    few.map(({ change }) => change),
    ["−36 points", "+30 points"],
    "a bound that changes no digit is none",
  );
  assert.equal(barsOf({ ...facts, answersBefore }, 3)[0].change, "98 → 62\u202f%");
  const fall = { answer: answer(7, 0.9), before: 0.9, after: 0.02 };
  const both = barsOf({ ...facts, answersBefore: [answer(7, 0.9)], fall }, 1);
  assert.deepEqual(
    both.map(({ name }) => name),
    ["a1", "a7"],
    "the answer that fell, and the one that is now the first",
  );
});

const AREA = { x: 0, y: 100, width: 150, height: 260 };
const HEADS = { stack: "main", attention: "self", layer: 0, count: 8, ratio: 1, order: [5, 1, 2, 0, 3, 4, 6, 7] };

test("heads are as large as they fit, in their order", () => {
  const { squares, more } = squaresOf(AREA, HEADS);
  assert.deepEqual(
    squares.map(({ head }) => head),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  assert.deepEqual(more, []);
  const [first, second, third] = squares;
  assert.equal(first.y, second.y);
  assert.ok(third.y > first.y, "two columns");
  assert.equal(first.width, Math.floor((260 - 3 * 8) / 4));
  assert.equal(squareAt(squares, second.x + 1, second.y + 1), second);
  assert.equal(squareAt(squares, second.x - 4, second.y + 1), null);
});

test("heads keep their columns while the text above them grows, until a third of them has no room", () => {
  /** @param {number} height */
  const columns = (height) => new Set(squaresOf({ ...AREA, height }, HEADS).squares.map(({ x }) => x)).size;
  assert.deepEqual([300, 200, 160, 125].map(columns), [2, 2, 2, 2]);
  const { squares } = squaresOf({ ...AREA, height: 150 }, HEADS);
  assert.equal(squares[0].width, 36, "as small as they can be read");
});

test("squares with their numbers fill their column, and a bar is far from the next square", () => {
  const column = { x: 8, y: 0, width: 174, height: 262 };
  const { squares } = squaresOf(column, { ...HEADS, bars: true, number: 23 });
  assert.ok(squares.every(({ numbered, width }) => numbered && width >= 60));
  const [first, second] = squares;
  assert.equal(first.x, column.x, "under the name of its layer");
  assert.equal(second.x + second.width + second.side, column.x + column.width);
  const bar = first.x + first.width + 3 + 4;
  assert.ok(second.x - bar >= 8);
  assert.equal(squareAt(squares, first.x + first.width + 10, first.y + 5), first, "its number is part of it");
  const slim = squaresOf({ ...column, width: 125 }, { ...HEADS, bars: true, number: 23 }).squares;
  assert.ok(
    slim.every(({ numbered, width }) => !numbered && width >= 50),
    "where numbers would cost much, it has none",
  );
  assert.ok(slim[1].x - (slim[0].x + slim[0].width + 3 + 4) >= 6);
});

test("a head's bar rises at its right edge: ochre for what the answer loses, blue for what it gains", () => {
  /** @type {{colour: string, box: number[]}[]} */
  const filled = [];
  const none = () => {};
  const pen = /** @type {any} */ ({
    fillStyle: "",
    fillRect: (/** @type {number[]} */ ...box) => filled.push({ colour: pen.fillStyle, box }),
    fillText: none,
    strokeRect: none,
    measureText: () => ({ width: 9 }),
  });
  const colours = { minus: "ochre", accent: "blue", hair: "hair", dim: "dim" };
  const effects = [-0.4, 0.1, 0.001];
  const style = {
    ...{
      type: 1,
      least: 0,
      font: "",
      colours,
      picture: () => null,
      rowOf: () => null,
      isHead: () => false,
      isEdited: () => false,
    },
    effectOf: (/** @type {{head: number}} */ { head }) => ({
      delta: effects[head],
      share: Math.abs(effects[head]) / 0.4,
    }),
  };
  const { squares } = squaresOf(AREA, { ...HEADS, count: 3, order: [0, 1, 2], bars: true, number: 23 });
  const bands = [{ end: 150, columns: [{ x0: 0, x1: 150 }] }];
  drawHeads(pen, /** @type {any} */ ({ squares, more: [], bands }), /** @type {any} */ (style));
  assert.deepEqual(
    filled.map(({ colour }) => colour),
    ["ochre", "blue"],
    "one that changes all but nothing has none",
  );
  const [{ box }] = filled;
  assert.equal(box[1] + box[3], squares[0].y + squares[0].height);
  assert.ok(box[0] > squares[0].x + squares[0].width && box[1] > squares[0].y + 10, "below its number");
});

test("in the strip over a head, its line alone is not pale; what is hidden or off is dashed", () => {
  /** @type {{colour: string, alpha: number, dashed: boolean}[]} */
  const strokes = [];
  let dash = /** @type {number[]} */ ([]);
  /** @type {[string, number][]} */
  const texts = [];
  const pen = /** @type {any} */ (
    new Proxy(
      { globalAlpha: 1, strokeStyle: "", measureText: () => ({ width: 9 }) },
      {
        get: (own, name) => {
          if (name in own) return Reflect.get(own, name);
          if (name === "setLineDash") return (/** @type {number[]} */ to) => (dash = to);
          if (name === "fillText")
            return (/** @type {string} */ text, /** @type {number} */ x) => texts.push([text, x]);
          if (name !== "stroke") return () => {};
          return () => strokes.push({ colour: own.strokeStyle, alpha: own.globalAlpha, dashed: dash.length > 0 });
        },
      },
    )
  );
  const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...FRAME, strip: 70 });
  const [line] = scene.lines.filter(({ own }) => !own);
  const path = () => ({ moveTo: () => {}, bezierCurveTo: () => {} });
  const style = {
    ...{ type: 1, least: 0, font: "", colours: { q: "q", cut: "cut", own: "own", pale: "pale" }, path },
    ...{
      stage: null,
      preview: null,
      hovered: null,
      picked: null,
      lit: new Set(),
      bead: null,
      cursor: null,
      over: null,
    },
    ...{ title: () => "", counted: () => "", passed: "", tone: () => "tone", bars: [] },
    headsOff: (/** @type {string} */ stack, /** @type {number} */ layer) =>
      stack === "main" && layer ? "1·0 off" : "",
  };
  const alphas = (/** @type {string} */ colour) => strokes.filter((one) => one.colour === colour);
  drawMoving(pen, { ...scene, chosen: line }, /** @type {any} */ (style));
  assert.deepEqual(alphas("q"), [{ colour: "q", alpha: 1, dashed: false }]);
  const off = texts.filter(([text]) => text === "1·0 off");
  assert.deepEqual(off, [["1·0 off", scene.bands[0].columns[1].x0 + 8]], "a head that is off is named in its layer");
  assert.ok(alphas("own").length > 0 && [...alphas("own"), ...alphas("tone")].every(({ alpha }) => alpha <= 0.4));
  strokes.length = 0;
  drawMoving(pen, { ...scene, ghosts: [line] }, /** @type {any} */ (style));
  assert.deepEqual(alphas("cut"), [{ colour: "cut", alpha: 1, dashed: true }]);
  assert.ok(alphas("own").every(({ alpha }) => alpha <= 0.4));
  strokes.length = 0;
  drawMoving(pen, scene, /** @type {any} */ (style));
  assert.ok(
    alphas("own").every(({ alpha }) => alpha === 1),
    "nothing is open: all is as it is",
  );
});

test("a line that one head lost is named after what its layer says of heads that are off", () => {
  /** @type {{text: string, from: number, to: number}[]} */
  const texts = [];
  const measureText = (/** @type {string} */ text) => ({ width: 6 * text.length });
  const fillText = (/** @type {string} */ text, /** @type {number} */ from) =>
    texts.push({ text, from, to: from + measureText(text).width });
  const pen = new Proxy({ measureText, fillText }, { get: (own, name) => Reflect.get(own, name) ?? (() => {}) });
  const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...FRAME, strip: 70 });
  const ghost = { ...scene.lines.filter(({ own, layer }) => !own && layer === 1)[0], head: 2 };
  const path = () => ({ moveTo: () => {}, bezierCurveTo: () => {} });
  const style = {
    ...{ type: 1, least: 0, font: "", colours: {}, path, title: () => "", counted: () => "", passed: "" },
    ...{
      stage: null,
      preview: null,
      hovered: null,
      picked: null,
      lit: new Set(),
      bead: null,
      cursor: null,
      over: null,
    },
    ...{ tone: () => "", bars: [], onlyHead: (/** @type {string} */ head) => `${head} only` },
  };
  const drawn = (/** @type {string} */ off) => {
    texts.length = 0;
    const headsOff = (/** @type {string} */ _, /** @type {number} */ layer) => (layer === 1 ? off : "");
    drawMoving(/** @type {any} */ (pen), { ...scene, ghosts: [ghost] }, /** @type {any} */ ({ ...style, headsOff }));
    return texts.filter(({ text }) => text !== "");
  };
  const [alone] = drawn("");
  const width = scene.bands[0].columns[1].x1 - scene.bands[0].columns[1].x0;
  const off = "x".repeat(Math.floor(width / 2 / 6) + 1); // past the middle of its layer
  const [only, layer] = drawn(off);
  assert.deepEqual([alone.text, only.text, layer.text], ["1·2 only", "1·2 only", off]);
  assert.ok(only.from >= layer.to + 8, `${only.from} ${layer.to}`);
  assert.ok(only.to <= scene.bands[0].columns[1].x1);
});

test("where the difference is shown, a head's square has what each weight gained or lost", () => {
  const data = (/** @type {number[]} */ ...bytes) => ({ data: Uint8Array.from(bytes) });
  const hidden = Uint8Array.of(0, 8, 0, 1);
  const { change, forbidden } = changeIn(data(255, 0, 90, 0), data(0, 255, 90, 0), hidden);
  assert.ok(change[0] > 250 && change[1] < 5, "to both ends of the scale");
  assert.deepEqual([change[2], change[3]], [128, 128], "nothing is its middle");
  assert.deepEqual([...forbidden], [0, 0, 0, 1], "a cell that lost its weight shows that, not its mask");
});

test("of heads too small to read, the three most decisive are drawn, and how many are not", () => {
  const { squares, more } = squaresOf({ ...AREA, width: 70 }, HEADS);
  assert.deepEqual(
    squares.map(({ head }) => head),
    [1, 2, 5],
  );
  assert.equal(more[0].n, 5);
  assert.ok(squares[0].width >= 56);
  const named = squaresOf({ ...AREA, width: 78 }, { ...HEADS, count: 12, bars: true, number: 37 }).squares;
  assert.ok(
    named.every(({ width, numbered, over }) => numbered && over === 14 && width >= 56),
    "their numbers stand over them and cost no width",
  );
  const deep = squaresOf({ ...AREA, width: 67, height: 300 }, { ...HEADS, count: 12, bars: true, number: 37 });
  assert.deepEqual([deep.squares.length, deep.more[0].n], [3, 9], "not all in many rows of small squares");
  const [first, second] = named;
  assert.ok(first.y - first.over >= AREA.y && second.y - second.over > first.y + first.height);
});

test("the heads of an open layer stand in one row where that makes them larger, and take no more height than they need", () => {
  const low = heightOfOpen(960, 207, { ...HEADS, stack: "main", order: () => HEADS.order }, 1);
  const { squares } = squaresOf({ x: 10, y: 0, width: 940, height: low }, { ...HEADS, caption: 34 });
  const [{ width, height }] = squares;
  assert.equal(new Set(squares.map(({ y }) => y)).size, 1);
  assert.equal(width, Math.floor((940 - 7 * 8) / 8));
  assert.ok(low < 207 && low >= height + 34);
});

test("a head of an open layer has room below it for its name and what it attends to most", () => {
  const area = { x: 0, y: 0, width: 358, height: 264 };
  const { squares, more } = squaresOf(area, { ...HEADS, caption: 34 });
  assert.deepEqual([squares.length, more], [HEADS.count, []]);
  for (const [i, one] of squares.entries()) {
    assert.ok(one.room >= 80, "room for a word and its share");
    const next = squares.slice(i + 1).find(({ y }) => y === one.y);
    assert.ok(!next || one.x + one.room <= next.x, "beside it stands the next one");
    const below = squares.find(({ y }) => y > one.y);
    assert.ok(!below || one.y + one.height + one.caption < below.y);
    assert.equal(squareAt(squares, one.x + 1, one.y + one.height + 20)?.head, one.head, "it opens its head");
  }
  assert.ok(Math.max(...squares.map(({ y, height, caption }) => y + height + caption)) <= area.height);
});

test("below the heads of an open layer, as many keys are named as the screen has room for", () => {
  const heads = [{ stack: "main", attention: "self", count: 4, ratio: 1, order: () => [0, 1, 2, 3] }];
  const frame = { ...FRAME, heads, headRoom: 140, open: { stack: "main", layer: 1 } };
  const scene = (/** @type {number} */ fold) =>
    riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...frame, fold }).squares;
  const ends = (/** @type {ReturnType<typeof scene>} */ squares) =>
    Math.max(...squares.map(({ y, height, caption }) => y + height + caption));
  const named = [200, 400, 600, 1200].map((fold) => {
    const squares = scene(fold);
    const [lines, ...others] = new Set(squares.map((one) => one.lines));
    assert.deepEqual(others, [], "each head names as many");
    assert.ok(lines === 1 || ends(squares) <= fold - 8);
    assert.ok(lines === 5 || ends(squares) > fold - 8 - 16, "there is no room for another");
    return lines;
  });
  assert.deepEqual([named[0], named.at(-1)], [1, 5]);
});

test("squares that have no room beside their numbers stand under them, above their bars", () => {
  const looks = { ...HEADS, ratio: 1.2, bars: true, number: 23 };
  const { squares, more } = squaresOf({ x: 0, y: 100, width: 125, height: 120 }, looks);
  assert.deepEqual([squares.length, more], [8, []]);
  assert.equal(new Set(squares.map(({ y }) => y)).size, 2);
  for (const { x, y, width, height, over, numbered, caption } of squares) {
    assert.ok(width >= 25 && Math.abs(height / width - 1.2) < 0.05, "as high as they are");
    assert.ok(numbered && over === 12 && caption === 5 && y - over >= 100 && y + height + caption <= 220);
    assert.ok(squareAt(squares, x + 1, y - 10) && squareAt(squares, x + 1, y + height + 4), "all of it opens it");
  }
});

test("heads take what the first screen leaves; where that is too little, what they want", () => {
  const heads = [{ stack: "main", attention: "self", count: 4, ratio: 1, order: () => [0, 1, 2, 3] }];
  /** @param {number} fold */
  const bottom = (fold) => {
    const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...FRAME, heads, headRoom: 300, fold });
    assert.equal(scene.squares.length, 8);
    return Math.max(...scene.squares.map(({ y, height }) => y + height));
  };
  const [rows] = riverLayout(rollout(rivers(SMALL), "main", 1), 1, FRAME).bands;
  const fold = rows.bottom + 130;
  assert.ok(bottom(fold) <= fold && bottom(fold) > fold - 20);
  assert.equal(bottom(rows.bottom + 50), bottom(2000));
});

test("how to read a square stands above all of them; of two stacks, below those that are read first, where that is on the screen", () => {
  const heads = [{ stack: "main", attention: "self", count: 4, ratio: 1, order: () => [0, 1, 2, 3] }];
  const frame = { ...FRAME, headRoom: 200, fold: 600 };
  const one = riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...frame, heads });
  const top = Math.min(...one.squares.map(({ y }) => y));
  assert.ok(one.said && one.lens + 10 < one.said.y && one.said.y < top);
  const ends = one.squares.map(({ y, height }) => y + height);
  assert.ok(one.table && one.table > top && one.table < Math.max(...ends));
  const both = ["encoder", "decoder"].map((stack) => ({ ...heads[0], stack, attention: stack }));
  /** @param {number} fold */
  const two = (fold) => riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, { ...frame, heads: both, fold });
  const { said, squares, bands, height } = two(600);
  const read = squares.filter(({ stack }) => stack === "encoder");
  assert.ok(said && said.y > Math.max(...read.map(({ y, height }) => y + height)) && said.y < height);
  assert.ok(said.x + said.width <= bands[1].columns[0].x1);
  const folds = [150, 250, 350, 450].map((fold) => ({ fold, said: two(fold).said }));
  assert.ok(folds.every(({ said, fold }) => !said || said.y < fold) && folds.some(({ said }) => !said));
});

test("the heads of two stacks begin in one line where the key has room between the upper rows and their heads", () => {
  const head = { attention: "self", count: 4, ratio: 1, order: () => [0, 1, 2, 3] };
  const heads = ["encoder", "decoder"].map((stack) => ({ ...head, stack, attention: stack }));
  const at = (/** @type {number} */ room, more = {}) =>
    riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, {
      ...FRAME,
      headRoom: 150,
      fold: 900,
      room,
      heads,
      mostPitch: 90,
      ...more,
    });
  const { squares, said, bands, headsInLine } = at(450);
  const [encoder, decoder] = ["encoder", "decoder"].map((stack) => squares.filter((one) => one.stack === stack));
  assert.ok(headsInLine);
  const [upper, lower] = [encoder, decoder].map((own) => [...new Set(own.map(({ y }) => y))]);
  assert.deepEqual(upper, lower, "row by row");
  assert.ok(said && said.lines === 2 && said.y > bands[1].bottom + 100 && said.y + 17 < encoder[0].y - encoder[0].over);
  assert.ok(!at(100).headsInLine, "else they are right below their rows");
  assert.ok(!at(450, { open: { stack: "encoder", layer: 0 } }).headsInLine, "and so are those of an open layer");
});

test("a decoder's rows have what they wrote beside them; the rows of a story have not", () => {
  const names = [
    [
      { word: "START", nth: null },
      { word: "ナ", nth: 1 },
      { word: "ナ", nth: 2 },
    ],
  ];
  const rolled = (/** @type {string} */ side) => [{ river: { side } }];
  assert.deepEqual(wroteOf({ rolled: rolled("target"), names }), ["ナ₁", "ナ₂", "…"]);
  assert.deepEqual(wroteOf({ rolled: rolled("source"), names }), []);
  const [decoder, encoder] = riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, { ...FRAME, wrote: 40 }).bands;
  assert.deepEqual([decoder.wrote, encoder.wrote], [40, 0]);
});

test("a head's weights are lines as wide as they are large, stacked at its query", () => {
  const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, FRAME);
  const head = { attention: "self", layer: 1, head: 3 };
  const lines = linesOfHead(scene, head, { from: 0, to: 0, row: 1, weights: [0.75, 0.25] });
  const [{ rows }] = scene.bands;
  assert.equal(lines[0].width / lines[1].width, 3);
  assert.equal(lines[0].y0, rows[0].y);
  assert.equal(lines[0].y1 + lines[0].width / 2, lines[1].y1 - lines[1].width / 2);
  assert.deepEqual(linesOfHead(scene, head, { from: 0, to: 0, row: 1, weights: [0.999, 0.001] }).length, 1);
});

test("Watch: streams, then the answer, then widths from the answer backwards, then darkness", () => {
  assert.deepEqual(stageOf(0), { flow: 0, answer: 0, swell: 0, dark: 0 });
  assert.equal(stageOf(0.25)?.flow, 0.5);
  assert.equal(stageOf(1), null);
  const swelling = stageOf(0.7);
  assert.ok(swelling && swelling.answer === 1 && swelling.dark === 0);
  assert.ok(swollen(swelling, 0) > swollen(swelling, 0.5));
  assert.equal(swollen(stageOf(0.82), 1), 1);
  assert.equal(swollen(null, 1), 1);
});

test("an open layer is the widest, and its heads alone are drawn", () => {
  const heads = [{ stack: "main", attention: "self", count: 4, ratio: 1, order: () => [0, 1, 2, 3] }];
  const frame = { ...FRAME, labels: [60], heads, headRoom: 200, open: { stack: "main", layer: 1 } };
  const scene = riverLayout(rollout(rivers(SMALL), "main", 1), 1, frame);
  const [first, second] = scene.bands[0].columns.map(({ x0, x1 }) => x1 - x0);
  assert.ok(second > first);
  assert.equal(scene.bands[0].columns[1].x1, scene.bands[0].end);
  assert.deepEqual([...new Set(scene.squares.map(({ layer }) => layer))], [1]);
});

test("words that come again are numbered, with or without the space before them", () => {
  /** @param {string} text */
  const token = (text) => /** @type {any} */ ({ text, partial: false, special: false, bytes: "" });
  const names = namesOf(["Tom", " red", " ball", " Tom", " "].map(token)).map(nameText);
  assert.deepEqual(names, ["Tom₁", "red", "ball", "Tom₂", "·"]);
});

test("a phone draws one layer at its whole width, below a strip of all", () => {
  const phone = { ...FRAME, width: 390, right: 96, labels: [60, 60], type: 1 };
  const [main] = rollout(riversOf({ rivers: [answered(SMALL)] }), "main", 1);
  const scene = riverLayout([main], 1, { ...phone, labels: [60], only: { stack: "main", layer: 0 } });
  const [{ columns, end }] = scene.bands;
  assert.deepEqual(
    columns.map(({ x0, x1 }) => x1 - x0),
    [390 - 96 - 74, 0],
  );
  assert.equal(columns[0].x1, end);
  assert.deepEqual([...new Set(scene.lines.map(({ layer }) => layer))], [0]);
  assert.deepEqual([...new Set(scene.strip?.scene.lines.map(({ layer }) => layer))], [0, 1]);
  assert.deepEqual(stripAt(scene, 380, 10), { stack: "main", layer: 1 });
  assert.equal(stripAt(scene, 380, 200), null);
});

test("on a phone, a decoder's layer draws on the rows above it, and goes while its encoder's is drawn", () => {
  const rolled = rollout(riversOf({ rivers: PAIR.map(answered) }), "decoder", 1);
  /** @param {string} stack */
  const only = (stack) =>
    riverLayout(rolled, 1, { ...FRAME, width: 390, right: 96, labels: [60, 60], only: { stack, layer: 0 } });
  const decoder = only("decoder");
  assert.ok(decoder.lines.some(({ from, to }) => from === 1 && to === 0));
  assert.ok(decoder.bands[1].bottom < decoder.bands[0].top);
  const encoder = only("encoder");
  assert.ok(encoder.lines.every(({ to }) => to === 1));
  assert.equal(encoder.bands[0].rows[0].height, 0);
  assert.deepEqual(layersOf(encoder), [
    { stack: "encoder", layer: 0 },
    { stack: "decoder", layer: 0 },
  ]);
});

test("bars slide from where they were, new ones from their ghost or from nothing", () => {
  /** @param {string} name @param {number} p @param {number|null} [before] */
  const bar = (name, p, before = null) => ({ name, p, text: "", before });
  const [from, to] = [[bar("ball", 1)], [bar("ball", 0), bar("toy", 0.5, 0.5), bar("car", 0.8)]];
  assert.deepEqual(
    between(from, to, 0).map(({ p }) => p),
    [1, 0.5, 0],
  );
  assert.equal(between(from, to, 1), to);
  const [ball, toy, car] = between(from, to, 0.5).map(({ p }) => p);
  assert.ok(ball > 0 && ball < 1 && toy === 0.5 && car > 0 && car < 0.8);
});

test("the lens is read by default unless the model and the text are both large", () => {
  const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
  const [stack] = decoder.description.stacks;
  const stacks = [{ ...stack, layers: new Array(12).fill(stack.layers[0]) }];
  /** @param {number} n @param {object} size */
  const reads = (n, size, run = /** @type {any} */ ({ text: "a".repeat(n), ids: null })) =>
    readsLayers(run, { description: { ...decoder.description, stacks, ...size } });
  const gpt2 = { d_model: 768, vocab_size: 50257, max_seq_len: 1024 };
  assert.deepEqual([reads(64, gpt2), reads(5000, gpt2)], [true, false]);
  const ids = new Array(1024).fill(5);
  assert.equal(reads(0, gpt2, /** @type {any} */ ({ text: "", ids })), false, "a run of ids is as long as it has ids");
  assert.equal(reads(5000, { ...gpt2, classes: ["no", "yes"], predicts: "classes" }), true); // one row
  assert.equal(reads(5000, { d_model: 256, vocab_size: 4096, max_seq_len: 256 }), true);
  assert.equal(reads(1, { ...gpt2, can: { lens: false } }), false);
});

test("the bars of a short sentence begin below the name of their place", () => {
  const places = { embedding: 60, prediction: 60 };
  const { answers, links, height } = riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...FRAME, places });
  const name = links.find(({ to }) => to === "prediction");
  assert.ok(name && answers.y + 3 > name.y, "letters of 15 px begin 3 px below y, the name stands on its own y");
  assert.ok(answers.y - name.y < 12, "and right under it");
  const strip = riverLayout(rollout(rivers(SMALL), "main", 1), 1, { ...FRAME, places, strip: 70, answers: 3 });
  assert.deepEqual([strip.answers.inLine, strip.answers.step], [true, 18], "in a low strip three fit, each in a line");
  const end = strip.answers.y + 2 * strip.answers.step + 19; // where the third one's bar ends
  assert.ok(end <= strip.height - 4, "and the last one keeps off its edge");
  assert.ok(strip.height <= 76, `${strip.height}`);
  assert.ok(height >= answers.y + 6 * answers.step);
});

test("the answers and the key over them stand where they do on the start page, however many rows there are", () => {
  for (const [n, lowestAnswer] of [
    [10, 380],
    [14, 380],
    [40, 500],
  ]) {
    const of = (more = {}) =>
      riverLayout(rollout(rivers(story(n)), "main", n - 1), n - 1, {
        ...{ ...FRAME, places: { embedding: 60, prediction: 60 }, answers: 6, lowestAnswer },
        ...more,
      });
    const [start, open] = [of({ start: true }), of()];
    assert.deepEqual(start.answers, open.answers);
    assert.equal(open.answers.y + 6 * open.answers.step, lowestAnswer);
    const [name, same] = [start, open].map(({ links }) => links.find(({ to }) => to === "prediction"));
    assert.deepEqual(name, same);
    assert.deepEqual(
      start.links.map(({ to }) => to),
      ["prediction"],
      "the start page names no other place",
    );
  }
  const short = riverLayout(rollout(rivers(story(3)), "main", 2), 2, { ...FRAME, answers: 6, lowestAnswer: 700 });
  assert.ok(short.answers.y <= short.lens + 8, "of a short text they begin where its rows end");
  const low = { ...FRAME, places: { prediction: 60 }, answers: 6, lowestAnswer: 240 };
  const { answers } = riverLayout(rollout(rivers(story(14)), "main", 13), 13, low);
  assert.ok(answers.y > 28 + 100, "in a low window the key has its room, and the answers end lower");
});

test("above a sheet the whole model stays: every row, the best guesses and the answers", () => {
  const places = { embedding: 60, prediction: 60 };
  for (const [height, answers] of [
    [190, 4],
    [304, 6],
  ]) {
    for (const tokens of [2, 14, 40, 64]) {
      const frame = { ...FRAME, places, answers, ...rowsAbove(height, 1, { type: 1, answers }) };
      const scene = riverLayout(rollout(rivers(story(tokens)), "main", tokens - 1), tokens - 1, frame);
      const [{ rows, bottom, labelled }] = scene.bands;
      assert.equal(rows.length, tokens);
      assert.ok(labelled.has(rows[tokens - 1]), "the chosen token keeps its name");
      assert.ok(scene.height <= height, `${tokens} tokens: ${scene.height} of ${height}`);
      assert.ok(bottom < scene.lens && scene.lens < height && scene.squares.length === 0);
      assert.ok(scene.answers.y + answers * scene.answers.step <= height);
    }
    const pair = { ...FRAME, places, answers, ...rowsAbove(height, 2, { type: 1, answers }) };
    assert.ok(riverLayout(rollout(rivers(...PAIR), "decoder", 1), 1, pair).height <= height, "a translation, too");
  }
  const laptop = { ...FRAME, labels: [60], places, answers: 4, ...rowsAbove(214, 1, { type: 1, answers: 4 }) }; // 1280 × 720
  const share = Array.from({ length: 14 * 14 }, (_, i) => Number(i % 14 === Math.floor(i / 14))); // each passes itself on
  share.splice(13 * 14, 14, ...[0.1, 0.05, 0, 0, 0.4, 0, 0, 0, 0, 0, 0, 0, 0, 0.45]); // what the last one is made of
  const rolled = rollout(rivers(alone([share], 14)), "main", 13);
  const [{ rows, labelled }] = riverLayout(rolled, 13, laptop).bands;
  assert.ok(rows[0].height < 13, "nearer than names");
  assert.deepEqual([...labelled].map(({ from }) => from).sort(), [13, 4], "the chosen one and its main source");
  const higher = { ...laptop, ...rowsAbove(320, 1, { type: 1, answers: 4 }) };
  assert.equal(riverLayout(rolled, 13, higher).bands[0].labelled.size, 14, "with room, all");
});

test("the difference colours a line by how its share has changed, and keeps what is gone where it was", () => {
  const line = (/** @type {number} */ key, /** @type {number} */ share, more = {}) =>
    /** @type {any} */ ({
      attention: "self",
      layer: 0,
      query: 3,
      key,
      share,
      width: 20 * share,
      own: false,
      shown: false,
      ...more,
    });
  const scene = { lines: [line(0, 0.5), line(1, 0.1), line(2, 0.2), line(3, 0.9, { own: true })] };
  const before = { lines: [line(0, 0.1), line(1, 0.1), line(2, 0.4), line(3, 0.4, { own: true }), line(4, 0.3)] };
  markChanged(scene, before);
  assert.deepEqual(
    scene.lines.map(({ key, shown, share }) => [key, shown, share]),
    [
      [0, true, 0.5],
      [1, false, 0.1],
      [2, true, 0.2],
      [3, false, 0.9],
      [4, true, 0],
    ],
  );
  const changes = scene.lines.map(({ change }) => Math.round(1000 * change) / 1000);
  assert.deepEqual([changes[0], changes[1], changes[2], changes[4]], [1, 0, -0.5, -0.75]);
  const widths = scene.lines.map(({ was, width }) => [was, width]);
  assert.deepEqual(
    [widths[0], widths[2], widths[4]],
    [
      [2, 10],
      [8, 4],
      [6, 0],
    ],
    "the width before, and now",
  );
});

test("more is blue and less is ochre, from a pale tone to a strong one, in both themes", () => {
  const css = readFileSync("static/css/tokens.css", "utf8");
  const ramps = [...css.matchAll(/--ramp-signed: linear-gradient\(90deg, ([^)]*)\)/g)].map(([, stops]) =>
    stops.split(", "),
  );
  assert.equal(ramps.length, 2);
  for (const signed of ramps) {
    const warmth = (/** @type {number} */ change) => {
      const [red, , blue] = (changeTone(signed, change).match(/\d+/g) ?? []).map(Number);
      return red - blue; // ochre has more red than blue
    };
    for (const change of [0.06, 0.3, 1]) {
      assert.ok(warmth(change) < -20, `${change} is blue`);
      assert.ok(warmth(-change) > 20, `${-change} is ochre`);
    }
    assert.ok(warmth(1) < warmth(0.1) && warmth(-1) > warmth(-0.1), "a large change is the stronger colour");
  }
});

test("where squares are too small for a number over them, it stands within, where no weight is", () => {
  const area = { x: 0, y: 0, width: 148, height: 84 };
  const { squares } = squaresOf(area, { ...HEADS, bars: true, number: 23 });
  assert.ok(squares.length === 8 && squares.every(({ numbered, caption }) => !numbered && caption < 10));
  const drawn = (/** @type {boolean} */ free) => {
    const texts = /** @type {[string, number, number][]} */ ([]);
    const other = { measureText: () => ({ width: 18 }), fillText: (...of) => texts.push(/** @type {any} */ (of)) };
    const pen = new Proxy(other, { get: (own, name) => Reflect.get(own, name) ?? (() => {}), set: () => true });
    const none = {
      picture: () => null,
      rowOf: () => null,
      isHead: () => false,
      isEdited: () => false,
      effectOf: () => null,
    };
    const style = {
      ...none,
      ...{ type: 1, font: "", least: 0, colours: {} },
      isFree: () => free,
      headWords: () => "heads",
    };
    const bands = [{ stack: squares[0].stack, end: 148, columns: [{ x0: 0, x1: 148 }] }];
    const scene = { squares, more: [], bands, only: null, said: null };
    drawHeads(/** @type {any} */ (pen), /** @type {any} */ (scene), /** @type {any} */ (style));
    drawHeadWords(/** @type {any} */ (pen), /** @type {any} */ (scene), /** @type {any} */ (style));
    return texts;
  };
  const within = drawn(true);
  for (const { layer, head, x, y, width, height } of squares) {
    const at = within.find(([text]) => text === `${layer}·${head}`);
    assert.ok(at && at[1] > x && at[1] + 18 <= x + width && at[2] > y && at[2] < y + height / 2);
  }
  assert.ok(!within.some(([text]) => text.includes("–")));
  const names = drawn(false).map(([text]) => text);
  assert.ok(!names.some((text) => text.includes("·")) && names.some((text) => text.includes("–")), "else of each row");
});

test("the word beside the numbers of the heads begins within the picture", () => {
  /** @type {{text: string, end: number}[]} */
  const written = [];
  const widthOf = (/** @type {string} */ text) => 7 * text.length;
  const pen = /** @type {any} */ ({
    measureText: (/** @type {string} */ text) => ({ width: widthOf(text) }),
    fillText: (/** @type {string} */ text, /** @type {number} */ end) => written.push({ text, end }),
  });
  const squares = [0, 1].map((head) => ({
    stack: "encoder",
    attention: "encoder",
    layer: 0,
    head,
    x: 80 + 30 * head,
    y: 9,
  }));
  const bands = [{ stack: "encoder", columns: [{ x0: 79, x1: 150 }] }];
  const style = {
    type: 1,
    font: "",
    least: 0,
    colours: {},
    headWords: () => "heads",
    isHead: () => false,
    isFree: () => false,
  };
  for (const x0 of [79, 120]) {
    written.length = 0;
    bands[0].columns[0].x0 = x0;
    const scene = { bands, squares, more: [], only: null, said: null };
    drawHeadWords(pen, /** @type {any} */ (scene), /** @type {any} */ (style));
    const [numbers, word] = written;
    assert.deepEqual([numbers.text, word.text], ["0, 1", "heads"]);
    assert.ok(word.end - widthOf(word.text) >= 0, "it is not cut by the edge");
    assert.ok(word.end < numbers.end - widthOf(numbers.text), "and stands before them");
  }
});

test("an open layer and its heads, which are wider, stand on one colour", () => {
  const heads = [{ stack: "main", attention: "self", count: 8, ratio: 1, order: () => [...Array(8).keys()] }];
  const frame = { ...FRAME, heads, headRoom: 200, fold: 800 };
  const rolled = rollout(rivers(story(14, 6)), "main", 13);
  assert.equal(riverLayout(rolled, 13, frame).opened, null);
  const scene = riverLayout(rolled, 13, { ...frame, open: { stack: "main", layer: 4 } });
  /** @type {number[][]} */
  const rects = [];
  const roundRect = (/** @type {number[]} */ ...rect) => rects.push(rect);
  const pen = new Proxy({ roundRect }, { get: (own, name) => Reflect.get(own, name) ?? (() => {}), set: () => true });
  drawOpened(/** @type {any} */ (pen), scene, /** @type {any} */ ({ type: 1, colours: {} }));
  const [[x, y, width, height], [left, top, wide, high]] = rects;
  const { columns, bottom } = scene.bands[0];
  assert.deepEqual([x, x + width], [columns[4].x0, columns[4].x1]);
  assert.ok(y < scene.bands[0].top && top >= bottom && top < y + height && left <= x && left + wide >= x + width);
  for (const one of scene.squares) assert.ok(one.x > left && one.x + one.width < left + wide && one.y > top);
  assert.ok(scene.squares.every((one) => one.y + one.height + one.caption < top + high));
});

test("short sentences about the squares share a line where they have room", () => {
  const written = /** @type {string[]} */ ([]);
  const pen = /** @type {any} */ ({
    measureText: (/** @type {string} */ text) => ({ width: 10 * text.length }),
    fillText: (/** @type {string} */ text) => written.push(text),
  });
  const bands = [{ stack: "decoder" }, { stack: "encoder" }];
  const lines = (/** @type {number} */ width, text = "四角はヘッド。行が列を見る。棒は下がる量。") => {
    written.length = 0;
    const scene = { bands, squares: [], only: null, said: { x: 0, y: 0, width } };
    const style = {
      type: 1,
      font: "",
      least: 0,
      colours: {},
      headsSaid: [text],
    };
    drawHeadWords(pen, /** @type {any} */ (scene), /** @type {any} */ (style));
    return [...written];
  };
  assert.deepEqual(lines(150), ["四角はヘッド。行が列を見る。", "棒は下がる量。"]);
  assert.deepEqual(lines(80), ["四角はヘッド。", "行が列を見る。", "棒は下がる量。"]);
  assert.deepEqual(lines(150, "Bar: loss without it, を売 86 %"), ["Bar: loss", "without it, を売", "86 %"]);
});

const testEnglish = testWith(JSON.parse(readFileSync(new URL("../../static/i18n/en.json", import.meta.url), "utf8")));

testEnglish("hidden connections are counted where they are hidden; in all layers a connection is one", () => {
  const hidden = (/** @type {number} */ layer, /** @type {number} */ key, /** @type {number} */ head) => ({
    ...{ attention: "self", layer, query: 3, key, keys: "source" },
    ...(head >= 0 ? { head } : {}),
  });
  const said = (/** @type {object[]} */ ...knockouts) => {
    const rolled = [{ river: { layers: 3 }, flows: [{ flow: { attention: "self" } }] }];
    return hiddenWords(/** @type {any} */ ({ knockouts, rolled }));
  };
  assert.equal(said(hidden(2, 0, 5)), "1 connection hidden in head 2·5");
  assert.equal(said(hidden(2, 0, 5), hidden(2, 1, 5)), "2 connections hidden in head 2·5");
  const everywhere = [0, 1, 2].map((layer) => hidden(layer, 1, -1));
  assert.equal(said(...everywhere), "1 connection hidden in all layers");
  assert.equal(
    said(hidden(2, 0, 5), hidden(2, 1, 5), hidden(1, 0, -1), ...everywhere.slice(1)),
    "4 connections hidden (2 in head 2·5, 1 in layer 1, 1 in 2 layers)",
  );
  const apart = [0, 1, 2, 3].map((head) => hidden(0, 0, head));
  assert.equal(said(...apart), "4 connections hidden in 4 places");
});

test("a difference without any changed weight is known, as far as its squares are in sight", () => {
  const weights =
    (/** @type {number[]} */ ...heads) =>
    (/** @type {number} */ _, /** @type {number} */ head) => ({
      data: Uint8Array.of(heads[head], 255 - heads[head]),
    });
  const trace = (/** @type {number[]} */ ...heads) =>
    /** @type {any} */ ({
      picture: weights(...heads),
      pictureBefore: weights(40, 90),
      attentions: [],
      ablations: null,
    });
  const squares = /** @type {any[]} */ ([0, 1].map((head) => ({ attention: "self", layer: 0, head })));
  assert.equal(headsChange(trace(40, 90), squares), "unchanged");
  assert.equal(headsChange(trace(40, 91), squares), "changed");
  assert.equal(headsChange(trace(40, 91), squares.slice(0, 1)), "unchanged"); // as far as it is in sight
  assert.equal(headsChange({ ...trace(40, 90), pictureBefore: () => null }, squares), "changed"); // not here: it may
});

testEnglish("where a difference shows no changed weight, its legend names no colours", () => {
  const trace = /** @type {any} */ ({ attentions: [], ablations: null });
  const said = (/** @type {"changed"|"unchanged"} */ change) =>
    headLegendOf(trace, /** @type {any} */ ({}), [], change);
  assert.match(said("changed").join(), /Ochre.*blue.*empty: unchanged/);
  assert.doesNotMatch(said("unchanged").join(), /Ochre|blue/);
  // Where there is no room for more, the bars are still named.
  const barred = headLegendOf({ ...trace, ablations: { found: [] } }, /** @type {any} */ ({}), [], "changed");
  assert.match(barred.at(-2) ?? "", /unchanged\. Bar: loss without it \(blue: gain\)\.$/);
});

test("a line is carried by the head that the answer falls most without, and by others that do a quarter of that", () => {
  const carry = (/** @type {number[]} */ ...all) =>
    carriersIn(
      all.map((p, head) => ({ p, head })),
      0.98,
    ).map(({ head }) => head);
  assert.deepEqual(carry(0.98, 0.95, 0.9, 0.965), [2, 1]);
  assert.deepEqual(carry(0.99, 0.985), [1]); // the answer falls without neither
  assert.deepEqual(carry(0.978, 0.977), [1]); // it hardly falls
  assert.deepEqual(carry(0.9, Number.NaN), []); // one is still being measured
});

const DECODER = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8")).decoder;

testEnglish("the words over the heads name the largest loss, never a gain, and say what blue is", () => {
  const heads = [0, 1, 2].map((head) => ({ attention: "self", layer: 0, head }));
  const said = (/** @type {number[]} */ ...ps) => {
    const found = heads.map((head, i) => ({ kind: "head", ...head, p: ps[i], delta: Math.log(ps[i] / 0.394) }));
    const ablations = { found, start: { answer: 7, p: 0.394 }, error: null };
    const attentions = [{ id: "self" }];
    const facts = { answers: [{ id: 7, p: 0.394, token: null, name: "they" }], fall: null };
    return headLegendOf(
      /** @type {any} */ ({ model: DECODER, attentions, ablations }),
      /** @type {any} */ (facts),
      heads,
    );
  };
  const mixed = said(0.49, 0.36, 0.38);
  assert.match(mixed[0], / Largest loss: 0·1, they: 39\s% → 36\s%\.$/);
  for (const text of [...mixed, ...said(0.49, 0.393, 0.394)]) assert.match(text, /\(blue: gains?\)/);
  for (const ps of [
    [0.49, 0.5, 0.394],
    [0.391, 0.392, 0.393],
  ])
    assert.ok(
      said(...ps).every((text) => !text.includes("Largest")),
      "no loss is as much as half a point",
    );
});
