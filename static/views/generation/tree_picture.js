/** How the tree of texts stands on the page: what is said along each edge, the room that takes, and where the edges run. */

import { widthOf } from "../../chart/theme.js";
import { groupsOf } from "../../model/edits.js";
import { offeredAfter, tokenLabel, tokenName } from "../../model/labels.js";
import { nodeAt, textAt, wayTo } from "../../state/text_tree.js";
import { pairOf } from "../../state/tree_changes.js";
import { plainText } from "../../ui/dom.js";
import { briefPercent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { groupWords } from "../edits.js";
import { branchEnd, columnEnds, columnWidth, offersPair, placedFrom, stubsOf } from "./tree_layout.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { TextTree, WritingRun } from "../../state/text_tree.js"
 * @import { Session } from "./session.js"
 * @import { Placed, Stub } from "./tree_layout.js"
 */

/** Pixels at zoom 1: a row, one of many, one in a lesson, from its top to the edge, the bend of a fork, room around a label, after the last column a mark. */
export const SIZE = { row: 50, close: 43, short: 33, line: 24, bend: 9, around: 18, mark: 44 };
/** Below this room it is a phone's: letters and the room around them are smaller, `tight` without probabilities; a name has so many letters. Pixels. */
const PHONE = { room: 480, around: 13, tight: 7, letter: 13, small: 0.93, least: 12, letters: 9 };
/** Up to this row they stand wide. */
const FEW = 3;
/** How many tokens of the prompt stand before the tree. */
const TAIL = 2;

/**
 * @typedef {{session: Session, tree: TextTree, here: number, stand: number, trace: ModelTrace|null, zoom: number, room: number, high: number, brief: boolean}} Drawn  `stand`: the node of the chosen token; `room`, `high`: of the pane; `brief`: without probabilities
 * @typedef {Drawn & {all: Placed[], places: Map<number, Placed>, way: Set<number>, ends: number[], stubs: Stub[], row: number, after: number, width: number, height: number}} Picture
 *   `places`: by node; `way`: the nodes of the shown text up to that; `ends`: where each column ends; `after`: the room of what stands there
 */

/** @param {Drawn} drawn @returns {Picture} */
export function pictureOf(drawn) {
  const { tree, here, zoom } = drawn;
  const way = wayTo(tree, here);
  const all = placedFrom(tree, way);
  const places = new Map(all.map((one) => [one.at, one]));
  const line = wayTo(tree, branchEnd(tree, here));
  const rows = drawn.brief ? 0 : Math.floor(drawn.high / SIZE.close / zoom);
  const stubs = stubsOf(tree, all, new Set(line), drawn.session.offered, rows);
  const picture = {
    ...drawn,
    all,
    places,
    stubs,
    way: new Set(wayTo(tree, drawn.stand)),
    ends: /** @type {number[]} */ ([]),
    row: drawn.brief ? SIZE.short : stubs.length || all.some(({ row }) => row > FEW) ? SIZE.close : SIZE.row,
    after: (offersPair(all, pairOf(tree, here)) ? SIZE.mark : END) * zoom + namesRoom(tree, all) * zoom,
    width: 0,
    height: 0,
  };
  const root = roomOf(picture, all[0]);
  const columns = Math.max(...all.map(({ column }) => column));
  picture.ends = columnEnds(
    all,
    (one) => roomOf(picture, one),
    columnWidth(columns, picture.room - root - picture.after, zoom, isNarrow(picture)),
  );
  picture.width = picture.ends[picture.ends.length - 1] + picture.after;
  const used = 1 + Math.max(...[...all, ...stubs].map(({ row }) => row));
  if (stubs.length) picture.row = Math.max(SIZE.close, Math.min(SIZE.row, drawn.high / used / zoom));
  picture.height = used * picture.row * zoom;
  return picture;
}

/** A token as it is called after a node: a piece of a word is "…ries". @param {Session} session @param {TextTree} tree @param {number} up @param {number} id */
export const wordAfter = (session, tree, up, id) =>
  offeredAfter(session.word(id), session.word(/** @type {number} */ (textAt(tree, up).ids.at(-1))));

/** @param {Picture} picture @param {number} at  of the beginning, the end of its text */
export function nodeLabel({ session, tree }, at) {
  const { ids, up } = nodeAt(tree, at);
  if (up >= 0 && ids.length === 1) return tokenName(wordAfter(session, tree, up, ids[0]));
  const labels = ids.slice(-TAIL).map((id) => tokenLabel(session.word(id)).replace(/^·(?=.)/, ""));
  return up < 0 ? `${ids.length > TAIL ? "… " : ""}${labels.join(" ")}` : labels.join("");
}

/** How likely a token was; of one that no step has drawn here, as far as it is among those that could have stood there. @param {Picture} picture @param {Placed} one @returns {number|undefined} */
export function tokenShare({ session, tree }, { at, up, edited }) {
  const { p, ids } = nodeAt(tree, at);
  if (p !== undefined || up < 0 || edited !== null) return p;
  return session.offered(up).find(({ id }) => id === ids[0])?.before;
}

/** After the last column where no mark stands. Pixels. */
const END = 16;

/** Of the names of branches, after their marks, at zoom 1. @param {TextTree} tree @param {Placed[]} all */
const namesRoom = (tree, all) => Math.max(0, ...all.map((one) => nameRoom(tree, one)));

/** @param {TextTree} tree @param {Placed} one */
const nameRoom = (tree, { at }) => {
  const { name } = nodeAt(tree, at);
  return name ? widthOf(name, 14, "--font", 600) + 14 : 0;
};

/** @param {{room: number}} picture */
export const isNarrow = ({ room }) => room < PHONE.room;

/** Made smaller, a phone's tree has no probabilities, and the laptop's none at its nodes. @param {{room: number, zoom: number, brief: boolean}} picture */
export const isTight = (picture) => isNarrow(picture) && picture.zoom < 1;

/** A label as there is room for it: on a phone a long one ends in an ellipsis. @param {{room: number}} picture @param {string} label */
export const fitting = (picture, label) =>
  isNarrow(picture) && label.length > PHONE.letters ? `${label.slice(0, PHONE.letters - 1)}…` : label;

/** Of its label, in pixels. @param {Picture} picture @param {Placed} one */
function roomOf(picture, one) {
  const narrow = isNarrow(picture);
  const size = (narrow ? PHONE.letter : 14) * picture.zoom;
  const small = narrow ? Math.max(PHONE.least, size * PHONE.small) : size * 0.86;
  const edit = one.edited === null ? 0 : widthOf(`100 %  ${editOf(picture, one.edited)}`, small, "--font", 500);
  const label = widthOf(fitting(picture, nodeLabel(picture, one.at)), size, "--font", 700);
  const p = tokenShare(picture, one) ?? 0.99;
  const share = picture.brief || isTight(picture) ? 0 : widthOf(briefPercent(p), small, "--font", 400);
  const others = picture.stubs.filter(({ column }) => column === one.column);
  const nameOf = (/** @type {Stub} */ { up, id }) => tokenName(wordAfter(picture.session, picture.tree, up, id));
  const stubs = others.map((other) => widthOf(fitting(picture, nameOf(other)), small, "--font", 500));
  const around = isTight(picture) ? PHONE.tight : narrow ? PHONE.around : SIZE.around;
  return Math.max(label, edit, share, ...stubs) + around * picture.zoom;
}

/** How a run differs from the plain one: "head 5·5 off". @param {WritingRun} run @param {ModelTrace|null} trace */
export function editWords({ interventions = [], causal }, trace) {
  if (!trace) return "";
  const groups = groupsOf({ interventions, paused: [] }, trace.model);
  const words = groups.map((group) => plainText(groupWords(group, trace, trace.model)));
  if (causal === false) words.push(t("compare.run.causal_off"));
  return words.join(t("compare.comma")) || t("tree.unedited");
}

/** @param {Picture} picture @param {number} at  where another run begins */
export const editOf = ({ tree, trace }, at) => editWords(tree.runs[nodeAt(tree, at).run], trace);

/** Where an edge begins and ends. @param {Picture} picture @param {Placed} one */
export function treeEdge({ places, ends, zoom, row: high }, one) {
  const from = /** @type {Placed} */ (places.get(one.up));
  const y = (/** @type {number} */ row) => (row * high + SIZE.line) * zoom;
  return {
    x: ends[one.column - 1],
    to: ends[one.column],
    above: y(from.row),
    y: y(one.row),
    bends: from.row !== one.row,
  };
}

/** Down from a fork, then along the row: beside it the words and their shares stand clear. @param {{x: number, to: number, above: number, y: number}} edge @param {number} bend */
export const forkPath = ({ x, to, above, y }, bend) => `M${x} ${above}V${y - bend}Q${x} ${y} ${x + bend} ${y}H${to}`;
