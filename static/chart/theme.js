/**
 * The theme for canvases and saved files: colours that mean numbers, and the size and width of letters. The stops equal the custom properties in css/tokens.css (--ramp-*, --signed-*); a
 * test compares the two.
 */

/** @typedef {"weights"|"signed"} RampName  @typedef {[number, number, number]} Rgb */

/** Paper → indigo for weights; ochre … paper … indigo for signed values. */
const STOPS = {
  light: {
    weights: ["#fbfaf6", "#cfd6f8", "#8593ee", "#3546d3", "#171b57"],
    signed: ["#453000", "#a37300", "#ecd08a", "#fbfaf6", "#b7c0f5", "#3546d3", "#171b57"],
  },
  dark: {
    weights: ["#242735", "#2c3878", "#5468d8", "#9fb0ff", "#f2f5ff"],
    signed: ["#fff3d6", "#e8b23a", "#6e5420", "#242735", "#3f4fa8", "#8d9aff", "#f2f5ff"],
  },
};

/** The current theme. @returns {"light"|"dark"} */
export function currentTheme() {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** A ramp's colours, evenly spaced, as "#rrggbb". @param {RampName} name @returns {string[]} */
export function rampStops(name, theme = currentTheme()) {
  return STOPS[theme][name];
}

/**
 * The colour at `share` of a ramp (0 to 1; a signed ramp has 0 in the middle, at 0.5), linear between its stops in
 * sRGB, as in CSS gradients and Plotly.
 * @param {RampName} name @param {number} share @returns {Rgb}
 */
export function rampColour(name, share, theme = currentTheme()) {
  const stops = rampStops(name, theme);
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
  return /** @type {[...Rgb, number]} */ (
    from.map((channel, i) => Math.round(channel + (to[i] - channel) * (place - low)))
  );
}

/** 256 opaque pixels of a ramp, as the words of an ImageData's buffer. @param {RampName} name @returns {Uint32Array} */
export function pixelTable(name, theme = currentTheme()) {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i++) bytes.set([...rampColour(name, i / 255, theme), 255], i * 4);
  return new Uint32Array(bytes.buffer); // in the machine's byte order, so correct for either endianness
}

/** WCAG's contrast for text of this size. */
const READABLE = 4.5;

/**
 * A readable text colour on `colour`: the theme's dark or light one, or black where both are too faint.
 * @param {number[]} colour  red, green, blue @returns {string}
 */
export function inkOn(colour) {
  const [dark, light] = ["#1b1d2a", "#ffffff"];
  const on = (/** @type {string} */ ink) => contrast(colour, parse(ink));
  if (on(light) >= READABLE && on(light) > on(dark)) return light;
  return on(dark) >= READABLE ? dark : on("#000000") >= on(light) ? "#000000" : light;
}

/** A custom property of css/tokens.css, e.g. `cssColour("--q")`. @param {string} name @returns {string} */
export function cssColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {Rgb} colour */
export function rgb(colour) {
  return `rgb(${colour.join(",")})`;
}

/** WCAG's contrast ratio. @param {number[]} a @param {number[]} b */
function contrast(a, b) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

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
export const typeScale = () => Number(cssColour("--type")) || 1;

/** The smallest number that a cell of a matrix shows, in pixels: css/tokens.css. */
export const leastNumber = () => Number(cssColour("--least-number")) || undefined;

/** @type {CanvasRenderingContext2D|null} */
let pen = null;
/** @type {Map<string, number>} */
const widths = new Map();

/** How wide a label is, in CSS pixels. @param {string} text @param {number} font  its size */
export function widthOf(text, font) {
  const key = `${font} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    pen ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    pen.font = `${font}px ${cssColour("--mono")}`;
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
