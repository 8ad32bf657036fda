/** How much space a window has for the picture. */

import { widthOf } from "../../chart/theme.js";
import { predictsTokens, writesTarget } from "../../model/description.js";
import { nameText } from "../../model/labels.js";
import { lowSheet } from "../../ui/dom.js";
import { layerTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { predictionTabsOf } from "../../views/tabs.js";
import { isDeep, isLarge } from "../facts.js";
import { currentStyle, textSize } from "../style.js";
import { headWordsOf, lensTitleOf, WROTE, writtenLabels, wroteOf } from "../words/names.js";
import { LABEL_GAP, rowCount } from "./bands.js";
import { headsOf, heightOfHeads, heightOfOpen } from "./heads.js";

/**
 * @import { Board, Shown } from "../board.js"
 * @import { Model } from "../../model/description.js"
 * @import { Rollout } from "../../model/contribution_rollout.js"
 * @import { Facts } from "../facts.js"
 * @import { Frame, HeadsOf } from "./layout.js"
 */

/** Below this width the picture is drawn for a phone; below the other, as in a lesson, the answer's column is narrower. */
export const PHONE = 600;
const NARROW = 1000;

/** The width of the answer's column: on a phone, in a narrow picture, in any other. */
const RIGHT = [118, 140, 190];

/** It grows for the first answer, as far as this, in steps: from word to word the picture stays where it is. */
const [MORE, STEP] = [66, 22];

/** The space between the rows and the answers, and between an answer and its percentage. */
const BESIDE = 22 + 6;

/** Labels that say what a row wrote leave a layer at least this width. */
const LAYER = 66;

/** In place of an attention: no heads are drawn. */
export const NONE = "none";

/** The height for the rows on a phone: of a layer alone; and over its heads, whose first row is then on the first screen. */
const [ROOM_ON_PHONE, ROOM_OVER_HEADS] = [330, 224];

/** On a phone, names of rows may be nearer. */
const PITCH_ON_PHONE = 10;

/** The greatest width of labels; with what a row wrote next to them, `BOTH`. */
const [LABEL, LABEL_ON_PHONE, BOTH] = [130, 84, 220];

/** The least width of what a row wrote. */
const LEAST_WROTE = 60;

/** The height of the titles above the rows and of what follows below them, and what parts another stack's rows from them. */
const [BESIDES, ANOTHER] = [74, 18];

/** The same to the pixel, where rows take all that the heads leave: of one stack, over whose heads is a line of words, and of two; and below the heads. */
const [AROUND_HEADS, BELOW_HEADS] = [[75, 62], 9];

/** The least width of labels for patches, whose names are short: the text next to the heads needs more. */
const PATCHES = 60;

/** The row of Watch, below the picture; in a wider window it is beside the heads. */
const [WATCH, WIDE] = [46, 1000];

/** The space around the button that ranks the heads; and its height on a phone, with what is around it. */
const [WHICH_ROOM, RANKS] = [36, 50];

/** How far rows may be apart in a lesson. */
const LESSON_PITCH = 42;

/**
 * How thick a whole river is: a part of the rows' height, and at most. The picture of the first paint (css/first_paint.css) has all heights
 * in rows, so it fits any window; where there are no heads, as in a lesson, in pixels.
 */
const [FAT, MOST_FAT, BARE_FAT] = [1 / 8, 46, 44];

/** The least height of the rows over heads: of one stack, and of two; and the most, unless their names need more. */
const [LEAST_ROOM, LEAST_ROOM_OF_TWO, MOST_ROOM] = [226, 240, 440];

/** From one row to the next, at least: each has its name in a size that is read easily. For less, heads leave the rows their height. */
const NAMED = 13;

/** Heads leave room for so many more tokens than a text has that can be written on: they stand still from its first. Of a longer one, labels thin out. */
export const WRITTEN = 8;

/** Whether what a model writes are new rows of the picture: a translation is there already. @param {Model} model */
const writesOn = (model) => predictsTokens(model) && !writesTarget(model);

/** On the start page, the same picture is lighter where it is larger. */
const START_FAT = 1 / 12;

/** The least height of the heads of two stacks. */
const HEADS_OF_TWO = 102;

/** The most height of the rows where there are no heads, as in a lesson. */
const MOST_BARE = 560;

/** In a lesson: the height of its bar, which covers the bottom of the window; and of the legend's second line. */
const [BAR, LEGEND] = [60, 34];

/** @param {HTMLCanvasElement} canvas @param {Shown} shown @param {number} width @param {Board} board @returns {Frame} */
export function frameOf(canvas, shown, width, { unfolded }) {
  const { facts, trace, bars, heads, open, whole, chosen, has, start, prompt } = shown;
  const phone = width < PHONE;
  const { type, least } = currentStyle(canvas);
  const opened = facts.rolled.map(({ river: { stack } }) =>
    [...unfolded].filter((one) => one.startsWith(`${stack} `)).map((one) => Number(one.slice(stack.length + 1))),
  );
  const last = facts.rolled[0].river.layers - 1;
  const bare = heads === NONE || least > 0; // on a projector the river is the one picture
  const right =
    RIGHT[phone ? 0 : width < NARROW ? 1 : 2] * type + moreFor(canvas, bars, phone ? 0 : width < NARROW ? 1 : 2);
  const weight = whole ? 500 : 700; // in the strip one is bold
  const places = phone ? {} : placesOf(canvas, { has, trace }, weight);
  const titles = measureOn(canvas, weight)(
    facts.rolled.map(({ river }) => layerTitle(river, river.layers - 1)),
    13,
  );
  const drawn = headsOf(trace, facts, bare ? null : heads);
  const first = places?.embedding ?? 0;
  const labels = labelsOf(canvas, { facts, trace }, { phone, room: width - right, heads: drawn, first });
  if (!whole) {
    const strip = stripFrame({ width, type, right, labels: labels.labels, open, chosen, phone }, facts.rolled.length);
    return { ...strip, answers: bars.length, places, titles };
  }
  const base = {
    width: phone ? width : Math.max(width, leastWidth(facts, labels.labels, right, type)),
    type,
    ...labels,
    answers: bars.length,
    places,
    start,
    titles,
    waits: facts.waits,
    labelPitch: least ? least + 2 : phone ? PITCH_ON_PHONE : undefined,
    unfolded: opened,
    right,
    open,
  };
  const top = topOf(canvas.parentElement ?? canvas);
  const inLesson = canvas.closest(".in-lesson") !== null;
  const beside = innerWidth > WIDE && !inLesson && !canvas.closest(".beside-on"); // the row of Watch: css/river.css
  const lowestAnswer = beside && !bare && writesOn(trace.model) ? lowestAnswerOf(canvas, innerHeight - top) : null;
  if (start && !phone && !bare) return { ...base, heads: [], lowestAnswer, ...startRows(canvas, innerHeight - top) };
  const sheet = shown.low ? lowSheet(canvas) : null;
  if (sheet) return { ...base, ...rowsAbove(sheet.getBoundingClientRect().top - top, facts.rolled.length, base) };
  const foot = (beside ? 0 : WATCH * type) + (inLesson && !phone ? BAR + LEGEND : 0);
  const fold = innerHeight - foot - top;
  const across = base.width - labels.labels.reduce((sum, label) => sum + label + LABEL_GAP, right);
  const heights = heightsOf(facts.rolled, {
    ...{ high: innerHeight, fold, across, type, heads: bare || phone ? [] : drawn },
    count: (prompt ?? rowCount(facts.rolled, facts.row, opened)) + (writesOn(trace.model) ? WRITTEN : 0),
    alone: open !== null,
  });
  return {
    ...base,
    lowestAnswer,
    large: isLarge(facts.rolled),
    mostPitch: inLesson && !phone ? LESSON_PITCH : undefined,
    ...heights,
    ...(phone ? { room: start || bare ? ROOM_ON_PHONE : ROOM_OVER_HEADS, fat: 36, headRoom: 264 } : {}),
    heads: bare || start ? [] : drawn,
    which: beside ? measureOn(canvas, 500)([t("rank.title")], 13) + WHICH_ROOM * type : 0,
    ranks: phone && shown.ranks ? RANKS * type : 0,
    fold: phone ? 0 : fold,
    only: phone ? (open ?? { stack: facts.rolled[0].river.stack, layer: last }) : null,
  };
}

/** Where a picture begins on its page: of its place, which stands still while the camera holds the canvas where it was (shell/camera.js). @param {Element} place */
export const topOf = (place) => place.getBoundingClientRect().top + scrollY;

/**
 * How rows and heads share the first screen: heads take less, in more columns, where that leaves each row a name.
 * @param {Rollout[]} rolled @param {{high: number, fold: number, across: number, type: number, heads: HeadsOf[], count: number, alone: boolean}} of
 *   `high`: of the window; `across`: the width of all layers; `count`: for how many rows; `alone`: a layer is open
 * @returns {Pick<Frame, "room"|"most"|"fat"|"headRoom">}
 */
export function heightsOf(rolled, { high, fold, across, type, heads: [heads], count, alone }) {
  const two = rolled.length > 1;
  const besides = BESIDES + ANOTHER * (rolled.length - 1);
  const low = two ? LEAST_ROOM_OF_TWO : LEAST_ROOM;
  const roomOver = (/** @type {number} */ height) => Math.max(low, fold - height - besides);
  const most = Math.max(240, fold - besides - (two ? HEADS_OF_TWO * type : 0));
  if (!heads) return { room: Math.min(MOST_BARE, roomOver(0)), most, fat: BARE_FAT, headRoom: 0 };
  const part = two ? 0.17 : high < LOW ? 0.33 : 0.3; // two stacks have twice as many rows
  const wanted = Math.min(300, Math.max(two ? 150 : 200, high * part));
  const usual = Math.min(MOST_ROOM, roomOver(wanted));
  const fat = Math.min(MOST_FAT, usual * FAT);
  const needed = fat + NAMED * type * (count - 1);
  const layers = rolled.reduce((sum, { river }) => sum + river.layers, 0);
  const margin = AROUND_HEADS[two ? 1 : 0] * type + BELOW_HEADS - BESIDES;
  const picture = { width: across / layers, wanted, left: fold - low - besides, margin, layers, type };
  const given = heightOfHeads(picture, heads, (height) => roomOver(height) >= needed);
  const room = given === wanted ? usual : Math.min(roomOver(given), Math.max(MOST_ROOM, needed));
  // An open layer's heads have the height of all heads: its rows stay where they are.
  return { room, most, fat, headRoom: alone && !two ? heightOfOpen(across, given, heads, type) : given };
}

/** The sizes of the start page, in css/start.css. @param {HTMLCanvasElement} canvas */
function startSizes(canvas) {
  const style = getComputedStyle(canvas);
  const [cards, around, least, most] = ["cards", "around", "least", "most"].map((name) =>
    Number.parseFloat(style.getPropertyValue(`--start-${name}`)),
  );
  return { cards, around, least, most };
}

/** On the start page the rows take what its cards leave. @param {HTMLCanvasElement} canvas @param {number} left  of the window */
function startRows(canvas, left) {
  const { cards, around, least, most } = startSizes(canvas);
  const room = Math.min(most, Math.max(least, left - cards - around));
  const asHigh = room === left - cards - around;
  return { room, most: room, fat: room * START_FAT, ...(asHigh ? {} : { lowestAnswer: null }) };
}

/** Below the last row of the start page. */
const BELOW_ROWS = 6;

/** Where the answers end on the start page, over its cards: there they stay when the model opens. @param {HTMLCanvasElement} canvas @param {number} left  of the window */
const lowestAnswerOf = (canvas, left) => left - startSizes(canvas).cards - BELOW_ROWS;

/** Above a sheet: what titles and best guesses take; how thick a whole river is, as a part of the rows; and from answer to answer. */
const [AROUND, FAT_PART, STEPS] = [56.25, 0.09, [30, 38]];

/** All rows (nearer than names, with those of the main ones), the best guesses and the answers in the height that a sheet leaves; it covers the heads. @param {number} height @param {number} stacks @param {{type: number, answers: number, labelPitch?: number}} of */
export function rowsAbove(height, stacks, { type, answers, labelPitch = stacks > 1 ? undefined : NAMED * type }) {
  const room = Math.max(60, height - AROUND * type - ANOTHER * (stacks - 1));
  const [least, most] = STEPS.map((step) => step * type);
  const step = Math.min(most, Math.max(least, (height - (AROUND / 2) * type) / answers));
  return { room, fat: Math.min(44, Math.max(14, room * FAT_PART)), step, large: true, low: true, labelPitch };
}

/** Of many layers, each is at least this wide: they are scrolled. */
const LEAST_LAYER = 90;

/** @param {Facts} facts @param {number[]} labels @param {number} right @param {number} type */
function leastWidth(facts, labels, right, type) {
  if (!isDeep(facts.rolled)) return 0;
  const layers = facts.rolled.reduce((sum, { river }) => sum + river.layers, 0);
  return layers * LEAST_LAYER * type + labels.reduce((sum, label) => sum + label + LABEL_GAP, right);
}

/** The height of the strip; in a low window; on a phone. */
const [STRIP, STRIP_LOW, STRIP_PHONE] = [104, 70, 55];

/** A window that is lower than this has less of the river over an open place. */
export const LOW = 780;

/**
 * The river over an open place: without heads and best guesses, its rows as near as they must be.
 * @param {Pick<Frame, "width"|"type"|"right"|"labels"> & {open: Shown["open"], chosen: Shown["chosen"], phone: boolean}} of
 * @param {number} stacks
 */
function stripFrame({ width, type, right, labels, open, chosen, phone }, stacks) {
  const height = (phone ? STRIP_PHONE : innerHeight < LOW ? STRIP_LOW : STRIP) * type + (stacks - 1) * ANOTHER;
  const fat = Math.min(20, height * 0.2);
  const wide = labels.map((label) => Math.max(label, phone ? 0 : LEAST_LABEL * type));
  return { width, type, right, labels: wide, room: height, fat, lit: open, chosen, strip: height };
}

/** The widths of the words of the places in the model. @param {HTMLCanvasElement} canvas @param {Pick<Shown, "has"|"trace">} shown @param {number} weight @returns {Frame["places"]} */
function placesOf(canvas, { has, trace }, weight) {
  const widest = measureOn(canvas, weight);
  const views = { embedding: "embedding", head: "attention", ffn: "ffn", prediction: "prediction" };
  const known = Object.entries(views).filter(([, view]) => has(view));
  const lens = predictionTabsOf(trace.model).includes("layers") && has("prediction");
  return {
    ...Object.fromEntries(known.map(([place]) => [place, Math.ceil(widest([t(`place.${place}`)], 12))])),
    ...(lens ? { lens: Math.ceil(widest([lensTitleOf(trace)], 13)) } : {}),
  };
}

/** In the strip the column of labels also has room for "embedding". */
const LEAST_LABEL = 76;

/** What the first answer, which is never cut, needs more than the column has. @param {HTMLCanvasElement} canvas @param {Shown["bars"]} bars @param {number} size */
function moreFor(canvas, [first], size) {
  const { type } = currentStyle(canvas);
  if (!first) return 0;
  const widest = measureOn(canvas);
  const needed = widest([first.name], 15) + widest([first.text], 13) + BESIDE - RIGHT[size] * type;
  return Math.min(MORE * type, Math.max(0, Math.ceil(needed / STEP) * STEP));
}

/** The widest of some texts. @param {HTMLCanvasElement} canvas @param {number} [weight] @returns {(texts: string[], size: number) => number} */
function measureOn(canvas, weight = 700) {
  const style = currentStyle(canvas);
  return (texts, size) => Math.max(0, ...texts.map((text) => widthOf(text, textSize(style, size), "--font", weight)));
}

/** Whether a word stays in one line: Japanese breaks anywhere. @param {string} word */
const isWhole = (word) => !/[\u3040-\u30ff\u4e00-\u9fff]/.test(word);

/**
 * The widths of each stack's labels, and the width of what the answering stack's rows wrote: 0 if there is no space for it.
 * @param {HTMLCanvasElement} canvas @param {Pick<Shown, "facts"|"trace">} shown
 * @param {{phone: boolean, room: number, heads: HeadsOf[], first: number}} frame  `room`: the width of labels and layers; `first`: the
 *   least width of the labels of what is read first, which are under the word "embedding"
 */
function labelsOf(canvas, { facts, trace }, { phone, room, heads, first }) {
  const { type } = currentStyle(canvas);
  const widest = measureOn(canvas);
  const patches = trace.model.picture && !phone ? PATCHES * type : 0;
  /** @param {number} i  of a stack */
  const titles = (i) => {
    const drawn = heads.find(({ stack }) => stack === facts.rolled[i].river.stack);
    const words = drawn ? headWordsOf(trace, drawn.attention).split(" ").filter(isWhole) : [];
    return [...words, ...(i ? [] : [lensTitleOf(trace)])];
  };
  const most = (phone ? LABEL_ON_PHONE : LABEL) * type;
  const labels = facts.names
    .map((own, i) => [...own, ...((!i && writtenLabels(facts)) || [])])
    .map((names, i) =>
      Math.min(
        most,
        Math.max(
          phone ? 30 : Math.max(i ? 30 : patches, i === facts.rolled.length - 1 ? first : 0, widest(titles(i), 13)),
          widest(names.map(nameText), 15) + 3,
        ),
      ),
    );
  const own = Math.min(most, widest(facts.names[0].map(nameText), 15) + 3);
  const widestWrote = widest(
    wroteOf(facts).map((word) => WROTE + word),
    13,
  );
  const layers = facts.rolled.reduce((sum, { river }) => sum + river.layers, 0);
  const aside = phone ? 0 : Math.min(widestWrote, BOTH * type - own); // a longer one is cut
  const left = room - labels.reduce((sum, label) => sum + label, 0) - aside;
  const wrote = aside >= Math.min(widestWrote, LEAST_WROTE * type) && left / layers >= LAYER * type ? aside : 0;
  return { labels: wrote ? [Math.max(labels[0], own + wrote), ...labels.slice(1)] : labels, wrote };
}
