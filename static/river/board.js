/** The canvas of the river on the page: its size and what it shows. */

import { offer } from "../export/svg_pen.js";
import { headKey } from "../model/edits.js";
import { edgeKey } from "../model/interventions.js";
import { sameValue } from "../state/view_state.js";
import { h, newId, painted, update } from "../ui/dom.js";
import { eyeSign } from "../ui/heads.js";
import { t } from "../ui/i18n.js";
import { createSliding } from "./draw/animation.js";
import { createPainter } from "./draw/painter.js";
import { listen, pick, showTip } from "./input/events.js";
import { nearestPlace } from "./input/places.js";
import { createScrolling } from "./input/scrolling.js";
import { frameOf, topOf } from "./layout/frame.js";
import { riverLayout } from "./layout/layout.js";
import { ghostsOf, markChanged, showNamed, showNotable } from "./layout/lines.js";
import { currentStyle } from "./style.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Edge } from "../model/interventions.js"
 * @import { Facts } from "./facts.js"
 * @import { Place } from "./input/places.js"
 * @import { Head } from "./layout/heads.js"
 * @import { Band, Bead, Link, Scene } from "./layout/layout.js"
 * @import { Candidate } from "../views/dock.js"
 * @import { PlaceName } from "../views/places.js"
 * @import { SideName } from "../model/description.js"
 * @import { Line } from "./layout/lines.js"
 * @import { Open } from "./view_state.js"
 * @import { Bar } from "./words/names.js"
 */

/**
 * @typedef {{facts: Facts, bars: Bar[], trace: ModelTrace,
 *   heads: string|null, open: Open|null, whole: boolean, low: boolean, covered: boolean, ranks: boolean, start: boolean, prompt: number|null, place: PlaceName, has: (view: string) => boolean,
 *   chosen: (Edge & {keys: SideName})|null, struck: boolean, writesNothing: boolean, named: Edge[], source: {stack: number, key: number}|null, offered: Candidate[]}} Shown  `heads`: the attention whose heads are drawn; null:
 *   the last; `whole`: not as a strip over an open place; `low`: above a sheet; `covered`: without what a quiz asks for; `ranks`: a button offers to rank the heads; `start`: of the start page; `prompt`: how many tokens a text had before it was written on; `place`: what is open; `has`: whether the model has a view; `chosen`: the weight that is open there; `struck`: it is hidden; `writesNothing`: its head is off; `named`: the edges that the sentence offers to hide; `source`: the token that the sentence says is used most;
 *   `offered`: the answers that can be taken
 * @typedef {Object} Actions  what a reader can do here; each may find that there is nothing to do
 * @property {(band: Band, token: number) => void} choose
 * @property {(band: Band) => boolean} chooses  whether its tokens have separate answers
 * @property {(band: number, token: number) => string|null} invite  to choose it, in words; null: it is chosen
 * @property {((line: Line) => void)|null} knockOut  knocks out a line, or restores it; null: no line can be knocked out
 * @property {(line: Line) => {hide: string, hideInHead: string, hideInHeads: string, open: string, carried: string[]}} offers  which heads carry a line, and what can be done with it, in words: to hide it, also in the one head that carries most of it or in all that do, and to open that one; "": it cannot be, or is not measured
 * @property {(line: Line, n?: number) => void} hideInHeads  in the first of them, or in all @property {(line: Line) => void} openHeadOf  in the first
 * @property {(band: Band, token: number) => void} knockOutAll  every edge from the chosen token to this one
 * @property {(scene: Scene, head: Head|null) => {head: Head, lines: Line[]|null, words: string}|null} preview  one head's lines, unless they are pooled, and what it does in words
 * @property {(head: Head) => void} openHead  its matrix @property {(head: Head) => void} pressHead  asks for its numbers, before it is opened
 * @property {(link: Link) => void} go  to a place in the model
 * @property {(id: number) => void} take  an answer, as the next token
 * @property {() => boolean} back  one step out; false: this is the whole model
 * @property {(layer: Open|null) => void} zoom  opens a layer, or closes it; null: closes any
 * @property {(what: Line|Bead) => string[]} tell  a line, or an FFN, in words
 * @property {((at: Open, part: "attention"|"ffn") => void)|null} switchPart  an attention or an FFN off, or on again; null: it cannot be
 * @property {(at: Open, part: "attention"|"ffn") => boolean} isPartOff @property {(head: Head) => void} switchHead  off, or on again
 * @property {(head: Head) => string[]} tellOff  what the answer loses without it
 * @property {(head: Head) => boolean} switchesHead  whether it can be @property {(head: Head) => boolean} isHeadOff
 * @property {(line: Line|null, picked?: boolean) => void} measure  the effect of knocking it out, of a chosen one also in its head, unless that is measured already
 * @property {(scene: Scene, place: Place) => string} read  a place in words
 * @typedef {ReturnType<typeof emptyBoard>} Board
 * @typedef {ReturnType<typeof buildBoard>} BoardParts
 */

