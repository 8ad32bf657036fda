/** How far back the gradient of a chosen ln p reaches, with residual connections and in a copy without them. */

import { drawLayerChart } from "../../chart/curves/line_charts.js";
import { tokenLabel } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling } from "../../ui/dom.js";
import { agrees, number, percent, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { tokenInRole } from "../inspector/parts.js";
import { drawFolded, nameOfPart } from "../parts.js";
import { GRADIENTS_OVER, residualState } from "../view_states.js";

/**
 * @import { LayerChart } from "../../chart/curves/line_charts.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { VocabularyToken } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Actions } from "../view.js"
 * @import { At } from "./draw.js"
 */

/**
 * @typedef {{residuals: boolean, row: number, answer: number, log_p: number, stacks: {stack: string, norm: number[][], total: number[]}[]}} Gradient
 *   a run of the answer to "gradients", with residual connections or without; `norm`: [depth][position]
 * @typedef {LayerChart["lines"][number]} Line
 */

// What was measured about the gradients, in words.

/** The measured facts only. @param {ModelTrace} trace @param {Gradient[]} runs @param {Line[]} lines */
function gradientWords(trace, runs, lines) {
  const [on, off] = runs;
  const name = trace.classes ? trace.model.classes[on.answer] : labelOf(trace, on.answer);
  const times = lines.map(({ values }) => {
    const [first, last] = [values[0], values[values.length - 1]];
    return last > 0 && first > 0 ? first / last : null;
  });
  const parts = {
    answer: h("b", { class: "mono" }, name),
    row: on.row,
    on: h("b", { class: "mono" }, number(on.log_p, 3)),
    off: h("b", { class: "mono" }, number(off.log_p, 3)),
  };
  const measured =
    times.every((one) => one !== null) &&
    t("residual.measured", {
      on: significant(times[0], 3),
      off: significant(times[1], 3),
      last: lines[0].values.length - 1,
    });
  const zero = lines.some(({ values }) => values.some((value) => value === 0)) && t("residual.zero");
  return [
    h("span", null, phrase(trace.classes ? "residual.log_p_class" : "residual.log_p", parts)),
    " ",
    checkOf(trace, on),
    " ",
    measured,
    " ",
    zero,
  ].filter(Boolean);
}

/** @param {ModelTrace} trace @param {number} id */
const labelOf = ({ explained }, id) =>
  explained.gradients.tokens[id] ? tokenLabel(explained.gradients.tokens[id]) : String(id);

/**
 * The server's ln p against the probability that the page shows elsewhere.
 * @param {ModelTrace} trace @param {Gradient} run
 */
function checkOf(trace, { row, answer, log_p }) {
  const p = trace.classes
    ? trace.classes.find(({ name }) => name === trace.model.classes[answer])?.probability
    : trace.predictions[row]?.candidates.find(({ id }) => id === answer)?.before;
  if (p === undefined) return null;
  const ok = agrees(Math.exp(log_p), p);
  return h(
    "span",
    { class: ok ? "check" : "check bad", dataset: { testid: "log-p", agrees: ok } },
    t(!ok ? "residual.p_differs" : trace.classes ? "residual.p_agrees_class" : "residual.p_agrees", {
      p: percent(p, 3),
    }),
  );
}

const gradientPartsOf = perRoot((root) => {
  const [chart, legend, table] = [
    h("div", null),
    h("p", { class: "chart-legend" }),
    h("div", { class: "table-place" }),
  ];
  root.append(legend, chart, table);
  return { chart, legend, table };
});
const toolsOf = perRoot((root) => {
  const over = segment(t("residual.over.choose"), GRADIENTS_OVER, "residual-over", (name) =>
    t(`residual.over.${name}`),
  );
  const answer = h("select", { dataset: { testid: "answer" } });
  root.append(h("label", { class: "answer" }, t("residual.answer"), " ", answer), over.box);
  return { over, answer };
});

/** @param {Part} place @param {ModelTrace} trace @param {State} state @param {At} at @param {Actions} actions */
export function drawGradients(place, trace, state, at, actions) {
  const [tools, parts] = [toolsOf(place.tools), gradientPartsOf(place.place)];
  place.place.hidden = place.tools.hidden = trace.explained.gradients === null;
  if (place.place.hidden) return drawNothing(place);
  /** @type {{runs: Gradient[]}} */
  const { runs } = trace.explained.gradients;
  drawAnswers(tools.answer, trace, state, actions);
  const { over } = residualState.of(state);
  tools.over.show(over, (name) => actions.set(residualState.patch({ over: name })));
  const token = tokenInRole(trace.queries.tokens, at.query, "q");
  nameOfPart(place, t("residual.gradients_title"), phrase(`residual.gradients_about_${over}`, { token }));
  const lines = runs.map((run) => ({
    name: t(run.residuals ? "residual.on" : "residual.off"),
    values: valuesOf(run, at, over),
  }));
  replace(
    parts.legend,
    lines.map(({ name }, i) => h("span", { class: `key key-${i}` }, name)),
  );
  const steps = lines[0].values.map((_, depth) => String(depth));
  const choose = (/** @type {number} */ depth) => actions.set({ layer: Math.max(0, depth - 1) });
  drawLayerChart(parts.chart, {
    label: t("residual.gradients_label"),
    steps,
    title: t("residual.gradients_axis"),
    lines,
    chosen: at.layer + 1,
    onChoose: choose,
  });
  keepingFocus(parts.table, () =>
    drawFolded(parts.table, scrolling(t("residual.table_label"), tableOf(lines, steps, at.layer + 1, choose))),
  );
  replace(place.said, gradientWords(trace, runs, lines));
}

/** A PAD was never trained to predict, so it has no answer to follow. @param {Part} place */
function drawNothing(place) {
  nameOfPart(place, t("residual.gradients_title"), null);
  replace(place.said, t("inspector.logit_pad"));
}

/**
 * ‖∂ ln p / ∂x‖ at each depth, over all positions of the open stack or at the chosen one.
 * @param {Gradient} run @param {At} at @param {"all"|"token"} wish
 */
function valuesOf(run, { isOpen, query }, wish) {
  const stack = /** @type {Gradient["stacks"][number]} */ (run.stacks.find(isOpen));
  return wish === "all" ? stack.total : stack.norm.map((row) => row[query]);
}

/**
 * Possible answers, most likely first; the first one is the model's own choice.
 * @param {HTMLSelectElement} select @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawAnswers(select, trace, state, actions) {
  /** @type {{runs: Gradient[], tokens: Object<number, VocabularyToken>}} */
  const { runs, tokens } = trace.explained.gradients;
  const { classes } = trace;
  /** @type {{id: number, label: string, p: number}[]} */
  const known = classes
    ? trace.model.classes.map((/** @type {string} */ name, /** @type {number} */ id) => ({
        id,
        label: name,
        p: classes.find((one) => one.name === name)?.probability ?? 0,
      }))
    : trace.predictions[rowOf(state, trace)].candidates.map((one) => ({
        id: one.id,
        label: tokenLabel(one),
        p: one.before,
      }));
  const asked = runs[0].answer;
  if (!known.some(({ id }) => id === asked))
    known.push({
      id: asked,
      label: tokens[asked] ? tokenLabel(tokens[asked]) : String(asked),
      p: Math.exp(runs[0].log_p),
    });
  const options = known.map(({ id, label, p }) =>
    h("option", { value: id, selected: id === asked }, `${label} · ${percent(p)}`),
  );
  replace(select, options);
  select.onchange = () => actions.set({ answer: Number(select.value) });
}

