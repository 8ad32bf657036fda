/**
 * The tree of texts, drawn: a token along each edge with its probability, the shown text bold. A click or an arrow key goes to a
 * node; two nodes can be chosen to be compared.
 */

import { tokenName } from "../../model/labels.js";
import { nodeAt, textAt, wayTo } from "../../state/text_tree.js";
import { pairOf } from "../../state/tree_changes.js";
import { createPages } from "../../ui/controls.js";
import { h, keepingFocus, replace, svg, update } from "../../ui/dom.js";
import { briefPercent, number, percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";
import { aimOf, beginningOf, branchEnd, lastChoice, neighbour, offersPair } from "./tree_layout.js";
import {
  editOf,
  fitting,
  forkPath,
  isNarrow,
  isTight,
  nodeLabel,
  pictureOf,
  SIZE,
  tokenShare,
  treeEdge,
  wordAfter,
} from "./tree_picture.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { TextTree } from "../../state/text_tree.js"
 * @import { Actions } from "../view.js"
 * @import { Player } from "./buttons.js"
 * @import { Session } from "./session.js"
 * @import { Placed, Stub } from "./tree_layout.js"
 * @import { Picture } from "./tree_picture.js"
 */

const ZOOMS = [0.8, 1, 1.25, 1.6];
/** On a phone no letter is smaller than 12 pixels. */
const PHONE_ZOOMS = [0.93, ...ZOOMS.slice(1)];
/** The height of the numbers over the columns, in css/tree.css. Pixels. */
const STEPS = 16;
/** Below this, probabilities would be smaller than what can be read. */
const LEAST_SHARES = 1;
/** @param {Session} session @param {Player} player @param {Actions} actions */
export function createTree(session, player, actions) {
  let [zoom, room, high, drawn] = [1, 0, 0, ""];
  let zoomed = false; // by the reader; a phone chooses the first zoom
  let began = -1; // the chosen token, when a phone's tree opened at its fork
  let opens = true; // until it is drawn in its room
  let all = /** @type {Placed[]} */ ([]);
  let [known, aim] = [/** @type {TextTree|null} */ (null), { stand: -1, split: -1, at: -1 }];
  const edges = svg("svg", { class: "tree-edges", "aria-hidden": true });
  const items = h("div", { class: "tree-items", role: "tree", "aria-label": t("tree.title"), on: { keydown } });
  const marks = h("div", { class: "tree-marks" });
  const steps = h("div", { class: "tree-steps", "aria-hidden": true });
  const body = h("div", { class: "tree-body" }, edges, items, marks);
  const canvas = h("div", { class: "tree-canvas", translate: "no" }, steps, body);
  const scroll = h("div", { class: "tree-scroll", dataset: { testid: "tree" } });
  const pages = createPages(scroll, () => scroll.clientWidth - FADES.before - FADES.after);
  scroll.append(pages.before, canvas, pages.after);
  const offered = h("p", { class: "tree-bare", hidden: true }, h("span", null, t("generation.hint")));
  // In a closed drawer nothing can be scrolled to: it is drawn again when that opens, or has another width.
  // What it leaves free below its branches, the ways that were not taken fill.
  const pane = h("div", { class: "tree" }, scroll, offered);
  new ResizeObserver(([{ contentRect }]) => {
    const { width } = contentRect;
    const most = Number.parseFloat(getComputedStyle(scroll).maxHeight) || Number.POSITIVE_INFINITY;
    const height = Math.min(contentRect.height, most); // above the bars of a source it has less
    if (width === room && height === high) return;
    opens ||= room === 0;
    [room, high] = [width, height];
    if (room > 0) draw(last.trace, last.state);
  }).observe(pane);
  const zooms = [-1, 1].map((step) => {
    const name = step < 0 ? "out" : "in";
    const attrs = {
      class: "btn icon",
      type: "button",
      title: t(`tree.zoom_${name}`),
      "aria-label": t(`tree.zoom_${name}`),
    };
    const click = () => {
      zoom = zoomsAt(room)[zoomsAt(room).indexOf(zoom) + step] ?? zoom;
      zoomed = true;
      draw(last.trace, last.state);
    };
    return h("button", { ...attrs, dataset: { testid: `tree-${name}` }, on: { click } }, zoomSign(name));
  });
  const last = { trace: /** @type {ModelTrace|null} */ (null), state: actions.get() };

  /** @param {number} at */
  function go(at) {
    player.pause();
    session.goTo(at);
  }

  /** @param {KeyboardEvent} event */
  function keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !known) return;
    const at = Number(/** @type {HTMLElement} */ (event.target).dataset.at);
    const node = known.nodes[at];
    if (event.key === "Delete" && node && node.up >= 0) session.prune(at);
    else if (event.key === "-" || event.key === "+") session.fold(at, event.key === "-");
    else {
      const to = neighbour(known, all, at, event.key);
      if (to === null) return;
      go(to);
      /** @type {HTMLElement|null} */ (items.querySelector(`[data-at="${to}"]`))?.focus({ preventScroll: true });
    }
    event.preventDefault();
  }

  /** @param {ModelTrace|null} trace @param {State} state */
  function draw(trace, state) {
    Object.assign(last, { trace, state });
    const here = session.here();
    if (here < 0) return; // while a new sentence is read, the old one stays
    const tree = session.tree();
    scroll.dataset.ids = session.path()?.ids.join(".") ?? ""; // what is written, for tests
    const way = wayTo(tree, branchEnd(tree, here));
    const words = way.map((one) => nodeAt(tree, one).ids.map(session.word));
    const stand = standOf(tree, here);
    const offers = way.map((one) => session.offered(one).length);
    const content = JSON.stringify([here, stand, zoom, room, high, words, offers]);
    if (tree !== known || content !== drawn) {
      [known, drawn] = [tree, content];
      paint(here, stand, trace);
    }
    const offered = zoomsAt(room);
    const at = offered.indexOf(zoom);
    zooms.forEach((button, up) => update(button, { "aria-disabled": offered[at + (up ? 1 : -1)] ? null : "true" }));
    if (high > 0) session.askOffered(() => draw(last.trace, last.state));
  }

  /** The node of the chosen token: the page may look back in its text. @param {TextTree} tree @param {number} here */
  function standOf(tree, here) {
    const path = session.path();
    let back = path ? path.ids.length - 1 - session.chosen(path) : 0;
    let at = here;
    for (; back > 0 && nodeAt(tree, at).up >= 0; at = nodeAt(tree, at).up) back -= nodeAt(tree, at).ids.length;
    return at;
  }

  /** @param {number} here @param {number} stand @param {ModelTrace|null} trace */
  function paint(here, stand, trace) {
    const tree = /** @type {TextTree} */ (known);
    const brief = last.state.lesson !== null;
    // Large type zooms the whole panel.
    const drawnAt = (/** @type {number} */ zoom) =>
      pictureOf({ session, tree, here, stand, trace, zoom, room, high: high - STEPS, brief });
    const begins = isNarrow({ room }) ? beginningOf(tree, branchEnd(tree, here)) : null;
    if (!zoomed) zoom = !isNarrow({ room }) || fitsFrom(drawnAt(1), begins) ? 1 : zoomsAt(room)[0]; // before it is laid out it has no room
    const picture = drawnAt(zoom);
    ({ all } = picture);
    const { width, height } = picture;
    update(canvas, { style: { width: `${width}px`, "--zoom": zoom } });
    canvas.classList.toggle("tight", isTight(picture));
    update(body, { style: { height: `${height}px` } });
    replace(steps, stepsOf(picture));
    steps.hidden = picture.brief || all.length < 2;
    update(scroll, { dataset: { rows: 1 + Math.max(...all.map(({ row }) => row)) } });
    update(edges, { viewBox: `0 0 ${width} ${height}`, width, height });
    replace(edges, edgesOf(picture));
    const instead = (/** @type {Stub} */ { up, id }) => {
      player.pause();
      session.instead(up, id);
    };
    const [buttons, more] = [
      all.map((one) => itemOf(picture, one, go)),
      [
        ...picture.stubs.map((one) => stubOf(picture, one, instead)),
        ...all.flatMap((one) => marksOf(picture, one, go)),
      ],
    ];
    keepingFocus(scroll, () => {
      replace(items, buttons);
      replace(marks, more);
    });
    aim = aimOf(aim, tree, here, stand);
    const row = items.querySelector(".stand");
    if (row) bringIntoView(scroll, /** @type {HTMLElement} */ (row), Math.max(FADES.after, picture.after));
    const from = (/** @type {number} */ column) => (picture.ends[column - 1] ?? 0) - FADES.before;
    const split = aim.at === stand ? undefined : picture.places.get(aim.at);
    if (split && from(split.column + 1) < scroll.scrollLeft) scroll.scrollLeft = from(split.column); // and the token before it
    // It opens where the reader chose last, on a phone where the text forked; there it stays until another token is chosen.
    const choice = opens && !split ? picture.places.get(lastChoice(tree, stand)) : undefined;
    if (choice) scroll.scrollLeft = Math.min(scroll.scrollLeft, from(choice.column));
    if (opens && room > 0) began = stand;
    else if (stand !== began) began = -1;
    const start = began < 0 || begins === null ? undefined : picture.places.get(begins);
    if (start && !split) scroll.scrollLeft = from(start.column);
    opens &&= room === 0;
    pages.say();
  }

  /** Before anything is written, this button stands in the empty pane; then in its place. @param {HTMLElement} button @param {HTMLElement} place */
  function offer(button, place) {
    offered.hidden = all.length !== 1 || last.state.lesson !== null;
    const now = offered.hidden ? place : offered;
    if (button.parentElement === now) return;
    const focused = document.activeElement === button;
    now.append(button);
    if (focused) button.focus({ preventScroll: true });
  }

  return { node: pane, zooms, draw, offer };
}

