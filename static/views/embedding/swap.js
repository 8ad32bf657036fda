/** What changes when two tokens change places, with and without positions: without positions, attention sees a set. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, sizeScale } from "../../chart/matrix/scale.js";
import { embeddingState, movable, swapOf } from "../../data/embedding.js";
import { stackOf, stacksOf, writesTarget } from "../../model/description.js";
import { labelsOf, tokenName } from "../../model/labels.js";
import { memo } from "../../model/memo.js";
import { inside, sideOf } from "../../model/sides.js";
import { walkList } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, setText, update } from "../../ui/dom.js";
import { cellWeight, percent, power, significant } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sup } from "../../ui/mathml.js";
import { tokenText } from "../../ui/token_text.js";
import { depthLabels } from "../parts.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Actions } from "../view.js"
 * @import { Tab, TabActions } from "./draw.js"
 */

// The sentence as buttons; two of them are picked to change places. A click replaces the older pick.

/**
 * @param {HTMLElement} root @param {ModelTrace} trace
 * @param {{i: number, j: number}|null} pair  the newer pick is j @param {Actions} actions
 */
function drawPicks(root, trace, pair, actions) {
  const { tokens, real } = trace.sides.source;
  const own = tokens.slice(movable(trace), real.end);
  replace(
    root,
    own.map((token) => pick(token, tokens, pair, actions)),
  );
  root.onkeydown = (event) => walkList(event, "ArrowLeft", "ArrowRight");
}

/** @param {Token} token @param {Token[]} tokens @param {{i: number, j: number}|null} pair @param {Actions} actions */
function pick(token, tokens, pair, actions) {
  const { index, id } = token;
  const picked = pair !== null && (index === pair.i || index === pair.j);
  // swapping it with an equal token would change nothing
  const useless = pair === null || (!picked && tokens[pair.j].id === id);
  const label = t(picked ? "embedding.picked" : "embedding.pick", { token: tokenName(token), i: index });
  const other = pair && (index === pair.j ? pair.i : pair.j); // the pick that stays
  const choose = () => !useless && other !== null && actions.set(embeddingState.patch({ swap: [other, index] }));
  return h(
    "button",
    {
      class: `tok swap-pick${picked ? " on" : ""}`,
      type: "button",
      title: useless ? t("embedding.same_token") : label,
      "aria-label": label,
      "aria-pressed": picked,
      "aria-disabled": useless ? "true" : null,
      dataset: { testid: "swap-pick", index, focus: `pick-${index}` },
      on: { click: choose },
    },
    h("span", { class: "text" }, tokenText(token)),
    h("i", null, index),
  );
}

const elementsOf = perRoot((place) => {
  const picks = h("div", { class: "tokens", role: "toolbar" });
  const after = h("p", { class: "embedding-after", "aria-live": "polite" });
  const none = h("p", { class: "embedding-note" });
  const runs = h("div", { class: "swap-runs" });
  place.append(picks, after, none, runs);
  return { picks, after, none, runs };
});

/** @type {Tab} */
export default {
  sides: false, // tokens change places in the sentence itself
  draw(place, trace, state, actions) {
    const parts = elementsOf(place);
    const pair = swapOf(state, trace);
    update(parts.picks, { "aria-label": t(keyFor(trace.model, "embedding.picks")) });
    setText(parts.none, t(keyFor(trace.model, "embedding.swap_none")));
    keepingFocus(parts.picks, () => drawPicks(parts.picks, trace, pair, actions));
    parts.none.hidden = pair !== null;
    parts.runs.hidden = parts.after.hidden = pair === null;
    if (pair) {
      replace(parts.after, swapped(trace, pair));
      drawRuns(parts.runs, trace, pair, actions);
    }
    return { formula: formula(), note: t("embedding.change_note") };
  },
};

/** ‖x′ − x‖ / ‖x‖ */
function formula() {
  const length = (/** @type {Node[]} */ ...x) => row(mtext("‖"), ...x, mtext("‖"));
  return math(length(sup(mi("x"), mo("′")), mo("−"), mi("x")), mo("/"), length(mi("x")));
}

