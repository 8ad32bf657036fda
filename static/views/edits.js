/** What is changed in the run, next to the masks: each edit as a chip that switches it and removes it, before | after, undo and redo. */

import { lazy } from "../data/lazily.js";
import {
  compared,
  isTrained,
  keepingPlace,
  maskChanges,
  showing,
  sideShown,
  withChanges,
} from "../model/compare/runs.js";
import { attentionOf, attentionsOf, can, has, trainedCausal } from "../model/description.js";
import { countOf, editsOf, groupsOf, switched, without } from "../model/edits.js";
import { partWritten } from "../model/formula_edits.js";
import { everyLayer } from "../model/interventions.js";
import { namesIn } from "../model/labels.js";
import { sideOf } from "../model/sides.js";
import { COMES, standsForWritten } from "../model/written.js";
import { createEditHistory } from "../state/edit_history.js";
import { changedWords, runWords } from "../ui/compare_words.js";
import { createPopover, segment } from "../ui/controls.js";
import { h, hide, inOneColumn, keepingFocus, plainText, replace, setText, update } from "../ui/dom.js";
import { attentionWords } from "../ui/heads.js";
import { hasString, phrase, t } from "../ui/i18n.js";
import { isModel, placeOf } from "./places.js";
import { attentionState, pencilDown } from "./view_states.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Model } from "../model/description.js"
 * @import { Group } from "../model/edits.js"
 * @import { Edge } from "../model/interventions.js"
 * @import { Edits } from "../state/edit_history.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Actions } from "./view.js"
 */

/** @typedef {(Node|string)[]} Words */

/** Why the server refused an edit that is set aside. @param {Group} group @param {State} state @param {Actions["refusals"]} refusals */
function refusalOf({ on, edits }, state, refusals) {
  if (on) return "";
  const all = editsOf(state);
  return edits.map((at) => refusals.get(JSON.stringify(all[at].edit)) ?? "").find(Boolean) ?? "";
}

const SIDES = /** @type {const} */ (["before", "after", "difference"]);

/**
 * @param {Actions} actions @param {() => Model} model  of what is shown @param {(change: (state: State) => Patch) => void} set  makes a change of the masks
 * @param {EventTarget} ground  receives the page's key events
 */