/** @param {number} room */
const zoomsAt = (room) => (isNarrow({ room }) ? PHONE_ZOOMS : ZOOMS);

/** Whether the columns of a text from this node on, or all of it, are in the pane together. @param {Picture} picture @param {number|null} begins */
function fitsFrom({ ends, places, room }, begins) {
  const { column = 0 } = (begins !== null && places.get(begins)) || {};
  return ends[ends.length - 1] - (ends[column - 1] ?? 0) <= room;
}

/** Over each column, how many tokens are written there. @param {Picture} picture */
const stepsOf = ({ ends }) =>
  ends.slice(1).map((end, i) => h("span", { style: { left: `${ends[i]}px`, width: `${end - ends[i]}px` } }, i + 1));

/** A magnifier: the + at the end of a text chooses it to be compared. @param {"in"|"out"} name */
const zoomSign = (name) =>
  svg(
    "svg",
    { viewBox: "0 0 20 20", width: 20, height: 20, class: "zoom-sign", "aria-hidden": true },
    svg("circle", { cx: 8.5, cy: 8.5, r: 6 }),
    svg("path", { d: `M13 13l5 5M6 8.5h5${name === "in" ? "M8.5 6v5" : ""}` }),
  );

/** @param {Picture} picture */
function edgesOf(picture) {
  const { tree, here, stand, all, zoom, ends, way: shown } = picture;
  const ahead = new Set([...wayTo(tree, here), ...(wayTo(tree, tree.tip).includes(here) ? wayTo(tree, tree.tip) : [])]);
  const sideOf = sidesOf(picture);
  const lines = all.flatMap((one) => {
    if (one.up < 0) return [];
    const edge = treeEdge(picture, one);
    const d = edge.bends ? forkPath(edge, SIZE.bend * zoom) : `M${edge.x} ${edge.y}H${edge.to}`;
    const kind = shown.has(one.at) ? "shown" : ahead.has(one.at) ? "ahead" : "";
    const p = tokenShare(picture, one);
    const width = zoom * (1.5 + 5 * (p ?? 0.1));
    return svg("path", {
      class: ["edge", kind, p === undefined && "unknown", sideOf(one.at)].filter(Boolean).join(" "),
      d,
      "stroke-width": number(width, 2),
    });
  });
  const y = ({ row = 0 }) => (row * picture.row + SIZE.line) * zoom;
  const forks = all.filter(({ forks: is, ends: folded }) => is && !folded);
  const circles = forks.map((one) => svg("circle", { cx: ends[one.column], cy: y(one), r: 4 * zoom }));
  const now = /** @type {Placed} */ (picture.places.get(stand) ?? all[0]);
  const mark = svg("path", { class: "now", d: `M${ends[now.column]} ${y(now) - 16 * zoom}v${32 * zoom}` });
  const pale = picture.stubs.map((one) => {
    const edge = { x: ends[one.column - 1], to: ends[one.column] - 12 * zoom, above: y({ row: one.from }), y: y(one) };
    const attrs = { class: "edge stub", d: forkPath(edge, SIZE.bend * zoom) };
    return svg("path", { ...attrs, "stroke-width": number(zoom * (1 + 3 * one.p), 2) });
  });
  return [...pale, ...lines, mark, ...circles];
}

