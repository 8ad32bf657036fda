/**
 * The layout of the river in CSS pixels: rows, columns, lines, the answer's bars. An encoder's river continues above
 * the decoder that reads it. No DOM.
 */

import { widthsBetween } from "../../model/contribution_rollout.js";
import { bandsOf, LABEL_GAP } from "./bands.js";
import { allSquaresOf, bottomOf } from "./heads.js";
import { endOf, linesOf, markShown } from "./lines.js";

/**
 * @import { SideName } from "../../model/description.js"
 * @import { Rollout } from "../../model/contribution_rollout.js"
 * @import { Edge } from "../../model/interventions.js"
 * @import { PlaceName } from "../../views/places.js"
 * @import { Open } from "../view_state.js"
 * @import { Row } from "./bands.js"
 * @import { More, Square } from "./heads.js"
 * @import { Line } from "./lines.js"
 */

// The FFNs, as dots in the row of the chosen token.

/** What the FFNs of the chosen row add, by area. @param {Rollout} rollout @param {Band} band @param {number} row @returns {Bead[]} */
function beadsOf({ river: { ffn, tokens } }, { columns, rows, index }, row) {
  if (!ffn) return [];
  return columns.flatMap(({ x0, x1 }, layer) => {
    if (x0 === x1) return [];
    const ratio = ffn[layer * tokens + row];
    const radius = Math.min(7, 4 * Math.sqrt(ratio));
    return { x: x1 - Math.min(14, (x1 - x0) / 4), y: rows[index[row]].y, radius, ratio, layer };
  });
}

// What of an encoder is still to be read, drawn above the decoder that reads it.

/** Above each layer of the decoder. @param {Rollout} reader @param {Rollout} read @param {Band} to @param {Band} from @param {number} fat @returns {Stream[]} */
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
    return streams.filter(({ x0, x1, width }) => x1 > x0 && width > 0.05);
  });
}

/**
 * @typedef {{x0: number, x1: number}} Column  a layer
 * @typedef {Object} Band  one stack
 * @property {string} stack @property {SideName} side
 * @property {Row[]} rows @property {number[]} index  of each token's row
 * @property {Set<Row>} labelled @property {number} apart  how far two labels are apart at least @property {number} wrote  the width of what its rows wrote, next to their labels
 * @property {number|null} chosen  the token whose answer is drawn
 * @property {Column[]} columns
 * @property {number} top @property {number} bottom  of its rows @property {number} titles  the baseline of its layers' names
 * @property {number} end  where its rows end
 * @typedef {{x: number, y: number, radius: number, ratio: number, layer: number}} Bead  an FFN
 * @typedef {{x0: number, x1: number, y: number, width: number}} Stream  an encoder's, above the decoder
 * @typedef {Object} Scene
 * @property {number} width @property {number} height
 * @property {Band[]} bands  the answering stack first
 * @property {Line[]} lines @property {Stream[]} streams @property {Bead[]} beads
 * @property {Line[]} ghosts  where the lines were that are knocked out
 * @property {Square[]} squares @property {More[]} more  the heads
 * @property {Open|null} only  on a phone, the one layer that is drawn; null: all layers
 * @property {number} ranks  the height of what stands between its heads and their title
 * @property {Open|null} opened  the layer whose heads alone are drawn, at the whole width
 * @property {Strip|null} strip  on a phone, all layers, above the one
 * @property {boolean} isStrip  it is itself a strip, over an open place
 * @property {Open|null} lit  the layer of that place @property {Line|null} chosen  the weight that is open there
 * @property {Link[]} links  the places in the model
 * @property {number} lens  the baseline of what the model would say after each layer
 * @property {{x: number, y: number}} node  between the shares and the probabilities
 * @property {{x: number, y: number, width: number, step: number, inLine: boolean}} answers  where the bars are: the first one's place; `inLine`: beside their names, not under them
 * @property {boolean} headsInLine  those of two stacks begin in one line: between the rows that are read first and their heads is room
 * @property {{x: number, y: number, width: number, beside: boolean, lines: number}|null} said  where it says how to read a square: above them (`beside`: next to the
 *   button that ranks them); of two stacks, in two lines above those that are read first, or below them @property {number|null} table  where the line that opens the table is, at the left edge
 * @property {boolean} keyOver  what the lines are stands over the answers, as on the start page
 * @property {number|null} foot  where there is space under the answers, next to the heads; null: no heads are drawn there
 * @typedef {{to: PlaceName|"lens", stack: string, layer: number, x: number, y: number, width: number, right: boolean}} Link  its text ends at
 *   `x`, or begins there
 * @typedef {Object} Frame  what there is room for
 * @property {number} [mostPitch]  how far its rows may be apart
 * @property {number} [labelPitch]  how far apart two labels are at least
 * @property {number} [strip]  the height of the strip, if it is one
 * @property {Open|null} [lit] @property {(Edge & {keys: SideName})|null} [chosen]
 * @property {Partial<Record<PlaceName|"lens", number>>} [places]  the widths of the words of the places that the model has
 * @property {boolean} [start]  on the start page, which names no place but the prediction
 * @property {number} [titles]  the width of the names of the layers
 * @property {number} width
 * @property {number} room  the height of all rows
 * @property {number} [most]  the height that rows may take for their labels
 * @property {boolean} [large]  its rows take no more height for their labels: the heads stay in sight
 * @property {boolean} [low]  where not every row has its label, only the chosen one and those that matter much have theirs
 * @property {boolean} [waits]  its lines are still to come: rows that they will divide have their height already
 * @property {number} right  the width of the answer's column
 * @property {number[]} labels  the widths of the labels of each stack, the answering one first
 * @property {number} [wrote]  of the answering one's, what its rows wrote
 * @property {number} answers  how many bars there are
 * @property {number|null} [lowestAnswer]  where they end, whatever the rows are: on the start page and after it; null: they are beside the chosen row
 * @property {number} type  how much larger than usual letters are
 * @property {number} [step]  from one answer to the next
 * @property {number} fat  pixels of a share of 1
 * @property {number[][]} [unfolded]  of each stack
 * @property {HeadsOf[]} [heads]  whose heads are drawn
 * @property {number} [which]  the width of the button that ranks the heads, next to what is said of them
 * @property {number} [ranks]  on a phone, the height of that button, right over them
 * @property {number} [headRoom]  the height that they want
 * @property {number} [fold]  where the first screen ends, in the picture
 * @property {Open|null} [open]  a layer that is wider than the others, and whose heads alone are drawn
 * @property {Open|null} [only]  the one layer that is drawn, at the whole width; null: all layers
 * @typedef {{scene: Scene, height: number, title: number}} Strip  a scene, drawn as high as this; over it, as high as `title`, the stacks' names
 * @typedef {{stack: string, attention: string, count: number, ratio: number, order: (layer: number) => number[]}} HeadsOf
 */

