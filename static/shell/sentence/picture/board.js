/** The field to draw in, or a photo: pixels, the patches over them, and a cursor for the keyboard. */

import { across, firstPatch, photoOf } from "../../../model/patches.js";
import { h, newId, svg, update } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { shownPhoto } from "../../../ui/patch_picture.js";

/**
 * @import { Picture, Pixels } from "../../../model/patches.js"
 * @import { Glow } from "./glow.js"
 */

// What a stroke does to a picture: from pixels to pixels. No DOM.

/** How far a stroke reaches, in pixels of the picture; at its middle it is full, and it fades over the last pixel. */
const REACH = 1.3;

/**
 * The picture with a dab of ink at a point; no pixel gets paler.
 * @param {number[][]} pixels @param {{x: number, y: number}} at  in pixels of the picture @param {number} most  the level of ink
 */
export const inked = (pixels, at, most) =>
  changed(pixels, at, (level, near) => Math.max(level, Math.round(most * Math.min(1, near))));

/** The picture with a point rubbed out; no pixel gets darker. @param {number[][]} pixels @param {{x: number, y: number}} at @param {number} most */
export const erased = (pixels, at, most) =>
  changed(pixels, at, (level, near) => Math.min(level, Math.round(most * Math.max(0, 1 - near))));

/** @param {number[][]} pixels @param {{x: number, y: number}} at @param {(level: number, near: number) => number} to */
function changed(pixels, { x, y }, to) {
  return pixels.map((line, row) =>
    line.map((level, column) => {
      const near = REACH - Math.hypot(column + 0.5 - x, row + 0.5 - y);
      return near > 0 ? to(level, near) : level;
    }),
  );
}

/** The picture with one pixel at another level. @param {number[][]} pixels @param {number} row @param {number} column @param {number} level */
export const withPixel = (pixels, row, column, level) =>
  pixels.map((line, r) => (r === row ? line.map((old, c) => (c === column ? level : old)) : line));

/** The positions that are hidden, with one more or one less. @param {number[]} hidden @param {number} position */
export const toggledPatch = (hidden, position) =>
  hidden.includes(position) ? hidden.filter((at) => at !== position) : [...hidden, position].sort((a, b) => a - b);

/**
 * @typedef {{row: number, column: number}} Place  of a pixel
 * @typedef {Object} Pen  what happens on the board
 * @property {(at: {x: number, y: number}, from: {x: number, y: number}|null) => void} stroke  `from`: where the pointer was; null: it goes down
 * @property {() => void} lift
 * @property {(place: Place, key: "ink"|"rub") => void} press
 * @property {(place: Place) => void} look  the cursor came here
 * @property {() => number} step  how many pixels the cursor moves
 */

/** How deep the colour of the largest weight is: pixels are seen through it. */
const GLOW = 0.62;
/** A patch with less than this has no number; nor has any, where there are more patches in a row than the second. */
const [LEAST, NUMBERED] = [0.05, 8];