/** Its elements. */
export function buildBoard() {
  const attrs = { class: "sr-only", id: newId("river-readout"), "aria-live": "polite" };
  const readout = h("p", { ...attrs, dataset: { testid: "river-readout" } });
  const canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": t("river.picture"),
    "aria-describedby": readout.id,
    dataset: { testid: "river" },
  });
  const tipWords = h("span");
  const act = (/** @type {string} */ testid) =>
    h("button", { class: "btn", type: "button", hidden: true, dataset: { testid } });
  const acts = {
    hide: act("river-hide"),
    hideInHead: act("river-hide-in-head"),
    hideInHeads: act("river-hide-in-heads"),
    open: act("river-open-head"),
  };
  const attributes = { class: "river-tip", hidden: true, "aria-hidden": "true", dataset: { testid: "river-tip" } };
  const tip = h("div", attributes, tipWords, Object.values(acts));
  // Keys do the same (Shift + Delete): this is for pointers.
  const scissors = h(
    "button",
    {
      class: "scissors",
      type: "button",
      tabindex: -1,
      hidden: true,
      "aria-hidden": "true",
      title: t("river.scissors"),
    },
    "✂",
  );
  const eye = h("button", {
    ...{ class: "scissors part-eye", type: "button", tabindex: -1, hidden: true, "aria-hidden": "true" },
    dataset: { testid: "part-eye" },
  });
  eye.append(eyeSign());
  return {
    box: h("div", { class: "board" }, canvas, tip, scissors, eye, readout),
    canvas,
    tip,
    tipWords,
    acts,
    scissors,
    eye,
    readout,
  };
}

/** Over each answer that can be taken, a button that takes it; lines are too low for one, and the dock offers the same. The arrow keys go from one to the next. @param {HTMLElement} box @param {(id: number) => void} take */
function createAnswerButtons(box, take) {
  const attrs = { class: "answers-taken", role: "group", "aria-label": t("candidates.title.next"), hidden: true };
  const node = h("div", { ...attrs, on: { keydown } });
  const buttons = /** @type {HTMLElement[]} */ ([]);
  box.append(node);

  function button() {
    const click = () => take(Number(made.dataset.id));
    const made = h("button", { type: "button", dataset: { testid: "answer" }, on: { click } });
    node.append(made);
    return made;
  }

  /** @param {KeyboardEvent} event */
  function keydown(event) {
    const shown = buttons.filter(({ hidden }) => !hidden);
    const to = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = to && shown[shown.indexOf(/** @type {any} */ (event.target)) + to];
    if (!next) return;
    event.preventDefault();
    for (const one of shown) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  }

  return {
    /** @param {Scene} scene @param {Shown} shown */
    draw({ isStrip, answers: { x, y, width, step, inLine } }, { bars, offered }) {
      const at = bars.map(({ id }) => (inLine ? undefined : offered.find((one) => one.id === id && one.take)));
      update(node, { style: { left: `${x}px`, top: `${y}px`, width: `${width}px` } });
      node.hidden = !at.some(Boolean);
      while (buttons.length < at.length) buttons.push(button());
      buttons.forEach((one, i) => {
        const offer = at[i];
        one.hidden = !offer;
        if (!offer) return;
        const style = { top: `${i * step - (isStrip ? 0 : step / 9)}px`, height: `${step}px` };
        update(one, { "aria-label": offer.words, title: offer.words, style, dataset: { id: offer.id } });
      });
      const shown = buttons.filter(({ hidden }) => !hidden);
      if (shown.filter(({ tabIndex }) => tabIndex === 0).length === 1) return;
      for (const one of shown) one.tabIndex = one === shown[0] ? 0 : -1;
    },
  };
}

