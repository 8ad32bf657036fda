/** Beam search: how the beams went on, and the texts that they found; a click takes one. */

import * as api from "../../data/api.js";
import { translationRequest, writingRequest } from "../../data/request.js";
import { can, writesTarget } from "../../model/description.js";
import { writtenIds } from "../../model/written.js";
import { h, keepingFocus, replace, setText, update } from "../../ui/dom.js";
import { errorText, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { generationState, LONGEST_CONTINUATION, MOST_BEAMS } from "../view_states.js";
import { beamTree } from "./beam_tree.js";
import { numberField } from "./settings.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Session } from "./session.js"
 */

/** @typedef {import("./beam_tree.js").Found} Hypothesis */

/** What is searched: its request, and the ids that a text which is found goes on from. @typedef {{request: object, key: string, ids: number[], nPrompt: number}} Start */

/** A target is at most this many tokens longer than its source, as in model/translate.py. */
const LONGER = 50;

const COLUMNS = ["rank", "text", "log_p", "score"];

/**
 * @param {Session} session
 * @param {Actions} actions
 */
export function createBeams(session, actions) {
  const set = (/** @type {"beams"|"alpha"} */ name) => (/** @type {number} */ value) =>
    actions.set(generationState.patch({ [name]: value }));
  const beams = numberField({ low: 1, high: MOST_BEAMS, testid: "beam-width", set: set("beams") });
  const alpha = numberField({
    low: 0,
    high: 10,
    step: 0.1,
    testid: "beam-alpha",
    set: set("alpha"),
  });
  const search = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "beam-search" }, on: { click: run } },
    t("beams.search"),
  );
  const said = h("p", { class: "dim", role: "status", dataset: { testid: "beam-said" } });
  const list = h("div", { class: "beam-list" });
  /** @param {string} name @param {ReturnType<typeof numberField>} of */
  const field = (name, { input }) => h("label", { title: t(`beams.${name}_about`) }, t(`beams.${name}`), input);
  const controls = h("div", { class: "ctl" }, field("width", beams), field("alpha", alpha), search);
  const node = h(
    "section",
    { class: "beams", dataset: { testid: "beams" } },
    h("h3", null, t("beams.title")),
    controls,
    said,
    list,
  );
  let asked = /** @type {Start|null} */ (null);
  let read = /** @type {ModelTrace|null} */ (null);
  let drawn = "";
  let running = new AbortController();
  /** @type {any} */
  let answer = null;

  async function run() {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    update(search, { "aria-busy": true });
    setText(said, t("beams.searching"));
    try {
      const { beams, alpha } = generationState.of(actions.get());
      asked = start();
      const found = await api.beams({ ...asked.request, beams, alpha }, { signal });
      if (signal.aborted) return;
      answer = found;
      setText(said, "");
      show();
    } catch (error) {
      if (!signal.aborted) setText(said, errorText(error));
    }
    if (!signal.aborted) update(search, { "aria-busy": null });
  }

  /** A whole target, or what goes on from the text. @returns {Start} */
  function start() {
    const [state, model] = [actions.get(), session.model()];
    const { banned, stop } = state;
    const { length } = generationState.of(state);
    const more = { ...(banned.length && { banned }), ...(stop.length && { stop }) };
    if (writesTarget(model)) {
      const { start, end } = read?.sides.source.real ?? { start: 0, end: 0 };
      const most = Math.min(end - start + LONGER, LONGEST_CONTINUATION);
      const request = { ...translationRequest(state, model), max_new_tokens: most, ...more };
      return { request, key: JSON.stringify(request), ids: [model.special.first.id], nPrompt: 1 };
    }
    const { ids = [], nPrompt = 0 } = session.path() ?? {};
    const request = { ...writingRequest(state, ids, model), max_new_tokens: length, ...more };
    return { request, key: JSON.stringify([writingRequest(state, [], model), more]), ids, nPrompt };
  }

  /** Whether what was searched is still what is shown, or begins it. */
  function fits() {
    const now = start();
    return asked === null || (now.key === asked.key && asked.ids.every((id, i) => id === now.ids[i]));
  }

  function show() {
    const [model, path] = [session.model(), session.path()];
    const written = (path?.ids ?? []).join(".");
    const found = /** @type {Hypothesis[]} */ (answer?.hypotheses ?? []).map((one) => ({
      ...one,
      ids: [...(asked?.ids ?? []), ...writtenIds(one.tokens, model.special.end)],
    }));
    const now = JSON.stringify([found.map((one) => [one.ids, one.score]), written]);
    if (now === drawn) return;
    drawn = now;
    const take = (/** @type {number[]} */ ids) =>
      writesTarget(model)
        ? actions.set({ target: null, targetIds: ids, query: null, key: null })
        : session.go({ ids, nPrompt: asked?.nPrompt ?? ids.length });
    const tree = () => beamTree(answer, (rank) => take(found[rank].ids));
    keepingFocus(list, () => replace(list, found.length > 0 && [tree(), tableOf(found, written, take)]));
  }

  return {
    node,
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      node.hidden = !trace || trace.file !== null || !can(trace.model, "generate");
      if (node.hidden) return;
      read = trace;
      const wish = generationState.of(state);
      beams.show(wish.beams);
      alpha.show(wish.alpha);
      if (!fits()) {
        running.abort(); // another sentence: these results do not belong to it
        update(search, { "aria-busy": null });
        setText(said, "");
        asked = answer = null;
      }
      show();
    },
  };
}

/** @param {(Hypothesis & {ids: number[]})[]} found @param {string} written @param {(ids: number[]) => void} take */
function tableOf(found, written, take) {
  const head = COLUMNS.map((name) => h("th", { scope: "col", title: t(`beams.${name}_about`) }, t(`beams.${name}`)));
  const rows = found.map((one, rank) => rowOf(one, rank, one.ids.join(".") === written, take));
  return h("table", { class: "token-table" }, h("thead", null, h("tr", null, head)), h("tbody", null, rows));
}

/** @param {Hypothesis & {ids: number[]}} hypothesis @param {number} rank @param {boolean} chosen @param {(ids: number[]) => void} take */
function rowOf({ ids, text, ended, log_p, score }, rank, chosen, take) {
  const attrs = { class: "btn hypothesis", type: "button", "aria-pressed": chosen, title: t("beams.take") };
  const data = { testid: "hypothesis", focus: `hypothesis ${rank}`, ids: ids.join(".") };
  const button = h("button", { ...attrs, dataset: data, on: { click: () => take(ids) } }, text || t("beams.empty"));
  return h(
    "tr",
    { class: chosen ? "open" : null, dataset: { log_p, score } },
    h("td", null, rank + 1),
    h("td", { class: "text" }, button, ended ? null : h("small", { class: "note" }, ` ${t("beams.not_ended")}`)),
    h("td", null, number(log_p, 3)),
    h("td", null, number(score, 3)),
  );
}