export function createEdits(actions, model, set, ground) {
  const sides = segment(t("compare.sides"), SIDES, "compare", (side) => t(`compare.side.${side}`));
  const { undo, redo, all, see } = createUndo(actions, model, set, ground);
  const list = createList(set);
  let lines = /** @type {MaskLine[]} */ ([]);
  const asTrained = () => set((state) => Object.assign({}, ...lines.map(({ undone }) => undone(state))));
  const attributes = { class: "what", type: "button", title: t("edits.masks_as_trained") };
  const changed = h("button", { ...attributes, dataset: { testid: "changed" }, on: { click: asTrained } });
  const slot = h("div", { class: "edits-slot" }, list.node, all);
  const beside = h("div", { class: "edits-beside" }, h("div", { class: "undoing" }, undo, redo), sides.box);
  const row = h("div", { class: "edits" }, changed, slot, beside);
  const passes = passing(row, ground);
  return {
    row,
    undo,
    all,
    /** The button that shows the other run. */
    other: () => sides.buttons[sideShown(actions.get()) === "before" ? "after" : "before"],
    /** @param {ModelTrace|null} trace @param {State} shown */
    draw(trace, shown) {
      const now = model();
      const state = withChanges(shown, now); // the edits stay in sight while the run before is shown
      const live = state.file === null;
      const groups = live ? groupsOf(state, now) : [];
      const masks = live ? maskLines(state, now) : [];
      lines = masks;
      const count = groups.length + masks.length;
      const undoes = see(count);
      const refused = groups.map((group) => refusalOf(group, state, actions.refusals));
      const place = inOneColumn() ? list.panel : slot; // a phone's line has no room for it
      if (all.parentNode !== place) place.append(all);
      list.draw({ groups, masks, trace, model: now, refused }, [undo, redo]);
      drawSides(shown, state, now);
      row.hidden = sides.box.hidden && !undoes;
      passes(!row.hidden && count === 0 && sides.box.hidden === true);
      actions.page.classList.toggle("has-edits", !row.hidden);
      setText(changed, row.hidden ? "" : changedWords(state, now));
      update(changed, { disabled: masks.length === 0 });
    },
  };

  /** @param {State} shown @param {State} state  with its changes @param {Model} model */
  function drawSides(shown, state, model) {
    const both = !isTrained(state) || state.against !== null;
    // a difference is one of weights; or of the river or an FFN, if both runs have the same rows
    const weights =
      (placeOf(state).name === "head" && has(attentionOf(model, state.attention), "overview")) ||
      ((placeOf(state).name === "ffn" || (isModel(state) && can(model, "route"))) &&
        state.padCount === 0 &&
        !isTrained(state));
    const offered = { before: both, after: both || state.compare, difference: state.compare || (both && weights) };
    sides.box.hidden = state.file !== null || !Object.values(offered).some(Boolean);
    if (sides.box.hidden) return;
    const { before, after } = compared(state, model);
    const runs = {
      before: runWords(before, model),
      after: runWords(after, model),
      difference: t("compare.difference_about"),
    };
    for (const side of SIDES)
      update(sides.buttons[side], { title: `${runs[side]}${side === "difference" ? "" : " (Alt + B)"}` });
    const step = attentionState.patch({ step: "weights" }); // whatever step is open
    sides.show(
      sideShown(shown),
      (side) => actions.set({ ...showing(actions.get(), side, model), ...(side === "difference" && step) }),
      (side) => offered[side],
    );
  }
}

/**
 * On a phone Redo alone lies over the page for some seconds, or until the reader goes on there; then it is in the second line of More.
 * It stays while the keyboard is on it.
 * @param {HTMLElement} row @param {EventTarget} ground @returns {(alone: boolean) => void}  `alone`: only Redo is left in it
 */
function passing(row, ground) {
  let timer = 0;
  const pass = (/** @type {Event} */ { target }) => {
    const within = [target, document.activeElement].some((one) => row.contains(/** @type {Node} */ (one)));
    if (!within) row.classList.toggle("passed", row.classList.contains("redo-alone"));
  };
  // A finger that scrolls begins with pointerdown; a tap takes the focus away before its click. What leaves Redo alone comes after both.
  for (const type of ["pointerdown", "wheel", "click"])
    ground.addEventListener(type, pass, { capture: true, passive: true });
  return (alone) => {
    if (alone === row.classList.contains("redo-alone")) return;
    row.classList.toggle("redo-alone", alone);
    row.classList.remove("passed");
    clearTimeout(timer);
    const leave = () => row.classList.toggle("passed", !row.querySelector(":focus-visible"));
    if (alone) timer = setTimeout(leave, REDO_STAYS);
  };
}

/** How long Redo alone lies over a phone's page. Milliseconds. */
const REDO_STAYS = 4000;

/** @typedef {{words: string, undone: (state: State) => Patch, isSwitch?: boolean}} MaskLine  a change of a mask, in the list of edits; `isSwitch`: its switch says it */

/** The changes of the masks: causal, PADs and patches. @param {State} state @param {Model} model @returns {MaskLine[]} */
function maskLines(state, model) {
  const { causal = null, layers = [], pads = null, hidden = 0 } = maskChanges(state, model) ?? {};
  const { padCount: n, padSide: side } = state;
  const lines = [
    (causal !== null || layers.length > 0) && {
      words: changedWords({ ...state, padCount: 0 }, model),
      isSwitch: true,
      undone: (/** @type {State} */ now) => everyLayer(now, trainedCausal(model), model),
    },
    pads !== null && {
      words: t(`compare.run.pads_${side}`, { n }),
      undone: (/** @type {State} */ now) => keepingPlace(now, { padCount: 0, padMask: true }, model),
    },
    hidden > 0 && { words: t("picture.run_hidden", { n: hidden }), undone: () => ({ hidden: [] }) },
  ];
  return lines.filter((line) => line !== false);
}

