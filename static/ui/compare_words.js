/** Texts about the compared runs. No DOM: strings of the catalogue. */

import { causalIn, isTrained, maskChanges } from "../model/compare/runs.js";
import { attentionsOf, predictsTokens, skipsPads, writesTarget } from "../model/description.js";
import { countOf, groupsOf, headsOff } from "../model/edits.js";
import { openedLayers } from "../model/interventions.js";
import { percent } from "./format.js";
import { attentionWords } from "./heads.js";
import { keyFor, t } from "./i18n.js";

/**
 * @import { Pair } from "../model/compare/compare.js"
 * @import { Group } from "../model/edits.js"
 * @import { State } from "../state/store.js"
 */

/**
 * How a run reads the sentence: "causal mask on, 2 PADs on the left, padding mask off, …".
 * @param {State} state @param {any} model
 */
export function runWords(state, model) {
  const { padCount, padSide, padMask, padFollow, hidden, interventions } = state;
  const words = [causalWords(state, model)];
  if (padCount) {
    words.push(t(`compare.run.pads_${padSide}`, { n: padCount }));
    words.push(t(padMask ? "compare.run.mask_on" : "compare.run.mask_off"));
    words.push(t(padMask && padFollow && skipsPads(model) ? "compare.run.follow" : "compare.run.count"));
  } else if (model.picture) words.push(t("picture.run_hidden", { n: hidden.length }));
  else words.push(t("compare.run.no_pad"));
  const off = headsOff(interventions, attentionsOf(model)).length;
  if (off) words.push(t("compare.run.heads", { n: off }));
  const isEdge = (/** @type {Group} */ { kind }) => kind === "edge" || kind === "edges";
  const groups = groupsOf({ interventions, paused: [] }, model); // a connection is one, in however many layers
  const cut = countOf(groups.filter(isEdge));
  if (cut) words.push(t("compare.run.hidden", { n: cut }));
  const others = groups.filter(({ kind }) => kind === "other").length;
  if (others) words.push(t("changed.brief_others", { n: others }));
  const all = words.join(t("compare.comma"));
  return isTrained(state) ? t("compare.run.trained", { run: all }) : all;
}

/** The causal mask of a run, and the layers that are without it. @param {State} state @param {any} model */
function causalNow(state, model) {
  const layers = openedLayers(state, model).map(({ where }) => where.layer);
  return { layers, on: !causalIn(state, model) ? "causal_off" : layers.length ? "causal_layers" : "causal_on" };
}

/** @param {State} state @param {any} model */
function causalWords(state, model) {
  const { layers, on } = causalNow(state, model);
  return t(`compare.run.${on}${writesTarget(model) ? "_target" : ""}`, { layers: layers.join(", ") });
}

/** What differs from training, in the masks: "causal mask off, 2 PADs on the left". @param {State} state @param {any} model */
export function changedWords(state, model) {
  const changes = maskChanges(state, model);
  if (!changes) return "";
  const { causal, layers, pads } = changes;
  const words = [
    (causal !== null || layers.length > 0) && causalWords(state, model),
    pads && t(`compare.run.pads_${state.padSide}`, { n: pads.n }),
    pads && !state.padMask && t("compare.run.mask_off"),
  ];
  return words.filter(Boolean).join(t("compare.comma"));
}

/**
 * Why some of the two runs, or all, is not compared.
 * @param {Pair[]} pairs  what is @param {string} reason @param {any} model
 */
export function whyWords(pairs, reason, model) {
  if (pairs.length === 0) return t(keyFor(model, `compare.reason.${reason}`));
  const logits = t(predictsTokens(model) ? "compare.only.next" : "compare.only.classes");
  const names = pairs.map((pair) => (pair.what === "logits" ? logits : attentionWords(model, pair.attention)));
  return t(keyFor(model, `compare.only.${reason}`), { what: names.filter(Boolean).join(t("compare.comma")) });
}

/** Why a padded run may differ from the single one. @param {State} state @param {any} model */
export function whyDifferent({ padMask, padFollow }, model) {
  if (!padMask) return t("compare.why_mask");
  return t(padFollow && skipsPads(model) ? "compare.why_unknown" : "compare.why_positions");
}

/** @param {number} share @param {boolean} exact  otherwise the number comes from float16 and is marked with ≈ */
export function shareWords(share, exact) {
  return exact ? percent(share) : `≈\u202f${percent(share)}`;
}
