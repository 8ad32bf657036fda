/**
 * The theme for canvases and saved files, read from css/tokens.css: colours that stand for numbers, and the size and
 * width of letters.
 */

/** @typedef {"weights"|"share"|"signed"|"q"|"k"|"v"} RampName  @typedef {[number, number, number]} Rgb */

/** The current theme. @returns {"light"|"dark"} */
export function currentTheme() {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** @type {Map<string, string>} by theme and name: asking for a style costs as much as drawing a picture */
const colours = new Map();

/** A colour or typeface of css/tokens.css in the current theme, e.g. `cssColour("--q")`, read once. @param {string} name */
export function cssColour(name) {
  const key = `${currentTheme()} ${name}`;
  const colour = colours.get(key) ?? customProperty(name);
  if (colour) colours.set(key, colour); // "": the sheet is not here yet
  return colour;
}

/** A custom property as it is at this moment. @param {string} name */
const customProperty = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A ramp's colours (`--ramp-*` in css/tokens.css), evenly spaced, as "#rrggbb". @param {RampName} name @returns {string[]} */
export function rampStops(name) {
  return cssColour(`--ramp-${name}`).match(/#[0-9a-f]{6}/gi) ?? [];
}

/**
 * The colour at `share` of a ramp (0 to 1; a signed ramp has 0 in the middle, at 0.5), linear between its stops in
 * sRGB, as in CSS gradients and Plotly.
 * @param {RampName} name @param {number} share @returns {Rgb}
 */
export function rampColour(name, share) {
  const stops = rampStops(name);
  const [red, green, blue] = rgbaAt(stops, Math.min(1, Math.max(0, share)) * (stops.length - 1));
  return [red, green, blue];
}

/**
 * The colour at `place` (0: the first stop, 1: the second …), linear between two stops in sRGB.
 * @param {string[]} stops  "#rrggbb" or "#rrggbbaa" @param {number} place @returns {[...Rgb, number]}
 */
export function rgbaAt(stops, place) {
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [parse(stops[low]), parse(stops[low + 1])];
  return /** @type {[...Rgb, number]} */ (from.map((channel, i) => mixed(channel, to[i], place - low)));
}

/** @param {number} from @param {number} to @param {number} share */
const mixed = (from, to, share) => Math.round(from + (to - from) * share);

/**
 * `count` pixels from the first colour to the last, evenly spaced, as the words of an ImageData's buffer.
 * @param {string[]} stops  "#rrggbb" or "#rrggbbaa" @param {number} count @returns {Uint32Array}
 */
export function pixelsBetween(stops, count) {
  const known = stops.map(parse);
  const bytes = new Uint8ClampedArray(count * 4);
  for (let i = 0; i < count; i++) {
    const place = (i / (count - 1)) * (known.length - 1);
    const low = Math.min(Math.floor(place), known.length - 2);
    for (let c = 0; c < 4; c++) bytes[4 * i + c] = mixed(known[low][c], known[low + 1][c], place - low);
  }
  return new Uint32Array(bytes.buffer); // in the machine's byte order, so correct for either endianness
}

/** 256 opaque pixels of a ramp. @param {RampName} name */
export const pixelTable = (name) => pixelsBetween(rampStops(name), 256);

/** WCAG's contrast for text of this size. */
const READABLE = 4.5;

/**
 * A readable text colour on `colour`: a dark or a light one, or black where both are too faint.
 * @param {number[]} colour  red, green, blue @returns {string}
 */
export function inkOn(colour) {
  const below = luminance(colour);
  const [dark, light, black] = inksOf(currentTheme());
  const [onDark, onLight, onBlack] = [dark, light, black].map((ink) => contrast(below, ink.luminance));
  if (onLight >= READABLE && onLight > onDark) return light.ink;
  return onDark >= READABLE ? dark.ink : onBlack >= onLight ? black.ink : light.ink;
}

/** @type {Map<string, {ink: string, luminance: number}[]>} by theme */
const inks = new Map();

/** The colours of text on a number's colour. @param {string} theme  the current one */
function inksOf(theme) {
  const known = inks.get(theme);
  if (known) return known;
  const named = ["--on-pale", "--on-deep", "--on-middle"].map(cssColour);
  const found = named.map((ink) => ({ ink, luminance: luminance(parse(ink)) }));
  if (named.every(Boolean)) inks.set(theme, found); // "": the sheet is not here yet
  return found;
}

/** @param {Rgb} colour */
export function rgb(colour) {
  return `rgb(${colour.join(",")})`;
}

/** WCAG's contrast ratio of two luminances. @param {number} a @param {number} b */
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

/** @param {number[]} colour */
function luminance(colour) {
  const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} hex  "#rrggbb" or "#rrggbbaa" @returns {[...Rgb, number]} */
const parse = (hex) =>
  /** @type {[...Rgb, number]} */ ([1, 3, 5, 7].map((at) => parseInt(hex.slice(at, at + 2) || "ff", 16)));

// The size and width of letters on this page.

/** How much larger than usual letters are: css/tokens.css. */
export const typeScale = () => Number(sizeNamed("--type")) || 1;

/** The smallest number that a cell of a matrix shows, in pixels: css/tokens.css. */
export const leastNumber = () => Number(sizeNamed("--least-number")) || undefined;

/** The smallest letter of a picture, in pixels: on a projector (css/room.css). */
export const leastText = () => Number(sizeNamed("--least-text")) || 0;

/** @type {Map<string, string>} by name, type size and window */
const sizes = new Map();

/** A size, read once for each window, because the browser styles the page for it. In a lesson, each step has its own. @param {string} name */
function sizeNamed(name) {
  if (document.body?.classList.contains("in-lesson")) return customProperty(name);
  const { type, projector } = document.documentElement.dataset;
  const key = [name, type, projector, innerWidth, innerHeight].join(" ");
  const size = sizes.get(key) ?? customProperty(name);
  if (size) sizes.set(key, size); // "": the sheet is not here yet
  return size;
}

/** @type {CanvasRenderingContext2D|null} */
let pen = null;
/** @type {Map<string, number>} */
const widths = new Map();

/** How wide a label is, in CSS pixels. @param {string} text @param {number} font  its size @param {string} [face] @param {number} [weight] */
export function widthOf(text, font, face = "--mono", weight = 400) {
  const key = `${weight} ${font} ${face} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    pen ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    pen.font = `${weight} ${font}px ${cssColour(face)}`;
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
