/** Tokens: the text in pieces, with the bytes behind them. */

import { h, perRoot, replace } from "../lib/dom.js";
import { integer } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { characterGroups } from "../lib/labels.js";
import { tokenText } from "../lib/token_text.js";
import { position } from "../selectors.js";
import { buildCounts, drawCounts } from "./token_counts.js";

const COLUMNS = ["index", "text", "id", "bytes", "span", "note"];

const bodyOf = perRoot((root) => {
  const about = h("p", { class: "dim about" });
  const body = h("tbody");
  const head = h("tr", null, COLUMNS.map((name) => h("th", { scope: "col", class: name }, t(`tokens.${name}`))));
  const table = h("table", { class: "token-table" }, h("thead", null, head), body);
  const counts = buildCounts();
  const bar = h("div", { class: "bar" }, h("h1", null, t("tokens.title")));
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("tokens.title") }, table);
  replace(root, bar, about, scroll, counts.element);
  return { about, body, table, counts, drawn: "" };
});

export default {
  id: "tokens",
  needs: ["counts"],
  draw(root, trace, state, actions) {
    const parts = bodyOf(root);
    const content = `${trace.model.name} ${state.nPrompt} ${trace.tokens.map((token) => token.id).join(" ")}`;
    if (content !== parts.drawn) {
      parts.drawn = content;
      parts.about.textContent = t("tokens.about", { vocab: integer(trace.model.vocab_size) });
      replace(parts.body, rows(trace, state, actions));
      const notes = [...parts.body.querySelectorAll(".note")].some((cell) => cell.textContent);
      parts.table.classList.toggle("no-notes", !notes);
    }
    drawCounts(parts.counts, trace);
    const at = position(state, trace);
    [...parts.body.children].forEach((row, i) => {
      row.classList.toggle("q", i === at.query);
      row.classList.toggle("k", i === at.key);
    });
  },
};

function rows(trace, state, actions) {
  const whole = {};
  for (const { tokens, text } of characterGroups(trace.tokens)) for (const token of tokens) whole[token.index] = text;
  return trace.tokens.map((token) => row(token, noteOf(token, whole[token.index], state), actions));
}

function row(token, note, actions) {
  const choose = (event) => actions.set(event.shiftKey || event.altKey ? { key: token.index } : { query: token.index });
  const cell = (name, ...content) => h("td", { class: name }, content);
  return h(
    "tr",
    { on: { click: choose }, dataset: { testid: "token-row", index: token.index } },
    h("th", { scope: "row", class: "index" }, token.index),
    cell("text", tokenText(token)),
    cell("id", token.id),
    cell("bytes", token.special ? "" : token.bytes.replace(/../g, "$& ").trim()),
    cell("span", token.special ? "" : `${token.start}–${token.end}`),
    cell("note", note),
  );
}

function noteOf(token, text, state) {
  const from = state.ids && state.nPrompt !== null && token.index >= state.nPrompt && t("tokens.from_model");
  const part = token.partial && t("tokens.partial", { text: text ?? token.text });
  return [token.special && t("tokens.special"), part, from].filter(Boolean).join(" · ");
}
