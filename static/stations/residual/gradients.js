/** How far back the gradient of a chosen ln p reaches, with residual connections and in a copy without them. */

import { drawLayerChart } from "../../chart/curves/line_charts.js";
import { tokenLabel, tokenName } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, scrolling } from "../../ui/dom.js";
import { agrees, number, percent, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { drawFolded, nameOfPart } from "../parts.js";
import { GRADIENTS_OVER, residualState } from "../view_states.js";

// What was measured about the gradients, in words.

/** The measured facts only. */
function gradientWords(trace, runs, lines) {
  const [on, off] = runs;
  const name = trace.classes ? trace.model.classes[on.answer] : labelOf(trace, on.answer);
  const times = lines.map(({ values }) => (values.at(-1) > 0 && values[0] > 0 ? values[0] / values.at(-1) : null));
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

const labelOf = ({ explained }, id) =>
  explained.gradients.tokens[id] ? tokenLabel(explained.gradients.tokens[id]) : String(id);

/** The server's ln p against the probability that the page shows elsewhere. */
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

/** @param {ReturnType<typeof import("../parts.js").part>} place */
export function drawGradients(place, trace, state, at, actions) {
  const [tools, parts] = [toolsOf(place.tools), gradientPartsOf(place.place)];
  place.place.hidden = place.tools.hidden = trace.explained.gradients === null;
  if (place.place.hidden) return drawNothing(place);
  const { runs } = trace.explained.gradients;
  drawAnswers(tools.answer, trace, state, actions);
  const { over } = residualState.of(state);
  tools.over.show(over, (name) => actions.set(residualState.patch({ over: name })));
  const token = h("b", { class: "q mono" }, tokenName(trace.queries.tokens[at.query]));
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
  const choose = (depth) => actions.set({ layer: Math.max(0, depth - 1) });
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

/** A PAD was never trained to predict, so it has no answer to follow. */
function drawNothing(place) {
  nameOfPart(place, t("residual.gradients_title"), null);
  replace(place.said, t("inspector.logit_pad"));
}

/** ‖∂ ln p / ∂x‖ at each depth, over all positions of the open stack or at the chosen one. */
function valuesOf(run, { isOpen, query }, wish) {
  const stack = run.stacks.find(isOpen);
  return wish === "all" ? stack.total : stack.norm.map((row) => row[query]);
}

/** Possible answers, most likely first; the first one is the model's own choice. */
function drawAnswers(select, trace, state, actions) {
  const { runs, tokens } = trace.explained.gradients;
  const known = trace.classes
    ? trace.model.classes.map((name, id) => ({
        id,
        label: name,
        p: trace.classes.find((one) => one.name === name).probability,
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

/** Like the chart, its headers choose a layer, also by keyboard. */
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