// Undo and redo.

/** @param {Actions} actions @param {() => Model} model @param {(change: (state: State) => Patch) => void} set @param {EventTarget} ground */
function createUndo(actions, model, set, ground) {
  const history = createEditHistory();
  const toward = (/** @type {Edits} */ edits) =>
    set((state) => {
      const { padCount, padSide } = edits;
      const moves = padCount !== state.padCount || padSide !== state.padSide;
      return { ...(moves ? keepingPlace(state, { padCount, padSide }, model()) : null), ...edits };
    });
  const back = () => {
    const edits = history.undo();
    if (edits) return toward(edits);
    history.takingBack();
    set((state) => {
      const last = groupsOf(state, model()).at(-1); // a link brought it
      return last ? without(state, last.edits) : trainedAgain(state, model());
    });
  };
  const again = () => {
    const edits = history.redo();
    if (edits) toward(edits);
  };
  /** @param {string} testid @param {string} className @param {() => void} click @param {[string, string]} keys @param {[string, string]} says  a sign and a word */
  const button = (testid, className, click, [keys, title], [sign, word]) =>
    h(
      "button",
      {
        ...{ class: `btn ${className}`, type: "button", title, "aria-label": word, "aria-keyshortcuts": keys },
        dataset: { testid },
        on: { click },
      },
      h("span", { class: "sign", "aria-hidden": true }, sign),
      h("span", { class: "word" }, word),
    );
  const restore = () => {
    history.takingBack();
    set((state) => ({ ...trainedAgain(state, model()), viewState: pencilDown }));
  };
  const undo = button("edit-undo", "undo", back, ["Control+Z", t("edits.undo_about")], ["↶", t("masks.undo")]);
  const redo = button("edit-redo", "redo", again, ["Control+Shift+Z", t("edits.redo_about")], ["↷", t("edits.redo")]);
  const about = `${t("note.as_trained")} (Alt + U)`;
  const all = button("note-masks", "undo all", restore, ["Alt+U", about], ["⟲", t("edits.undo_all")]);
  ground.addEventListener("keydown", (event) => {
    const { key, altKey, ctrlKey, metaKey, shiftKey, target } = /** @type {KeyboardEvent} */ (event);
    if (!(ctrlKey || metaKey) || altKey || key.toLowerCase() !== "z") return;
    if (/** @type {Element} */ (target).closest?.("textarea, input:not([type=range]), dialog")) return;
    const { file, lesson } = actions.get(); // each step of a lesson begins as it was
    if (file !== null || lesson !== null || !(shiftKey ? history.redo() : (history.undo() ?? !isDisabled(undo))))
      return;
    event.preventDefault();
    (shiftKey ? again : back)();
  });
  /** Whether there is anything to undo or redo. @param {number} count  of the edits that are shown */
  const see = (count) => {
    history.see(withChanges(actions.get(), model()));
    const redoes = history.redo() !== null;
    // Both keep their places while there is an edit, or one that can be brought back.
    update(undo, { disabled: count === 0 });
    update(redo, { disabled: !redoes });
    for (const button of [undo, redo]) button.hidden = count === 0 && !redoes;
    hide(all, count < 2, redo);
    for (const [one, other] of [
      [undo, redo],
      [redo, undo],
    ])
      if (one === document.activeElement && isDisabled(one) && !isDisabled(other)) other.focus({ preventScroll: true });
    return count > 0 || redoes;
  };
  return { undo, redo, all, see };
}

