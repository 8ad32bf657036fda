/** The menu beside the masks that changes the formula: positions, √d, temperature, LayerNorm, and in a layer its attention and its FFN. */

import { editing } from "../model/compare/runs.js";
import { attentionOf, attentionsOf, ffnOf } from "../model/description.js";
import {
  dividesScores,
  hasNorms,
  hasTemperature,
  hasWindow,
  isMade,
  isPartOff,
  isUnscaled,
  madeOrUndone,
  partAt,
  partToggled,
  positionsFixed,
  scaleToggled,
  temperatureAt,
  windowAt,
  withTemperature,
  withWindow,
} from "../model/formula_edits.js";
import { segment, switchRow } from "../ui/controls.js";
import { h, setText, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { placeOf } from "./places.js";
import { attentionState, SCOPES } from "./view_states.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { OfScores, Part } from "../model/formula_edits.js"
 * @import { State } from "../state/store.js"
 * @import { Actions } from "./view.js"
 */

/** A name that is a whole number would come first. */
const TEMPERATURES = /** @type {const} */ (["T0.25", "T0.5", "T1", "T2", "T4"]);

/** How many tokens a token sees, itself included; the last: all. */
const WINDOWS = /** @type {const} */ (["w1", "w2", "w4", "w8", "all"]);

/** @param {Actions} actions @param {() => Model} model  of what is shown */
export function createFormulaRows(actions, model) {
  const set = (/** @type {(state: State) => Partial<State>} */ change) =>
    actions.set(editing(actions.get(), model(), change));
  const toggle = (/** @type {Part["part"]} */ part) => () =>
    set((state) => partToggled(state, partAt(state, model(), part), attentionsOf(model())));
  const positions = switchRow("positions-used", t("formula.positions"), () =>
    set((state) => madeOrUndone(state, "no_positions")),
  );
  const frozen = switchRow("norms-frozen", t("formula.frozen"), () =>
    set((state) => madeOrUndone(state, "freeze_norms")),
  );
  const root = switchRow("root", t("formula.root"), () =>
    set((state) => scaleToggled(state, scopeOf(state, model()), attentionsOf(model()))),
  );
  const attention = switchRow("attention-on", t("formula.attention"), toggle("attention"));
  const ffn = switchRow("ffn-on", t("formula.ffn"), toggle("ffn"));
  const scopes = segment(t("pencil.scope"), SCOPES, "formula-scope", (name) => t(`pencil.scope.${name}`));
  const heats = segment(t("formula.temperature"), TEMPERATURES, "temperature", (name) => name.slice(1));
  const why = h("small", { class: "dim" });
  const heat = h("div", { class: "formula-heat" }, h("span", null, t("formula.temperature")), heats.box, why);
  const windows = segment(t("formula.window"), WINDOWS, "window", (name) =>
    name === "all" ? t("formula.window_all") : name.slice(1),
  );
  const whyWindow = h("small", { class: "dim" });
  const near = h("div", { class: "formula-heat" }, h("span", null, t("formula.window")), windows.box, whyWindow);
  const rows = [attention.row, ffn.row, positions.row, frozen.row, scopes.box, root.row, heat, near];
  return {
    rows,
    draw(/** @type {State} */ state) {
      const now = model();
      const [attentions, open] = [attentionsOf(now), attentionOf(now, state.attention)];
      const where = scopeOf(state, now);
      drawParts({ attention, ffn }, state, now);
      const fixed = positionsFixed(now);
      positions.set(
        !isMade(state, "no_positions"),
        t(fixed ? `formula.positions_${fixed}` : "formula.positions_about"),
        "",
        fixed !== null,
      );
      frozen.set(
        isMade(state, "freeze_norms"),
        t(hasNorms(now) ? "formula.frozen_about" : "formula.frozen_none"),
        "",
        !hasNorms(now),
      );
      const scaled = dividesScores(open);
      root.set(
        scaled && !isUnscaled(state, where, attentions),
        t(scaled ? "formula.root_about" : "formula.root_none"),
        "",
        !scaled,
      );
      const heated = hasTemperature(open);
      heats.show(`T${temperatureAt(state, where, attentions)}`, (name) =>
        set((then) => withTemperature(then, scopeOf(then, model()), Number(name.slice(1)), attentionsOf(model()))),
      );
      for (const name of TEMPERATURES) update(heats.buttons[name], { disabled: !heated });
      setText(why, t(heated ? "formula.temperature_about" : "formula.temperature_none"));
      const limited = hasWindow(open);
      windows.show(nameOfWindow(windowAt(state, where, attentions)), (name) =>
        set((then) => withWindow(then, scopeOf(then, model()), sizeOfWindow(name), attentionsOf(model()))),
      );
      for (const name of WINDOWS) update(windows.buttons[name], { disabled: !limited });
      setText(whyWindow, t(limited ? "formula.window_about" : "formula.window_none"));
      scopes.box.hidden = placeOf(state).name !== "head" || !(scaled || heated || limited);
      scopes.show(attentionState.of(state).scope, (name) => actions.set(attentionState.patch({ scope: name })));
    },
  };
}

/** @param {number|null} size */
const nameOfWindow = (size) => (size === null ? "all" : `w${size}`);

/** @param {typeof WINDOWS[number]} name */
const sizeOfWindow = (name) => (name === "all" ? null : Number(name.slice(1)));

/** What an edit of the scores is about: outside of a head, all layers. @param {State} state @param {Model} model @returns {OfScores} */
function scopeOf(state, model) {
  const { id: attention } = attentionOf(model, state.attention);
  const scope = placeOf(state).name === "head" ? attentionState.of(state).scope : "all";
  if (scope === "all") return { attention, layer: null };
  return { attention, layer: state.layer, ...(scope === "head" ? { head: state.head } : {}) };
}

/** @param {Record<Part["part"], ReturnType<typeof switchRow>>} rows @param {State} state @param {Model} model */
function drawParts(rows, state, model) {
  const { layer, name } = placeOf(state);
  const has = {
    attention: name === "head",
    ffn: layer && ffnOf(model, attentionOf(model, state.attention).stack, state.layer),
  };
  for (const part of /** @type {const} */ (["attention", "ffn"])) {
    rows[part].row.hidden = !has[part];
    if (!has[part]) continue;
    const off = isPartOff(state, partAt(state, model, part), attentionsOf(model));
    rows[part].set(!off, t("formula.part_about"), t("edits.in_layer", { layer: state.layer }));
  }
}
