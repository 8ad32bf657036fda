/** The tokens of a sentence as buttons: the chosen one is the query. */

import { attentionOf, tapOf } from "../../../model/description.js";
import { tokenLabel, tokenName } from "../../../model/labels.js";
import { indexOfMost } from "../../../model/matrix.js";
import { h, keepingFocus, replace, setText, svg } from "../../../ui/dom.js";
import { number, percent, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { nextProbabilities, pageRow } from "../live.js";
import { rolesOf, variances } from "../measures/attention.js";
import { chartSize, strip } from "./stream.js";

/**
 * @import { Token } from "../../../model/labels.js"
 * @import { Figure } from "./index.js"
 */

/**
 * The variance of q·k against the number of dimensions that are added: the model's own, and that of independent
 * numbers.
 */
const [LEFT, FOOT] = [70, 56];

/** @type {Figure} */
export async function drawVariance(root, live) {
  const { byDimension, d } = await variances(live);
  const sizes = Object.keys(byDimension).map(Number);
  const most = byDimension[d];
  const [wide, high] = chartSize(root);
  const x = (/** @type {number} */ size) => LEFT + (Math.log2(size) / Math.log2(d)) * (wide - LEFT - 30);
  const low = Math.log10(byDimension[1]) - 0.15;
  const y = (/** @type {number} */ value) =>
    20 + (1 - (Math.log10(value) - low) / (Math.log10(most) + 0.1 - low)) * (high - FOOT - 20);
  const line = (/** @type {(size: number) => number} */ at, /** @type {string} */ name) =>
    svg("polyline", { class: name, points: sizes.map((size) => `${x(size)},${y(at(size))}`).join(" ") });
  const chance = (/** @type {number} */ size) => byDimension[1] * size;
  const ticks = [1, 10, 100].filter((value) => Math.log10(value) > low && value < most * 1.2);
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, class: "lesson-chart", role: "img", "aria-label": t("lesson.variance.label") },
    sizes.map((size) => [
      svg("line", { class: "rule", x1: x(size), x2: x(size), y1: 20, y2: high - FOOT }),
      svg("text", { x: x(size), y: high - FOOT + 24, "text-anchor": "middle" }, String(size)),
    ]),
    ticks.map((value) => [
      svg("line", { class: "rule", x1: LEFT, x2: x(d), y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 12, y: y(value) + 6, "text-anchor": "end" }, String(value)),
    ]),
    svg("text", { x: (LEFT + x(d)) / 2, y: high - 6, "text-anchor": "middle", class: "dim" }, t("lesson.variance.x")),
    svg(
      "text",
      { x: -(high - FOOT + 20) / 2, y: 18, transform: "rotate(-90)", "text-anchor": "middle", class: "dim" },
      t("lesson.variance.y"),
    ),
    line(chance, "chance"),
    line((size) => byDimension[size], "own tells"),
    sizes.map((size) => {
      const tells = size > 1 ? "own tells" : "own";
      return [
        svg("circle", { class: tells, cx: x(size), cy: y(byDimension[size]), r: 6 }),
        svg(
          "text",
          { x: x(size) - 8, y: y(byDimension[size]) - 14, "text-anchor": "end", class: tells },
          significant(byDimension[size], 2),
        ),
      ];
    }),
  );
  const legend = h(
    "ul",
    { class: "lesson-legend" },
    ["own", "chance"].map((name) =>
      h("li", null, h("i", { class: name }), h("span", null, t(`lesson.variance.${name}`))),
    ),
  );
  replace(root, h("h2", { class: "lesson-caption" }, t("lesson.variance.title")), chart, legend);
}

// One real row of scores and its softmax; a slider multiplies the scores.

/** @type {Figure} */
export async function drawSoftmax(root, live, { head, query, ...at }) {
  const { keys, roles } = await rolesOf(live, at, ["scores"]);
  const scores = pageRow(roles[0], query, head).slice(0, query + 1);
  const most = Math.sqrt(attentionOf(live.model).d_head);
  const rows = h("div", { class: "row-bars" });
  const names = h(
    "div",
    { class: "row-bar names dim" },
    ["key", "score", "weight"].map((name) => h("span", null, t(`lesson.softmax.${name}`))),
  );
  const times = h("output", { class: "mono" });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: most,
    step: 0.05,
    value: 1,
    "aria-label": t("lesson.softmax.times"),
    dataset: { testid: "lesson-times" },
    on: { input: show },
  });
  const label = h("label", { class: "lesson-slider tells" }, h("span", null, t("lesson.softmax.times")), slider, times);
  replace(root, h("h2", { class: "lesson-caption" }, t("lesson.softmax.title")), names, rows, label);

  function show() {
    const by = Number(slider.value);
    const scaled = scores.map((score) => score * by);
    const weights = nextProbabilities(scaled);
    replace(
      rows,
      weights.map((weight, key) => weightBar(tokenLabel(keys[key]), scaled[key], weight)),
    );
    setText(times, `× ${number(by, 2)}`);
  }
  show();
}

/** A real row of q·k, as the answer to the question about the toy. @type {Figure} */
export async function drawProducts(root, live, { head, query, ...at }) {
  const { open, keys, roles } = await rolesOf(live, at, ["scores"]);
  const products = Array.from(pageRow(roles[0], query, head).slice(0, query + 1), (score) => score / (open.scale ?? 1));
  const most = Math.max(...products);
  const title = t("lesson.products.title", { query: tokenName(keys[query]), layer: at.layer, head });
  const rows = products.map((product, key) => productBar(tokenLabel(keys[key]), product, most));
  replace(root, h("h2", { class: "lesson-caption" }, title), h("div", { class: "row-bars products tells" }, rows));
}