/** A strip that is as wide as this has each answer in a line, which is so high. */
const [IN_LINE, LINE] = [600, 18];

/**
 * @param {Rollout[]} rolled  of every stack, the answering one first
 * @param {number} row  the chosen token @param {Frame} frame
 * @returns {Scene}
 */
export function riverLayout(rolled, row, frame) {
  const only = frame.only ?? null;
  const strip = only && stripOf(rolled, row, frame);
  const bands = bandsOf(rolled, row, frame, strip ? strip.height + BELOW_STRIP : 0);
  const lines = rolled.flatMap((rollout, i) => linesOfStack(rollout, bands[i], bands, frame.fat));
  const [answering] = bands;
  const inLine = Boolean(frame.strip) && frame.width >= IN_LINE;
  const step = frame.step ?? (inLine ? LINE : frame.strip ? 28 : 38) * frame.type;
  const chosen = answering.rows[answering.index[row]];
  const lens = answering.bottom + 20 * frame.type;
  const besideEnd = strip ? strip.height + BELOW_STRIP + frame.answers * step : 0; // the answers of a short sentence
  const above = frame.heads?.length === 1 && !only ? SAID * frame.type : 0;
  const heads = allSquaresOf(bands, frame, Math.max(lens + 14 * frame.type + above, besideEnd));
  const ends = [
    ...bands.map((band) => band.bottom),
    lens,
    ...heads.squares.map(bottomOf),
    ...heads.more.map(({ y }) => y),
  ];
  const words = only ? { said: null, table: null } : wordsOf(bands, heads, above > 0, frame);
  if (words.said) ends.push(words.said.y);
  const node = { x: answering.end + 5, y: chosen.y };
  // Beside the rows, not beside the heads, as far as they fit; on a phone on the first screen.
  const below = frame.places?.prediction && !only ? bands[bands.length - 1].top - 4 : 4; // "prediction" stands over them
  const narrow = frame.right < WIDE_FOOT * frame.type ? 1 : 0;
  // What stands below them is on the first screen, too.
  const lowest = frame.fold ? frame.fold - FOOT[narrow] * frame.type : Infinity;
  const bars = frame.answers * step;
  const nearNode = Math.min(node.y - 22 * frame.type, lens + 8 - bars, lowest - bars - 4);
  const { lowestAnswer = null } = frame;
  const underKey = below + (frame.start ? 0 : KEY_OVER[narrow] * frame.type);
  const overCards = Math.min(lens + 8, (lowestAnswer ?? 0) - bars); // of a short text, they begin where its rows end
  const beside = lowestAnswer === null ? Math.max(below, nearNode) : Math.max(underKey, overCards);
  const [over, under] = inLine ? [8, 6] : [4, 2]; // the last one's bar ends above the edge
  const inStrip = frame.places?.prediction ? bands[0].top - over : 0;
  const y = frame.strip ? inStrip : strip ? strip.height + BELOW_STRIP : beside;
  const answers = { x: node.x + 17, y, width: frame.width - node.x - 17, step, inLine };
  const links = linksOf(bands, frame, lens); // the answers' name stands right over them
  const answersEnd = lowestAnswer === null ? (strip ? strip.height : below) + bars + 8 : y + bars;
  const end = Math.max(...ends.map((one) => one + 8), answersEnd);
  const height = Math.ceil(Number(end.toFixed(3))); // sums of rows differ a little: as a text is written, it stays
  const streams = rolled
    .slice(1)
    .flatMap((rollout, i) => streamsOf(rolled[0], rollout, bands[0], bands[i + 1], frame.fat));
  const beads = beadsOf(rolled[0], answering, row);
  return {
    width: frame.width,
    height: frame.strip ? Math.ceil(Math.max(frame.strip, y + frame.answers * step + under)) : height,
    bands,
    lines,
    streams,
    ghosts: [],
    beads,
    ...heads,
    ...words,
    only,
    ranks: frame.ranks ?? 0,
    opened: heads.squares.length && !only ? (frame.open ?? null) : null,
    lit: frame.lit ?? null,
    isStrip: Boolean(frame.strip),
    chosen: null,
    links: frame.strip
      ? links
      : links.map((one) => (one.to === "prediction" ? { ...one, y: answers.y - 8 * frame.type } : one)),
    strip,
    lens: frame.strip ? NaN : lens,
    node,
    answers,
    foot:
      heads.squares.length && !only
        ? Math.max(lowestAnswer === null ? Math.min(lens + 14 * frame.type, lowest) : 0, y + bars + 4)
        : null,
    keyOver: lowestAnswer !== null,
  };
}

