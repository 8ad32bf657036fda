/** What pointer, keyboard, wheel and fingers mean on the picture. */

import { sameValue } from "../../state/view_state.js";
import { replaceChanged, setText, update } from "../../ui/dom.js";
import { layerTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { boxedText } from "../../ui/token_text.js";
import { nextSoFar } from "../facts.js";
import { squareAt } from "../layout/heads.js";

import {
  beadAt,
  columnAt,
  hitAt,
  layerAt,
  linkAt,
  placeAfterKey,
  stripAt,
  titleAt,
  unnamedAt,
  widestAt,
} from "./places.js";
import { listenToGestures } from "./scrolling.js";

/**
 * @import { Board } from "../board.js"
 * @import { Head, Square } from "../layout/heads.js"
 * @import { Bead, Link, Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { BoardParts } from "../board.js"
 * @import { Open } from "../view_state.js"
 * @import { Place } from "./places.js"
 */

// A head is shown while the pointer rests on it; while one is open, that one.

/** How long the pointer rests on a head before it is shown. Milliseconds. */
const REST = 80;

/** @param {Board} board @param {BoardParts} parts  their tip says what the head does @param {() => void} repaint */
function createPreviews(board, parts, repaint) {
  let timer = 0;
  let over = /** @type {Head|null} */ (null);
  /** @param {Head|null} head */
  const show = (head) => {
    if (!board.scene || !board.actions) return;
    board.preview = board.actions.preview(board.scene, head);
    if (head) showTip(parts, board, board.preview?.words ?? null);
    repaint();
  };
  return {
    /** @param {Head|null} head */
    over(head) {
      if (head === over) return;
      over = head;
      clearTimeout(timer);
      if (head) timer = Number(setTimeout(() => show(head), REST));
      else if (board.preview) show(null);
    },
    /** @param {Head} head */
    open(head) {
      clearTimeout(timer);
      over = null;
      board.actions?.openHead(head);
    },
  };
}

/** The layer or the other place to which a click on its name leads. @param {Board} board @param {number} x @param {number} y */
const opensPlace = (board, x, y) => pointedLink(board, x, y) ?? (board.scene && titleAt(board.scene, x, y));

/** The place whose word is pointed at: "best guess" stands only where there are some. @param {Board} board @param {number} x @param {number} y */
function pointedLink({ scene, shown }, x, y) {
  const link = scene && linkAt(scene, x, y);
  const stands = link?.to !== "lens" || (shown && nextSoFar(shown.trace, shown.facts.row).length > 0);
  return stands ? link : null;
}

/** The layer that a click on its empty column opens, unless it is open: no line and no head is there. @param {Board} board @param {number} x @param {number} y */
function opensColumn({ scene, shown }, x, y) {
  const column = scene && columnAt(scene, x, y);
  return column && !sameValue(column, shown?.open) ? column : null;
}

/** The FFN of a layer whose word is pointed at. @param {Scene} scene @param {Link|null} link */
const beadOf = ({ beads, bands: [{ stack }] }, link) =>
  (link?.to === "ffn" && link.stack === stack && beads.find(({ layer }) => layer === link.layer)) || null;

/** Over an FFN, which covers what is below it. */
const NOTHING = { line: null, label: null };

/**
 * @param {BoardParts} parts @param {Board} board
 * @param {{repaint: () => void, choose: (band: number, row: number) => void}} on
 */
export function listen(parts, board, { repaint, choose }) {
  const { canvas, acts, tip, scissors, eye, readout } = parts;
  const previews = createPreviews(board, parts, repaint);
  listenToGestures(canvas, board);

  /** @param {PointerEvent} event */
  function hover({ offsetX, offsetY, pointerType }) {
    if (!board.scene || !board.actions) return;
    const bead = beadAt(board.scene, offsetX, offsetY) ?? beadOf(board.scene, pointedLink(board, offsetX, offsetY));
    const touched = pointerType === "touch";
    const { line, label } = bead ? NOTHING : hitAt(board.scene, offsetX, offsetY, touched);
    const square = squareAt(board.scene.squares, offsetX, offsetY);
    previews.over(square);
    const opens = label && folded(board.scene, label);
    const chooses = label && (opens || board.actions.chooses(board.scene.bands[label.band]));
    const free = !line && !bead && !square && !board.picked && !touched;
    const over = opensPlace(board, offsetX, offsetY) ?? (free ? opensColumn(board, offsetX, offsetY) : null);
    canvas.classList.toggle("choosable", Boolean(chooses) || square !== null || over !== null);
    canvas.classList.toggle("cuttable", line !== null && !line.many && board.actions.knockOut !== null);
    board.pointer = { x: offsetX, y: offsetY };
    showTip(
      parts,
      board,
      line ??
        bead ??
        lensWords(over) ??
        (chooses && !opens ? invites(board, label) : (square && board.preview?.words) || null),
    );
    showScissors(scissors, board, label);
    showEye(eye, board, pointedLink(board, offsetX, offsetY) ?? square);
    const pointed = label ?? (free ? unnamedAt(board.scene, offsetX, offsetY) : null);
    const same = line === board.hovered && bead === board.bead;
    if (same && sameValue([over, pointed], [board.over, board.pointed])) return;
    if (line !== board.hovered && !board.picked) board.actions.measure(line);
    Object.assign(board, { hovered: line, bead, pointed, over });
    repaint();
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    const { scene, actions } = board;
    if (!scene || !actions || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = board.cursor ?? startOf(scene);
    const next = placeAfterKey(scene, at, event.key);
    if (event.key === "Escape") {
      if (board.picked) pick(parts, board, null);
      else if (board.cursor) board.cursor = null;
      else if (!actions.back()) return;
    } else if (event.key === "Enter" || event.key === " ") choose(at.band, at.row);
    else if (event.key === "+") actions.zoom(layerAt(scene, at));
    else if (event.code === "KeyO") actions.switchPart?.(layerAt(scene, at), event.shiftKey ? "attention" : "ffn");
    else if (event.key === "Delete" || event.key === "Backspace") deleteAt(board, at, event.shiftKey);
    else if (next) {
      board.cursor = board.cursor ? next : at;
      setText(readout, actions.read(scene, board.cursor));
    } else return;
    event.preventDefault();
    repaint();
  }

  function leave() {
    Object.assign(board, { hovered: null, bead: null, pointed: null, over: null });
    if (!board.picked) board.actions?.measure(null);
    previews.over(null);
    showTip(parts, board, null);
    repaint();
  }

  /** The first time it is chosen, the second time hidden. @param {Line} line @param {{x: number, y: number}} at */
  function chooseLine(line, at) {
    const again = line === board.picked;
    board.pointer = at;
    pick(parts, board, again ? null : line);
    if (again) {
      canvas.focus({ preventScroll: true }); // its button goes
      board.actions?.knockOut?.(line);
    }
    repaint();
  }

  canvas.addEventListener("pointermove", hover);
  // The eye of a head lies on it: there the head is still pointed at.
  const isEye = (/** @type {EventTarget|null} */ at) =>
    at instanceof Node && eye.dataset.part === "head" && eye.contains(at);
  canvas.addEventListener("pointerleave", ({ relatedTarget }) => isEye(relatedTarget) || leave());
  eye.addEventListener("pointerleave", ({ relatedTarget }) => relatedTarget === canvas || leave());
  canvas.addEventListener("click", (/** @type {PointerEvent} */ { offsetX, offsetY, pointerType }) => {
    if (!board.scene) return;
    const { picked } = board;
    const [bead, touched] = [beadAt(board.scene, offsetX, offsetY), pointerType === "touch"];
    const { line, label } = bead ? NOTHING : hitAt(board.scene, offsetX, offsetY, touched);
    if (picked && line !== picked) {
      pick(parts, board, null);
      repaint();
    }
    const square = squareAt(board.scene.squares, offsetX, offsetY);
    if (square) return previews.open(square);
    const link = pointedLink(board, offsetX, offsetY);
    if (link) return board.actions?.go(link);
    const title = stripAt(board.scene, offsetX, offsetY) ?? titleAt(board.scene, offsetX, offsetY);
    if (title) return board.actions?.zoom(title);
    if (label) choose(label.band, label.row);
    else if (line && !line.many) chooseLine(line, { x: offsetX, y: offsetY });
    if (label || line || bead || picked || touched) return;
    const column = opensColumn(board, offsetX, offsetY);
    if (column) board.actions?.zoom(column);
  });
  acts.hide.addEventListener("click", () => board.picked && chooseLine(board.picked, board.pointer));
  /** @param {number} [n]  of the heads that carry it; default: all */
  const hideInHeads = (n) => () => {
    canvas.focus({ preventScroll: true }); // its button goes
    if (board.picked) board.actions?.hideInHeads(board.picked, n);
  };
  acts.hideInHead.addEventListener("click", hideInHeads(1));
  acts.hideInHeads.addEventListener("click", hideInHeads());
  acts.open.addEventListener("click", () => board.picked && board.actions?.openHeadOf(board.picked));
  tip.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    pick(parts, board, null);
    canvas.focus({ preventScroll: true });
    repaint();
  });
  canvas.addEventListener("keydown", press);
  // Its frame is for the keyboard: one that Escape has brought goes with the next click.
  const pointed = (/** @type {boolean} */ by) => canvas.classList.toggle("pointed", by);
  canvas.addEventListener("pointerdown", ({ offsetX, offsetY, button, pointerType }) => {
    pointed(true);
    const square = board.scene && squareAt(board.scene.squares, offsetX, offsetY);
    if (square && button === 0 && pointerType !== "touch") board.actions?.pressHead(square); // a finger may scroll
  });
  canvas.addEventListener("keydown", () => pointed(false));
  canvas.addEventListener("blur", () => {
    pointed(false);
    board.cursor = null;
    repaint();
  });
  scissors.addEventListener("click", () => {
    const { band, row } = scissors.dataset;
    const place = board.scene?.bands[Number(band)];
    if (place) board.actions?.knockOutAll(place, place.rows[Number(row)].from);
  });
  eye.addEventListener("click", () => {
    const { of = "", part, layer, head } = eye.dataset;
    if (part === "head") board.actions?.switchHead?.({ attention: of, layer: Number(layer), head: Number(head) });
    else board.actions?.switchPart?.({ stack: of, layer: Number(layer) }, part === "ffn" ? "ffn" : "attention");
    update(eye, { hidden: true });
  });
  scissors.parentElement?.addEventListener("pointerleave", () => {
    for (const one of [scissors, eye]) update(one, { hidden: true });
  });
}