/** @param {string} name @param {number} product @param {number} most */
const productBar = (name, product, most) =>
  h(
    "div",
    { class: product === most ? "row-bar best" : "row-bar" },
    h("span", { class: "mono" }, name),
    h("span", { class: "mono score" }, number(product, 1)),
    h("span", { class: "toy-bar" }, h("i", { style: { width: `${Math.max(0, (100 * product) / most)}%` } })),
    h("span", { class: "toy-best" }, product === most ? t("lesson.toy.best") : ""),
  );

/** @param {string} name @param {number} score @param {number} weight */
const weightBar = (name, score, weight) =>
  h(
    "div",
    { class: "row-bar" },
    h("span", { class: "mono" }, name),
    h("span", { class: "mono score" }, number(score, 1)),
    h("span", { class: "toy-bar tells" }, h("i", { style: { width: `${100 * weight}%` } })),
    h("span", { class: "mono tells" }, percent(weight)),
  );

/** @param {Token[]} tokens @param {number} at @param {(at: number) => void} choose */
const chooser = (tokens, at, choose) =>
  h(
    "div",
    { class: "lesson-chooser", role: "group", "aria-label": t("lesson.looks_from") },
    h("span", { class: "dim" }, t("lesson.looks_from")),
    tokens.map((token, i) =>
      h(
        "button",
        {
          type: "button",
          class: "mono",
          "aria-pressed": i === at,
          dataset: { focus: i },
          on: { click: () => choose(i) },
        },
        tokenLabel(token),
      ),
    ),
  );

// What one head passes on to one token: every value, multiplied by its weight, and the sum.

/** @type {Figure} */
export async function drawPassed(root, live, { head, query, ...place }) {
  const { keys, roles } = await rolesOf(live, place, ["pattern", "v", "z"]);
  const values = keys.map((/** @type {Token} */ _, /** @type {number} */ key) => pageRow(roles[1], key, head));
  const most = Math.max(...values.flatMap((/** @type {Float32Array} */ value) => Array.from(value, Math.abs)));
  const title = h("h2", { class: "lesson-caption" }, t("lesson.passed.title"));
  const names = ["token", "weight", "value", "product"].map((name) => h("span", null, t(`lesson.passed.${name}`)));

  /** @param {number} at */
  function show(at) {
    const weights = pageRow(roles[0], at, head);
    const z = pageRow(roles[2], at, head);
    const lines = keys
      .slice(0, at + 1)
      .map((/** @type {Token} */ token, /** @type {number} */ key) =>
        passedLine(token, weights[key], values[key], most),
      );
    const sum = h("div", { class: "passed total" }, h("b", null, t("lesson.passed.sum")), strip(z, most, "tells"));
    keepingFocus(root, () =>
      replace(root, title, chooser(keys, at, show), h("div", { class: "passed names dim" }, names), lines, sum),
    );
  }
  show(query);
}

/** @param {Token} token @param {number} weight @param {Float32Array} value @param {number} most */
const passedLine = (token, weight, value, most) =>
  h(
    "div",
    { class: "passed" },
    h("span", { class: "mono" }, tokenLabel(token)),
    h("span", { class: "mono" }, percent(weight, 0)),
    strip(value, most),
    strip(
      value.map((one) => weight * one),
      most,
    ),
  );

// Where some heads look from one token: the sentence once for each head, every token shaded by its weight.

/** @type {Figure} `heads`: pairs of layer and head */
export async function drawGaze(root, live, { query, heads }) {
  const open = attentionOf(live.model);
  const tapIn = (/** @type {number} */ layer) => tapOf(open, layer, "pattern");
  const { tokens, tensors } = await live.tensors([
    ...new Set(heads.map((/** @type {[number, number]} */ [layer]) => tapIn(layer))),
  ]);

  /** @param {number} at */
  function show(at) {
    const lines = heads.map((/** @type {[number, number]} */ [layer, head]) =>
      headLine({ layer, head }, pageRow(tensors[tapIn(layer)], at, head), tokens, at),
    );
    const title = h("h2", { class: "lesson-caption" }, t("lesson.gaze.title"));
    const legend = h("p", { class: "dim" }, t("lesson.gaze.legend"));
    keepingFocus(root, () => replace(root, title, chooser(tokens, at, show), lines, legend));
  }
  show(query);
}

/**
 * @param {{layer: number, head: number}} of @param {ArrayLike<number>} weights
 * @param {Token[]} tokens @param {number} at
 */
function headLine(of, weights, tokens, at) {
  const most = indexOfMost(weights);
  const key = h("b", { class: "mono" }, tokenName(tokens[most]));
  const chips = tokens.map((token, i) =>
    h("span", { class: i > at ? "later" : null, style: { "--lit": weights[i].toFixed(3) } }, tokenLabel(token)),
  );
  return h(
    "div",
    { class: "gaze" },
    h(
      "h3",
      null,
      t("lesson.gaze.head", of),
      h("small", { class: "dim" }, phrase("lesson.gaze.most", { key, p: percent(weights[most], 0) })),
    ),
    h("p", { class: "gaze-tokens mono" }, chips),
  );
}
