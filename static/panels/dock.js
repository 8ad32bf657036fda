/** The dock: Back, Step and Play; the model's most likely next tokens; how they are drawn; and the views of generation. */

import { tokenName } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { taken } from "../model/written.js";
import { DEFAULTS } from "../state/store.js";
import { createPopover, segment } from "../ui/controls.js";
import { h, perRoot, replace, update } from "../ui/dom.js";
import { percent } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { namedToken, tokenText } from "../ui/token_text.js";
import { createButtons, createProblem } from "./generation/buttons.js";
import { createReach, createSampling } from "./generation/settings.js";
import { writerOf } from "./generation/writer.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, View } from "../stations/view.js"
 */

/** On a narrow page css/dock.css shows fewer. */
const SHOWN = 7;

const made = perRoot(() => ({ dock: /** @type {ReturnType<typeof createDock>|null} */ (null) }));

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const slot = made(root);
  slot.dock ??= createDock(root, actions);
  slot.dock.draw(trace, state);
}

/** @param {HTMLElement} root @param {Actions} actions */
function createDock(root, actions) {
  const { session, player, onChange } = writerOf(actions);
  const buttons = createButtons(session, player);
  const problem = createProblem(player);
  const candidates = createCandidates(actions);
  const settings = createSettings(actions);
  const drawers = ["generation"].map((id) => drawerButton(id, actions));
  const grow = h("span", { class: "grow" });
  replace(
    root,
    buttons.node,
    candidates.node,
    grow,
    settings.greedy,
    settings.node,
    drawers.map(({ node }) => node),
    problem.node,
  );
  onChange(() => {
    buttons.draw();
    problem.draw();
  });
  return {
    /** @param {ModelTrace} trace @param {State} state */
    draw(trace, state) {
      session.follow(trace);
      buttons.draw();
      problem.draw();
      candidates.draw(trace, state);
      settings.draw(state);
      for (const one of drawers) one.draw(state);
    },
  };
}

/** @param {string} id @param {Actions} actions */
function drawerButton(id, actions) {
  const click = () => actions.set({ drawer: actions.get().drawer === id ? null : id });
  const node = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: `dock-${id}` }, on: { click } },
    t(`dock.${id}`),
  );
  return { node, draw: (/** @type {State} */ { drawer }) => update(node, { "aria-pressed": drawer === id }) };
}

/** Greedy or drawn, and behind a button the settings of drawing. @param {Actions} actions */
function createSettings(actions) {
  const [sampling, reach] = [createSampling(actions), createReach(actions)];
  const button = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "sampling" } },
    t("dock.sampling"),
    " ▾",
  );
  const panel = h("div", { class: "ctl sampling-panel" }, sampling.nodes, reach.nodes);
  const node = h("div", { class: "sampling" }, button, panel);
  createPopover(node, /** @type {HTMLButtonElement} */ (button), panel, () => {});
  const how = segment(t("dock.how"), /** @type {const} */ (["greedy", "drawn"]), "dock", (name) => t(`dock.${name}`));
  let warm = DEFAULTS.temperature; // what drawing returns to
  return {
    node,
    greedy: how.box,
    /** @param {State} state */
    draw(state) {
      if (state.temperature > 0) warm = state.temperature;
      how.show(state.temperature === 0 ? "greedy" : "drawn", (name) =>
        actions.set({ temperature: name === "greedy" ? 0 : warm }),
      );
      sampling.draw(state);
      reach.draw(state);
    },
  };
}

/** The most likely next tokens as chips, with the model's own probabilities. @param {Actions} actions */
function createCandidates(actions) {
  const after = h("span", { class: "after" });
  const chips = Array.from({ length: SHOWN }, makeChip);
  const node = h(
    "div",
    { class: "candidates", role: "group", "aria-label": t("candidates.title") },
    after,
    chips.map(({ button }) => button),
  );
  return {
    node,
    /** @param {ModelTrace} trace @param {State} state */
    draw(trace, state) {
      const row = rowOf(state, trace);
      const { candidates } = trace.predictions[row];
      const full = row + 1 >= trace.model.max_seq_len;
      const { tokens } = /** @type {Side} */ (trace.written);
      after.hidden = row === tokens.length - 1; // then they stand after it
      replace(after, phrase("candidates.after", { token: namedToken(tokens[row], "q") }));
      const take = full ? null : (/** @type {number} */ id) => actions.set(taken(trace, state, row, id));
      chips.forEach((chip, i) => show(chip, candidates[i], take));
    },
  };
}

function makeChip() {
  const [name, share, bar] = [h("span", { class: "text" }), h("i"), h("s")];
  const chip = { name, share, bar, take: /** @type {(() => void)|null} */ (null) };
  const attrs = { class: "likely", type: "button", dataset: { testid: "likely" }, on: { click: () => chip.take?.() } };
  return Object.assign(chip, { button: h("button", attrs, name, share, h("u", null, bar)) });
}

/** @param {ReturnType<typeof makeChip>} chip @param {any} candidate @param {((id: number) => void)|null} take */
function show(chip, candidate, take) {
  const { button, name, share, bar } = chip;
  button.hidden = !candidate;
  if (!candidate) return;
  const { id, before, after } = candidate;
  const cut = after === 0;
  const words = t(cut ? "candidates.take_cut" : "candidates.take", {
    token: tokenName(candidate),
    share: percent(before, 1),
  });
  chip.take = take && (() => take(id));
  replace(name, tokenText(candidate));
  replace(share, percent(before, before < 0.095 ? 1 : 0));
  bar.style.width = `${before * 100}%`;
  button.classList.toggle("cut", cut);
  update(button, { title: words, "aria-label": words, "aria-disabled": take ? null : "true", dataset: { id } });
}