/** @param {Picture} picture @param {Pen} pen */
export function createBoard(picture, pen) {
  const { size, patch } = picture;
  const hatch = newId("hatch");
  const ground = picture.channels ? photoGround(picture) : pixelGround(picture);
  const patches = squares(across(picture), (row, column) => ({
    class: "patch-edge",
    x: column * patch,
    y: row * patch,
    width: patch,
    height: patch,
  }));
  const glows = patches.map((edge) => {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => edge.getAttribute(name));
    return svg("rect", { class: "glow", x, y, width, height, opacity: 0 });
  });
  const numbers = across(picture) > NUMBERED ? [] : patches.map(() => h("span"));
  const shares = h(
    "div",
    { class: "patch-shares", "aria-hidden": "true", style: { "--across": across(picture) } },
    numbers.map((one) => h("div", null, one)),
  );
  const cursor = svg("rect", { class: "cursor", width: 1, height: 1 });
  const lines = svg("path", { d: "M-0.1 0.1l0.2 -0.2M0 0.5l0.5 -0.5M0.4 0.6l0.2 -0.2", "stroke-width": 0.09 });
  const pattern = { id: hatch, class: "patch-hatch", width: 0.5, height: 0.5, patternUnits: "userSpaceOnUse" };
  const tile = svg("rect", { width: 0.5, height: 0.5 });
  const scaled = { patternTransform: `scale(${size / 8})` }; // as thick on any picture
  const element = svg(
    "svg",
    {
      class: "drawing-board",
      viewBox: `0 0 ${size} ${size}`,
      role: "application",
      tabindex: 0,
      dataset: { testid: "board" },
    },
    svg("defs", null, svg("pattern", { ...pattern, ...scaled }, tile, lines)),
    ...[ground.nodes, glows, patches, cursor].flat(),
  );
  let place = { row: 0, column: 0 };
  const moveTo = (/** @type {Place} */ to) => {
    const last = size - 1;
    place = { row: Math.min(last, Math.max(0, to.row)), column: Math.min(last, Math.max(0, to.column)) };
    const step = pen.step();
    const [x, y] = [place.column - (place.column % step), place.row - (place.row % step)];
    update(cursor, { x, y, width: step, height: step });
    pen.look(place);
  };
  listen(element, size, pen, () => place, moveTo);

  return {
    element,
    box: h("div", { class: "board-box" }, element, shares),
    /** @param {Glow|null} glow */
    glow(glow) {
      const most = Math.max(...(glow?.weights ?? []), 0.01);
      glows.forEach((one, i) => {
        update(one, { opacity: ((GLOW * (glow?.weights[i] ?? 0)) / most).toFixed(3) });
        patches[i].classList.toggle("from", glow?.from === i);
      });
      numbers.forEach((one, i) => {
        const weight = glow?.exact ? glow.weights[i] : 0;
        one.textContent = weight >= LEAST ? percent(weight, 0) : "";
      });
    },
    /** @param {Pixels} pixels @param {number[]} hidden  positions @param {string} words  what it is called */
    draw(pixels, hidden, words) {
      ground.draw(/** @type {any} */ (pixels));
      patches.forEach((edge, i) => {
        edge.style.fill = hidden.includes(i + firstPatch(picture)) ? `url(#${hatch})` : "";
      });
      update(element, { "aria-label": words });
    },
  };
}

/** @param {Picture} picture */
function pixelGround({ size, levels }) {
  const nodes = squares(size, (row, column) => ({ class: "pixel", x: column, y: row, width: 1, height: 1 }));
  return {
    nodes,
    /** @param {number[][]} pixels */
    draw(pixels) {
      nodes.forEach((cell, i) => {
        cell.style.opacity = String(pixels[Math.floor(i / size)][i % size] / (levels - 1));
      });
    },
  };
}

/** @param {Picture} picture */
function photoGround(picture) {
  const { size } = picture;
  const image = svg("image", { width: size, height: size });
  return {
    nodes: [image],
    /** @param {string} pixels */
    draw(pixels) {
      update(image, { href: shownPhoto(photoOf(pixels, picture)).url });
    },
  };
}

/** @param {number} n @param {(row: number, column: number) => object} attrs @returns {SVGElement[]} */
const squares = (n, attrs) => Array.from({ length: n * n }, (_, i) => svg("rect", attrs(Math.floor(i / n), i % n)));

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * @param {SVGElement} element @param {number} size @param {Pen} pen @param {() => Place} placeNow @param {(to: Place) => void} moveTo
 */
function listen(element, size, pen, placeNow, moveTo) {
  let last = /** @type {{x: number, y: number}|null} */ (null);
  const at = (/** @type {PointerEvent} */ { clientX, clientY }) => {
    const { left, top, width } = element.getBoundingClientRect();
    return { x: ((clientX - left) / width) * size, y: ((clientY - top) / width) * size };
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    last = at(event);
    moveTo({ row: Math.floor(last.y), column: Math.floor(last.x) });
    pen.stroke(last, null);
  });
  element.addEventListener("pointermove", (event) => {
    if (!last) return;
    for (const one of event.getCoalescedEvents?.() ?? [event]) {
      const now = at(one);
      pen.stroke(now, last);
      last = now;
    }
  });
  const lift = () => {
    if (last) pen.lift();
    last = null;
  };
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) element.addEventListener(name, lift);
  element.addEventListener("focus", () => moveTo(placeNow()));
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    const key = /** @type {const} */ ({ " ": "ink", Enter: "ink", Delete: "rub", Backspace: "rub" })[event.key];
    if (!arrow && !key) return;
    event.preventDefault();
    const { row, column } = placeNow();
    const step = pen.step();
    if (arrow) moveTo({ row: row + arrow[0] * step, column: column + arrow[1] * step });
    else pen.press(placeNow(), /** @type {"ink"|"rub"} */ (key));
  });
}

/** "row 2, column 5". @param {Place} place */
export const placeWords = ({ row, column }) => t("picture.at", { row, column });
