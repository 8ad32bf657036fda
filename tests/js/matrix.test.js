/** The parts of a matrix's picture that need no browser: size, colours, places of cells, labels and marks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { labelPlaces, labelShapes, numbersOf } from "../../static/chart/matrix/labels.js";
import { evenSize, matrixSize, sizeAt } from "../../static/chart/matrix/layout.js";
import { framedMatrix, framedSize } from "../../static/chart/matrix/nodes.js";
import { signedScale } from "../../static/chart/matrix/scale.js";
import { cellPixels, colouredBy, colourTable } from "../../static/chart/matrix/sheet.js";
import { cellShapes, fileShape, isPooled, markShapes } from "../../static/chart/matrix/svg.js";
import {
  boxOf,
  cellAfterKey,
  cellAt,
  following,
  middleOf,
  nearestCell,
  rowBands,
  viewBetween,
  wholeOf,
  zoomed,
} from "../../static/chart/matrix/view.js";
import { useTheme } from "./tokens.js";

const GREY = { stops: ["#000000", "#ffffff"], min: 0, max: 1, seen: /** @type {[number, number]} */ ([0, 1]) };
const SIGNED = { ...GREY, stops: ["#ff0000", "#ffffff", "#0000ff"], min: -2, max: 2 };

/** A matrix of `rows` × `cols` whose value is its index. @returns {any} */
function matrixOf(rows, cols, more = {}) {
  const labels = (count) => Array.from({ length: count }, (_, i) => `t${i}`);
  const values = Float32Array.from({ length: rows * cols }, (_, i) => i / (rows * cols));
  return {
    values,
    shape: [rows, cols],
    forbidden: null,
    rows: { labels: labels(rows), title: "query", role: "q" },
    cols: { labels: labels(cols), title: "key", role: "k" },
    scale: GREY,
    cellText: (value) => value.toFixed(2),
    chosen: { row: 0, col: 0, span: "cell", role: "q" },
    square: true,
    ...more,
  };
}

/** A letter is 0.6 of the font size wide. */
const wide = (text, font) => [...text].length * font * 0.6;

function sizeOf(
  matrix,
  { width = 700, heights = /** @type {number[]} */ ([]), view = wholeOf(matrix.shape), type = 1, dpr = 1 } = {},
) {
  return matrixSize(matrix, { width, heights, view, type, dpr, touch: false, wide });
}

const texts = (shapes, name) => shapes.filter(({ attrs }) => attrs.class === name).map(({ children }) => children[0]);
const bytesOf = (word) => [...new Uint8Array(Uint32Array.of(word).buffer)];

test("a narrow picture has brief names where its rows have them", () => {
  const names = ["ナ ⇒ ナ", "ナ"];
  const rows = { labels: ["·ナ", "ナ"], names, brief: ["⇒ ナ", "ナ"], title: "query", role: "q" };
  const [roomy, narrow] = [700, 360].map((width) => sizeOf(matrixOf(2, 2, { rows }), { width }).rowText);
  assert.deepEqual(roomy, names);
  assert.deepEqual(narrow, rows.brief);
});

test("a matrix fits its space; its cells are square and whole device pixels", () => {
  for (const [n, width, dpr] of [
    [9, 700, 1],
    [49, 700, 2],
    [20, 360, 1.25],
    [64, 1000, 3],
  ]) {
    const matrix = matrixOf(n, n);
    const { box, cell } = sizeOf(matrix, { width, dpr });
    assert.equal(cell.w, cell.h);
    assert.ok(box.x + box.w <= width, `${n} tokens in ${width} pixels`);
    if (cell.w >= 8) assert.ok(Math.abs(cell.w * dpr - Math.round(cell.w * dpr)) < 1e-9);
  }
});

test("a long title of the rows uses the corner above them; where it has no room, it is cut to its first words", () => {
  const title = "query: the target token that looks at the source";
  const matrix = matrixOf(9, 9, { rows: { labels: Array(9).fill("t"), title, role: "q" } });
  const [low, high] = [sizeOf(matrix, { heights: [220] }), sizeOf(matrix)];
  assert.ok(low.height <= 220);
  assert.ok(low.cell.h >= 13, "its cells can be read");
  assert.equal(low.rowTitle, "query");
  assert.equal(high.rowTitle, title);
  for (const { box, lift } of [low, high]) assert.ok(lift >= 0 && box.y - lift > 0);
});

