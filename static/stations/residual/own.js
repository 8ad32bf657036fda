/** The part of the stream that is shown, its measure, and the token of the gradients. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const WHAT = /** @type {const} */ (["stream", "attn", "cross_attn", "ffn"]);
export const MEASURES = /** @type {const} */ (["norm", "relative", "cosine"]);
export const OVER = /** @type {const} */ (["all", "token"]);

export const own = ownState("residual", {
  what: choice(...WHAT),
  measure: choice(...MEASURES),
  over: choice(...OVER),
});