const emptyBoard = () => ({
  shown: /** @type {Shown|null} */ (null),
  scene: /** @type {Scene|null} */ (null),
  actions: /** @type {Actions|null} */ (null),
  hovered: /** @type {Line|null} */ (null),
  picked: /** @type {Line|null} */ (null), // chosen by a click
  pickedAt: { x: 0, y: 0 },
  bead: /** @type {Bead|null} */ (null), // pointed at
  cursor: /** @type {Place|null} */ (null),
  pointed: /** @type {{band: number, row: number}|null} */ (null), // the row whose label is pointed at
  over: /** @type {Open|Link|null} */ (null), // the layer or the name of a place that is pointed at
  preview: /** @type {ReturnType<Actions["preview"]>} */ (null), // the head that the pointer rests on
  pointer: { x: 0, y: 0 },
  time: 1, // of Watch
  bars: () => /** @type {Bar[]} */ ([]), // as long as they are at this moment
  /** @type {Set<string>} the lines that a button of the sentence hides, while it is pointed at */
  lit: new Set(),
  /** @type {Set<string>} stack and first token of each fold that the reader has opened */
  unfolded: new Set(),
});

/** @type {WeakMap<HTMLCanvasElement, Board>} */
const boards = new WeakMap();

/** What a canvas shows, and from what. @param {HTMLCanvasElement} canvas */
export const boardOf = (canvas) => boards.get(canvas);

/** What is drawn on a canvas now. @param {HTMLCanvasElement} canvas */
export const sceneOf = (canvas) => boards.get(canvas)?.scene ?? null;

