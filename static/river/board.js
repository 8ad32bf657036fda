/** The canvas of the river: keeps it sharp and as wide as its place, and says what is under the pointer or the keyboard. */

import { setText, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { drawScene } from "./draw.js";
import { layoutOf } from "./layout.js";
import { currentLook, layerTitle, mixed } from "./look.js";
import { hitAt, inside, layerAt, moved, widestAt } from "./pointer.js";
import { nameText } from "./words.js";

/**
 * @typedef {import("./lines.js").Line} Line  @typedef {import("./layout.js").Scene} Scene
 * @typedef {Object} Told  what is drawn
 * @property {import("./reach.js").Reach[]} rolled @property {number} row  the chosen token
 * @property {import("./words.js").Name[][]} names  of each stack's tokens
 * @property {import("./draw.js").Bar[]} bars
 * @property {(line: Line) => string[]} tell  a line in words
 * @typedef {{choose: (band: import("./layout.js").Band, token: number) => void}} Actions
 */

/** Below this width the picture is drawn for a phone. */
const PHONE = 700;

/** @param {{box: HTMLElement, canvas: HTMLCanvasElement, tip: HTMLElement, readout: HTMLElement}} parts */
export function createBoard({ box, canvas, tip, readout }) {
  const board = {
    told: /** @type {Told|null} */ (null),
    scene: /** @type {Scene|null} */ (null),
    actions: /** @type {Actions} */ ({ choose() {} }),
    hovered: /** @type {Line|null} */ (null),
    cursor: /** @type {import("./pointer.js").Place|null} */ (null),
    /** @type {Set<string>} stack and first token of each fold that the reader opened */
    unfolded: new Set(),
  };
  const paint = () => paintBoard(canvas, board);

  function layout() {
    if (!board.told || !box.clientWidth) return;
    board.scene = layoutOf(
      board.told.rolled,
      board.told.row,
      frameOf(canvas, board.told, box.clientWidth, board.unfolded),
    );
    board.hovered = null;
    if (board.cursor) board.cursor = inside(board.scene, board.cursor);
    tip.hidden = true;
    paint();
  }

  /** @param {PointerEvent} event */
  function hover({ offsetX, offsetY }) {
    if (!board.scene) return;
    const { line, label } = hitAt(board.scene, offsetX, offsetY);
    canvas.classList.toggle("choosable", label !== null);
    showTip(tip, board, line, offsetX, offsetY);
    if (line === board.hovered) return;
    board.hovered = line;
    paint();
  }

  /** @param {number} i  of a band @param {number} at  of a row */
  function choose(i, at) {
    const band = /** @type {Scene} */ (board.scene).bands[i];
    const { from, to } = band.rows[at];
    if (to - from === 1) return board.actions.choose(band, from);
    board.unfolded.add(`${band.stack} ${from}`);
    layout();
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    const { scene } = board;
    if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = board.cursor ?? startOf(scene);
    if (event.key === "Escape") board.cursor = null;
    else if (event.key === "Enter" || event.key === " ") choose(at.band, at.row);
    else {
      const next = moved(scene, at, event.key);
      if (!next) return;
      board.cursor = board.cursor ? next : at;
      readOut(readout, board);
    }
    event.preventDefault();
    paint();
  }

  canvas.addEventListener("pointermove", hover);
  canvas.addEventListener("pointerleave", () => {
    board.hovered = null;
    tip.hidden = true;
    paint();
  });
  canvas.addEventListener("click", ({ offsetX, offsetY }) => {
    const label = board.scene && hitAt(board.scene, offsetX, offsetY).label;
    if (label) choose(label.band, label.row);
  });
  canvas.addEventListener("keydown", press);
  canvas.addEventListener("blur", () => {
    board.cursor = null;
    paint();
  });
  new ResizeObserver(() => board.scene?.width !== box.clientWidth && layout()).observe(box);

  return {
    /** @param {Told} told @param {Actions} actions */
    show(told, actions) {
      const { told: before } = board;
      if (before?.rolled[0].river !== told.rolled[0].river) board.unfolded.clear();
      Object.assign(board, { told, actions });
      if (before?.rolled === told.rolled && before.bars.length === told.bars.length) paint();
      else layout();
    },
    /** Those that are drawn one by one. */
    lines: () => board.scene?.lines.filter(({ own, shown }) => shown && !own) ?? [],
  };
}

/** The room that a window has for the picture. @param {HTMLCanvasElement} canvas @param {Told} told @param {number} width @param {Set<string>} unfolded @returns {import("./layout.js").Frame} */
function frameOf(canvas, { rolled, names, bars }, width, unfolded) {
  const phone = width < PHONE;
  const { type, font } = currentLook();
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.font = `700 ${15 * type}px ${font}`;
  /** @param {import("./words.js").Name[]} some */
  const widest = (some) => Math.max(...some.map((name) => pen.measureText(nameText(name)).width + 3));
  const labels = names.map((some) => Math.min((phone ? 60 : 130) * type, Math.max(30, widest(some))));
  const opened = rolled.map(({ river: { stack } }) =>
    [...unfolded].filter((one) => one.startsWith(`${stack} `)).map((one) => Number(one.slice(stack.length + 1))),
  );
  return {
    ...{ width, labels, type, answers: bars.length, unfolded: opened },
    room: Math.min(440, Math.max(240, innerHeight * 0.44)),
    right: (phone ? 96 : 190) * type,
    fat: phone ? 36 : 44,
  };
}

/** @param {HTMLCanvasElement} canvas @param {{told: Told|null, scene: Scene|null, hovered: Line|null, cursor: any}} board */
function paintBoard(canvas, { told, scene, hovered, cursor }) {
  if (!told || !scene) return;
  const dpr = devicePixelRatio;
  const [width, height] = [Math.round(scene.width * dpr), Math.round(scene.height * dpr)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  update(canvas, { style: { height: `${scene.height}px` } });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.clearRect(0, 0, scene.width, scene.height);
  const look = currentLook();
  drawScene(pen, scene, {
    ...look,
    names: told.names,
    bars: told.bars,
    tone: () => mixed(look.colours.pale, look.colours.deep, 0.3),
    hovered,
    cursor,
  });
}

/** @param {HTMLElement} tip @param {{told: Told|null, scene: Scene|null}} board @param {Line|null} line @param {number} x @param {number} y */
function showTip(tip, { told, scene }, line, x, y) {
  tip.hidden = line === null;
  if (!line || !told || !scene) return;
  setText(tip, told.tell(line).join("\n"));
  const left = x < scene.width / 2;
  const side = left ? { left: `${x + 16}px`, right: "auto" } : { left: "auto", right: `${scene.width - x + 16}px` };
  update(tip, { style: { top: `${y + 12}px`, ...side } });
}

/** Where the keyboard begins: at the chosen token, in the last layer. @param {Scene} scene */
const startOf = ({ bands: [band] }) => ({ band: 0, row: band.index[band.chosen ?? 0], layer: band.columns.length - 1 });

/** @param {HTMLElement} readout @param {{told: Told|null, scene: Scene|null, cursor: any}} board */
function readOut(readout, { told, scene, cursor }) {
  if (!told || !scene || !cursor) return;
  const { from, to } = scene.bands[cursor.band].rows[cursor.row];
  const line = widestAt(scene, cursor);
  const at = layerAt(scene, cursor);
  const name = to - from > 1 ? t("river.folded", { n: to - from }) : nameText(told.names[cursor.band][from]);
  const place = t("river.at", { token: name, layer: layerTitle(at, at.layer, false) });
  setText(readout, [place, ...(line ? told.tell(line) : [t("river.no_line")])].join(". "));
}
