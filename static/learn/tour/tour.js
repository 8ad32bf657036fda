/** The guided tour over the real page. It never starts by itself: the menu of lessons offers it. */

import { lazy } from "../../data/lazily.js";
import { retrying } from "../../data/retry.js";
import { isEmpty } from "../../model/selection.js";
import { patchOf } from "../../shell/examples.js";
import { raisedTo } from "../../state/levels.js";
import { errorText } from "../../ui/format.js";

/** @import { Context, Draw } from "../../page.js" */

/** @param {Context} context @returns {Draw} */
export function createTour(context) {
  const { actions, examples, status, tour, declared } = context;
  const module = lazy(() => import("./guide.js"));
  /** @type {ReturnType<typeof import("./guide.js").createGuide>|undefined} */
  let guide;
  /** @type {Parameters<Draw>} */
  let shown;

  tour.start = async () => {
    const from = document.activeElement;
    const state = actions.get();
    if (state.lesson !== null) return; // it has its own steps
    const example = examples.examples.find(({ model }) => model === state.model) ?? examples.examples[0];
    actions.set({
      ...(isEmpty(state) ? patchOf(example, declared) : {}),
      level: raisedTo(state, "understand"), // Look shows almost nothing of it
    });
    try {
      await retrying(module.load, { onWait: status.waiting });
    } catch (error) {
      return status.notice(errorText(error));
    }
    guide ??= module.code?.createGuide(context);
    guide?.draw(...shown);
    guide?.start(from, state.level);
  };
  return (...now) => {
    shown = now;
    guide?.draw(...now);
  };
}
