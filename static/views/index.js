/**
 * The stations of the ribbon, in the order of the forward pass. To add one: a file with
 * `export default {id, needs, draw(root, trace, state, actions)}` and a line here. See ../README.md.
 *
 * @typedef {"detail"|"heads"|"other"|"prediction"|"change"|"counts"} Need
 * @typedef {{set: (patch: Partial<import("../state.js").State>) => void,
 *   get: () => import("../state.js").State, t: typeof import("../lib/i18n.js").t,
 *   learn: ReturnType<typeof import("../data/traces.js").createTraces>["learn"]}} Actions
 * @typedef {Object} View
 * @property {string} id  its word in the catalogue is `ribbon.<id>`
 * @property {Need[]|((state: import("../state.js").State, model: any) => Need[])} needs  `draw` is only called with a trace that has them
 * @property {boolean} [hides]  of a panel: it hides its place itself, by what the state says
 * @property {(model: any) => boolean} [has]  whether a model (a line of /api/models) has this at all; by default every one
 * @property {(root: HTMLElement, trace: import("../data/model_trace.js").ModelTrace,
 *   state: import("../state.js").State, actions: Actions) => void} draw  called again at every change: updates in place
 */

import mask from "./mask.js";
import prediction from "./prediction.js";
import qkv from "./qkv.js";
import scores from "./scores.js";
import tokens from "./tokens.js";
import weights from "./weights.js";

/** @type {View[]} */
export const VIEWS = [tokens, qkv, scores, mask, weights, prediction];

/** @param {View} view @param {any} model */
export const hasView = (view, model) => view.has?.(model) ?? true;
