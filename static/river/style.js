/** Colours, letters and words of the picture, for this moment's theme and language. */

import { cssColour, leastText, rampStops, rgb, rgbaAt, typeScale } from "../chart/theme.js";
import { layerTitle } from "../ui/heads.js";
import { t } from "../ui/i18n.js";

/** @import { PictureStyle } from "./draw/scene.js" */

/** What each colour of the picture is called in css/tokens.css. */
const COLOURS = {
  ink: "--ink",
  dim: "--ink-2",
  line: "--line",
  hair: "--line",
  own: "--river-own",
  pale: "--river-pale",
  deep: "--river-deep",
  q: "--q",
  cut: "--q",
  bar: "--k",
  minus: "--minus",
  accent: "--accent",
  soft: "--accent-soft",
  ground: "--paper",
};

/** @typedef {Pick<PictureStyle, "colours"|"signed"|"lost"|"font"|"type"|"least"|"title"|"counted"|"passed"|"stackName"|"folded"|"onlyHead"|"placeName">} Basics */

/** Its letters are larger than other pictures' to begin with. */
const MOST = 1.25;

/** The size of a row's label. */
export const LABEL_SIZE = 15;

/** The newest style, and what it is for: reading styles costs as much as drawing a river. */
let known = /** @type {{of: string, style: Basics}|null} */ (null);

/** @param {HTMLCanvasElement} canvas @returns {Basics} */
export function currentStyle(canvas) {
  const { theme, type, projector } = document.documentElement.dataset;
  const lesson = canvas.closest(".in-lesson") !== null; // css/lesson.css: larger letters
  const of = `${theme} ${type} ${projector} ${lesson}`;
  if (known?.of !== of) known = { of, style: readStyle() };
  return known.style;
}

/** @returns {Basics} */
function readStyle() {
  const least = leastText();
  const colours = Object.fromEntries(Object.entries(COLOURS).map(([name, css]) => [name, cssColour(css)]));
  const signed = rampStops("signed");
  return {
    colours: /** @type {any} */ (colours),
    signed,
    lost: changeTone(signed, 0),
    font: cssColour("--font"),
    type: least ? least / LABEL_SIZE : Math.min(MOST, typeScale()),
    least,
    title: (band, layer, narrow) => (narrow ? String(layer) : layerTitle(band, layer)),
    counted: (band, layer) => t("river.layer_of", { title: layerTitle(band, layer), last: band.columns.length - 1 }),
    passed: t("river.passed"),
    stackName: (stack) => t(`residual.stack.${stack}`),
    folded: (n) => t("river.folded", { n }),
    onlyHead: (head) => t("river.only_head", { head }),
    placeName: (place) => t(`place.${place}`),
  };
}

/** Pixels of what is written with this size. @param {Pick<Basics, "type"|"least">} style @param {number} size */
export const textSize = ({ type, least }, size) => Math.max(least, size * type);

/** A fall of the answer to three quarters is as dark as it gets; small effects still differ from none. */
export const darkness = (/** @type {number} */ delta) => Math.min(1, Math.abs(delta) / Math.log(4 / 3)) ** 0.6;

/** The darkness of all lines before anything is measured. */
const UNMEASURED = 0.3;

/**
 * The colour of a line: how much knocking it out changes the answer. All lines have one colour until effects are known;
 * then a line that was not measured is as pale as one without an effect, and its description says so.
 * @param {ReturnType<typeof currentStyle>["colours"]} colours @param {boolean} measured  whether effects are there
 * @param {number|undefined} delta  ln p after − ln p before @param {number} [part]  how far darkness has come
 */
export function toneOf({ pale, deep }, measured, delta, part = 1) {
  const dark = measured ? UNMEASURED + (darkness(delta ?? 0) - UNMEASURED) * part : UNMEASURED;
  const [red, green, blue] = rgbaAt([pale, deep], dark);
  return rgb([red, green, blue]);
}

/** From the middle of the signed ramp, the stops of the smallest and of the largest change: nearer it is paper, further all but black. */
const [SLIGHT, STRONG] = [1, 2];

/**
 * The colour of a line where the difference is shown: less than before, or more.
 * @param {string[]} signed  the stops of that ramp @param {number} change  −1 to 1; 0: of the width that a line has lost
 */
export function changeTone(signed, change) {
  const far = SLIGHT + (STRONG - SLIGHT) * Math.abs(change) ** 0.6;
  const [red, green, blue] = rgbaAt(signed, (signed.length - 1) / 2 + (change > 0 ? far : -far));
  return rgb([red, green, blue]);
}
