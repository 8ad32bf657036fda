/** Beam search: the targets that the beams found; a click makes one the target. */

import * as api from "../../data/api.js";
import { translationRequest } from "../../data/request.js";
import { can } from "../../model/description.js";
import { writtenIds } from "../../model/written.js";
import { h, keepingFocus, replace, setText, update } from "../../ui/dom.js";
import { errorText, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { generationState, MOST_BEAMS } from "../view_states.js";
import { numberField } from "./settings.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Session } from "./session.js"
 */

/** @typedef {{tokens: {id: number}[], text: string, ended: boolean, log_p: number, score: number}} Hypothesis */

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
  let source = "";
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
      const asked = { ...translationRequest(actions.get(), session.model()), beams, alpha };
      answer = await api.translate(asked, { signal });
      setText(said, "");
      show();
    } catch (error) {
      if (!signal.aborted) setText(said, errorText(error));
    }
    if (!signal.aborted) update(search, { "aria-busy": null });
  }

  function show() {
    const { first, end } = session.model().special;
    const written = (session.path()?.ids ?? []).join(".");
    const found = /** @type {Hypothesis[]} */ (answer?.hypotheses ?? []).map((one) => ({
      ...one,
      ids: [first.id, ...writtenIds(one.tokens, end)],
    }));
    const now = JSON.stringify([found.map((one) => [one.ids, one.score]), written]);
    if (now === drawn) return;
    drawn = now;
    const take = (/** @type {number[]} */ ids) => actions.set({ target: null, targetIds: ids, query: null, key: null });
    keepingFocus(list, () => replace(list, found.length > 0 && tableOf(found, written, take)));
  }

  return {
    node,
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      node.hidden = !can(trace?.model, "beams");
      const wish = generationState.of(state);
      beams.show(wish.beams);
      alpha.show(wish.alpha);
      const now = JSON.stringify(translationRequest(state, trace?.model));
      if (now !== source) {
        running.abort(); // another sentence: these results do not belong to it
        update(search, { "aria-busy": null });
        setText(said, "");
        answer = null;
      }
      source = now;
      if (!node.hidden) show();
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
