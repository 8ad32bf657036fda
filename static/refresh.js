/** From a state of the store to what the page shows. */

import { ApiError } from "./data/api.js";
import { keyOf } from "./data/request.js";
import { isEmpty } from "./model/selection.js";

/**
 * @import { ModelTrace } from "./data/model_trace.js"
 * @import { Context, Draw } from "./page.js"
 * @import { State } from "./state/store.js"
 */

/**
 * Shows `state`: the controls at once, with the current trace; the rest as it arrives.
 * @param {{loader: ReturnType<typeof import("./data/loader.js").createLoader>,
 *   panels: ReturnType<typeof import("./shell/panels.js").createPanels>, status: Context["status"],
 *   onTrace: () => void, controls: Draw, trace: ModelTrace|null}} page
 * @param {State} state
 */
export async function refresh(page, state) {
  const { loader, panels, controls, status } = page;
  if (isEmpty(state)) {
    loader.cancel();
    page.trace = null;
    status.show("empty");
    controls(null, state, null);
    return;
  }
  status.show("loading");
  controls(page.trace, state, null);
  panels.arrange(state);
  if (page.trace?.key !== keyOf(state)) panels.busy(true);
  try {
    let first = true;
    const newest = await loader.load(state, panels.needs(state), (trace, have) => {
      const another = page.trace !== trace;
      page.trace = trace;
      if (another) page.onTrace();
      if (first || panels.hasNews(trace, state, have)) controls(trace, state, null);
      first = false;
      panels.draw(trace, state, have);
    });
    if (!newest) return;
    status.show("ready");
    panels.load(state, ["attention"]).catch(() => {}); // the first head that is opened need not wait for its code
  } catch (error) {
    if (/** @type {any} */ (error).name === "AbortError") return; // cancelled by something newer
    if (!(error instanceof ApiError)) console.error(error);
    status.show("error");
    controls(page.trace, state, /** @type {any} */ (error));
    panels.busy(false);
  }
}