test("large type makes letters larger, and their margins too", () => {
  const [usual, large] = [1, 1.25].map((type) => sizeOf(matrixOf(9, 9), { type }));
  assert.equal(large.font, 1.25 * usual.font);
  assert.ok(large.box.y > usual.box.y);
});

test("column labels are horizontal if they fit, slanted if not, and vertical over thin columns", () => {
  const angle = (cols, label) => {
    const matrix = matrixOf(cols, cols);
    matrix.cols.labels = matrix.cols.labels.map(() => label);
    return sizeOf(matrix).angle;
  };
  assert.equal(angle(9, "the"), 0);
  assert.equal(angle(25, "something"), -52);
  assert.equal(angle(90, "something"), -90);
});

test("the cell at the middle of a cell is that cell, zoomed or not", () => {
  const matrix = matrixOf(40, 30);
  for (const view of [wholeOf([40, 30]), { row: 7, col: 5, rows: 12, cols: 9 }]) {
    const size = sizeOf(matrix, { view });
    for (const cell of [
      { row: view.row, col: view.col },
      { row: view.row + 11, col: view.col + 8 },
    ]) {
      assert.deepEqual(cellAt(middleOf(cell, size), size), cell);
      const { x, y, w, h } = boxOf(cell, size);
      assert.deepEqual(cellAt({ x: x + 0.01, y: y + 0.01 }, size), cell);
      assert.deepEqual(cellAt({ x: x + w - 0.01, y: y + h - 0.01 }, size), cell);
    }
    const { box } = size;
    assert.equal(cellAt({ x: box.x - 1, y: box.y + 1 }, size), null);
    assert.equal(cellAt({ x: box.x + 1, y: box.y + box.h + 1 }, size), null);
    assert.deepEqual(nearestCell({ x: 0, y: 1e6 }, size), { row: view.row + view.rows - 1, col: view.col });
  }
});

test("values get the colours of their scale: at its ends, at its stops and between them", () => {
  const cells = { values: [-2, -1, 0, 1, 2], shape: /** @type {[number, number]} */ ([1, 5]) };
  const { pixels } = cellPixels(cells, colourTable(SIGNED));
  const colours = [...pixels].map(bytesOf);
  assert.deepEqual(colours, [
    [255, 0, 0, 255],
    [255, 128, 128, 255],
    [255, 255, 255, 255], // 0 is paper, exactly
    [128, 128, 255, 255],
    [0, 0, 255, 255],
  ]);
});

test("each of 256 weights has its own shade, the ramp's", () => {
  const cells = {
    values: Uint8Array.from({ length: 256 }, (_, i) => i),
    shape: /** @type {[number, number]} */ ([16, 16]),
  };
  const { pixels } = cellPixels(cells, colourTable({ ...GREY, max: 255 }));
  assert.deepEqual(
    [...pixels].map((word) => bytesOf(word)[0]),
    [...cells.values],
  );
});

test("a stepped scale has a colour for each whole number, transparent ones too", () => {
  const steps = { stops: ["#102030", "#ffffff00", "#0000ff80"], min: 0, max: 2, seen: [0, 2], steps: true };
  const { pixels } = cellPixels({ values: [0, 1, 2], shape: [1, 3] }, colourTable(/** @type {any} */ (steps)));
  assert.deepEqual([...pixels].map(bytesOf), [
    [16, 32, 48, 255],
    [255, 255, 255, 0],
    [0, 0, 255, 128],
  ]);
});

test("a forbidden cell is transparent, whatever its value", () => {
  const cells = { values: [1, 1, 1, 1], shape: /** @type {[number, number]} */ ([2, 2]), forbidden: [0, 1, 0, 8] };
  assert.deepEqual(
    [...cellPixels(cells, colourTable(GREY)).pixels].map((word) => bytesOf(word)[3]),
    [255, 0, 255, 0],
  );
});

