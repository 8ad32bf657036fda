/** Tokens: the text in pieces, with their bytes. */

import { characterGroups, visibleText } from "../model/labels.js";
import { meanColour, readsPhotos } from "../model/patches.js";
import { position } from "../model/selection.js";
import { h, perRoot, replace, scrolling, setText, tableHead } from "../ui/dom.js";
import { integer, number } from "../ui/format.js";
import { t } from "../ui/i18n.js";
import { tokenText } from "../ui/token_text.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { SideName } from "../model/description.js"
 * @import { Token } from "../model/labels.js"
 * @import { Patch } from "../model/patches.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Child } from "../ui/dom.js"
 * @import { Actions, Draw } from "./view.js"
 */

/** Token counts of the same text under other tokenizers, and why Japanese needs more. */
const COUNT_COLUMNS = ["name", "tokens", "bytes_per_token"];

/** The parts, empty. */
function buildTokenCounts() {
  const size = h("p", { class: "dim about" });
  const body = h("tbody");
  const head = tableHead(COUNT_COLUMNS.map((name) => t(`counts.${name}`)));
  const table = h("table", { class: "token-table" }, head, body);
  const why = h("p", { class: "about" }, t("counts.why"));
  const title = h("h2", null, t("counts.title"));
  const element = h("section", { class: "token-counts", dataset: { testid: "token-counts" } }, title, size, table, why);
  return { element, size, body };
}

/** @param {ReturnType<typeof buildTokenCounts>} parts @param {ModelTrace} trace */
function drawTokenCounts({ element, size, body }, { counts, model, text, sides, nCharacters }) {
  element.hidden = counts === null;
  if (counts === null) return;
  const bytes = new TextEncoder().encode(text).length;
  const characters = t("sentence.characters", { n: integer(nCharacters) });
  replace(size, t("counts.size", { characters, bytes: t("counts.bytes", { n: integer(bytes) }) }));
  const { real } = sides.source;
  const ours = { name: t("counts.ours", { model: model.name }), available: true, n_tokens: real.end - real.start };
  replace(
    body,
    [ours, ...counts].filter(isCounted).map((encoding) => countRow(encoding, bytes)),
    missingRow(counts.filter((encoding) => !isCounted(encoding))),
  );
}

/** @typedef {{name: string, available: boolean, n_tokens: number|null, hint?: string|null}} Encoding */

/** @param {Encoding} encoding */
const isCounted = ({ available, n_tokens }) => available && n_tokens !== null;

/** All whose vocabulary is not here, and how to fetch the first. @param {Encoding[]} missing */
function missingRow(missing) {
  if (!missing.length) return null;
  const names = missing.map(({ name }) => name).join(t("compare.comma"));
  const how = h("p", null, t("counts.fetch"), " ", h("code", null, commandIn(missing[0].hint ?? "")));
  const words = h("details", null, h("summary", null, t("counts.missing", { names })), how);
  return h("tr", null, h("td", { class: "note dim", colspan: 3 }, words));
}

/** @param {string} hint */
const commandIn = (hint) => hint.slice(Math.max(0, hint.indexOf("python")));

/** @param {Encoding} encoding @param {number} bytes */
function countRow({ name, n_tokens: tokens }, bytes) {
  const head = h("th", { scope: "row" }, name);
  return h(
    "tr",
    null,
    head,
    h("td", null, integer(tokens ?? 0)),
    h("td", null, tokens ? number(bytes / tokens, 2) : ""),
  );
}

const COLUMNS = ["index", "text", "id", "bytes", "span", "note"];

