/** The token strip: text and id of every token, the chosen query and key lit. Click: query; Shift or Alt and click: key. */

import { h, replace } from "../lib/dom.js";
import { integer } from "../lib/format.js";
import { phrase, t } from "../lib/i18n.js";
import { bytesLabel, characterGroups, isPad, tokenLabel } from "../lib/labels.js";
import { position } from "../selectors.js";
import { tokenText } from "../lib/token_text.js";

/** @param {HTMLElement} root @param {import("../views/index.js").Actions} actions */
export function createStrip(root, actions) {
  /** @type {HTMLElement[]} */
  let buttons = [];
  let drawn = "";
  let seen = "";
  let at = { query: 0, key: 0 };

  const choose = (index, asKey) => actions.set(asKey ? { key: index, query: at.query } : { query: index });
  const onKey = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const asKey = event.shiftKey || event.altKey;
    const from = asKey ? at.key : at.query;
    const to = Math.min(buttons.length - 1, Math.max(0, from + step));
    choose(to, asKey);
    if (!asKey) buttons[to]?.focus();
  };
  root.addEventListener("keydown", onKey);

  /** @param {import("../data/model_trace.js").ModelTrace|null} trace @param {import("../state.js").State} state */
  return (trace, state) => {
    if (!trace) {
      replace(root);
      drawn = "";
      return;
    }
    const prompt = state.ids ? (state.nPrompt ?? state.ids.length) : Infinity;
    const ids = trace.tokens.map((token) => token.id);
    const content = [trace.model.name, prompt, ids, trace.positionIds].join(" ");
    if (content !== drawn) {
      drawn = content;
      const isGenerated = ({ index }) => index < trace.real.end && index - trace.real.start >= prompt;
      buttons = trace.tokens.map((token) => tokenButton(token, isGenerated(token), placeOf(trace, token), choose));
      replace(root, stripOf(trace, buttons), counts(trace));
    }
    const before = at;
    at = position(state, trace);
    buttons.forEach((button, i) => light(button, i, at));
    if (before.query !== at.query || content !== seen) bringIntoSight(buttons[at.query]);
    seen = content;
  };
}

/** @param {import("../data/model_trace.js").ModelTrace} trace @param {HTMLElement[]} buttons */
function stripOf(trace, buttons) {
  const groups = characterGroups(trace.tokens).map(({ tokens, text }) => {
    const inside = tokens.map((token) => buttons[token.index]);
    return text === null ? inside : h("span", { class: "chargroup", title: text }, inside, h("span", { class: "whole" }, text));
  });
  return h("div", { class: "tokens", role: "toolbar", "aria-label": t("sentence.strip") }, groups);
}

/** Which position a token is told to have: worth saying while PADs are there. */
function placeOf({ tokens, real, positionIds }, { index }) {
  return real.end - real.start < tokens.length ? positionIds[index] : null;
}

/**
 * @param {import("../lib/labels.js").Token} token @param {boolean} generated @param {number|null} place
 * @param {(index: number, asKey: boolean) => void} choose
 */
function tokenButton(token, generated, place, choose) {
  const name = t("sentence.token", { index: token.index, label: tokenLabel(token), id: token.id });
  const label = place === null ? name : `${name}, ${t("sentence.position_id", { position: place })}`;
  return h(
    "button",
    {
      class: `tok${token.partial ? " partial" : ""}${generated ? " gen" : ""}${isPad(token) ? " pad" : ""}`,
      type: "button",
      "aria-label": generated ? `${label}, ${t("sentence.generated")}` : label,
      title: `${label}\n${bytesLabel(token.bytes)}`,
      dataset: { testid: "token", index: token.index, id: token.id, ...(token.partial && { partial: token.bytes }) },
      on: { click: (event) => choose(token.index, event.shiftKey || event.altKey) },
    },
    h("span", { class: "text" }, tokenText(token)),
    h("i", null, token.id),
    place !== null && placeNote(place),
  );
}

function placeNote(position) {
  return h("i", { class: "place", dataset: { position } }, t("sentence.place", { position }));
}

/** Scroll the strip, never the page. @param {HTMLElement|undefined} button */
function bringIntoSight(button) {
  const strip = button?.closest(".tokens");
  if (!button || !strip || strip.scrollHeight <= strip.clientHeight) return;
  const [inside, outside] = [button.getBoundingClientRect(), strip.getBoundingClientRect()];
  if (inside.top < outside.top) strip.scrollTop -= outside.top - inside.top + 4;
  else if (inside.bottom > outside.bottom) strip.scrollTop += inside.bottom - outside.bottom + 4;
}

/** @param {HTMLElement} button @param {number} index @param {{query: number, key: number}} at */
function light(button, index, at) {
  button.classList.toggle("q", index === at.query);
  button.classList.toggle("k", index === at.key);
  button.tabIndex = index === at.query ? 0 : -1;
  const roles = [index === at.query && t("sentence.is_query"), index === at.key && t("sentence.is_key")];
  const description = roles.filter(Boolean).join(", ");
  if (description) button.setAttribute("aria-description", description);
  else button.removeAttribute("aria-description");
}

/** "7 tokens · 26 characters · the dot marks a space". @param {import("../data/model_trace.js").ModelTrace} trace */
function counts(trace) {
  const nPads = trace.tokens.length - trace.real.end + trace.real.start;
  const mark = (text) => h("span", { class: "token-mark" }, text);
  const parts = [
    [t("sentence.tokens", { n: integer(trace.tokens.length) })],
    nPads > 0 && [t("sentence.pads", { n: nPads })],
    [t("sentence.characters", { n: integer(trace.nCharacters) })],
    phrase("sentence.space", { mark: mark("·") }),
    trace.tokens.some((token) => token.partial) && phrase("sentence.bytes", { mark: h("span", { class: "token-byte" }, "⟨e3⟩") }),
  ].filter(Boolean);
  const joined = parts.flatMap((part, i) => (i ? [h("span", { class: "sep", "aria-hidden": true }, "·"), part] : [part]));
  return h("p", { class: "count", dataset: { testid: "counts" } }, joined);
}