test("with fewer pixels than cells, each shows the allowed value furthest from 0", () => {
  const values = [0, 1, -2, 0, 0.5, 0, 0, 0];
  const table = colourTable(SIGNED);
  const shade = (value) => cellPixels({ values: [value], shape: [1, 1] }, table).pixels[0];
  const { pixels, rows, cols, pooled } = cellPixels({ values, shape: [2, 4] }, table, undefined, [1, 2]);
  assert.deepEqual([rows, cols, pooled], [1, 2, true]);
  assert.deepEqual([...pixels], [shade(1), shade(-2)]);
  const forbidden = [0, 1, 1, 1, 0, 0, 1, 1];
  assert.deepEqual(
    [...cellPixels({ values, shape: [2, 4], forbidden }, table, undefined, [1, 2]).pixels],
    [shade(0.5), 0],
  );
});

test("a part of a matrix has that part's pixels", () => {
  const { values, shape } = matrixOf(5, 4);
  const table = colourTable(GREY);
  const whole = cellPixels({ values, shape }, table).pixels;
  const part = cellPixels({ values, shape }, table, { row: 2, col: 1, rows: 2, cols: 2 }).pixels;
  assert.deepEqual(
    [...part],
    [9, 10, 13, 14].map((at) => whole[at]),
  );
});

test("zooming keeps the cell under the pointer, or centres the chosen one, and never leaves the matrix", () => {
  const shape = /** @type {[number, number]} */ ([100, 100]);
  const at = { row: 25, col: 75 };
  assert.deepEqual(zoomed(wholeOf(shape), 0.5, at, shape), { row: 13, col: 38, rows: 50, cols: 50 });
  assert.deepEqual(zoomed(wholeOf(shape), 0.5, at, shape, true), { row: 1, col: 50, rows: 50, cols: 50 });
  assert.deepEqual(zoomed({ row: 0, col: 97, rows: 3, cols: 3 }, 0.5, at, shape).rows, 3, "no closer than three");
  assert.deepEqual(zoomed({ row: 90, col: 90, rows: 10, cols: 10 }, 100, at, shape), wholeOf(shape));
});

test("a drag shows the cells in it; square cells keep the picture's proportions", () => {
  const shape = /** @type {[number, number]} */ ([40, 40]);
  assert.deepEqual(viewBetween({ row: 16, col: 9 }, { row: 8, col: 1 }, shape, true), {
    row: 8,
    col: 1,
    rows: 9,
    cols: 9,
  });
  assert.deepEqual(viewBetween({ row: 0, col: 0 }, { row: 3, col: 9 }, shape, true), {
    row: 0,
    col: 0,
    rows: 10,
    cols: 10,
  });
  assert.deepEqual(viewBetween({ row: 0, col: 30 }, { row: 3, col: 39 }, shape, false), {
    row: 0,
    col: 30,
    rows: 4,
    cols: 10,
  });
});

test("a view follows the choice by the shortest way", () => {
  const view = { row: 10, col: 10, rows: 5, cols: 5 };
  assert.deepEqual(following(view, { row: 12, col: 14 }, [50, 50]), view);
  assert.deepEqual(following(view, { row: 15, col: 9 }, [50, 50]), { row: 11, col: 9, rows: 5, cols: 5 });
});

test("keys move the choice inside the matrix", () => {
  const move = (key, more = {}) => cellAfterKey({ key, ...more }, { row: 2, col: 3 }, [5, 40]);
  assert.deepEqual(move("ArrowDown"), { row: 3, col: 3 });
  assert.deepEqual(move("ArrowRight", { shiftKey: true }), { row: 2, col: 19 });
  assert.deepEqual(
    [move("Home"), move("End")],
    [
      { row: 2, col: 0 },
      { row: 2, col: 39 },
    ],
  );
  assert.deepEqual(
    [move("PageUp"), move("PageDown")],
    [
      { row: 0, col: 3 },
      { row: 4, col: 3 },
    ],
  );
  assert.equal(move("a"), null);
  assert.equal(move("ArrowDown", { ctrlKey: true }), null);
});

test("as many labels as fit, always the chosen one, and none that touches it", () => {
  const size = { view: wholeOf([200, 200]), cell: { w: 4, h: 4 }, type: 1 };
  const places = labelPlaces("row", /** @type {any} */ (size), [101]);
  assert.ok(places.includes(101));
  assert.ok(places.every((place, i) => i === 0 || place - places[i - 1] >= 4));
  assert.ok(places.length > 40);
});