/** @param {Board} board @param {Place} at @param {boolean} all */
function deleteAt({ scene, actions }, at, all) {
  if (!scene || !actions?.knockOut) return;
  const band = scene.bands[at.band];
  const line = widestAt(scene, at);
  if (all) actions.knockOutAll(band, band.rows[at.row].from);
  else if (line && !line.many) actions.knockOut(line);
}

// What stands next to the pointer: what is pointed at in words, the line that is chosen with its button, the scissors and the eye.

/** Where words are above the pointer: this far from the picture's lower edge. Pixels. */
const LOW = 150;

/**
 * A line, an FFN, or a token and what a click on it shows; while a line is chosen, that line.
 * @param {BoardParts} parts @param {Board} board @param {Line|Bead|string|null} what  or its words
 */
export function showTip({ tip, tipWords, acts }, { scene, actions, picked, pickedAt, pointer, preview }, what) {
  const shown = picked ?? what;
  const { x, y } = picked ? pickedAt : pointer;
  tip.hidden = shown === null;
  const offers = picked && actions?.offers(picked);
  for (const name of /** @type {const} */ (["hide", "hideInHead", "hideInHeads", "open"])) {
    acts[name].hidden = !offers?.[name];
    replaceChanged(acts[name], boxedText(offers?.[name] ?? ""));
  }
  if (!shown || !actions || !scene) return;
  const words = typeof shown === "string" ? shown : [...actions.tell(shown), ...(offers?.carried ?? [])].join("\n");
  const line = shown === preview?.words ? lineOver(scene) : null;
  tip.classList.toggle("for-legend", line !== null);
  replaceChanged(tipWords, boxedText(line?.single ? words.replaceAll("\n", " ") : words));
  if (line) return update(tip, { style: { ...line.at, right: "auto", transform: "none" } });
  const left = x < scene.width / 2;
  const at = (/** @type {number} */ edge) => `min(${edge + 16}px, 100% - 300px)`; // a narrow picture has its whole width
  const side = left ? { left: at(x), right: "auto" } : { left: "auto", right: at(scene.width - x) };
  const up = "translateY(calc(-100% - 24px))";
  const transform = y > scene.height - LOW ? up : "none"; // else it would be below the window
  update(tip, { style: { top: `${y + 12}px`, width: "", "min-height": "", transform, ...side } });
  if (!picked || transform === up) return;
  const { bottom, height } = tip.getBoundingClientRect();
  if (bottom > globalThis.innerHeight && bottom - 2 * height > 0) update(tip, { style: { transform: up } }); // it has buttons
}