/** The height of the key over the name of the answers; where their column is narrower than `WIDE_FOOT`, too. */
const KEY_OVER = [110, 170];

/** The height of the key and of Watch, below the answers; where their column is narrower than this, too. */
const [FOOT, WIDE_FOOT] = [[147, 190], 160];

/** The height of the line that says how to read a square; and of the one that opens the table. */
const [SAID, TABLE] = [13, 20];

/** What is said of the squares has at least this width next to a button. */
const LEAST_SAID = 380;

/** From one line of these words to the next. */
const SAID_LINE = 17;

/** The places of the words about the squares. @param {Band[]} bands @param {Pick<Scene, "squares"|"headsInLine">} heads @param {boolean} above @param {Frame} frame @returns {Pick<Scene, "said"|"table">} */
function wordsOf(bands, { squares, headsInLine: inLine }, above, { type, fold = 0, which = 0 }) {
  const { columns, stack } = bands[bands.length - 1];
  const [x, end] = [columns[0].x0 + 8, columns[columns.length - 1].x1];
  const read = squares.filter((one) => one.stack === stack);
  const own = read.length ? read : squares; // of an open layer
  if (!own.length) return { said: null, table: null };
  const bottom = Math.max(...own.map(bottomOf));
  const first = Math.min(...own.map((one) => one.y - one.over));
  const over = above || inLine;
  const y = over ? first - 7 - (inLine ? SAID_LINE * type : 0) : bottom + (SAID + 6) * type;
  const fits = over || !fold || y + 8 <= fold;
  const beside = above && which > 0 && end - x - which >= LEAST_SAID * type;
  const width = end - x - (beside ? which : 0);
  return { said: fits ? { x, y, width, beside, lines: above ? 1 : 2 } : null, table: bottom - TABLE * type };
}

