/** What changes when two tokens change places, with and without positions: without positions, attention sees a set. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { legendOf, weightScale } from "../../chart/matrix/scale.js";
import { swapOf } from "../../data/embedding.js";
import { stacksOf } from "../../model/description.js";
import { stackWith } from "../../model/places.js";
import { sideOf } from "../../model/sides.js";
import { h, keepingFocus, perRoot, replace } from "../../ui/dom.js";
import { cellWeight, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row, sup } from "../../ui/mathml.js";
import { depthLabels } from "../depths.js";
import { labelsOf } from "../query_key.js";
import { drawPicks } from "./picks.js";
import { movedWords, TOLERANCE, verdictOf } from "./swap_words.js";

/** Up to this many tokens, both runs are side by side and cells are square. */
const FEW = 10;

const partsOf = perRoot((place) => {
  const picks = h("div", { class: "tokens", role: "toolbar", "aria-label": t("embedding.picks") });
  const after = h("p", { class: "embedding-after", "aria-live": "polite" });
  const none = h("p", { class: "embedding-note" }, t("embedding.swap_none"));
  const runs = h("div", { class: "swap-runs" });
  place.append(picks, after, none, runs);
  return {
    picks,
    after,
    none,
    runs,
    made: "",
    /** @type {any[]} */ places: [],
    at: { pair: "", stack: 0, row: 0, col: 0 },
  };
});

export default {
  sides: false, // tokens change places in the sentence itself
  draw(place, trace, state, actions) {
    const parts = partsOf(place);
    const pair = swapOf(state, trace);
    keepingFocus(parts.picks, () => drawPicks(parts.picks, trace, pair, actions));
    parts.none.hidden = pair !== null;
    parts.runs.hidden = parts.after.hidden = pair === null;
    if (pair) {
      replace(parts.after, swapped(trace, pair));
      drawRuns(parts, trace, pair, actions);
    }
    const change = [
      mtext("‖"),
      sup(mi("x"), mo("′")),
      mo("−"),
      mi("x"),
      mtext("‖"),
      mo("/"),
      mtext("‖"),
      mi("x"),
      mtext("‖"),
    ];
    return { formula: math(row(...change)), note: t("embedding.change_note") };
  },
};

/** The sentence as it is read after the swap. */
function swapped({ sides: { source } }, { i, j }) {
  const order = source.tokens
    .map((_, at) => (at === i ? j : at === j ? i : at))
    .slice(source.real.start, source.real.end);
  const labels = labelsOf(source.tokens);
  const words = order.map((at) => h("span", { class: at === i || at === j ? "swapped" : null }, labels[at]));
  return [h("span", { class: "dim" }, t("embedding.reads_now")), " ", h("span", { class: "mono" }, words)];
}

/** One run with positions, one without; of each stack a picture. */
function drawRuns(parts, trace, pair, actions) {
  const { runs } = trace.explained.swap;
  const shape = runs.map(({ stacks }) => stacks.map(({ prefix }) => prefix).join()).join("|");
  if (parts.made !== shape) {
    parts.made = shape;
    parts.places = runs.map((run) => runPlace(trace.model, run));
    replace(
      parts.runs,
      parts.places.map(({ element }) => element),
    );
  }
  const most = Math.max(...runs.flatMap(({ stacks }) => stacks.flatMap(({ change }) => change.flat())), 1e-6);
  const pairKey = `${trace.key} ${pair.i} ${pair.j}`;
  if (parts.at.pair !== pairKey)
    parts.at = { pair: pairKey, row: runs[0].stacks[0].change.length - 1, col: pair.i, stack: 0 };
  parts.runs.classList.toggle("beside", trace.sides.source.tokens.length <= FEW);
  runs.forEach((run, i) => {
    const { said, verdict, stacks } = parts.places[i];
    replace(said, movedWords(trace, run));
    replace(verdict, verdictOf(trace, run));
    verdict.dataset.largest = run.largest;
    run.stacks.forEach((stack, s) =>
      drawStack(stacks[s], trace, run, stack, s, { most, at: parts.at, redraw: actions.redraw }),
    );
  });
}

function runPlace(model, { positions, stacks }) {
  const [said, verdict] = [
    h("p", { class: "embedding-said" }),
    h("p", { class: "embedding-verdict", dataset: { testid: `swap-${positions ? "on" : "off"}` } }),
  ];
  const places = stacks.map(({ prefix }) => {
    const [title, legend, matrix] = [
      h("span", { class: "dim" }, stacksOf(model).length > 1 && t(`embedding.stack.${stackWith(model, prefix).id}`)),
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

/** @type {WeakMap<number[][], Float32Array>} */
const flattened = new WeakMap();

function flat(rows) {
  if (!flattened.has(rows)) flattened.set(rows, Float32Array.from(rows.flat()));
  return /** @type {Float32Array} */ (flattened.get(rows));
}

function drawStack({ legend, matrix }, trace, { positions }, { prefix, change }, index, { most, at, redraw }) {
  const values = flat(change);
  const { id, side: name } = stackWith(trace.model, prefix);
  const side = sideOf(trace.sides, name);
  const [depths, tokens] = [depthLabels(change.length), labelsOf(side.tokens)];
  const scale = {
    ...weightScale(),
    max: most,
    seen: /** @type {[number, number]} */ ([Math.min(...values), Math.max(...values)]),
  };
  const said = (row, col) => [
    t("embedding.change_cell", {
      token: tokens[col],
      i: col,
      depth: depths[row],
      value: significant(change[row][col], 4),
    }),
  ];
  replace(legend, legendOf(scale, { number: (one) => significant(one, 2) }));
  drawMatrix(matrix, {
    id: `swap-${positions ? "on" : "off"}${stacksOf(trace.model).length > 1 ? `-${id}` : ""}`,
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
      faded: (i) => i < side.real.start || i >= side.real.end,
    },
    scale,
    cellText: (one) => (one === 0 ? "0" : one < TOLERANCE ? "≈0" : cellWeight(one)),
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