/** The change that undoes all of them; what is chosen stays on its token. @param {State} state @param {Model} model @returns {Patch} */
function trainedAgain(state, model) {
  const masks = { causal: null, padMask: true, padFollow: true, padCount: 0 };
  const place = state.padCount ? keepingPlace(state, { padCount: 0 }, model) : null;
  return { ...masks, ...place, interventions: [], paused: [] };
}

// The edits as chips: one stands in the line, several are a list.

const how = lazy(() => import("./edit_how.js"));

/** @typedef {{groups: Group[], masks: MaskLine[], trace: ModelTrace|null, model: Model, refused: string[]}} Listed  `refused`: why the server refused each group; "": it did not */

/** @param {(change: (state: State) => Patch) => void} set */
function createList(set) {
  const [count, only] = [h("span", { class: "n" }), h("span", { class: "words" })];
  const button = /** @type {HTMLButtonElement} */ (
    h("button", { class: "btn edits-button", type: "button", dataset: { testid: "edits-list" } }, count, only)
  );
  let undone = /** @type {((state: State) => Patch)|null} */ (null); // of the one edit that there is
  const remove = removeButton("edit-only-remove", () => undone && set(undone));
  const chips = h("div", { class: "edit-chips" });
  const panel = h("div", { class: "edits-panel", role: "group", "aria-label": t("edits.title") }, chips);
  const node = h("div", { class: "edits-list", hidden: true }, button, remove, panel);
  const { close } = createPopover(node, button, panel, () => {});
  let drawn = "";
  let shown = 0;
  let made = /** @type {ReturnType<typeof import("./edit_how.js").createHow>|null} */ (null);
  let again = () => {};
  return {
    node,
    panel,
    /** @param {Listed} listed @param {HTMLElement[]} next  for the focus of what goes */
    draw(listed, next) {
      const { groups, masks, trace, model, refused } = listed;
      const parts = groups.some(({ kind }) => kind === "head" || kind === "other");
      again = () => this.draw(listed, next);
      if (parts && !how.code)
        how.load().then(
          () => how.code && again(),
          () => {},
        ); // the next draw tries again
      if (how.code) made ??= how.code.createHow();
      const content = JSON.stringify([groups, masks, trace?.key, model.name, refused, made !== null]);
      if (content === drawn) return;
      drawn = content;
      const lines = groups.length + masks.length;
      // The list of one stays open under the pointer that changes it: a run that arrives does not close it.
      if (lines < Math.min(shown, 2)) close();
      shown = lines;
      const [one] = groups;
      const mask = lines === 1 ? masks.find(({ isSwitch }) => !isSwitch) : undefined;
      const single = lines === 1 && (groups.length === 1 || mask !== undefined);
      const words = mask ? [mask.words] : single ? groupWords(one, trace, model) : [];
      node.classList.toggle("single", single);
      node.classList.toggle("off", single && one?.on === false);
      setText(count, countWords(groups, masks.length));
      replace(only, words);
      undone = mask?.undone ?? (single ? (state) => without(state, one.edits) : null);
      update(button, { title: single ? plainText(words) : null });
      update(remove, { "aria-label": t("edits.remove", { edit: plainText(words) }) });
      const drawnChips = groups.map((group, i) => {
        const { choice = null, field = null } = made?.of(group, model, String(i), set) ?? {};
        const whole = groupWords(group, trace, model);
        const words = (choice && setWords(group, model)) || whole;
        const chip = chipOf(group, words, plainText(whole), String(i), set);
        if (choice) chip.lastChild?.before(choice);
        if (field) chip.append(field);
        if (refused[i])
          chip.append(h("small", { class: "edit-problem", dataset: { testid: "edit-problem" } }, refused[i]));
        return chip;
      });
      keepingFocus(
        node,
        () => {
          replace(chips, ...drawnChips, ...masks.map(maskChip));
          node.hidden = lines === 0 || (lines === 1 && !single);
        },
        next.find((one) => !one.hidden && !isDisabled(one)),
      );
    },
  };

  /** @param {MaskLine} line @param {number} at */
  function maskChip({ words, undone }, at) {
    const button = removeButton("edit-remove", () => set(undone), `remove mask ${at}`);
    update(button, { "aria-label": t("edits.remove", { edit: words }) });
    const text = h("span", { class: "edit-words" }, words);
    return h("span", { class: "edit-chip of-mask", dataset: { testid: "edit-mask" } }, text, button);
  }
}