/**
 * Like the chart, its headers choose a layer, also by keyboard.
 * @param {Line[]} lines @param {string[]} steps @param {number} chosen @param {(depth: number) => void} choose
 */
function tableOf(lines, steps, chosen, choose) {
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, t("residual.depth")),
    steps.map((step, depth) =>
      h(
        "th",
        { scope: "col" },
        headOf(step, depth, depth === chosen, () => choose(depth)),
      ),
    ),
  );
  const rows = lines.map(({ name, values }, i) =>
    h(
      "tr",
      { dataset: { run: i === 0 ? "on" : "off" } },
      h("th", { scope: "row" }, name),
      values.map((value) => h("td", { dataset: { value } }, significant(value, 3))),
    ),
  );
  return h(
    "table",
    { class: "token-table gradients", dataset: { testid: "gradients" } },
    h("thead", null, head),
    h("tbody", null, rows),
  );
}

/** @param {string} step @param {number} depth @param {boolean} isChosen @param {() => void} click */
function headOf(step, depth, isChosen, click) {
  const title = depth === 0 ? t("residual.before") : t("residual.after", { layer: depth - 1 });
  return h(
    "button",
    {
      class: "link",
      type: "button",
      title,
      "aria-current": isChosen ? "true" : null,
      dataset: { focus: `depth-${depth}` },
      on: { click },
    },
    step,
  );
}
