/** A dialog with the turns of a chat. The model's own template turns them into the text that is read, special tokens included. */

import * as api from "../../data/api.js";
import { switchRow } from "../../ui/controls.js";
import { h, newId, replace, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 */

/** @typedef {{role: string, content: string}} Turn */

const ROLES = /** @type {const} */ (["system", "user", "assistant"]);

/** Before anything is typed. @type {Turn[]} */
const EMPTY = [{ role: "user", content: "" }];

/** Whose turn comes after the last one. @param {Turn[]} turns */
export const nextRole = (turns) => (turns.at(-1)?.role === "user" ? "assistant" : "user");

/** The turns that are sent: without empty ones. @param {Turn[]} turns @returns {Turn[]} */
export const saidIn = (turns) => turns.filter(({ content }) => content.trim() !== "");

/** Who is last decides: after an assistant's turn, no other one of theirs begins. @param {Turn[]} turns */
export const beginsAnswer = (turns) => turns.at(-1)?.role !== "assistant";

/** @param {Turn} turn @param {number} index @param {{change: (turn: Turn) => void, remove: (() => void)|null}} on */
function turnRow({ role, content }, index, { change, remove }) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { "aria-label": t("chat.role", { n: index + 1 }), dataset: { testid: `chat-role-${index}` } },
      ROLES.map((name) => h("option", { value: name, selected: name === role }, t(`chat.role.${name}`))),
    )
  );
  const text = /** @type {HTMLTextAreaElement} */ (
    h("textarea", {
      ...{ rows: 2, "aria-label": t("chat.turn", { n: index + 1 }), placeholder: t("chat.placeholder") },
      dataset: { testid: `chat-turn-${index}` },
    })
  );
  text.value = content;
  const changed = () => change({ role: select.value, content: text.value });
  select.addEventListener("change", changed);
  text.addEventListener("input", changed);
  const drop = h(
    "button",
    { class: "btn quiet", type: "button", "aria-label": t("chat.remove", { n: index + 1 }) },
    "✕",
  );
  if (remove) drop.addEventListener("click", remove);
  return h("div", { class: "chat-turn" }, select, text, remove && drop);
}

/** The dialog, on the page from its first use. @param {Context} context @returns {() => void} what opens it */
export function createChat({ actions, frame, modelOf }) {
  let turns = EMPTY;
  let begins = true;
  const title = h("h2", { id: newId("chat-title") }, t("chat.title"));
  const close = h("button", { class: "btn", type: "button" }, t("help.close"));
  const list = h("div", { class: "chat-turns" });
  const add = h("button", { class: "btn", type: "button", dataset: { testid: "chat-add" } }, t("chat.add"));
  const send = /** @type {HTMLButtonElement} */ (
    h("button", { class: "btn primary", type: "button", dataset: { testid: "chat-read" } }, t("chat.read"))
  );
  const problem = h("p", { class: "problem", role: "alert", hidden: true, dataset: { testid: "chat-problem" } });
  const { row, set } = switchRow("chat-prompt", t("chat.prompt"), (on) => {
    begins = on;
    show();
  });
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      { class: "help chat", "aria-labelledby": title.id, dataset: { testid: "chat-dialog" } },
      h("div", { class: "bar" }, title, h("span", { class: "grow" }), close),
      h("p", { class: "dim" }, t("chat.about")),
      list,
      h("div", { class: "chat-row" }, add, h("span", { class: "grow" }), send),
      row,
      problem,
    )
  );
  frame.root.append(dialog);

  const show = () => {
    set(begins, t("chat.prompt_about"), "");
    update(send, { disabled: saidIn(turns).length === 0 });
  };
  const draw = () => {
    /** @param {number} i @param {Turn[]} own */
    const put = (i, own) => [...turns.slice(0, i), ...own, ...turns.slice(i + 1)];
    const rows = turns.map((turn, i) =>
      turnRow(turn, i, {
        change(now) {
          turns = put(i, [now]);
          show();
        },
        remove: turns.length < 2 ? null : () => rewrite(put(i, [])),
      }),
    );
    replace(list, rows);
    show();
  };
  /** @param {Turn[]} now */
  const rewrite = (now) => {
    turns = now;
    draw();
    /** @type {HTMLElement|undefined} */ ([...list.querySelectorAll("textarea")].at(-1))?.focus();
  };
  const read = async () => {
    const said = saidIn(turns);
    const model = modelOf(actions.get());
    problem.hidden = true;
    update(send, { disabled: true });
    try {
      const { input } = await api.chat(model.name, said, begins);
      actions.set({ ...readAs(input), chat: said });
      dialog.close();
      frame.main.focus({ preventScroll: true });
    } catch (error) {
      setText(problem, errorText(/** @type {Error} */ (error)));
      problem.hidden = false;
    } finally {
      show();
    }
  };
  add.addEventListener("click", () => rewrite([...turns, { role: nextRole(turns), content: "" }]));
  send.addEventListener("click", read);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // outside of it
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !send.disabled) read();
  });
  return () => {
    const { chat, text } = actions.get();
    turns = chat.length ? chat : text && !actions.get().special ? [{ role: "user", content: text }] : EMPTY;
    begins = beginsAnswer(turns);
    problem.hidden = true;
    draw();
    dialog.showModal();
  };
}

/** The change that reads an input of the API. @param {{text: string, special: boolean, add_special_tokens: boolean}} input @returns {Partial<State>} */
export const readAs = ({ text, special, add_special_tokens: addSpecial }) => ({
  ...{ text, special, addSpecial, ids: null, nPrompt: null, pair: null },
  ...{ query: null, row: null, key: null, answer: null },
});