test("the margin has the sums of rows, and the chosen row and column are highlighted", () => {
  const matrix = matrixOf(3, 3, { sums: true, values: Float32Array.of(1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25) });
  matrix.chosen = { row: 2, col: 1, span: "cell", role: "q" };
  const shapes = labelShapes(matrix, sizeOf(matrix));
  assert.deepEqual(texts(shapes, "sum-label"), ["1.000", "1.000", "1.000"]);
  const lit = shapes.filter(({ attrs }) => attrs["font-weight"] === 700);
  assert.deepEqual(
    lit.map(({ attrs, children }) => [children?.[0], attrs.fill]),
    [
      ["t1", "--k"],
      ["t2", "--q"],
    ],
  );
  assert.deepEqual(texts(shapes, "title"), ["key", "query", "Σ"]);
});

test("the chosen cell has a frame, a small one also guide lines, and one out of view nothing", () => {
  const names = (matrix, how) => markShapes(matrix, sizeOf(matrix, how)).map(({ attrs }) => attrs.class);
  assert.deepEqual(names(matrixOf(9, 9)), ["chosen"]);
  assert.deepEqual(names(matrixOf(90, 90)), ["way", "way", "chosen"]);
  assert.deepEqual(names(matrixOf(90, 90), { view: { row: 5, col: 5, rows: 9, cols: 9 } }), []);
  assert.deepEqual(names(matrixOf(9, 9, { edges: { row: 4 } })), ["edge", "chosen"]);
});

test("a reason tints its forbidden cell", () => {
  const forbidden = Uint8Array.of(1, 0, 2, 0);
  const tints = ["#00000000", "#00000000", "#10203040"];
  const scale = { stops: ["#ffffff", "#000000"], min: 0, max: 1, seen: /** @type {[number, number]} */ ([0, 1]) };
  const cells = { values: [9, 0, 9, 1], shape: /** @type {[number, number]} */ ([2, 2]), forbidden, tints };
  const { pixels } = cellPixels(cells, colourTable(scale));
  assert.deepEqual(bytesOf(pixels[0]), [0, 0, 0, 0]);
  assert.deepEqual(bytesOf(pixels[2]), [0x10, 0x20, 0x30, 0x40]);
});

test("colours come from `tones`, where a matrix has them, and numbers from its values", () => {
  const scale = { stops: ["#ffffff", "#000000"], min: 0, max: 1, seen: /** @type {[number, number]} */ ([0, 1]) };
  const matrix = matrixOf(1, 2, { values: Float32Array.of(-30, -10), tones: Float32Array.of(0, 1), scale });
  const shapes = cellShapes(matrix, sizeOf(matrix), "none");
  assert.deepEqual(
    shapes.map(({ attrs }) => attrs.fill),
    ["rgb(255,255,255)", "rgb(0,0,0)"],
  );
});

test("few cells have numbers, except forbidden ones", () => {
  useTheme();
  const few = matrixOf(3, 3, { forbidden: Uint8Array.of(0, 1, 1, 0, 0, 1, 0, 0, 0) });
  assert.deepEqual(
    numbersOf(few, sizeOf(few)).numbers.map(({ text }) => text),
    ["0.00", "0.33", "0.44", "0.67", "0.78", "0.89"],
  );
  assert.deepEqual(
    numbersOf(few, sizeOf(few))
      .numbers.map(({ ink }) => ink)
      .slice(0, 1),
    ["#ffffff"],
    "on black",
  );
  const { size } = numbersOf(few, sizeOf(few));
  const wide = { ...sizeOf(few), cell: { w: 99, h: 99 } };
  assert.deepEqual(
    [1, 1.5].map((type) => numbersOf(few, { ...wide, type }).size),
    [size, 1.5 * size],
    "large type",
  );
  const many = matrixOf(21, 21);
  assert.deepEqual(numbersOf(many, sizeOf(many)).numbers, []);
});