/** While two texts are compared, edges have their colours: the class of the edge before a node. @param {Picture} picture @returns {(at: number) => string|false} */
function sidesOf({ tree, here }) {
  const ways = pairOf(tree, here).map((at) => new Set(wayTo(tree, at)));
  if (ways.length < 2) return () => false;
  const names = ["", "a", "b", "both"];
  return (at) => names[Number(ways[0].has(at)) + 2 * Number(ways[1].has(at))];
}

/** @param {Picture} picture @param {Placed} one */
const classOf = ({ stand, way }, { at, up }) =>
  [up < 0 && "root", up >= 0 && way.has(at) && "shown", at === stand && "stand"].filter(Boolean).join(" ") || null;

/** @param {Picture} picture @param {Placed} one @param {(at: number) => void} go */
function itemOf(picture, one, go) {
  const { tree, here, zoom, ends } = picture;
  const node = nodeAt(tree, one.at);
  const isRoot = one.up < 0;
  const { x, to, y } = isRoot
    ? { x: 0, to: ends[0], y: (one.row * picture.row + SIZE.line) * zoom }
    : treeEdge(picture, one);
  const about = isRoot ? t("tree.root", { n: node.ids.length }) : aboutOf(picture, one);
  const p = tokenShare(picture, one);
  const share = p !== undefined && !picture.brief && zoom >= LEAST_SHARES ? briefPercent(p) : "";
  const content = [
    h("span", { class: "text" }, nameNodes(fitting(picture, nodeLabel(picture, one.at)))),
    h(
      "span",
      { class: "share-said" },
      share,
      one.edited !== null && h("span", { class: "edit" }, ` ${editOf(picture, one.edited)}`),
    ),
  ];
  const attrs = {
    ...{ type: "button", role: "treeitem", class: classOf(picture, one) },
    ...{
      title: about,
      "aria-label": about,
      "aria-level": one.column + 1,
      "aria-current": one.at === here ? "true" : null,
    },
    ...{ tabindex: one.at === here ? 0 : -1, "aria-expanded": one.forks ? String(!one.hidden) : null },
    style: {
      left: `${x}px`,
      top: `${y - SIZE.line * zoom}px`,
      width: `${to - x}px`,
      height: `${(picture.row - 3) * zoom}px`,
    },
  };
  const ids = isRoot ? "" : node.ids[0];
  const data = {
    testid: "tree-node",
    at: one.at,
    id: ids,
    how: node.how,
    focus: `node ${one.at}`,
    text: textAt(tree, one.at).ids.join("."),
  };
  return h("button", { ...attrs, dataset: data, on: { click: () => go(one.at) } }, content);
}

