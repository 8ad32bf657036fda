/**
 * Links made before a run was one value, and before each view named its own state. No other code knows these
 * parameters; a current parameter wins over the old one beside it.
 */

import { readIds, readIndex, readSwitch } from "./fields.js";
import { MOST_PADS } from "./run.js";

/** A view's own state, by its old names. @type {Object<string, string>} */
const RENAMED = {
  as: "attention.as",
  heads: "attention.heads",
  unit: "attention.unit",
  "weights.as": "attention.as",
  "weights.heads": "attention.heads",
  "weights.unit": "attention.unit",
  "why.norm": "inspector.norm",
  "change.token": "compare.token",
  "lens.axis": "prediction.layers_axis",
  text2: "batch.text",
  swap: "embedding.swap",
};

/** What a person typed, by its old names. */
export const OLD_TEXTS = ["target", "ids", "target_ids", "text2"];

/** Views that are a part of another now. @type {Object<string, {view: string, own: Object<string, string>}>} */
const JOINED = {
  lens: { view: "prediction", own: { "prediction.tab": "layers" } },
  scores: { view: "attention", own: { "attention.step": "scaled" } },
  mask: { view: "attention", own: { "attention.step": "masked" } },
  weights: { view: "attention", own: { "attention.step": "weights" } },
};

/**
 * Parts of the run, by their old names: from text to a part; undefined where it cannot be read.
 * @type {Object<string, (text: string) => object|undefined>}
 */
const RUN_PARTS = {
  ids: (text) => given(readIds(text), (ids) => ({ input: { token_ids: ids } })),
  target: (text) => ({ target: text }),
  target_ids: (text) => given(readIds(text), (ids) => ({ target_ids: ids })),
  causal: (text) => given(readSwitch(text), (on) => ({ masks: { causal: on } })),
  padding: (text) => given(readSwitch(text), (on) => ({ masks: { padding: on } })),
  pad: (text) => given(readIndex(text), (count) => (count <= MOST_PADS ? { pad: { count } } : undefined)),
  pad_side: (text) => (["left", "right"].includes(text) ? { pad: { side: text } } : undefined),
  positions: (text) => (["follow", "count"].includes(text) ? { pad: { follow: text === "follow" } } : undefined),
};

/**
 * The same link in today's form.
 * @param {URLSearchParams} old @returns {URLSearchParams}
 */
export function fromOldLink(old) {
  if (old.has("lesson")) return old; // its step is not that of a view
  const params = new URLSearchParams();
  /** @type {Object<string, any>} */
  let run = {};
  for (const [name, value] of old) {
    const part = Object.hasOwn(RUN_PARTS, name) && RUN_PARTS[name](value);
    if (part) run = laidOver(run, part);
    else if (Object.hasOwn(RENAMED, name)) params.set(RENAMED[name], value);
    else if (name === "step") putStep(params, value);
  }
  const joined = Object.hasOwn(JOINED, old.get("view") ?? "") ? JOINED[/** @type {string} */ (old.get("view"))] : null;
  for (const [name, value] of Object.entries(joined?.own ?? {})) params.set(name, value);
  for (const [name, value] of old) if (!isOld(name)) params.set(name, value); // after the old ones: these win
  if (joined) params.set("view", joined.view);
  if (Object.keys(run).length && !params.has("run")) params.set("run", JSON.stringify(withText(run, params)));
  return params;
}

/** @param {string} name  of a parameter */
const isOld = (name) => name === "step" || Object.hasOwn(RUN_PARTS, name) || Object.hasOwn(RENAMED, name);

/** A run without ids belongs to the text beside it. @param {any} run @param {URLSearchParams} params */
function withText(run, params) {
  const model = params.get("model");
  const text = params.get("text");
  return { ...(model && { model }), ...(text && { input: { text } }), ...run };
}

/** `step` served three views. @param {URLSearchParams} params @param {string} value */
function putStep(params, value) {
  const [tab, ...rest] = value.split(".");
  const more = { positions: "embedding.length", neighbours: "embedding.neighbour" }[tab];
  if (!["positions", "neighbours", "swap"].includes(tab)) return params.set("computation.step", value);
  params.set("embedding.tab", tab);
  if (more && rest.length) params.set(more, rest.join("."));
}

/** @param {any} run @param {any} part */
function laidOver(run, part) {
  const [[name, value]] = Object.entries(part);
  const inside = name === "masks" || name === "pad";
  return { ...run, [name]: inside ? { ...run[name], .../** @type {object} */ (value) } : value };
}

/** @template T @param {T|undefined} value @param {(value: T) => object|undefined} make */
const given = (value, make) => (value === undefined ? undefined : make(value));