test("a file has a rectangle for each cell, in its colour or hatched", () => {
  useTheme();
  const matrix = matrixOf(2, 2, { forbidden: Uint8Array.of(0, 1, 0, 0), values: Float32Array.of(1, 0, 0, 0.5) });
  const size = sizeOf(matrix);
  assert.deepEqual(
    cellShapes(matrix, size, "lines").map(({ attrs }) => [attrs.class, attrs.fill]),
    [
      ["cell", "rgb(255,255,255)"],
      ["hatching", "lines"],
      ["cell", "rgb(0,0,0)"],
      ["cell", "rgb(128,128,128)"],
    ],
  );
  const text = JSON.stringify(fileShape(matrix, size, { id: "a", image: () => "" }));
  assert.ok(text.includes("url(#a-hatch)"));
  assert.ok(!JSON.stringify(fileShape(matrixOf(2, 2), size, { id: "a", image: () => "" })).includes("-hatch"));
});

test("a file with very many cells has them as one image, enlarged without smoothing", () => {
  const matrix = matrixOf(100, 100);
  const text = JSON.stringify(fileShape(matrix, sizeOf(matrix), { id: "a", image: () => "data:cells" }));
  assert.ok(text.includes('"href":"data:cells"'));
  assert.ok(text.includes("pixelated"));
});

test("a signed scale reaches as far as the largest value, and at least as far as asked", () => {
  useTheme();
  const reachOf = (values, least) => signedScale(Float32Array.from(values), "signed", least).max;
  assert.equal(reachOf([-0.5, 0.25]), 0.5);
  assert.equal(reachOf([-0.5, 0.25], 0.001), 0.5);
  assert.equal(reachOf([-5e-7, 2e-7], 0.001), 0.001);
  assert.equal(reachOf([0, 0]), 1);
});

/** A matrix with a frame of its own, 6 pixels a cell, its rows named at the left. */
function framed(more = {}) {
  const [rows, cols] = [4, 10];
  const own = {
    ...{ id: "x", title: "X", label: "X", scale: GREY, hover: () => [], ...more },
    values: new Float32Array(rows * cols),
    shape: /** @type {[number, number]} */ ([rows, cols]),
  };
  const names = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `t${i}`);
  const matrix = framedMatrix(own, { rows: names(rows), cols: names(cols), named: true });
  const place = { box: { x: 0, y: 0, w: 60, h: 80 }, cell: { w: 6, h: 20 }, view: wholeOf([rows, cols]), dpr: 1 };
  return { matrix, size: framedSize(place, { beside: 30, rowText: names(rows) }) };
}

test("a matrix with its own frame has the names of its rows in a file, and no more around its cells", () => {
  const { matrix, size } = framed();
  assert.deepEqual([size.width, size.height, size.box], [90, 80, { x: 30, y: 0, w: 60, h: 80 }]);
  const shapes = labelShapes(matrix, size);
  assert.deepEqual(texts(shapes, "row-label"), ["t0", "t1", "t2", "t3"]);
  assert.equal(shapes.length, 4, "neither titles nor columns");
  assert.deepEqual(markShapes(matrix, size), [], "nothing is chosen in it");
});

test("a lit row, column or element is framed, and so are the columns of the open head", () => {
  const boxes = (/** @type {object} */ more) => {
    const { matrix, size } = framed(more);
    return markShapes(matrix, size).map(({ attrs: { class: name, x, y, width, height } }) => [
      name,
      x,
      y,
      width,
      height,
    ]);
  };
  assert.deepEqual(boxes({ lit: { row: 1 } }), [["lit", 30, 20, 60, 20]]);
  assert.deepEqual(boxes({ lit: { col: 2 } }), [["lit", 42, 0, 6, 80]]);
  assert.deepEqual(boxes({ lit: { row: 3, col: 9 } }), [["lit", 84, 60, 6, 20]]);
  assert.deepEqual(boxes({ band: [4, 8] }), [["band", 54, 0, 24, 80]]);
  const { matrix, size } = framed({ lit: { row: 0 } });
  const below = { ...size, view: { row: 2, col: 0, rows: 1, cols: 10 } };
  assert.deepEqual(markShapes(matrix, below), [], "it is out of view");
});