/** What could stand in the place of a token: pressed, it does. The arrow keys pass it; the dock offers the same. @param {Picture} picture @param {Stub} one @param {(one: Stub) => void} instead */
function stubOf(picture, one, instead) {
  const { session, tree, ends, row, zoom } = picture;
  const [word, taken] = [one.id, one.instead].map((id) => wordAfter(session, tree, one.up, id));
  const about = t("tree.instead", { token: tokenName(word), share: percent(one.p), taken: tokenName(taken) });
  const [x, to] = [ends[one.column - 1], ends[one.column]];
  const content = [
    h("span", { class: "text" }, nameNodes(fitting(picture, tokenName(word)))),
    !isTight(picture) && h("span", { class: "share-said" }, briefPercent(one.p)),
  ];
  const style = {
    left: `${x}px`,
    top: `${one.row * row * zoom}px`,
    width: `${to - x}px`,
    height: `${(row - 3) * zoom}px`,
  };
  const attrs = { class: "stub", type: "button", title: about, "aria-label": about, tabindex: -1, style };
  return h(
    "button",
    { ...attrs, dataset: { testid: "tree-stub", id: one.id }, on: { click: () => instead(one) } },
    content,
  );
}

/** "“and”, 62 %, drawn with seed 7: u 0.6312". @param {Picture} picture @param {Placed} one */
function aboutOf({ session, tree }, { at }) {
  const { ids, up, how, p, u, seed, name } = nodeAt(tree, at);
  const vars = {
    token: tokenName(wordAfter(session, tree, up, ids[0])),
    share: p === undefined ? "" : percent(p),
    seed: seed ?? "",
    u: u === undefined ? "" : number(u),
  };
  const said = t(p === undefined ? "tree.node" : "tree.node_share", vars);
  return [name, said, t(`tree.how.${how}`, vars)].filter(Boolean).join(" · ");
}

