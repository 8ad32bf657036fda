/** A beam search as a tree: what each step considered, which beams went on, which died, and which texts were found. */

import { typeScale, widthOf } from "../../chart/theme.js";
import { tokenLabel, tokenName } from "../../model/labels.js";
import { h, svg } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";

/** @import { VocabularyToken } from "../../model/labels.js" */

/**
 * @typedef {{parent: number, token: VocabularyToken, log_p: number, fate: "open"|"ended"|"dropped"}} Considered
 * @typedef {{tokens: {id: number}[], text: string, ended: boolean, log_p: number, score: number}} Found
 * @typedef {{hypotheses: Found[], steps: Considered[][]}} Searched
 * @typedef {Object} BeamNode
 * @property {number} step @property {VocabularyToken} token @property {number} log_p
 * @property {BeamNode|null} up
 * @property {"found"|"dead"|"dropped"} kind  it leads to a text that was found; it was followed for a while; others were more likely
 * @property {number|null} rank  of the text that ends here, from 0
 * @property {number} best  rank of the texts that go through it
 * @property {BeamNode[]} kids  the most likely first
 * @property {number} row
 */

/** The tree of a search. @param {Searched} searched @returns {BeamNode[]} step by step */
export function beamNodes({ hypotheses, steps }) {
  const ranks = new Map(hypotheses.map(({ tokens }, rank) => [tokens.map(({ id }) => id).join("."), rank]));
  const all = /** @type {BeamNode[]} */ ([]);
  let open = /** @type {{node: BeamNode|null, ids: string}[]} */ ([{ node: null, ids: "" }]);
  steps.forEach((considered, step) => {
    const next = /** @type {typeof open} */ ([]);
    for (const { parent, token, log_p, fate } of considered) {
      const { node: up, ids: before } = open[parent];
      const ids = before ? `${before}.${token.id}` : `${token.id}`;
      const rank = fate === "ended" ? (ranks.get(ids) ?? null) : null;
      const kind = fate === "dropped" ? "dropped" : "dead";
      const node = /** @type {BeamNode} */ ({ step, token, log_p, up, kind, rank, best: Infinity, kids: [], row: 0 });
      up?.kids.push(node);
      all.push(node);
      if (fate === "open") next.push({ node, ids });
    }
    open = next;
  });
  for (const last of all)
    for (let one = last.rank === null ? null : last; one; one = one.up)
      Object.assign(one, { kind: "found", best: Math.min(one.best, /** @type {number} */ (last.rank)) });
  return all;
}

/** Gives each node its row: a way on keeps the row, and nothing stands on anything else. @param {BeamNode[]} nodes @returns {number} how many rows there are */
export function placeBeams(nodes) {
  const free = /** @type {number[]} */ ([]); // of each step, the first row below all
  const order = { found: 0, dead: 1, dropped: 2 };
  const sorted = (/** @type {BeamNode[]} */ kids) =>
    [...kids].sort(
      (a, b) => order[a.kind] - order[b.kind] || (a.kind === "found" ? a.best - b.best : 0) || b.log_p - a.log_p,
    );
  /** @param {BeamNode} first @param {number} least */
  const place = (first, least) => {
    const line = [first];
    for (let [kid] = sorted(first.kids); kid; [kid] = sorted(kid.kids)) line.push(kid);
    const row = Math.max(least, ...line.map(({ step }) => free[step] ?? 0));
    for (const one of line) {
      one.row = row;
      free[one.step] = row + 1;
    }
    for (const one of line.toReversed()) for (const kid of sorted(one.kids).slice(1)) place(kid, row + 1);
  };
  for (const one of sorted(nodes.filter(({ up }) => up === null))) place(one, 0);
  return Math.max(0, ...free.map((row) => row ?? 0));
}

/** Pixels: a row, the line in it, room around a label, the bend of a fork. */
const SIZE = { row: 38, line: 17, around: 20, bend: 16, least: 46, after: 36 };

/**
 * @param {Searched} searched @param {(rank: number) => void} take  a text that was found
 * @returns {HTMLElement}
 */
export function beamTree(searched, take) {
  const scale = typeScale();
  const nodes = beamNodes(searched);
  const rows = placeBeams(nodes);
  const ends = columnsOf(nodes, scale);
  const y = (/** @type {BeamNode} */ { row }) => (row * SIZE.row + SIZE.line) * scale;
  const from = (/** @type {BeamNode} */ { step }) => (step ? ends[step - 1] : 0);
  const [width, height] = [(ends.at(-1) ?? 0) + SIZE.after * scale, rows * SIZE.row * scale];
  const edges = nodes.map((node) => {
    const [x, to, bend] = [from(node), ends[node.step], SIZE.bend * scale];
    const above = node.up ? y(node.up) : y(node);
    const start =
      above === y(node)
        ? `M${x} ${above}`
        : `M${x} ${above}C${x + bend * 0.6} ${above} ${x} ${y(node)} ${x + bend} ${y(node)}`;
    return svg("path", { class: node.kind, d: `${start}H${node.kind === "dropped" ? x + bend : to}` });
  });
  const label = t("beams.tree", { n: searched.hypotheses.length, steps: searched.steps.length });
  const picture = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    edges,
  );
  const names = nodes.map((node) => {
    const style = { left: `${from(node) + SIZE.bend * scale}px`, top: `${y(node)}px` };
    const title = t(`beams.kind_${node.kind}`, { token: tokenName(node.token), p: number(node.log_p, 2) });
    const share = h("small", null, number(node.log_p, 2));
    return h("span", { class: node.kind, style, title }, h("b", { translate: "no" }, tokenText(node.token)), share);
  });
  const marks = nodes.flatMap((node) =>
    node.rank === null ? [] : [markOf(node.rank, searched, take, ends[node.step], y(node))],
  );
  const canvas = h("div", { style: { width: `${width}px`, height: `${height}px` } }, picture, names, marks);
  return h(
    "div",
    null,
    h("div", { class: "beam-tree", dataset: { testid: "beam-tree" } }, canvas),
    h("p", { class: "dim" }, t("beams.key")),
  );
}

/** Where each step ends: as wide as its widest token. @param {BeamNode[]} nodes @param {number} scale */
function columnsOf(nodes, scale) {
  const widths = /** @type {number[]} */ ([]);
  for (const { step, token } of nodes) {
    const own = widthOf(tokenLabel(token), 13 * scale, "--font", 600) + (SIZE.around + SIZE.bend) * scale;
    widths[step] = Math.max(widths[step] ?? SIZE.least * scale, own);
  }
  let end = 0;
  return widths.map((width) => (end += width));
}

/** What takes a text that was found. @param {number} rank @param {Searched} searched @param {(rank: number) => void} take @param {number} x @param {number} y */
function markOf(rank, { hypotheses }, take, x, y) {
  const about = t("beams.mark", {
    rank: rank + 1,
    text: hypotheses[rank].text,
    score: number(hypotheses[rank].score, 3),
  });
  const attrs = { class: "rank", type: "button", title: about, "aria-label": about };
  const style = { left: `${x + 4}px`, top: `${y}px` };
  return h(
    "button",
    { ...attrs, style, dataset: { testid: "beam-rank", focus: `beam ${rank}` }, on: { click: () => take(rank) } },
    rank + 1,
  );
}
