/** Chooses the model that is shown next to the page's: from a list of pairs, or any. */

import { embeddingState as embedding } from "../../data/embedding.js";
import { besideState as beside, besideState, isEdited, UNEDITED } from "../../model/compare/beside.js";
import { snapshotsOf } from "../../model/trainings.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

// Pairs of models that differ in one thing; what to look at is `beside.pair_<id>`.

/**
 * @typedef {{id: string, models: [string, string], heads?: [number, number, number, number],
 *   opens?: Patch}} Pair  `heads`: layer and head on the left, and on the right, where the difference is seen
 *   (tests/test_pairs.py holds what is said of them); `opens`: another place for it
 */

/** @type {Pair[]} */
export const PAIRS = [
  { id: "aft_full", models: ["mini-softmax", "mini-aft-full"], heads: [3, 2, 3, 2] },
  { id: "aft_simple", models: ["mini-softmax", "mini-aft-simple"], heads: [3, 2, 3, 2] },
  { id: "single_head", models: ["mini-softmax", "mini-single-head"], heads: [2, 1, 2, 0] },
  { id: "relative", models: ["mini-softmax", "mini-relative"], heads: [2, 1, 1, 2] },
  { id: "no_mask", models: ["mini-softmax", "mini-no-mask"], heads: [0, 0, 0, 0] },
  { id: "post_norm", models: ["mini-softmax", "mini-post-norm"], heads: [0, 0, 0, 0] },
  {
    id: "no_position",
    models: ["mini-softmax", "mini-no-position"],
    opens: { view: "embedding", ...embedding.patch({ tab: "swap" }) },
  },
];

/** Its place on the page, of both sides. @param {Pair} pair @returns {Patch} */
export function opensAt({ heads, opens }) {
  if (!heads) return opens ?? {};
  const [layer, head, otherLayer, otherHead] = heads;
  const other = beside.patch({ attention: null, layer: otherLayer, head: otherHead });
  return { view: "attention", attention: null, layer, head, ...other };
}

/** Those whose models are both there. @param {{name: string}[]} models */
export const pairsAmong = (models) =>
  PAIRS.filter((pair) => pair.models.every((name) => models.some((model) => model.name === name)));

/** The pair that is open. @param {State} state */
export const openPair = ({ model, beside }) =>
  PAIRS.find(({ models: [a, b] }) => a === model && b === beside?.model) ?? null;

const elementsOf = perRoot((root) => {
  const select = h("select", { class: "btn", "aria-label": t("beside.label"), dataset: { testid: "beside" } });
  root.append(select);
  return { select, built: "" };
});

/** The change that removes the other model, and its open head. */
const ALONE = { beside: null, ...besideState.patch({ attention: null, layer: null, head: null }) };

/** @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const pairs = trace.model.picture ? [] : pairsAmong(actions.models);
  const names = namesFor(trace.model, state, actions.models);
  const isOneModel = state.beside !== null && !state.beside.model;
  const runs = isOneModel || isEdited(state);
  const built = JSON.stringify([names, runs]);
  if (built !== parts.built) replace(parts.select, optionsOf(pairs, names, runs));
  parts.built = built;
  const pair = openPair(state);
  const isReady = pair && pairs.includes(pair);
  const model = isOneModel ? "unedited" : `model ${state.beside?.model}`;
  parts.select.value = !state.beside ? "" : isReady ? `pair ${pair.id}` : model;
  parts.select.onchange = () => {
    const [kind, ...rest] = parts.select.value.split(" ");
    if (kind === "unedited") return actions.set({ ...ALONE, beside: UNEDITED });
    const chosen = pairs.find(({ id }) => kind === "pair" && id === rest[0]);
    actions.set(chosen ? patchOfPair(chosen, state) : kind ? patchOf(rest.join(" ")) : ALONE);
  };
}

/**
 * The other models, the snapshots of the open one, and the model that is already shown next to it.
 * @param {any} model @param {State} state @param {{name: string, picture?: object|null}[]} models
 */
function namesFor(model, state, models) {
  const steps = snapshotsOf(model).map((one) => one.model);
  /** @param {{name: string, picture?: object|null}} one */
  const reads = (one) => JSON.stringify(one.picture ?? null); // of pictures, only the same kind
  const any = models.filter((one) => reads(one) === reads(model)).map(({ name }) => name);
  const now = state.beside?.model;
  if (now && !steps.includes(now) && !any.includes(now)) any.push(now);
  const [others, own] = [any, steps].map((all) => all.filter((name) => name !== state.model));
  return { any: others, steps: own };
}

/** @param {string} model */
const patchOf = (model) => ({ ...ALONE, beside: { model } });

/** With the other model's head, where the pair's difference is seen. @param {Pair} pair @param {{model: string|null}} state */
function patchOfPair(pair, state) {
  const [model, other] = pair.models;
  const opens = opensAt(pair);
  const change = model === state.model ? {} : { model };
  return { ...change, ...patchOf(other), ...opens, viewState: { ...ALONE.viewState, ...opens.viewState } };
}

/** @param {Pair[]} pairs @param {ReturnType<typeof namesFor>} names @param {boolean} runs  whether the page's run has edits */
function optionsOf(pairs, { any, steps }, runs) {
  const ready = pairs.map(({ id }) => h("option", { value: `pair ${id}` }, t(`beside.name_${id}`)));
  const [others, own] = [any, steps].map((names) => names.map((name) => h("option", { value: `model ${name}` }, name)));
  return [
    h("option", { value: "" }, t("beside.none")),
    runs ? h("option", { value: "unedited" }, t("beside.unedited")) : null,
    ready.length ? h("optgroup", { label: t("beside.pairs") }, ready) : null,
    own.length ? h("optgroup", { label: t("beside.steps") }, own) : null,
    h("optgroup", { label: t("beside.any") }, others),
  ];
}