test("cells smaller than the pixels of a file are an image of the strongest, however few they are", () => {
  const { matrix, size } = framed();
  const thin = { ...size, box: { ...size.box, w: 4 }, cell: { w: 0.4, h: 20 } };
  assert.deepEqual([isPooled(size), isPooled(thin)], [false, true]);
  const drawn = (/** @type {typeof size} */ one) =>
    JSON.stringify(fileShape(matrix, one, { id: "a", image: () => "data:x" }));
  assert.deepEqual([drawn(size).includes("data:x"), drawn(thin).includes("data:x")], [false, true]);
});

test("an image of many cells has the colours of `tones`, too", () => {
  const tones = Float32Array.of(0, 1);
  assert.equal(colouredBy(matrixOf(1, 2, { tones })).values, tones);
  const plain = matrixOf(1, 2);
  assert.equal(colouredBy(plain).values, plain.values);
});

test("a matrix that scrolls has rows and columns that can be read, and a map; a file has the whole", () => {
  const cellText = (value) => value.toFixed(2).slice(1);
  const matrix = matrixOf(120, 120, { wide: true, bare: true, scrolls: true, sums: true, cellText });
  matrix.chosen = { ...matrix.chosen, row: 60, col: 50 };
  const room = { width: 860, heights: [440, 700], view: null, type: 1, dpr: 1, touch: false, wide };
  const size = matrixSize(matrix, room);
  assert.ok(size.cell.h >= 19);
  assert.ok(size.cell.w >= 26);
  assert.ok(size.height <= 440);
  assert.ok(size.view.row < 60 && 60 < size.view.row + size.view.rows, "what is chosen is in the middle");
  assert.ok(size.map && size.map.x >= 0 && size.map.y >= 0);
  assert.ok(size.map.x + size.map.w < size.box.x && size.map.y + size.map.h < size.box.y, "the map is in the corner");
  assert.ok(numbersOf(matrix, { ...size, least: 11 }).numbers.length > 0);
  const moved = matrixSize(matrix, { ...room, corner: { row: 0, col: 0 } });
  assert.deepEqual([moved.view.row, moved.view.col], [0, 0]);
  const followed = matrixSize(matrix, { ...room, corner: { row: 0, col: 0 }, follow: true });
  assert.equal(followed.view.row + followed.view.rows - 1, 60);
  const file = matrixSize(matrix, { ...room, whole: true });
  assert.deepEqual([file.map, file.view], [null, wholeOf(matrix.shape)]);
  const short = matrixOf(24, 24, { wide: true, bare: true, scrolls: true });
  assert.deepEqual(matrixSize(short, room).view, wholeOf(short.shape));
});

test("a matrix of few tokens that does not fit scrolls, too: the chosen row is in view, and its digits", () => {
  const cellText = (value) => value.toFixed(2).slice(1);
  const faint = { below: 0.5, ink: "#888888" };
  const matrix = matrixOf(24, 24, { wide: true, bare: true, scrolls: true, sums: true, cellText, faint });
  matrix.chosen = { ...matrix.chosen, row: 23, col: 4 };
  const room = { width: 800, view: null, type: 1, dpr: 1, touch: false, wide };
  const [low, high] = [330, 460].map((height) => matrixSize(matrix, { ...room, heights: [height, 700] }));
  assert.ok(low.height <= 330 && high.height <= 460, "nothing is below the window");
  assert.deepEqual(high.view, wholeOf(matrix.shape));
  assert.equal(low.view.row + low.view.rows, 24);
  assert.equal(low.view.cols, 24);
  for (const size of [low, high]) {
    const shown = numbersOf(matrix, { ...size, least: 11 });
    assert.ok(shown.size >= 11 && shown.size < size.cell.h);
    assert.equal(shown.numbers.filter(({ row }) => row === 23).length, 24, "the chosen row has all");
    assert.equal(shown.numbers.filter(({ col }) => col === 4).length, size.view.rows, "and so has its column");
    assert.ok(shown.numbers.every(({ row, col, text }) => row === 23 || col === 4 || Number(text) >= 0.5));
  }
});

