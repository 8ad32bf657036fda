/** Two sentences of different length in one batch: what the padding mask is for, with the model's own numbers. */

import { runBatch } from "../../data/batch.js";
import { h, newId, perRoot, replace, setText } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { drawMember } from "./member.js";
import { own } from "./own.js";

/** @import { Actions } from "../../stations/index.js" */

/** Typing has ended after a pause this long. */
const PAUSE_MS = 350;

const partsOf = perRoot((root) => {
  const actions = /** @type {Actions|null} */ (null);
  const parts = { turn: 0, timer: 0, actions, asked: "" };
  const typed = () => {
    clearTimeout(parts.timer);
    parts.timer = setTimeout(() => parts.actions?.set(own.patch({ text: input.value })), PAUSE_MS);
  };
  const attrs = {
    type: "text",
    id: newId("batch-text"),
    autocomplete: "off",
    spellcheck: false,
    placeholder: t("batch.placeholder"),
  };
  const input = h("input", { ...attrs, dataset: { testid: "batch-text" }, on: { input: typed } });
  const said = h("p", { class: "dim", role: "status", dataset: { testid: "batch-said" } });
  const members = [h("section", { class: "member" }), h("section", { class: "member" })];
  const box = h("div", { class: "members", hidden: true }, members);
  const title = h(
    "h2",
    null,
    h("span", { class: "nowrap" }, t("batch.title")),
    h("span", { class: "dim" }, t("batch.about")),
  );
  replace(
    root,
    title,
    h("label", { class: "batch-input", for: input.id }, h("span", null, t("batch.second")), input),
    said,
    box,
  );
  return Object.assign(parts, { input, said, members, box });
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  parts.actions = actions;
  const second = own.of(state).text;
  if (document.activeElement !== parts.input) parts.input.value = second;
  const first = state.ids ? { token_ids: state.ids } : { text: state.text };
  const asked = JSON.stringify([trace.model.name, first, second, state.causal]);
  if (asked === parts.asked) return;
  parts.asked = asked;
  if (second.trim()) return void load(parts, trace.model, [first, { text: second }], state.causal);
  parts.turn++;
  parts.box.hidden = true;
  setText(parts.said, t("batch.empty"));
}

async function load(parts, model, sentences, causal) {
  const turn = ++parts.turn;
  setText(parts.said, t("batch.running"));
  parts.box.classList.add("stale");
  try {
    const members = await runBatch(model, sentences, causal);
    if (turn !== parts.turn) return;
    parts.box.hidden = false;
    members.forEach((member, i) => drawMember(parts.members[i], member, i));
    const same = members.every(({ pads }) => pads === 0);
    setText(parts.said, t(same ? "batch.same_length" : "batch.length", { n: members[0].tokens.length }));
  } catch (error) {
    if (turn !== parts.turn || /** @type {Error} */ (error).name === "AbortError") return;
    parts.asked = ""; // the next change retries
    parts.box.hidden = true;
    setText(parts.said, errorText(error));
  }
  if (turn === parts.turn) parts.box.classList.remove("stale");
}