/** @param {HTMLElement} one */
const isDisabled = (one) => /** @type {HTMLButtonElement} */ (one).disabled;

/** "7 edits", "3 of 4 edits". @param {Group[]} groups @param {number} masks */
function countWords(groups, masks) {
  const [n, on] = [groups, groups.filter((one) => one.on)].map((some) => countOf(some) + masks);
  return on < n ? t("edits.count_on", { n, on }) : t("edits.count", { n });
}

/** @param {string} testid @param {() => void} click @param {string} [focus] */
const removeButton = (testid, click, focus) =>
  h(
    "button",
    {
      ...{ class: "edit-remove", type: "button", title: t("edits.remove_about"), on: { click } },
      dataset: { testid, ...(focus && { focus }) },
    },
    h("span", { "aria-hidden": true }, "×"),
  );

/** @param {Group} group @param {Words} words  to be seen, which a choice may end @param {string} name  to be heard @param {string} at @param {(change: (state: State) => Patch) => void} set */
function chipOf({ on, edits }, words, name, at, set) {
  const toggle = h(
    "button",
    {
      ...{ class: "edit-switch", type: "button", role: "checkbox", "aria-checked": String(on), "aria-label": name },
      title: t(on ? "edits.pause" : "edits.resume"),
      dataset: { testid: "edit-switch", focus: `switch ${at}` },
      on: { click: () => set((state) => switched(state, edits, !on)) },
    },
    h("i", { class: "box", "aria-hidden": true }),
    h("span", { class: "edit-words" }, words),
  );
  const remove = removeButton("edit-remove", () => set((state) => without(state, edits)), `remove ${at}`);
  update(remove, { "aria-label": t("edits.remove", { edit: name }) });
  return h("span", { class: "edit-chip", dataset: { testid: "edit-chip" } }, toggle, remove);
}

/** The attention that an edit is in, if there are several; a chip leaves it to the sentence. @param {string|null|undefined|false} of */
const ofWords = (of) => (of ? h("span", { class: "of" }, `${of} · `) : "");

/** "all layers: red₂ ↛ car", "head 5·2 off". @param {Group} group @param {ModelTrace|null} trace @param {Model} model @returns {Words} */
export function groupWords(group, trace, model) {
  if (group.kind === "edge" || group.kind === "edges") return edgeWords(group, trace);
  if (group.kind === "other") return otherWords(group.edit, trace, model);
  const { attention, layer, head } = group.head;
  const of = attentionWords(model, attention);
  return [ofWords(of), t(`edits.${group.kind}_off`, { layer, head, n: group.n })];
}

/** What follows says to what: "Head 5·2: output set to". @param {Group} group @param {Model} model @returns {Words|null} */
function setWords(group, model) {
  const place = group.kind === "other" ? group.edit.where : group.kind === "head" && group.head;
  if (!place) return null;
  const { attention = attentionsOf(model)[0]?.id, layer, head } = place;
  const written = group.kind === "other" ? partWritten(group.edit, attentionsOf(model)) : null;
  const part = head == null ? written?.part : "head";
  const of = part !== "ffn" && attention && attentionWords(model, attention);
  return part ? [ofWords(of), t(`edits.${part}_set`, { layer, head })] : null;
}

/** More tokens than this are said by their number. */
const MOST_TOKENS = 4;

