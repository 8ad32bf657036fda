/**
 * Where everything of the river is, in CSS pixels: rows, columns, lines, the answer's bars. An encoder's river runs on
 * above the decoder that draws from it. No DOM.
 */

import { endOf, linesOf, markShown } from "./lines.js";
import { beadsOf, headsOf, streamsOf } from "./placed.js";
import { peaksOf } from "./reach.js";
import { foldsOf, labelledRows, rowIndex, rowsOf } from "./rows.js";

/**
 * @typedef {import("./heads.js").Square} Square  @typedef {import("./heads.js").More} More
 * @typedef {import("./reach.js").Reach} Reach  @typedef {import("./rows.js").Row} Row  @typedef {import("./lines.js").Line} Line
 * @typedef {{x0: number, x1: number}} Column  a layer
 * @typedef {Object} Band  one stack
 * @property {string} stack @property {import("../data/river.js").SideName} side
 * @property {Row[]} rows @property {number[]} index  of each token's row
 * @property {Set<Row>} labelled
 * @property {number|null} chosen  the token whose answer is drawn
 * @property {Column[]} columns
 * @property {number} top @property {number} bottom  of its rows
 * @property {number} end  where its rows end
 * @typedef {{x: number, y: number, radius: number, ratio: number, layer: number}} Bead  an FFN
 * @typedef {{x0: number, x1: number, y: number, width: number}} Stream  an encoder's, above the decoder
 * @typedef {Object} Scene
 * @property {number} width @property {number} height
 * @property {Band[]} bands  the answering stack first
 * @property {Line[]} lines @property {Stream[]} streams @property {Bead[]} beads
 * @property {Line[]} ghosts  what is cut: where it was
 * @property {Square[]} squares @property {More[]} more  the heads
 * @property {number|null} only  the layer whose heads are drawn; null: all layers
 * @property {number} lens  the baseline of what the model would say after each layer
 * @property {{x: number, y: number}} node  between the shares and the probabilities
 * @property {{x: number, y: number, width: number, step: number}} answers  where the bars are: the first one's place
 * @typedef {Object} Frame  what there is room for
 * @property {number} width
 * @property {number} room  the height of all rows
 * @property {number} right  the width of the answer's column
 * @property {number[]} labels  the widths of the labels of each stack, the answering one first
 * @property {number} answers  how many bars there are
 * @property {number} type  how much larger than usual letters are
 * @property {number} fat  pixels of a share of 1
 * @property {number[][]} [unfolded]  of each stack
 * @property {HeadsOf[]} [heads]  whose heads are drawn
 * @property {number} [headRoom]  the height for them
 * @property {import("./own.js").Open|null} [open]  a layer that is wider than the others, and whose heads alone are drawn
 * @property {number} [openShare]  how much of the width an open layer has
 * @property {number|null} [only]  the layer whose heads are drawn, over the whole width; null: all layers
 * @typedef {{stack: string, attention: string, count: number, ratio: number, order: (layer: number) => number[]}} HeadsOf
 */

/** From one row to the next: room for a label, unless there are many rows. */
const [LEAST_PITCH, LABELLED_PITCH, MOST_PITCH] = [5, 15.5, 25];
/** All rows together need not be higher than this for their labels. */
const ENOUGH = 560;
/** Above a stack's rows: the names of its layers. */
const TITLE = 28;
/** Between a label and its row. */
const LABEL_GAP = 14;

/**
 * @param {Reach[]} rolled  of every stack, the answering one first
 * @param {number} row  the chosen token @param {Frame} frame
 * @returns {Scene}
 */
export function layoutOf(rolled, row, frame) {
  const bands = bandsOf(rolled, row, frame);
  const lines = rolled.flatMap((reach, i) => linesOfStack(reach, bands[i], bands, frame.fat));
  const [answering] = bands;
  const step = 38 * frame.type;
  const chosen = answering.rows[answering.index[row]];
  const lens = answering.bottom + 20 * frame.type;
  const heads = headsOf(bands, frame, lens + 14 * frame.type);
  const ends = [
    ...bands.map((band) => band.bottom),
    lens,
    ...heads.squares.map(({ y, height }) => y + height),
    ...heads.more.map(({ y }) => y),
  ];
  const height = Math.ceil(Math.max(Math.max(...ends) + 8, frame.answers * step + 8));
  const node = { x: answering.end + 5, y: chosen.y };
  // Beside the rows, not beside the heads, as far as they fit.
  const y = Math.max(4, Math.min(node.y - 22 * frame.type, lens + 8 - frame.answers * step));
  const answers = { x: node.x + 17, y, width: frame.width - node.x - 17, step };
  const streams = rolled.slice(1).flatMap((reach, i) => streamsOf(rolled[0], reach, bands[0], bands[i + 1], frame.fat));
  const beads = beadsOf(rolled[0], answering, row);
  return {
    width: frame.width,
    height,
    bands,
    lines,
    streams,
    ghosts: [],
    beads,
    ...heads,
    only: frame.only ?? null,
    lens,
    node,
    answers,
  };
}

