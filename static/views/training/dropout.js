/** Dropout switched on: what a few runs removed from this sentence, and how their losses differ. */

import { trainingState } from "../../data/training.js";
import { h, keepingFocus, perRoot, replace, scrolling, tableHead } from "../../ui/dom.js";
import { errorText, integer, number, percent } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { listedToken } from "../../ui/token_text.js";
import { nameOfPart } from "../parts.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { VocabularyToken } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Child } from "../../ui/dom.js"
 * @import { Part } from "../parts.js"
 * @import { Actions } from "../view.js"
 * @import { Losses } from "./forcing.js"
 */

/**
 * @typedef {{n: number, of: number}} Removed  numbers set to 0, of those that were not
 * @typedef {{without: Losses, runs: (Losses & {seed: number, removed: Object<string, Removed>})[], tokens: Object<number, VocabularyToken>}} Dropped
 *   the answer to "dropout"
 */

const WHAT = /** @type {const} */ (["start", "weights", "added"]);

const toolsOf = perRoot((root) => {
  const seed = h("input", { type: "number", min: 0, max: 999_999_999, step: 1, dataset: { testid: "dropout-seed" } });
  const again = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "dropout-again" } },
    t("training.again"),
  );
  root.append(h("label", { class: "answer" }, t("training.seed"), " ", seed), again);
  return { seed, again };
});

/** @param {Part} place @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawDropout(place, trace, state, actions) {
  /** @type {(Dropped & {refused?: any})|undefined} */
  const found = trace.explained.dropout;
  const { seed } = trainingState.of(state);
  const tools = toolsOf(place.tools);
  const draw = (/** @type {number} */ next) =>
    Number.isInteger(next) && next >= 0 && actions.set(trainingState.patch({ seed: next }));
  tools.seed.value = String(seed);
  tools.seed.onchange = () => draw(Number(tools.seed.value));
  tools.again.onclick = () => draw(seed + (found?.runs?.length ?? 1));
  nameOfPart(
    place,
    t("training.dropout"),
    t(keyFor(trace.model, "training.dropout_about"), {
      p: trace.model.dropout,
      keep: number(1 / (1 - trace.model.dropout), 3),
    }),
  );
  if (!found || found.refused)
    return void replace(place.said, found ? errorText(found.refused) : t("training.comparing"));
  keepingFocus(place.place, () => replace(place.place, scrolling(t("training.dropout"), tableOf(found))));
  const means = found.runs.map(({ mean }) => mean);
  const said = {
    low: number(Math.min(...means), 3),
    high: number(Math.max(...means), 3),
    without: number(found.without.mean, 3),
  };
  const key = found.without.mean === null ? "training.no_label" : keyFor(trace.model, "training.dropout_said");
  replace(place.said, t(key, said));
}

/** @param {Dropped} found */
function tableOf({ without, runs, tokens }) {
  const has = WHAT.filter((what) => runs.some(({ removed }) => what in removed));
  const head = tableHead([
    t("training.run"),
    ...has.map((what) => t(`training.removed.${what}`)),
    t("training.mean"),
    t("training.last_first"),
  ]);
  const told = (/** @type {Losses} */ { first, first_p, mean }) => {
    const at = first.length - 1;
    return [
      mean === null ? "" : number(mean, 4),
      at < 0 ? "" : [listedToken(tokens[first[at]]), ": ", percent(first_p[at], 1)],
    ];
  };
  const removed = (/** @type {Removed|undefined} */ one) =>
    one ? `${integer(one.n)} (${percent(one.of ? one.n / one.of : 0, 1)})` : "";
  /** @param {string} name @param {Child[]} cells @param {Object<string, any>} data */
  const rowOf = (name, cells, data) =>
    h(
      "tr",
      { dataset: data },
      h("th", { scope: "row" }, name),
      cells.map((cell) => h("td", null, cell)),
    );
  const rows = runs.map((run) =>
    rowOf(t("training.seed_is", { seed: run.seed }), [...has.map((what) => removed(run.removed[what])), ...told(run)], {
      testid: "dropped",
      seed: run.seed,
      mean: run.mean,
    }),
  );
  return h(
    "table",
    { class: "token-table dropout" },
    head,
    h(
      "tbody",
      null,
      rowOf(t("training.off"), [...has.map(() => "0"), ...told(without)], { testid: "dropped", seed: "off" }),
      rows,
    ),
  );
}
