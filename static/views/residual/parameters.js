/** Where the model's parameters are: counted by part, with tied matrices both once and as often as they are used. */

import { attentionOf, isCross, stacksOf } from "../../model/description.js";
import { h, replace, scrolling } from "../../ui/dom.js";
import { integer, percent } from "../../ui/format.js";
import { hasString, t } from "../../ui/i18n.js";
import { nameOfPart } from "../parts.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { Part } from "../parts.js"
 */

/**
 * @typedef {{part: string, stack: string|null, layer: number|null, attention: string|null, shapes: number[][], n: number, tied: boolean}} Count
 *   of the answer to "parameters"; `tied`: counted before
 * @typedef {Count & {cross: boolean, layers: number}} Group
 */

const COLUMNS = ["part", "n", "share", "times", "shapes"];

/** @param {Part} place @param {ModelTrace} trace */
export function drawParameters(place, trace) {
  const { counts, total, untied_total: untied, position_table: table } = trace.explained.parameters;
  nameOfPart(place, t("residual.parameters_title", { total: integer(total) }), t("residual.parameters_about"));
  const groups = grouped(counts, trace.model);
  const several = stacksOf(trace.model).length > 1;
  const most = Math.max(...groups.map(({ n }) => n));
  const head = COLUMNS.map((name) => h("th", { scope: "col", class: `col-${name}` }, t(`residual.column_${name}`)));
  const rows = [...groups.map((one) => rowOf(one, total, most, several)), table && computedRow(table)];
  const body = h(
    "table",
    { class: "token-table parameters", dataset: { testid: "parameters" } },
    h("thead", null, h("tr", null, head)),
    h("tbody", null, rows),
  );
  replace(place.place, scrolling(t("residual.parameters_label"), body));
  const ok = total === trace.model.n_parameters;
  const check = h(
    "span",
    { class: ok ? "check" : "check bad", dataset: { testid: "total", total, untied, agrees: ok } },
    t(ok ? "residual.total_agrees" : "residual.total_differs", { n: integer(trace.model.n_parameters) }),
  );
  const tying =
    untied === total
      ? t("residual.untied_same", { total: integer(total) })
      : t("residual.untied", { total: integer(total), untied: integer(untied), saved: integer(untied - total) });
  replace(place.said, tying, " ", check);
}

/** The same part of all layers of a stack, added up. @param {Count[]} counts @param {Model} model @returns {Group[]} */
function grouped(counts, model) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const one of counts) {
    const cross = one.attention !== null && isCross(attentionOf(model, one.attention));
    const key = [one.part, one.stack, cross, one.tied, one.layer === null].join();
    const group = groups.get(key) ?? { ...one, cross, n: 0, layers: 0 };
    group.n += one.n;
    group.layers += one.layer === null ? 0 : 1;
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** @param {Group} group @param {number} total @param {number} most @param {boolean} several  stacks */
function rowOf({ part, stack, cross, shapes, n, tied, layers }, total, most, several) {
  const name = [
    hasString(`residual.part.${part}`) ? t(`residual.part.${part}`) : part,
    several && stack && h("span", { class: "dim" }, ` ${t(`residual.stack.${stack}`)}`),
    cross && h("span", { class: "dim" }, ` ${t("residual.cross")}`),
  ];
  const bar = h(
    "span",
    { class: "cosine wide", "aria-hidden": true },
    !tied && h("span", { style: { width: `${((n / most) * 100).toFixed(1)}%` } }),
  );
  const share = tied ? t("residual.tied") : percent(n / total);
  const cells = [name, integer(n), [bar, share], layers ? `× ${layers}` : "", shapesOf(shapes)];
  return h(
    "tr",
    { class: tied ? "tied" : null, dataset: { part, stack, tied, n } },
    cells.map((cell, i) => h("td", { class: `col-${COLUMNS[i]}` }, cell)),
  );
}

/** "256 × 1024 + 1024": a matrix with its bias. PyTorch keeps a matrix as [out, in]. @param {number[][]} shapes */
const shapesOf = (shapes) => shapes.map((shape) => shape.join(" × ")).join(" + ");

/** A sinusoid's table is not a parameter, and the page says so. @param {number[]} shape */
function computedRow(shape) {
  const cells = [t("residual.part.sinusoid"), "", t("residual.computed"), "", shape.join(" × ")];
  return h(
    "tr",
    { class: "tied", dataset: { part: "sinusoid" } },
    cells.map((cell, i) => h("td", { class: `col-${COLUMNS[i]}` }, cell)),
  );
}
