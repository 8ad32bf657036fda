/**
 * What a picture saves of itself as a figure. The page around it adds the caption: model, text, settings and link. And a ranking as
 * bars, for a list.
 */

import { cutToWidth } from "../model/labels.js";
import { SAVE } from "../ui/controls.js";
import { barOf, h, svg } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { cssColour } from "./theme.js";

/** @import { Picture } from "./pictures.js" */

/** @typedef {"png"|"svg"} Format */
/** @typedef {{picture: Picture, format: Format}} Asked  the event's `detail` */

/** Asks the page around a picture to save it with a caption; false: there is none, as in a saved file. @param {Element} element @param {Asked} detail */
export const pageSaves = (element, detail) =>
  !element.dispatchEvent(new CustomEvent(SAVE, { bubbles: true, cancelable: true, detail }));

/**
 * Buttons that save `read()` in either format. `bare` saves it without a caption, where no page listens: in a saved file.
 * @param {() => Picture|null} read @param {(format: Format) => unknown} [bare]
 */
export function saveButtons(read, bare = () => {}) {
  return /** @type {Format[]} */ (["png", "svg"]).map((format) => {
    const title = t(`matrix.button.${format}`);
    const click = (/** @type {MouseEvent} */ { currentTarget }) => {
      const picture = read();
      if (picture && !pageSaves(/** @type {Element} */ (currentTarget), { picture, format })) bare(format);
    };
    const attrs = { class: "save", type: "button", title, "aria-label": title, dataset: { testid: `save-${format}` } };
    return h("button", { ...attrs, on: { click } }, format.toUpperCase());
  });
}

// A ranking: a name, a bar and its number in each row.

/** Widths of the names, the bars and the numbers, and the height of a row, in pixels. */
const [NAME, BAR, NUMBER, ROW] = [200, 320, 80, 26];

const FONT = 13;

/** About as wide as a letter of this size. */
const LETTER = 0.55 * FONT;

/**
 * @typedef {{name: string, value: number, text: string}} Ranked  `text`: the value as it is written
 * @typedef {{id: string, title: string, about: string, of: string, what: string, rows: Ranked[]}} Ranking  `of`, `what`: the heads of its
 *   table's columns
 */

/** Where each bar begins and how long it is, in pixels, and where the line is from which all begin: a negative one points left. @param {number[]} values */
export function rankedBars(values) {
  const bars = values.map((value) => barOf(value, values));
  return {
    zero: BAR * (bars[0]?.zero ?? 0),
    bars: bars.map(({ from, share }) => ({ x: BAR * from, w: BAR * share })),
  };
}

/** A ranking as a picture that can be saved. @param {Ranking} ranking @returns {Picture} */
export function rankingPicture({ id, title, about, of, what, rows }) {
  const [width, height] = [NAME + BAR + NUMBER, rows.length * ROW];
  const look = { "font-size": FONT, fill: cssColour("--ink") };
  const { zero, bars } = rankedBars(rows.map(({ value }) => value));
  const line = { x: NAME + zero - 0.5, y: 0, width: 1, height, fill: cssColour("--ink-2") };
  const nodes = bars.map(({ x, w }, i) => {
    const { name, value, text } = rows[i];
    const y = i * ROW;
    const short = cutToWidth(name, NAME - 12, (words) => words.length * LETTER);
    const words = { ...look, y: y + 17, style: { "white-space": "pre" } };
    const bar = { x: NAME + x, y: y + 6, width: Math.max(1, w), height: ROW - 12, rx: 2 };
    return [
      svg("text", { ...words, x: 0, "font-family": cssColour("--font") }, short),
      svg("rect", { ...bar, fill: cssColour(value < 0 ? "--minus" : "--accent") }),
      svg("text", { ...words, x: width, "font-family": cssColour("--mono"), "text-anchor": "end" }, text),
    ];
  });
  const plot = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, nodes.flat(), svg("rect", line));
  const table = [[of, what], ...rows.map(({ name, value }) => [name, value])];
  return { kind: "drawn", content: { id, title, about, label: title, legend: what, table }, plot };
}
