/**
 * Where everything of the river is, in CSS pixels: rows, columns, lines, the answer's bars. An encoder's river runs on
 * above the decoder that draws from it. No DOM.
 */

import { edgeKey } from "../model/cuts.js";
import { endOf, linesOf, markShown } from "./lines.js";
import { peaksOf } from "./reach.js";
import { foldsOf, labelledRows, rowIndex, rowsOf } from "./rows.js";

/**
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
  const bottom = Math.max(...bands.map((band) => band.bottom)) + 8;
  const height = Math.max(bottom, frame.answers * step + 8);
  const node = { x: answering.end + 5, y: chosen.y };
  const y = Math.min(Math.max(4, node.y - 22 * frame.type), height - frame.answers * step);
  const answers = { x: node.x + 17, y, width: frame.width - node.x - 17, step };
  const others = rolled.slice(1).flatMap((reach, i) => streamsOf(rolled[0], reach, bands[0], bands[i + 1], frame.fat));
  return {
    ...{ width: frame.width, height: Math.ceil(height), bands, lines },
    ...{ streams: others, ghosts: [], beads: beadsOf(rolled[0], answering, row), node, answers },
  };
}

/** The stacks from top to bottom: those that are read, then the one that answers, to the right of them. @param {Reach[]} rolled @param {number} row @param {Frame} frame @returns {Band[]} */
function bandsOf(rolled, row, { width, room, right, labels, type, fat, unfolded }) {
  const peaks = rolled.map(peaksOf);
  const folds = rolled.map((_, i) => foldsOf(peaks[i], i === 0 ? row : null, unfolded?.[i]));
  const count = folds.flat().length;
  const least = Math.max(LEAST_PITCH, Math.min(LABELLED_PITCH * type, ENOUGH / count));
  const pitch = Math.min(MOST_PITCH * type, Math.max(least, (room - fat) / count));
  const gaps = labels.reduce((sum, label) => sum + label + LABEL_GAP, 0);
  const unit = (width - right - gaps) / rolled.reduce((sum, { river }) => sum + river.layers, 0);
  const end = width - right;
  let [x, top] = [0, 0];
  /** @param {Reach} reach @param {number} i */
  const bandOf = ({ river }, i) => {
    x += labels[i] + LABEL_GAP;
    top += TITLE * type;
    const chosen = i === 0 ? row : null;
    const rows = rowsOf(folds[i], { top, pitch, chosen, thick: fat });
    const columns = Array.from({ length: river.layers }, (_, n) => ({ x0: x + n * unit, x1: x + (n + 1) * unit }));
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
    x += river.layers * unit;
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

/** What of an encoder is still to be read, above each layer of the decoder. @param {Reach} reader @param {Reach} read @param {Band} to @param {Band} from @param {number} fat @returns {Stream[]} */
function streamsOf({ taken }, { at, river }, to, from, fat) {
  const rest = Float64Array.from(at[river.layers]);
  const start = from.columns[from.columns.length - 1].x1;
  return to.columns.flatMap(({ x0 }, layer) => {
    const left = layer ? to.columns[layer - 1].x0 : start;
    const streams = from.rows.map((row) => {
      const width = rest.slice(row.from, row.to).reduce((sum, part) => sum + part, 0) * fat;
      return { x0: left, x1: x0, y: row.y, width };
    });
    taken?.[layer].forEach((part, i) => (rest[i] -= part));
    return streams.filter(({ width }) => width > 0.05);
  });
}

/** What the FFNs of the chosen row add, by area. @param {Reach} reach @param {Band} band @param {number} row @returns {Bead[]} */
function beadsOf({ river: { ffn, tokens } }, { columns, rows, index }, row) {
  if (!ffn) return [];
  return columns.map(({ x0, x1 }, layer) => {
    const ratio = ffn[layer * tokens + row];
    const radius = Math.min(7, 4 * Math.sqrt(ratio));
    return { x: x1 - Math.min(14, (x1 - x0) / 4), y: rows[index[row]].y, radius, ratio, layer };
  });
}

/**
 * Where the cut edges were, as wide as they were in the uncut run.
 * @param {import("../model/cuts.js").Edge[]} cuts @param {Scene} scene @param {Scene} before  the uncut run's @param {Reach[]} rolled
 * @returns {Line[]}
 */
export function ghostsOf(cuts, scene, before, rolled) {
  const flows = rolled.flatMap((reach) => reach.flows.map(({ flow }) => ({ flow, river: reach.river })));
  return cuts.flatMap((cut) => {
    const was = before.lines.find((line) => !line.many && edgeKey(line) === edgeKey(cut));
    if (was) return [{ ...was, shown: true }];
    // It brought nothing to the chosen token: a thin line between the middles of its rows.
    const found = flows.find(({ flow }) => flow.attention === cut.attention);
    const from = scene.bands.findIndex(({ side }) => side === found?.flow.keys);
    const to = scene.bands.findIndex(({ stack }) => stack === found?.river.stack);
    const column = scene.bands[to]?.columns[cut.layer];
    const [key, query] = [rowWith(scene.bands[from], cut.key), rowWith(scene.bands[to], cut.query)];
    if (!column || !key || !query) return [];
    const nothing = { own: false, many: false, shown: true, share: 0, width: 0 };
    return [{ ...cut, ...nothing, from, to, x0: column.x0, y0: key.y, x1: column.x1, y1: query.y }];
  });
}

/** @param {Band|undefined} band @param {number} token @returns {Row|undefined} */
const rowWith = (band, token) => band?.rows[band.index[token]];