/** A line over the squares, or two below them, say how they are read: what is pointed at among them is said there, and covers none. @param {Scene} scene */
function lineOver({ said }) {
  if (!said || said.width < READABLE) return null;
  const single = said.lines === 1;
  const at = { left: `${said.x}px`, top: `${said.y - BASE}px`, width: `${said.width}px` };
  return { single, at: { ...at, "min-height": single ? "" : "38px" } };
}

/** The width of a line of words, at least, and how far the top of a line is above the letters' foot. Pixels. */
const [READABLE, BASE] = [400, 14];

/** Chooses a line, which stays lit and is measured wherever the pointer goes: its words stay, with the buttons that hide it. @param {BoardParts} parts @param {Board} board @param {Line|null} line */
export function pick(parts, board, line) {
  const { tip } = parts;
  Object.assign(board, { picked: line, pickedAt: board.pointer });
  board.actions?.measure(line ?? board.hovered, line !== null);
  tip.classList.toggle("picked", line !== null);
  update(tip, { "aria-hidden": line ? null : "true" });
  showTip(parts, board, null);
}

/** What a click on "best guess" shows. @param {Open|Link|null} over */
const lensWords = (over) => (over && "to" in over && over.to === "lens" ? t("river.lens_opens") : null);

/** What a click on a token shows. @param {Board} board @param {{band: number, row: number}} label */
const invites = ({ scene, actions }, { band, row }) =>
  actions?.invite(band, scene?.bands[band].rows[row].from ?? 0) ?? null;