test("what a mask hid before has a border, and its word stands over the hatching if it fits", () => {
  const later = Uint8Array.from({ length: 64 }, (_, at) => (at % 8 > Math.floor(at / 8) ? 1 : 0));
  const open = matrixOf(8, 8, { freed: later });
  const [border] = markShapes(open, sizeOf(open)).filter(({ attrs }) => attrs.class === "edge freed");
  const { box, cell } = sizeOf(open);
  assert.equal(String(border.attrs.d).match(/M/g)?.length, 14, "a step down and one across for each row but the last");
  assert.ok(String(border.attrs.d).startsWith(`M${box.x + cell.w} ${box.y}v${cell.h}`));
  const hidden = matrixOf(8, 8, { forbidden: later, note: { text: "hidden", ink: "--ink-2", reason: 1 } });
  const noted = (more) => texts(markShapes({ ...hidden, ...more }, sizeOf({ ...hidden, ...more })), "over-hatching");
  assert.deepEqual(noted({}), ["hidden"]);
  assert.deepEqual(noted({ note: { ...hidden.note, reason: 2 } }), [], "hidden for another reason");
  assert.deepEqual(noted({ note: { ...hidden.note, text: "hidden ".repeat(20) } }), [], "longer than the corner");
});

test("the word over the hatching lies on the frame of no chosen row or column", () => {
  const later = Uint8Array.from({ length: 196 }, (_, at) => (at % 14 > Math.floor(at / 14) ? 1 : 0));
  const note = { text: "hidden by the mask", ink: "--ink-2", reason: 1 };
  for (const [row, col] of [
    [13, 4],
    [13, 13],
    [13, 11],
    [1, 0],
    [0, 0],
  ]) {
    const chosen = { row, col, span: "cell", role: "q" };
    const matrix = matrixOf(14, 14, { forbidden: later, note, chosen, bare: true, wide: true });
    const size = sizeOf(matrix, { heights: [400] });
    const [plate] = markShapes(matrix, size).filter(({ tag, attrs }) => tag === "rect" && attrs.fill === "--panel");
    const { x, y, width, height } = /** @type {Object<string, number>} */ (plate.attrs);
    const at = boxOf({ row, col }, size);
    assert.ok(x > at.x + at.w || x + width < at.x, `beside column ${col}`);
    assert.ok(y >= at.y + at.h || y + height <= at.y, `over or under row ${row}`);
  }
});

/** A matrix whose row 13 has room for two numbers, as in an open head with an edit. */
const edited = (more = {}) =>
  matrixOf(14, 14, {
    chosen: { row: 13, col: 4, span: "cell", role: "q" },
    ...{ wide: true, bare: true, scrolls: true, highRow: 13, cellText: (value) => value.toFixed(2).slice(1), ...more },
  });

test("the row of an edit is higher, and every cell is found where it is drawn", () => {
  for (const highRow of [0, 6, 13]) {
    const matrix = edited({ highRow, chosen: { row: highRow, col: 0, span: "cell", role: "q" } });
    const size = sizeOf(matrix, { heights: [350] });
    const high = size.high?.h ?? 0;
    assert.ok(high >= 30 && high <= 34);
    assert.equal(size.box.h, high + 13 * size.cell.h);
    assert.ok(size.height <= 350 + 6 && size.height >= size.box.y + size.box.h);
    for (let row = 0; row < 14; row++) {
      const box = boxOf({ row, col: 3 }, size);
      assert.equal(box.h, row === highRow ? high : size.cell.h);
      assert.equal(box.y, row === 0 ? size.box.y : below(boxOf({ row: row - 1, col: 3 }, size)));
      for (const y of [box.y + 0.01, box.y + box.h - 0.01])
        assert.deepEqual(cellAt({ x: box.x + 1, y }, size), { row, col: 3 });
    }
    assert.equal(cellAt({ x: size.box.x + 1, y: size.box.y + size.box.h + 1 }, size), null);
    assert.equal(nearestCell({ x: 0, y: 1e6 }, size).row, 13);
    const [across] = markShapes(matrix, size).filter(({ attrs }) => attrs.class === "of-row");
    assert.equal(across.attrs.height, high, "its frame, too");
    const sums = rowBands(size).map(({ rows }) => rows);
    assert.equal(
      sums.reduce((sum, rows) => sum + rows),
      14,
    );
  }
});

/** @param {{y: number, h: number}} box */
const below = ({ y, h }) => y + h;