/** @param {Group & {kind: "edge"|"edges"}} group @param {ModelTrace|null} trace @returns {Words} */
function edgeWords(group, trace) {
  const { edge, layers, all } = group;
  const { attention, layer, query, key, head } = edge;
  const open = trace?.attentions.find(({ id }) => id === attention);
  const name = (/** @type {"queries"|"keys"} */ end, /** @type {number} */ at) => {
    // The row of a translation is called by what it writes, as in the sentence.
    const writes = end === "queries" && open !== undefined && standsForWritten(open);
    const names = open && trace ? namesIn(sideOf(trace.sides, open[end]).tokens) : [];
    return h("b", { translate: "no" }, names[writes ? at + 1 : at] ?? (writes && names[at] ? COMES : String(at)));
  };
  /** @param {"queries"|"keys"} end @param {number[]} tokens */
  const named = (end, tokens) => {
    const first = tokens.slice(0, MOST_TOKENS).map((at, i) => [i > 0 && t("compare.comma"), name(end, at)]);
    const rest = tokens.length - MOST_TOKENS;
    return h("span", null, first, rest > 0 && ` + ${rest}`);
  };
  const [queries, keys] = group.kind === "edge" ? [[query], [key]] : [group.queries, group.keys];
  const where = all ? "all_layers" : layers > 1 ? "layers" : head === undefined ? "layer" : "head";
  const words = { query: named("queries", queries), key: named("keys", keys), layer, head: head ?? "", layers };
  return phrase(`edits.${where}`, words);
}

/** An edit of a part, of the formula, or one that no gesture makes. @param {State["interventions"][number]} edit @param {ModelTrace|null} trace @param {Model} model @returns {Words} */
function otherWords(edit, trace, model) {
  const { kind, where, allow, temperature, size } = edit;
  const { attention, layer, head, role } = where;
  if (kind === "no_positions" || kind === "freeze_norms") return [t(`edits.${kind}`)];
  const of = attentionWords(model, attention ?? attentionsOf(model)[0]?.id);
  const part = partWritten(edit, attentionsOf(model));
  const isMean = edit.to === "mean";
  if (isMean && (role ?? "z") === "z" && head != null) return [ofWords(of), t("edits.head_mean", { layer, head })];
  if (part) return [ofWords(of), t(`edits.${part.part}_${isMean ? "mean" : "off"}`, { layer })];
  const within = head == null ? (layer == null ? "layers" : "layer") : layer == null ? "heads" : "head";
  const place = t(`edits.in_${within}`, { layer: layer ?? "", head: head ?? "" });
  const vars = { role: role ?? "z", temperature: temperature ?? 1, n: size };
  const ofOne = kind === "patch" || (kind === "mask" && (where.query == null) !== (where.key == null)); // a row or a column
  const token = ofOne && trace ? rowOf(edit, trace) : null;
  const named = kind === "mask" ? (allow ? "edits.allowed" : "edits.forbidden") : `edits.${isMean ? "mean" : kind}`;
  const one = kind === "patch" ? "edits.patch_row" : `${named}_${where.key == null ? "query" : "key"}`;
  if (token) return [ofWords(of), ...phrase(one, { ...vars, token }), ` · ${place}`];
  const what = hasString(named) ? t(named, vars) : kind; // a link may say anything
  return [ofWords(of), `${what} · ${place}`];
}

/** The token whose row or column an edit changes; null: it changes all. @param {State["interventions"][number]} edit @param {ModelTrace} trace */
function rowOf({ where }, trace) {
  const open = trace.attentions.find(({ id }) => id === (where.attention ?? trace.attentions[0].id));
  const at = where.query ?? where.key ?? null;
  if (!open || at === null) return null;
  const names = namesIn(sideOf(trace.sides, open[where.key == null ? "queries" : "keys"]).tokens);
  return h("b", { translate: "no" }, names[at] ?? String(at));
}
