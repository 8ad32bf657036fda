/** The canvas of the river on the page: its size, and what pointer and keyboard mean. */

import { setText, update } from "../ui/dom.js";
import { ghostsOf, layoutOf } from "./layout.js";
import { frameOf, paint } from "./paint.js";
import { hitAt, inside, moved, widestAt } from "./pointer.js";

/**
 * @typedef {import("./lines.js").Line} Line  @typedef {import("./layout.js").Scene} Scene  @typedef {import("./pointer.js").Place} Place
 * @typedef {import("./layout.js").Band} Band
 * @typedef {{told: import("./told.js").Told, bars: import("./draw.js").Bar[]}} Shown
 * @typedef {Object} Actions  what a reader can do here; each may find that there is nothing to do
 * @property {(band: Band, token: number) => void} choose
 * @property {((line: Line) => void)|null} cut  cuts a line, or restores it; null: nothing can be cut
 * @property {(band: Band, token: number) => void} cutAll  every look of the chosen token at this one
 * @property {(line: Line) => string[]} tell  a line in words
 * @property {(scene: Scene, place: Place) => string} read  a place in words
 * @typedef {ReturnType<typeof emptyBoard>} Board
 */

const emptyBoard = () => ({
  shown: /** @type {Shown|null} */ (null),
  scene: /** @type {Scene|null} */ (null),
  actions: /** @type {Actions|null} */ (null),
  hovered: /** @type {Line|null} */ (null),
  cursor: /** @type {Place|null} */ (null),
  /** @type {Set<string>} stack and first token of each fold that the reader has opened */
  unfolded: new Set(),
});

/** @type {WeakMap<HTMLCanvasElement, Board>} */
const boards = new WeakMap();

/** What is drawn on a canvas now. @param {HTMLCanvasElement} canvas */
export const sceneOf = (canvas) => boards.get(canvas)?.scene ?? null;

/** @param {import("./parts.js").BoardParts} parts */
export function createBoard(parts) {
  const { box, canvas, tip, scissors } = parts;
  const board = emptyBoard();
  boards.set(canvas, board);
  const repaint = () => paint(canvas, board);

  function layout() {
    const { shown } = board;
    if (!shown || !box.clientWidth) return;
    const { rolled, before, row, cuts } = shown.told;
    const frame = frameOf(canvas, shown, box.clientWidth, board.unfolded);
    board.scene = layoutOf(rolled, row, frame);
    if (before) board.scene.ghosts = ghostsOf(cuts, board.scene, layoutOf(before, row, frame), before);
    Object.assign(board, { hovered: null, cursor: board.cursor && inside(board.scene, board.cursor) });
    update(scissors, { hidden: true });
    tip.hidden = true;
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
  new ResizeObserver(() => board.scene?.width !== box.clientWidth && layout()).observe(box);

  return {
    /** @param {Shown} shown @param {Actions} actions */
    show(shown, actions) {
      const was = board.shown;
      if (was?.told.rolled[0].river !== shown.told.rolled[0].river) board.unfolded.clear();
      Object.assign(board, { shown, actions });
      const same = was && ["rolled", "before"].every((name) => was.told[name] === shown.told[name]);
      if (same && was.bars.length === shown.bars.length && was.told.cuts.length === shown.told.cuts.length) repaint();
      else layout();
    },
    /** Those that are drawn one by one. */
    lines: () => board.scene?.lines.filter(({ own, shown }) => shown && !own) ?? [],
  };
}

/**
 * @param {import("./parts.js").BoardParts} parts @param {Board} board
 * @param {{repaint: () => void, choose: (band: number, row: number) => void}} on
 */
function listen({ canvas, tip, scissors, readout }, board, { repaint, choose }) {
  /** @param {PointerEvent} event */
  function hover({ offsetX, offsetY }) {
    if (!board.scene || !board.actions) return;
    const { line, label } = hitAt(board.scene, offsetX, offsetY);
    canvas.classList.toggle("choosable", label !== null);
    canvas.classList.toggle("cuttable", line !== null && !line.many && board.actions.cut !== null);
    showTip(tip, board, line, offsetX, offsetY);
    showScissors(scissors, board, label);
    if (line === board.hovered) return;
    board.hovered = line;
    repaint();
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    const { scene, actions } = board;
    if (!scene || !actions || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = board.cursor ?? startOf(scene);
    const next = moved(scene, at, event.key);
    if (event.key === "Escape" && board.cursor) board.cursor = null;
    else if (event.key === "Enter" || event.key === " ") choose(at.band, at.row);
    else if (event.key === "Delete" || event.key === "Backspace") deleteAt(board, at, event.shiftKey);
    else if (next) {
      board.cursor = board.cursor ? next : at;
      setText(readout, actions.read(scene, board.cursor));
    } else return;
    event.preventDefault();
    repaint();
  }

  function leave() {
    Object.assign(board, { hovered: null });
    tip.hidden = true;
    repaint();
  }

  canvas.addEventListener("pointermove", hover);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("click", ({ offsetX, offsetY }) => {
    if (!board.scene) return;
    const { line, label } = hitAt(board.scene, offsetX, offsetY);
    if (label) choose(label.band, label.row);
    else if (line && !line.many) board.actions?.cut?.(line);
  });
  canvas.addEventListener("keydown", press);
  canvas.addEventListener("blur", () => {
    board.cursor = null;
    repaint();
  });
  scissors.addEventListener("click", () => {
    const { band, row } = scissors.dataset;
    const place = board.scene?.bands[Number(band)];
    if (place) board.actions?.cutAll(place, place.rows[Number(row)].from);
  });
  scissors.parentElement?.addEventListener("pointerleave", () => update(scissors, { hidden: true }));
}

/** @param {Board} board @param {Place} at @param {boolean} all */
function deleteAt({ scene, actions }, at, all) {
  if (!scene || !actions?.cut) return;
  const band = scene.bands[at.band];
  const line = widestAt(scene, at);
  if (all) actions.cutAll(band, band.rows[at.row].from);
  else if (line && !line.many) actions.cut(line);
}

/** @param {HTMLElement} tip @param {Board} board @param {Line|null} line @param {number} x @param {number} y */
function showTip(tip, { scene, actions }, line, x, y) {
  tip.hidden = line === null;
  if (!line || !actions || !scene) return;
  setText(tip, actions.tell(line).join("\n"));
  const left = x < scene.width / 2;
  const side = left ? { left: `${x + 16}px`, right: "auto" } : { left: "auto", right: `${scene.width - x + 16}px` };
  update(tip, { style: { top: `${y + 12}px`, ...side } });
}

/** Beside a token at which the chosen one can look. @param {HTMLElement} scissors @param {Board} board @param {{band: number, row: number}|null} label */
function showScissors(scissors, { scene, actions }, label) {
  const band = label && scene?.bands[label.band];
  const row = band?.rows[label?.row ?? 0];
  const useful = row && actions?.cut && row.to - row.from === 1 && row.from !== band?.chosen;
  update(scissors, { hidden: !useful });
  if (!useful || !band) return;
  Object.assign(scissors.dataset, label);
  update(scissors, { style: { left: `${band.columns[0].x0 - 12}px`, top: `${row.y - 12}px` } });
}

/** Where the keyboard begins: at the chosen token, in the last layer. @param {Scene} scene @returns {Place} */
const startOf = ({ bands: [band] }) => ({ band: 0, row: band.index[band.chosen ?? 0], layer: band.columns.length - 1 });