/** @param {BoardParts} parts @param {(scene: Scene) => void} placed  called after each layout */
export function createRiverBoard(parts, placed) {
  const { box, canvas, scissors } = parts;
  const board = emptyBoard();
  boards.set(canvas, board);
  const painter = createPainter(canvas);
  const paint = () => {
    painter.paint(board);
    scrolling.painted();
    if (board.cursor && board.scene) scrolling.show(board.scene.bands[board.cursor.band].columns[board.cursor.layer]);
  };
  const repaint = () => painted(paint);
  let laidOut = 0; // the width of its place
  let top = 0; // where that begins
  let letters = ""; // and the sizes of its letters
  const lettersNow = () => lettersOf(currentStyle(canvas));
  const scrolling = createScrolling(box, canvas);
  const sliding = createSliding(repaint);
  const answers = createAnswerButtons(box, (id) => board.actions?.take(id));
  board.bars = sliding.now;
  offer(canvas, () => board.scene && { ...sizeOf(board.scene), draw: (pen) => painter.draw(board, pen) });

  function layout(width = box.clientWidth) {
    const { shown } = board;
    if (!shown) return;
    if (!width) {
      // It is hidden. What it showed has another text's rows: it is laid out when it has a width again.
      [laidOut, board.scene] = [0, null];
      return;
    }
    const { rolled, before, was, row, knockouts } = shown.facts;
    [laidOut, top, letters] = [width, topOf(box), lettersNow()];
    const frame = frameOf(canvas, shown, laidOut, board);
    board.scene = riverLayout(rolled, row, frame);
    if (shown.chosen && !shown.struck)
      [board.scene.chosen = null] = ghostsOf([shown.chosen], board.scene, board.scene, rolled);
    if (shown.covered) board.scene.lines = board.scene.lines.filter(({ own }) => own);
    else if (before) board.scene.ghosts = ghostsOf(knockouts, board.scene, riverLayout(before, row, frame), before);
    if (shown.writesNothing && board.scene.chosen)
      Object.assign(board.scene, { ghosts: [...board.scene.ghosts, board.scene.chosen], chosen: null });
    if (was) markChanged(board.scene, riverLayout(was, row, frame));
    Object.assign(board, {
      hovered: null,
      bead: null,
      pointed: null,
      over: null,
      lit: new Set(),
      cursor: board.cursor && nearestPlace(board.scene, board.cursor),
    });
    board.preview = null;
    for (const one of [scissors, parts.eye]) update(one, { hidden: true });
    pick(parts, board, null);
    canvas.style.height = `${board.scene.height}px`; // now: pictures below it are measured before it is painted
    scrolling.placed(board.scene, laidOut);
    placed(board.scene);
    answers.draw(board.scene, shown);
    showEffects();
    repaint();
  }

  /** Draws the lines that matter most, so that they can be pointed at. */
  function showEffects() {
    const { measured, was } = board.shown?.facts ?? {};
    if (!board.scene || !board.shown || !measured || was) return;
    showNotable(board.scene.lines, measured.effects);
    showNamed(board.scene.lines, board.shown.named);
  }

  function showSame() {
    showEffects();
    if (board.hovered || board.picked) showTip(parts, board, board.hovered); // it may be measured by now
    if (board.scene && board.shown) answers.draw(board.scene, board.shown);
    repaint();
  }

  /** @param {number} i  of a band @param {number} at  of a row */
  function choose(i, at) {
    const band = /** @type {Scene} */ (board.scene).bands[i];
    const { from, to } = band.rows[at];
    if (to - from === 1) return board.actions?.choose(band, from);
    board.unfolded.add(`${band.stack} ${from}`);
    layout();
  }

  listen(parts, board, { repaint, choose });
  new ResizeObserver(() => laidOut !== box.clientWidth && layout()).observe(box);
  // What is above it comes and goes, as the field of the sentence does: the picture takes what the window leaves it now.
  const above = new ResizeObserver(() => {
    const { shown, scene } = board;
    if (scene && shown?.whole && !shown.start && top !== topOf(box)) layout();
  });
  for (const part of partsAbove(box)) above.observe(part);
  let high = innerHeight; // rows and heads share what it leaves
  addEventListener("resize", () => {
    if (innerHeight === high || !board.scene || !box.isConnected) return;
    high = innerHeight;
    layout();
  });

  /** What the head under the pointer does may be known by now. */
  function tellAgain() {
    const { preview, scene, actions } = board;
    const there = preview && scene?.squares.some((one) => headKey(one) === headKey(preview.head));
    if (!there || !scene || !actions) return;
    board.preview = actions.preview(scene, preview.head);
    if (!parts.tip.hidden) showTip(parts, board, board.preview?.words ?? null);
  }

  return {
    /** @param {Shown} shown @param {Actions} actions @param {number} width  of its place */
    show(shown, actions, width) {
      const was = board.shown;
      if (was?.facts.rolled[0].river !== shown.facts.rolled[0].river) board.unfolded.clear();
      Object.assign(board, { shown, actions });
      sliding.to(shown.bars, was?.whole === shown.whole);
      if (was && board.scene && sameLayout(was, shown) && letters === lettersNow()) showSame();
      else layout(width);
      tellAgain();
    },
    /** Of its place; 0: it is not laid out. */
    width: () => laidOut,
    /** Show a moment of Watch. @param {number} time  0 to 1 */
    watch(time) {
      board.time = time;
      repaint();
    },
    /** Lights lines, as where one is pointed at. @param {Edge[]} edges */
    light(edges) {
      const lit = new Set(edges.map(edgeKey));
      if (lit.size === board.lit.size && [...lit].every((key) => board.lit.has(key))) return;
      board.lit = lit;
      repaint();
    },
    /** The lines that are drawn one by one. */
    lines: () => board.scene?.lines.filter(({ own, shown }) => shown && !own) ?? [],
    beads: () => board.scene?.beads ?? [],
  };
}

/** All that stands above an element in its page. @param {Element|null} element @returns {Element[]} */
function partsAbove(element) {
  if (!element || element.matches(".page")) return [];
  const before = element.previousElementSibling;
  return before ? [before, ...partsAbove(before)] : partsAbove(element.parentElement);
}

/** @param {Scene} scene */
const sizeOf = ({ width, height }) => ({ width, height });

/** What the places of its texts depend on. @param {ReturnType<typeof currentStyle>} style */
const lettersOf = ({ type, least }) => `${type} ${least}`;

/** Whether everything stays where it is. @param {Shown} was @param {Shown} now */
function sameLayout(was, now) {
  return (
    was.facts.rolled === now.facts.rolled &&
    was.facts.before === now.facts.before &&
    was.facts.was === now.facts.was &&
    was.facts.knockouts.length === now.facts.knockouts.length &&
    was.bars.length === now.bars.length &&
    was.trace.key === now.trace.key &&
    was.heads === now.heads &&
    was.place === now.place &&
    was.start === now.start &&
    was.prompt === now.prompt &&
    was.low === now.low &&
    was.covered === now.covered &&
    was.ranks === now.ranks &&
    was.writesNothing === now.writesNothing &&
    sameValue([was.open, was.chosen], [now.open, now.chosen])
  );
}