/** The width of a layer, and of the one that is open. @param {number} width  of all @param {number} layers @param {number|null} share  of the open one; null: none is */
function unitsOf(width, layers, share) {
  if (share === null || layers === 1) return { wide: width / layers, unit: width / layers };
  const wide = Math.max(width / layers, Math.min(width * share, 640));
  return { wide, unit: (width - wide) / (layers - 1) };
}

/** The stacks from top to bottom: those that are read, then the one that answers, to the right of them. @param {Reach[]} rolled @param {number} row @param {Frame} frame @returns {Band[]} */
function bandsOf(rolled, row, { width, room, right, labels, type, fat, unfolded, open = null, openShare = 0.52 }) {
  const peaks = rolled.map(peaksOf);
  const folds = rolled.map((_, i) => foldsOf(peaks[i], i === 0 ? row : null, unfolded?.[i]));
  const count = folds.flat().length;
  const least = Math.max(LEAST_PITCH, Math.min(LABELLED_PITCH * type, ENOUGH / count));
  const pitch = Math.min(MOST_PITCH * type, Math.max(least, (room - fat) / count));
  const gaps = labels.reduce((sum, label) => sum + label + LABEL_GAP, 0);
  const layers = rolled.reduce((sum, { river }) => sum + river.layers, 0);
  const { wide, unit } = unitsOf(width - right - gaps, layers, open && openShare);
  const end = width - right;
  let [x, top] = [0, 0];
  /** @param {Reach} reach @param {number} i */
  const bandOf = ({ river }, i) => {
    x += labels[i] + LABEL_GAP;
    top += TITLE * type;
    const chosen = i === 0 ? row : null;
    const rows = rowsOf(folds[i], { top, pitch, chosen, thick: fat });
    const columns = Array.from({ length: river.layers }, (_, layer) => {
      const x0 = x;
      x += open?.stack === river.stack && open.layer === layer ? wide : unit;
      return { x0, x1: x };
    });
    const last = rows[rows.length - 1];
    const labelled = labelledRows(rows, peaks[i], chosen, Math.max(pitch - 0.01, 15 * type));
    const bottom = last.y + last.height / 2;
    const band = {
      stack: river.stack,
      side: river.side,
      rows,
      index: rowIndex(folds[i]),
      labelled,
      chosen,
      columns,
      top,
      bottom,
      end,
    };
    top = bottom + 12;
    return band;
  };
  const order = [...rolled.keys()].slice(1).concat(0);
  const placed = new Map(order.map((i) => [i, bandOf(rolled[i], i)]));
  return [...rolled.keys()].map((i) => /** @type {Band} */ (placed.get(i)));
}

/**
 * Every layer's lines; in a layer, what it reads from another stack comes in above what it reads from its own.
 * @param {Reach} reach @param {Band} band @param {Band[]} bands @param {number} fat
 */
function linesOfStack({ river, at, flows, taken }, band, bands, fat) {
  /** @param {Band} one */
  const ended = (one) => ({ band: bands.indexOf(one), rows: one.rows, index: one.index });
  return band.columns.flatMap(({ x0, x1 }, layer) => {
    const right = endOf(ended(band), x1, at[layer + 1], fat);
    const lines = [...flows].reverse().map(({ flow, widths }) => {
      const same = flow.keys === river.side;
      const from = same ? band : /** @type {Band} */ (bands.find(({ side }) => side === flow.keys));
      const reach = same ? at[layer] : (taken?.[layer] ?? []);
      const left = endOf(ended(from), x0, reach, fat);
      return linesOf({ attention: flow.attention, layer, widths: widths[layer], same }, left, right, fat);
    });
    markShown(lines.flat());
    return lines.flat();
  });
}