test("an edit moves no row above its own and nothing below: its room is kept before", () => {
  const sizes = Array.from({ length: 20 }, (_, i) => {
    const height = 330 + 10 * i;
    const [before, after] = [null, 13].map((highRow) =>
      sizeOf(edited({ highRow, reserves: true }), { heights: [height] }),
    );
    assert.equal(before.high, null);
    assert.ok(after.high && after.high.h >= 30 && after.height <= height, `${height} px`);
    assert.equal(before.height, after.height);
    return { before, after };
  });
  for (const { before, after } of sizes)
    assert.deepEqual(boxOf({ row: 12, col: 0 }, before), boxOf({ row: 12, col: 0 }, after));
  assert.ok(sizes.some(({ after }) => after.high?.h === 34) && sizes.some(({ after }) => after.high?.h === 36));
});

test("a row is no higher where its cells show no numbers, or are high enough", () => {
  assert.equal(sizeOf(edited(), { width: 360 }).high, null);
  assert.equal(sizeOf(edited({ scrolls: false }), { heights: [800] }).high, null);
});

test("a matrix that scrolls has its high row only while that is seen", () => {
  const matrix = edited({
    ...matrixOf(60, 60),
    ...{ highRow: 40, chosen: { row: 40, col: 4, span: "cell", role: "q" } },
  });
  const room = { width: 860, heights: [440, 700], view: null, type: 1, dpr: 1, touch: false, wide };
  const size = matrixSize({ ...matrix, wide: true, bare: true, scrolls: true }, room);
  const high = size.high?.h ?? 0;
  assert.ok(size.map && high >= 30 && size.height - (high - size.cell.h) <= 440);
  assert.equal(size.box.h, high + (size.view.rows - 1) * size.cell.h);
  const away = sizeAt(size, { ...size.view, row: 0 });
  assert.equal(away.box.h, size.view.rows * size.cell.h);
  assert.equal(boxOf({ row: 5, col: 0 }, away).y, size.box.y + 5 * size.cell.h);
});

test("a file that zooms by itself has rows of one height", () => {
  const size = sizeOf(edited(), { heights: [350] });
  const even = evenSize(size);
  assert.equal(even.box.h, 14 * size.cell.h);
  assert.equal(size.height - even.height, size.box.h - even.box.h);
  assert.equal(boxOf({ row: 13, col: 0 }, even).h, size.cell.h);
});

test("an old number stands below the new one and is smaller, in a high cell and in a low one, and in no small one", () => {
  useTheme();
  const struck = [{ row: 1, col: 1, text: ".40", ink: "#000000", below: true }];
  const matrix = matrixOf(3, 3, { struck });
  const placed = (w, h, type = 1, least = 6.5) => {
    const size = { ...sizeOf(matrix), box: { x: 0, y: 0, w: 3 * w, h: 3 * h }, cell: { w, h }, type, least };
    const now = numbersOf(matrix, size).numbers.find(({ row, col }) => row === 1 && col === 1);
    const [before] = markShapes(matrix, size).filter(({ attrs }) => attrs.class === "struck");
    const { x, y, "font-size": font } = before?.attrs ?? {};
    return { now, before: before && { x: Number(x), y: Number(y) - 0.36 * Number(font), font: Number(font) } };
  };
  for (const [w, h, type, least] of [
    [40, 34, 1, 9],
    [40, 30, 1, 9],
    [49, 22, 1, 9],
    [66, 28, 1.34, 13], // in a lesson
    [90, 62, 2.1, 24], // on a projector
    [90, 44, 2.1, 24],
  ]) {
    const { now, before } = placed(w, h, type, least);
    assert.ok(now?.size && before && before.font >= least && before.font < now.size, "as small as can be read");
    assert.equal(before.x, now.x);
    const digits = 0.73; // of the size of the letters
    assert.ok(now.y + (digits / 2) * now.size < before.y - (digits / 2) * before.font, "one above the other");
    assert.ok(now.y - (digits / 2) * now.size > h, "within the second row");
    assert.ok(before.y + (digits / 2) * before.font < 2 * h, "within the second row");
  }
  assert.equal(placed(28, 19).before, undefined);
});