/**
 * What can be pressed at the end of a branch and where the page is: a choice of two, and what is folded. At the end of a
 * branch that goes on beyond the pane it stays in sight. @param {Picture} picture @param {Placed} one @param {(at: number) => void} go
 */
function marksOf(picture, one, go) {
  const { session, tree, all, ends, zoom, row } = picture;
  const { name } = nodeAt(tree, one.at);
  const [x, top] = [ends[one.column], `${(one.row * row + SIZE.line) * zoom}px`];
  const isChosen = tree.pair.includes(one.at);
  const offers = isChosen || (one.ends && offersPair(all, pairOf(tree, one.at)));
  // Over a node inside a text a mark would hide the edge and the cursor: it stands at the end of its row.
  const inside = all.filter(({ at, row, ends }) => row === one.row && !ends && tree.pair.includes(at));
  const own = one.up >= 0 && (isChosen || (offers && inside.length === 0));
  const picks = one.ends ? [...inside, ...(own ? [one] : [])].map((of) => pickMark(picture, of, go)) : [];
  const about = t("tree.unfold", { n: one.hidden });
  const attrs = { class: "fold-mark", type: "button", title: about, "aria-label": about };
  const data = { focus: `fold ${one.at}`, testid: "tree-unfold" };
  const click = () => session.fold(one.at, false);
  const after = [
    one.hidden > 0 && h("button", { ...attrs, dataset: data, on: { click } }, `+${one.hidden}`),
    ...picks,
    name && h("span", { class: "name" }, name),
  ].filter(Boolean);
  const space = h("i", { style: { width: `${x + 8 * zoom}px` } });
  return after.length > 0 ? [h("div", { style: { top } }, space, h("span", null, after))] : [];
}

/** Chooses a text to be compared, the first as A and the second as B; once both are compared, goes to it. @param {Picture} picture @param {Placed} one @param {(at: number) => void} go */
function pickMark({ session, tree }, { at }, go) {
  const pair = pairOf(tree, at);
  const chosen = pair.indexOf(at);
  const [isOne, second] = [chosen >= 0, chosen < 0 && pair.length === 1];
  const leads = isOne && pair.length === 2;
  const name = ["A", "B"][chosen] ?? (second ? "B" : "+");
  const says = isOne ? "unpick" : second ? "pick_second" : "pick_about";
  const about = t(`tree.${leads ? "go_to" : says}`, { name });
  const attrs = {
    class: `pick ${["a", "b"][chosen] ?? (second ? "other" : "")}`,
    type: "button",
    title: about,
    "aria-label": about,
    "aria-pressed": leads ? null : isOne,
  };
  const data = { focus: `pick ${at}`, testid: "tree-end", at };
  const click = () => (leads ? go(at) : session.pick(at));
  return h("button", { ...attrs, dataset: data, on: { click } }, name);
}

/** What fades at the edges behind which the picture goes on: css/tree.css. Pixels. */
const FADES = { before: 44, after: 76 };

/** Scrolls inside the picture only. @param {HTMLElement} scroll @param {HTMLElement} item @param {number} after  room to see what follows */
function bringIntoView(scroll, item, after) {
  const [left, right, top, bottom] = [
    item.offsetLeft,
    item.offsetLeft + item.offsetWidth + after,
    item.offsetTop,
    item.offsetTop + item.offsetHeight + STEPS,
  ];
  if (right <= scroll.clientWidth) scroll.scrollLeft = 0;
  else if (right > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = right - scroll.clientWidth;
  if (left - after / 2 < scroll.scrollLeft) scroll.scrollLeft = left - after;
  if (bottom > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = bottom - scroll.clientHeight;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
}
