/** A page of units as a matrix: tokens × 64 units, with every number readable. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { inside } from "../../model/compare/measure.js";
import { columnsIn } from "../../model/matrix.js";
import { h, perRoot, replace, update } from "../../ui/dom.js";
import { integer, number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { nameOfPart } from "../activation_parts.js";
import { labelsOf } from "../query_key.js";

const [WIDE, NARROW] = [64, 32];

/** How many units a page has room for. @param {number} width */
export const pageSize = (width) => (width > 0 && width < 480 ? NARROW : WIDE);

const partsOf = perRoot((root) => {
  const button = (name) =>
    h("button", { type: "button", class: "btn", dataset: { testid: `ffn-${name}` } }, t(`ffn.${name}`));
  const [earlier, later, where] = [
    button("earlier"),
    button("later"),
    h("span", { class: "dim", "aria-live": "polite" }),
  ];
  replace(root, where, earlier, later);
  return { earlier, later, where };
});

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place */
export function drawPage(place, trace, shown, choose) {
  const { order, first, size, n, at } = shown;
  const units = order.slice(first, first + size);
  drawPages(partsOf(place.tools), shown, units, choose);
  nameOfPart(place, phrase("ffn.page_title", { shown: h("span", { class: "mono" }, shown.shown) }), null);
  const values = columnsIn(shown.matrix, units);
  const tokens = labelsOf(trace.queries.tokens);
  const [of, col] = [n, at - first];
  drawMatrix(place.place, {
    id: `ffn-${shown.shown}`,
    title: shown.ffn[shown.shown],
    label: t("ffn.page_label", {
      path: shown.ffn[shown.shown],
      tokens: t("sentence.tokens", { n: tokens.length }),
      units: units.length,
      n: of,
    }),
    values: values.data,
    shape: [tokens.length, units.length],
    forbidden: null,
    rows: { labels: tokens, title: t("ffn.token_rows"), role: "q", faded: (row) => !inside(trace.queries.real, row) },
    cols: { labels: units.map(String), title: t(`ffn.unit_axis_${shown.sort}`), role: "" },
    scale: shown.scale,
    cellText: (value) => number(value, 1),
    hover: (row, i) => [t("ffn.unit_on", { unit: units[i], token: tokens[row] }), wordsOf(shown, row, units[i])],
    describe: (row, i) => describe(shown, row, units[i], tokens),
    chosen: { row: shown.query, col, span: "row", role: "q" },
    onChoose: (row, i) => choose({ query: row, ffnUnit: units[i] }),
    filename: `chumoku-${shown.ffn[shown.shown]}`,
  });
}

/** Chooses the same place on another page, because one choice drives map, page and inspector. */
function drawPages({ earlier, later, where }, { order, at, first, size, n }, units, choose) {
  const [lowest, highest] = [Math.min(...units), Math.max(...units)];
  const sorted = units.every((unit, i) => unit === lowest + i);
  replace(
    where,
    sorted
      ? t("ffn.units_of", { first: lowest, last: highest, n: integer(n) })
      : t("ffn.places_of", { first, last: first + units.length - 1, n: integer(n) }),
  );
  update(earlier, { disabled: first === 0 });
  update(later, { disabled: first + size >= n });
  earlier.onclick = () => choose({ ffnUnit: order[at - size] });
  later.onclick = () => choose({ ffnUnit: order[Math.min(at + size, n - 1)] });
}

/** The value of a unit on a token, before and after the activation. */
function wordsOf({ pre, post }, row, unit) {
  const [before, after] = [pre, post].map(({ data, shape }) => significant(data[row * shape[1] + unit]));
  return t("ffn.cell", { pre: before, post: after });
}

function describe(shown, row, unit, tokens) {
  return phrase("ffn.readout", {
    unit: h("b", { class: "mono" }, unit),
    token: namedLabel(tokens[row], "q", row),
    words: h("b", { class: "mono" }, wordsOf(shown, row, unit)),
  });
}