/** Whether a row has several tokens. @param {Scene} scene @param {{band: number, row: number}} at */
function folded({ bands }, { band, row }) {
  const { from, to } = bands[band].rows[row];
  return to - from > 1;
}

/** Shows the scissors next to a token to which the chosen one can attend. @param {HTMLElement} scissors @param {Board} board @param {{band: number, row: number}|null} label */
function showScissors(scissors, { scene, actions }, label) {
  const band = label && scene?.bands[label.band];
  const row = band?.rows[label?.row ?? 0];
  const useful = row && actions?.knockOut && row.to - row.from === 1 && row.from !== band?.chosen;
  update(scissors, { hidden: !useful });
  if (!useful || !band) return;
  Object.assign(scissors.dataset, label);
  update(scissors, { style: { left: `${band.columns[0].x0 - 12}px`, top: `${row.y - 12}px` } });
}

/** The eye's size before a word and in a square, how far from a square's middle it stays, where a click opens the head, and how far from a word's the pointer is on its way. */
const [EYE, EYE_IN_SQUARE, OFF_MIDDLE, ON_ITS_WAY] = [24, 18, 6, 30];

/** Shows the eye before the word of an attention or an FFN, or in that corner of a head which the words leave free, and what it does. @param {HTMLElement} eye @param {Board} board @param {Link|Square|null} at */
function showEye(eye, { scene, actions, pointer }, at) {
  if (!at) {
    if (eye.hidden) return;
    if (eye.dataset.part === "head") return update(eye, { hidden: true });
    const [x, y] = [eye.offsetLeft + EYE / 2 - pointer.x, eye.offsetTop + EYE / 2 - pointer.y];
    return update(eye, { hidden: Math.hypot(x, y) > ON_ITS_WAY });
  }
  const { layer, x, y, width } = at;
  const head = "head" in at ? at : null;
  const inLayer = "to" in at && at.to === "ffn" ? "ffn" : "attention";
  const part = head ? "head" : inLayer;
  const switches = head ? actions?.switchesHead(head) : actions?.switchPart && "to" in at && /^(head|ffn)$/.test(at.to);
  update(eye, { hidden: !switches });
  if (!switches || !actions || !scene) return;
  const of = head ? head.attention : at.stack;
  Object.assign(eye.dataset, { of, layer, part, head: head?.head ?? "" });
  const off = head ? actions.isHeadOff(head) : actions.isPartOff({ stack: of, layer }, inLayer);
  const effect = head && !off ? actions.tellOff(head) : [];
  const title = head ? "" : layerTitle({ stack: of }, layer);
  const [left, top] = head
    ? [
        x + Math.max(width - EYE_IN_SQUARE - 1, width / 2 + OFF_MIDDLE),
        y + (y > scene.height - LOW ? head.height - EYE_IN_SQUARE - 1 : 1),
      ]
    : [x - width - EYE, y - 17];
  update(eye, {
    title: [t(`eye.${part}_${off ? "on" : "off"}`, { title, layer, head: head?.head ?? 0 }), ...effect].join("\n"),
    style: { left: `${left}px`, top: `${top}px` },
  });
  eye.classList.toggle("off", off);
}

/** Where the keyboard begins: at the chosen token, in the last layer. @param {Scene} scene @returns {Place} */
const startOf = ({ bands: [band] }) => ({ band: 0, row: band.index[band.chosen ?? 0], layer: band.columns.length - 1 });