const bodyOf = perRoot((root) => {
  const body = h("tbody");
  const head = h(
    "tr",
    null,
    COLUMNS.map((name) => h("th", { scope: "col", class: name }, t(`tokens.${name}`))),
  );
  const table = h("table", { class: "token-table" }, h("thead", null, head), body);
  const counts = buildTokenCounts();
  const bar = h("div", { class: "bar" }, h("h1", null, t("tokens.title")));
  const lists = h("div", { class: "token-lists" }, scrolling(t("tokens.title"), table), counts.element);
  replace(root, bar, lists, h("div", { dataset: { place: "reading" } }));
  return { body, table, head, counts, drawn: "" };
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = bodyOf(root);
  const reads = trace.model.picture ? "picture" : "text";
  root.dataset.reading = reads === "picture" ? "tokens_picture" : "tokens";
  parts.table.dataset.reads = reads;
  const spelt = readsPhotos(trace.model) ? "picture.mean" : reads === "picture" ? "picture.pixels" : "tokens.bytes";
  setText(parts.head.children[COLUMNS.indexOf("bytes")], t(spelt));
  const sides = [trace.sides.source, trace.sides.target].filter((side) => side !== null);
  const ids = sides.map(({ tokens }) => tokens.map((token) => token.id).join(" "));
  const pixels = trace.sides.source.tokens[1]?.patch?.photo?.pixels;
  const content = [trace.model.name, state.nPrompt, state.target !== null, pixels, ...ids].join(" / ");
  if (content !== parts.drawn) {
    parts.drawn = content;
    replace(
      parts.body,
      sides.map((side) => rows(trace, side, state, actions)),
    );
    const notes = [...parts.body.querySelectorAll(".note")].some((cell) => cell.textContent);
    parts.table.classList.toggle("no-notes", !notes);
  }
  drawTokenCounts(parts.counts, trace);
  const at = position(state, trace);
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (parts.body.querySelectorAll("[data-index]"))) {
    const [side, index] = [trace.sides[/** @type {SideName} */ (row.dataset.side)], Number(row.dataset.index)];
    row.classList.toggle("q", side === trace.queries && index === at.query);
    row.classList.toggle("k", side === trace.keys && index === at.key);
  }
}

/**
 * The tokens of one side; below its name, if there are two sides.
 * @param {ModelTrace} trace @param {Side} side @param {State} state @param {Actions} actions
 */
function rows(trace, side, state, actions) {
  /** @type {Object<number, string|null>} */
  const whole = {};
  for (const { tokens, text } of characterGroups(side.tokens))
    for (const token of tokens) whole[token.index] = text && visibleText(text);
  const name =
    trace.sides.target &&
    h("tr", { class: "side-row" }, h("th", { scope: "rowgroup", colspan: COLUMNS.length }, t(`sides.${side.side}`)));
  return [
    name,
    side.tokens.map((token) =>
      pieceRow(token, side.side, noteOf(token, side, whole[token.index], state), choiceOf(trace, side, actions)),
    ),
  ];
}

/**
 * What a click chooses: the query, if the open attention's queries are on this side; otherwise, or with Shift, the key.
 * @param {ModelTrace} trace @param {Side} side @param {Actions} actions @returns {(index: number, asKey: boolean) => void}
 */
function choiceOf({ queries, keys }, side, actions) {
  return (index, asKey) => {
    if (queries !== side && keys !== side)
      actions.set({ attention: null, [side.side === "target" ? "query" : "key"]: index });
    else actions.set(queries !== side || (asKey && keys === side) ? { key: index } : { query: index });
  };
}

/**
 * @param {Token} token @param {SideName} side @param {string} note @param {(index: number, asKey: boolean) => void} set
 */
function pieceRow(token, side, note, set) {
  const choose = (/** @type {MouseEvent} */ event) => set(token.index, event.shiftKey || event.altKey);
  /** @param {string} name @param {...Child} content */
  const cell = (name, ...content) => h("td", { class: name }, content);
  return h(
    "tr",
    { on: { click: choose }, dataset: { testid: "token-row", side, index: token.index } },
    h("th", { scope: "row", class: "index" }, token.index),
    cell("text", tokenText(token)),
    cell("id", token.id),
    cell(
      "bytes",
      token.patch ? levelsOf(token.text, token.patch) : token.special ? "" : token.bytes.replace(/../g, "$& ").trim(),
    ),
    cell("span", spanOf(token)),
    cell("note", note),
  );
}

/**
 * The first and the last character of the typed text that it stands for; where that is not known, of the text that its tokens spell.
 * @param {Token & {covers?: [number, number]}} token
 */
function spanOf({ special, start, end, covers = [start, end] }) {
  if (special) return "";
  const last = covers[1] - 1;
  if (last < covers[0]) return "";
  return last === covers[0] ? String(last) : `${covers[0]}–${last}`;
}

/** A patch's pixels, row by row; of a photo their mean. @param {string} text @param {Patch} patch */
const levelsOf = (text, patch) =>
  (patch.photo ? meanColour({ ...patch, photo: patch.photo }) : [...text].map((digit) => parseInt(digit, 36))).join(
    " ",
  );

/** @param {Token} token @param {Side} side @param {string|null} text @param {State} state */
function noteOf(token, { side }, text, { ids, nPrompt, target }) {
  const generated =
    side === "target" ? target === null && !token.special : ids && nPrompt !== null && token.index >= nPrompt;
  const from = generated && t("tokens.from_model");
  const part = token.partial && t("tokens.partial", { text: text ?? token.text });
  return [token.special && t("tokens.special"), part, from].filter(Boolean).join(" · ");
}