/** The sentence as it is read after the swap. @param {ModelTrace} trace @param {{i: number, j: number}} pair */
function swapped({ sides: { source } }, { i, j }) {
  const order = source.tokens
    .map((_, at) => (at === i ? j : at === j ? i : at))
    .slice(source.real.start, source.real.end);
  const labels = labelsOf(source.tokens);
  const words = order.map((at) => h("span", { class: at === i || at === j ? "swapped" : null }, labels[at]));
  return [h("span", { class: "dim" }, t("embedding.reads_now")), " ", h("span", { class: "mono" }, words)];
}

// The runs of a swap, with positions and without: how far each state moved, a picture for each stack.

/**
 * @typedef {{positions: boolean, stacks: {stack: string, change: number[][]}[], rows: number[], prediction: number[], largest: number,
 *   order_only: boolean}} Swap  a run of the answer to "swap", with positions or without; `change`: [depth][position]
 */

// The effect of a swap in words: what the numbers show, and why.

/** Smaller changes are float32 rounding, as in model/explain/swaps.py. */
const SWAP_TOLERANCE = 1e-4;

/** What DeBERTa adds to its scores. */
const DISENTANGLED = ["position_scores", "content_to_position", "position_to_content"];

/** Roles of an attention with positions built in: distances, a rotation, a bias; WKV's weights decay. */
const KNOWS_POSITIONS = ["relative_scores", "q_rotated", "position_bias", "relative_bias", "alibi", ...DISENTANGLED];

/**
 * @param {Model} model  Whether its attention has positions built in, besides those that are added to the embeddings.
 */
export const attentionKnowsPositions = (model) =>
  model.description.attentions.some(
    (one) => "decay" in one.parameters || KNOWS_POSITIONS.some((role) => role in one.roles),
  );

/** Whether anything but the order has changed. @param {ModelTrace} trace @param {Swap} run */
function swapVerdict(trace, { positions, largest, order_only: orderOnly, stacks }) {
  const largestText = largest < 1e-3 ? power(largest) : significant(largest, 3);
  if (orderOnly) return [h("b", null, t("embedding.order_only")), " ", t("embedding.order_gap", { gap: largestText })];
  const changed = [h("b", null, t("embedding.changed", { largest: largestText }))];
  if (positions) return changed;
  const causal = trace.causal && !writesTarget(trace.model);
  const still = stacks[0].change[0].map((_, at) => stacks[0].change.every((depth) => depth[at] <= SWAP_TOLERANCE));
  const { start, end } = trace.sides.source.real;
  const n = still.slice(start, end).filter(Boolean).length;
  return [
    ...changed,
    " ",
    t(attentionKnowsPositions(trace.model) ? "embedding.still_attention" : whyStill(causal)),
    causal && n > 0 ? [" ", t("embedding.untouched", { n })] : null,
  ];
}

/** @param {boolean} causal */
const whyStill = (causal) => (causal ? "embedding.still_causal" : "embedding.still_other");

/** How far the predictions moved. @param {ModelTrace} trace @param {Swap} run */
function movedWords(trace, { rows, prediction }) {
  const most = prediction.reduce((best, one, i) => (one > prediction[best] ? i : best), 0);
  const share = prediction[most] < 1e-4 ? power(prediction[most]) : percent(prediction[most]);
  if (trace.classes) return t("embedding.moved_class", { share });
  const { tokens } = trace.written ?? trace.sides.source;
  return t("embedding.moved", { share, token: tokenName(tokens[rows[most]]), row: rows[most] });
}

/** Up to this many tokens, both runs are side by side and cells are square. */
const FEW = 10;

const runsOf = perRoot(() => ({
  made: "",
  places: /** @type {ReturnType<typeof runPlace>[]} */ ([]),
  at: { pair: "", stack: 0, row: 0, col: 0 }, // the chosen cell
}));

/**
 * @param {HTMLElement} root @param {ModelTrace} trace @param {{i: number, j: number}} pair @param {TabActions} actions
 */