/** Between the words of two places, what the name of a layer needs, and what is around all three in a narrow one. */
const [BETWEEN, LAYER_NAME, TIGHT] = [8, 62, 18];

/** The places in the model: at the left edge, over each layer that is wide enough, and at the right edge. @param {Band[]} bands @param {Frame} frame @param {number} lens  where the best guesses are named, which opens them in full @returns {Link[]} */
function linksOf(bands, { strip, places = {}, titles = 0, type, only = null, start = false }, lens) {
  if (only) return [];
  const [{ stack, end }] = bands;
  const first = bands[bands.length - 1]; // what is read first
  const { embedding, prediction, head = 0, ffn = 0 } = places;
  const edges = [
    embedding && !start
      ? [
          {
            to: "embedding",
            stack: first.stack,
            layer: 0,
            x: first.columns[0].x0 - LABEL_GAP,
            y: first.titles,
            width: embedding,
            right: true,
          },
        ]
      : [],
    prediction
      ? [
          {
            to: "prediction",
            stack,
            layer: bands[0].columns.length - 1,
            x: end + 22,
            y: first.titles,
            width: prediction,
            right: false,
          },
        ]
      : [],
  ].flat();
  const wide = bands[0].columns.some(({ x0, x1 }) => x1 - x0 >= NARROW_LAYER * type);
  const x = bands[0].columns[0].x0 - LABEL_GAP;
  const guess = { to: "lens", stack, layer: 0, x, y: lens, width: places.lens ?? 0, right: true };
  const inLayers = bands.flatMap((band) =>
    band.columns.flatMap(({ x0, x1 }, layer) => {
      const at = { stack: band.stack, layer, y: band.titles, right: true };
      const room = x1 - x0 - 16 - LAYER_NAME * type;
      if (!ffn || start || room < ffn) return [];
      const free = x1 - x0 - titles - ffn - head;
      const both = head > 0 && free >= TIGHT;
      const [between, end] = both && free < 22 + BETWEEN ? [4, 3] : [BETWEEN, 8];
      const attention = { ...at, to: "head", x: x1 - end - ffn - between, width: head };
      return [{ ...at, to: "ffn", x: x1 - end, width: ffn }, ...(both ? [attention] : [])];
    }),
  );
  return /** @type {Link[]} */ ([...edges, ...inLayers, ...(places.lens && wide && !start && !strip ? [guess] : [])]);
}

/** In layers that are all narrower, best guesses have no name, and each is named only where it changes. */
export const NARROW_LAYER = 62;

/** Of a strip, below the names of its stacks, if there are several. */
const [STRIP_HEIGHT, BELOW_STRIP, STACK_NAMES] = [52, 6, 17];

/** All layers, without words and heads. @param {Rollout[]} rolled @param {number} row @param {Frame} frame @returns {Strip} */
function stripOf(rolled, row, { width, room, fat, unfolded }) {
  const labels = rolled.map(() => -LABEL_GAP);
  const scene = riverLayout(rolled, row, { width, room, fat, unfolded, labels, right: 1, type: 1, answers: 0 });
  const title = rolled.length > 1 ? STACK_NAMES : 0;
  return { scene, height: title + STRIP_HEIGHT, title };
}

/**
 * Every layer's lines. In a layer, the lines from another stack enter above those from its own.
 * @param {Rollout} rollout @param {Band} band @param {Band[]} bands @param {number} fat
 */
function linesOfStack({ river, at, flows, taken }, band, bands, fat) {
  /** @param {Band} one */
  const ended = (one) => ({ band: bands.indexOf(one), rows: one.rows, index: one.index });
  return band.columns.flatMap(({ x0, x1 }, layer) => {
    if (x0 === x1) return []; // not the one that is drawn
    const right = endOf(ended(band), x1, at[layer + 1], fat);
    const lines = [...flows].reverse().map((passing) => {
      const { flow } = passing;
      const same = flow.keys === river.side;
      const from = same ? band : /** @type {Band} */ (bands.find(({ side }) => side === flow.keys));
      const amounts = same ? at[layer] : (taken?.[layer] ?? []);
      const left = endOf(ended(from), x0, amounts, fat);
      const widths = widthsBetween(passing, layer, right, left);
      return linesOf({ attention: flow.attention, layer, widths, same }, left, right, fat);
    });
    markShown(lines.flat());
    return lines.flat();
  });
}