function drawRuns(root, trace, pair, actions) {
  const parts = runsOf(root);
  /** @type {{runs: Swap[]}} */
  const { runs } = trace.explained.swap;
  const shape = runs.map(({ stacks }) => stacks.map(({ stack }) => stack).join()).join("|");
  if (parts.made !== shape) {
    parts.made = shape;
    parts.places = runs.map((run) => runPlace(trace.model, run));
    replace(
      root,
      parts.places.map(({ element }) => element),
    );
  }
  const most = Math.max(...runs.flatMap(({ stacks }) => stacks.flatMap(({ change }) => change.flat())), 1e-6);
  const pairKey = `${trace.key} ${pair.i} ${pair.j}`;
  if (parts.at.pair !== pairKey)
    parts.at = { pair: pairKey, row: runs[0].stacks[0].change.length - 1, col: pair.i, stack: 0 };
  root.classList.toggle("beside", trace.sides.source.tokens.length <= FEW);
  runs.forEach((run, i) => {
    const { said, verdict, stacks } = parts.places[i];
    replace(said, movedWords(trace, run));
    replace(verdict, swapVerdict(trace, run));
    verdict.dataset.largest = String(run.largest);
    run.stacks.forEach((stack, s) =>
      drawStack(stacks[s], trace, run, stack, s, { most, at: parts.at, redraw: actions.redraw }),
    );
  });
}

/** @param {Model} model @param {Swap} run */
function runPlace(model, { positions, stacks }) {
  const [said, verdict] = [
    h("p", { class: "embedding-said" }),
    h("p", { class: "embedding-verdict", dataset: { testid: `swap-${positions ? "on" : "off"}` } }),
  ];
  const places = stacks.map(({ stack }) => {
    const [title, legend, matrix] = [
      h("span", { class: "dim" }, stacksOf(model).length > 1 && t(`embedding.stack.${stack}`)),
      h("div", null),
      h("div", null),
    ];
    return {
      legend,
      matrix,
      element: h("div", null, h("div", { class: "third-head" }, title, h("span", { class: "grow" }), legend), matrix),
    };
  });
  const head = h("h2", null, t(positions ? "embedding.with_positions" : "embedding.without_positions"));
  return {
    said,
    verdict,
    stacks: places,
    element: h(
      "section",
      { class: "third" },
      head,
      verdict,
      said,
      places.map(({ element }) => element),
    ),
  };
}

const flat = memo((/** @type {number[][]} */ rows) => Float32Array.from(rows.flat()));

/**
 * @param {{legend: HTMLElement, matrix: HTMLElement}} place @param {ModelTrace} trace @param {Swap} run @param {Swap["stacks"][number]} stack
 * @param {number} index @param {{most: number, at: ReturnType<typeof runsOf>["at"], redraw: () => void}} shown
 */
function drawStack({ legend, matrix }, trace, { positions }, { stack, change }, index, { most, at, redraw }) {
  const values = flat(change);
  const side = sideOf(trace.sides, stackOf(trace.model, stack).side);
  const [depths, tokens] = [depthLabels(change.length), labelsOf(side.tokens)];
  const scale = sizeScale(values, most);
  const said = (/** @type {number} */ row, /** @type {number} */ col) => [
    t("embedding.change_cell", {
      token: tokens[col],
      i: col,
      depth: depths[row],
      value: significant(change[row][col], 4),
    }),
  ];
  replace(legend, scaleLegend(scale, { number: (one) => significant(one, 2) }));
  drawMatrix(matrix, {
    id: `swap-${positions ? "on" : "off"}${stacksOf(trace.model).length > 1 ? `-${stack}` : ""}`,
    label: t(positions ? "embedding.change_label_on" : "embedding.change_label_off", {
      rows: depths.length,
      cols: tokens.length,
    }),
    values,
    shape: [depths.length, tokens.length],
    forbidden: null,
    rows: { labels: depths, title: t("embedding.depth_axis"), role: "" },
    cols: {
      labels: tokens,
      title: t("embedding.token_axis"),
      role: "",
      faded: (i) => !inside(side.real, i),
    },
    scale,
    cellText: (one) => (one === 0 ? "0" : one < SWAP_TOLERANCE ? "≈0" : cellWeight(one)),
    hover: said,
    describe: said,
    chosen: { row: at.row, col: Math.min(at.stack === index ? at.col : 0, tokens.length - 1), span: "cell", role: "q" },
    onChoose(row, col) {
      Object.assign(at, { row, col, stack: index });
      redraw();
    },
    square: tokens.length <= 2 * FEW,
    filename: `chumoku-swap-${positions ? "positions" : "no-positions"}`,
  });
}
