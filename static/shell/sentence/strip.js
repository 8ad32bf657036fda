/**
 * The token strip: text and id of every token, with the chosen query and key highlighted. Click: query; Shift or Alt
 * and click: key.
 */

import { lazy } from "../../data/lazily.js";
import {
  below,
  byteOf,
  bytesLabel,
  characterGroups,
  isPiece,
  isWide,
  namesOf,
  quotesAround,
  tokenName,
  visibleText,
} from "../../model/labels.js";
import { position, sourceKey } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { COMES, rowOfToken, tokenOfRow } from "../../model/written.js";
import { h, replace, replaceChanged, setText, update } from "../../ui/dom.js";
import { integer } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { patchWords } from "../../ui/patch_picture.js";
import { kindOfToken, tokenText } from "../../ui/token_text.js";
import { choosesWritten, placeOf } from "../../views/places.js";
import { dockState } from "../../views/view_states.js";
import { shortSideName, sideName } from "./translation_sides.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../views/view.js"
 */

/** What stands before the first token. */
const NOTHING = { text: "", special: false };

/** @typedef {{of: string, side: string, key: number}} Used  the token that a translated word comes from most, of which run and row (`sourceKey`) */

// One token of a strip, and the text below all of them.

/** @typedef {{generated: boolean, hidden: boolean, pad: boolean, nth: number|null, place: number|null, part: string|null}} Shown  of a token; `nth`: of those that are called the same; `place`: its position id, where it is shown; `part`: which one of a character's */

/**
 * The button of a token, and what puts a token into it: in another text, buttons stay, and only what differs is styled and laid out
 * again.
 * @param {"source"|"target"} side @param {(index: number, asKey: boolean, line?: boolean) => void} choose
 */
function createToken(side, choose) {
  let index = 0;
  let [drawn, beside] = ["", ""];
  const [text, id] = [h("span", { class: "text" }), h("i")];
  const button = h("button", {
    class: "tok",
    type: "button",
    dataset: { testid: side === "target" ? "target-token" : "token" },
    on: { click: (event) => choose(index, event.shiftKey || event.altKey, event.shiftKey) },
  });
  return {
    button,
    /** @param {Token} token @param {{text: string, special: boolean}} before @param {Shown} shown */
    show(token, before, { generated, hidden, pad, nth, place, part }) {
      index = token.index;
      const called = token.patch ? patchWords(token.patch) : tokenName(token);
      const name = t("sentence.token", { index, label: called, id: token.id });
      const label = place === null ? name : `${name}, ${t("sentence.position_id", { position: place })}`;
      const quoted = quotesAround(token) !== null;
      const narrow = !token.patch && !quoted && token.text.trim().length === 1 && !isWide(token.text);
      const piece = !token.patch && isPiece(token, before);
      const classes = {
        narrow,
        piece,
        partial: token.partial,
        gen: generated,
        special: token.special,
        pad,
        unseen: hidden,
      };
      for (const [one, is] of Object.entries(classes)) button.classList.toggle(one, is);
      const kind = token.patch ? null : kindOfToken(token, before);
      const said = [label, generated && t("sentence.generated"), hidden && t("picture.hidden")].filter(Boolean);
      update(button, {
        "aria-label": said.join(", "),
        title: token.special || token.patch ? label : [label, kind, bytesLabel(token.bytes)].filter(Boolean).join("\n"),
        "data-index": index,
        "data-id": token.id,
        "data-partial": token.partial ? token.bytes : null,
      });
      update(text, { "data-mark": quoted || null, "data-part": part });
      setText(id, String(token.id));
      const spelled = `${token.id} ${token.bytes}`; // bytes that are part of a character are all called the same
      if (token.patch) replace(text, tokenText(token));
      else if (spelled !== drawn) replaceChanged(text, tokenText(token));
      drawn = spelled;
      if (beside === `${nth} ${place}`) return;
      beside = `${nth} ${place}`;
      replace(button, text, nth !== null && h("sub", null, below(nth)), id, place !== null && placeNote(place));
    },
  };
}

/** @param {number} position */
function placeNote(position) {
  return h("i", { class: "place", dataset: { position } }, t("sentence.place", { position }));
}

/**
 * "7 tokens · 26 characters · the dot marks a space".
 * @param {ModelTrace} trace @param {Side} side
 */
function counts(trace, { side, tokens, real }) {
  const nPads = tokens.length - real.end + real.start;
  const isText = side === "source" && !trace.model.picture;
  const mark = (/** @type {string} */ text) => h("span", { class: "token-mark" }, text);
  const parts = [
    [t("sentence.tokens", { n: integer(tokens.length) })],
    nPads > 0 && [t("sentence.pads", { n: nPads })],
    isText && [t("sentence.characters", { n: integer(trace.nCharacters) })],
    isText && phrase("sentence.space", { mark: mark("·") }),
    isText &&
      trace.pair === null &&
      trace.readText !== trace.text &&
      phrase("sentence.read_as", { text: mark(trace.readText) }),
    tokens.some((token) => token.partial) &&
      phrase("sentence.bytes", { mark: h("span", { class: "token-byte" }, "⟨e3⟩") }),
  ].filter(Boolean);
  const joined = parts.flatMap((part, i) =>
    i ? [h("span", { class: "sep", "aria-hidden": true }, "·"), part] : [part],
  );
  return h("p", { class: "count", dataset: { testid: "counts" } }, joined);
}

/**
 * The place after what is written: it chooses the row whose word comes next.
 * @param {number} index @param {(index: number, asKey: boolean) => void} choose
 */
function nextButton(index, choose) {
  const words = t("sentence.next");
  return h(
    "button",
    {
      ...{ class: "tok next", type: "button", "aria-label": words, title: words, hidden: true },
      dataset: { testid: "target-next", index },
      on: { click: () => choose(index, false) },
    },
    h("span", { class: "text" }, COMES),
  );
}

/**
 * The tokens of one side. What a click does depends on the open attention: if this side has only its keys, it chooses the
 * key; if it has neither queries nor keys, it opens the attention between both sides. A click on a token of a translation
 * asks where that word came from: see model/written.js.
 * @param {HTMLElement} root @param {Actions} actions @param {"source"|"target"} name
 */
export function createStrip(root, actions, name) {
  /** @type {HTMLElement[]} */
  let buttons = [];
  const made = /** @type {ReturnType<typeof createToken>[]} */ ([]);
  let line = /** @type {HTMLElement|null} */ (null);
  let drawn = "";
  let seen = "";
  let [isQuery, isKey, written] = [true, true, false];
  /** @type {{query: number|null, key: number|null}} of this side, as they are highlighted */
  let at = { query: null, key: null };

  /** A pencil that is on takes the token for its column. @param {number} index */
  const taken = (index) => {
    const detail = { side: name, index };
    return !root.dispatchEvent(new CustomEvent("tokenline", { bubbles: true, cancelable: true, detail }));
  };
  const choose = (/** @type {number} */ index, /** @type {boolean} */ asKey, line = false) => {
    if (line && taken(index)) return;
    if (!isQuery && !isKey)
      return actions.set({
        attention: null,
        ...(name === "target" ? { query: rowOfToken(index, true) } : { key: index }),
      });
    if (!isQuery) return actions.set({ key: index, query: actions.get().query });
    // A row that was chosen a moment ago may not be drawn yet.
    if (asKey && isKey)
      return actions.set({ key: index, query: actions.get().query ?? rowOfToken(at.query ?? 0, written) });
    return actions.set({ query: rowOfToken(index, written) });
  };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const asKey = isKey && (event.shiftKey || event.altKey || !isQuery);
    const from = (asKey ? at.key : at.query) ?? buttons.indexOf(/** @type {any} */ (document.activeElement));
    const [first, last] =
      written && isQuery ? [1, buttons.length - 1] : [0, buttons.findLastIndex(({ hidden }) => !hidden)];
    const to = Math.min(last, Math.max(first, from + step));
    choose(to, asKey);
    if (!asKey || !isQuery) buttons[to]?.focus();
  };
  root.addEventListener("keydown", onKey);
  const drawLine = whenPointed(root, actions, name, (index) => choose(index, false));
  root.addEventListener("scroll", ({ target }) => tellMore(/** @type {HTMLElement} */ (target)), true);
  new ResizeObserver(() => bringIntoSight(buttons[at.query ?? at.key ?? 0])).observe(root);

  /** @param {ModelTrace|null} trace @param {State} state @param {Used|null} [used] */
  return (trace, state, used = null) => {
    const side = trace?.sides[name];
    if (!trace || !side) {
      if (drawn) replace(root); // else it has the tokens of the first paint
      drawn = "";
      return;
    }
    const from = writtenFrom(side, state);
    const ids = side.tokens.map((token) => token.id);
    const pixels = side.tokens[1]?.patch?.photo?.pixels; // patches of photos have their places for ids
    const shape = [trace.model.name, from, trace.sides.target !== null, pixels];
    const content = [...shape, ids, side.positionIds, side.hidden, side.second, side.tokenTypes].join(" ");
    if (content !== drawn) {
      drawn = content;
      const names = namesOf(side.tokens);
      while (made.length < side.tokens.length) made.push(createToken(name, choose));
      for (const token of side.tokens)
        made[token.index].show(token, side.tokens[token.index - 1] ?? NOTHING, {
          generated: token.index < side.real.end && token.index - side.real.start >= from,
          hidden: side.hidden.includes(token.index),
          pad: !inside(side.real, token.index),
          nth: names[token.index].nth,
          place: positionIdOf(side, token),
          part: token.partial ? byteOf(names[token.index]) : null,
        });
      buttons = side.tokens.map(({ index }) => made[index].button);
      if (name === "target") buttons.push(nextButton(buttons.length, choose));
      line = lineOf(root, line, ...stripOf(trace, side, buttons), counts(trace, side));
    }
    const before = at;
    const chosen = position(state, trace);
    [isQuery, isKey] = [trace.queries === side, trace.keys === side];
    written = isQuery && name === "target" && choosesWritten(state, trace.model);
    if (name === "target") update(buttons[side.tokens.length], { hidden: !written });
    // The river is about one token: keys begin with a head.
    const hasKey = isKey && placeOf(state).name === "head";
    at = { query: isQuery ? tokenOfRow(chosen.query, written) : null, key: hasKey ? chosen.key : null };
    const named = used?.side === name && used.of === sourceKey(trace, state) ? used.key : null;
    light(buttons, at, trace.causal && side === trace.written, named);
    drawLine(trace, state, buttons);
    const [to, another] = [at.query ?? at.key, content !== seen];
    if (before.query !== at.query || before.key !== at.key || another)
      requestAnimationFrame(() => bringIntoSight(buttons[to ?? 0], another));
    seen = content;
  };
}

const surprise = lazy(() => import("./surprise.js"));

/**
 * The line over the text (surprise.js), once the model writes or a token is pointed at.
 * @param {HTMLElement} root @param {Actions} actions @param {"source"|"target"} name @param {(index: number) => void} choose
 * @returns {(...shown: [ModelTrace, State, HTMLElement[]]) => void}
 */
function whenPointed(root, actions, name, choose) {
  /** @type {((trace: ModelTrace, state: State, buttons: HTMLElement[]) => void)|null} */
  let draw = null;
  let now = /** @type {[ModelTrace, State, HTMLElement[]]|null} */ (null);
  /** @param {Event} [event]  of a pointer or the focus */
  const begin = async (event) => {
    if (draw) return;
    await surprise.load().catch(() => {}); // the text is read without it
    if (!surprise.code || !now) return;
    draw ??= surprise.code.createSurprise(root, actions, name, choose, event?.type === "pointermove");
    draw(...now);
  };
  for (const event of ["pointermove", "focusin"]) root.addEventListener(event, begin);
  return (...shown) => {
    now = shown;
    const [{ sides }, state] = shown;
    const side = sides[name];
    if (draw) draw(...shown);
    else if (dockState.of(state).surprise) begin();
    else if (side && writtenFrom(side, state) < side.real.end - side.real.start) begin();
  };
}

/**
 * The index of the first token of a side that the model wrote.
 * @param {Side} side @param {State} state
 */
function writtenFrom({ side }, { ids, nPrompt, target }) {
  if (side === "target") return target === null ? 1 : Infinity;
  return ids ? (nPrompt ?? ids.length) : Infinity;
}

/**
 * A line of tokens below `root`, with the counts after it. The browser styles and lays out only what is new of it.
 * @param {HTMLElement} root @param {HTMLElement|null} line  the one before @param {string} label
 * @param {HTMLElement[]} children @param {HTMLElement} counts @returns {HTMLElement}
 */
function lineOf(root, line, label, children, counts) {
  if (!line || line.parentElement !== root) {
    const made = h("div", { class: "tokens", role: "toolbar", "aria-label": label }, children);
    replace(root, made, counts);
    return made;
  }
  update(line, { "aria-label": label });
  const kept = new Set(children);
  for (const child of [...line.children]) if (!kept.has(/** @type {HTMLElement} */ (child))) child.remove();
  let next = line.firstChild;
  for (const child of children)
    if (child === next) next = next.nextSibling;
    else line.insertBefore(child, next);
  root.querySelector(":scope > .count")?.replaceWith(counts);
  return line;
}

/**
 * What a line is called, and what is in it.
 * @param {ModelTrace} trace
 * @param {Side} side @param {HTMLElement[]} buttons
 * @returns {[label: string, children: HTMLElement[]]}
 */
function stripOf(trace, side, buttons) {
  const [next] = buttons.slice(side.tokens.length);
  const groups = characterGroups(side.tokens).flatMap(({ tokens, text }) => {
    const own = tokens.flatMap((token) => [...markOf(side, token.index), buttons[token.index]]);
    return text === null
      ? own
      : h(
          "span",
          { class: "chargroup", title: visibleText(text), translate: "no" },
          own,
          h("span", { class: "whole" }, visibleText(text)),
        );
  });
  if (!trace.sides.target) return [t("sentence.strip"), groups];
  const name = sideName(trace.model, side.side, trace.text);
  const label = t(`target.strip_${side.side}`, { side: name });
  const seen = shortSideName(trace.model, side.side, trace.text);
  const about = side.side === "target" ? t("target.small") : null;
  return [
    label,
    [h("span", { class: "side-name", title: about, "aria-hidden": true }, seen), ...groups, next].filter(Boolean),
  ];
}

/** "A" and "B" before the texts of a pair, with their token types. @param {Side} side @param {number} index */
function markOf({ second, tokenTypes, real }, index) {
  if (second === null || (index !== real.start && index !== second)) return [];
  const name = index === second ? "B" : "A";
  const title = tokenTypes ? t("pair.mark_type", { name, type: tokenTypes[index] }) : t("pair.mark", { name });
  return [h("span", { class: "pair-mark", title, dataset: { testid: `pair-${name}` } }, name)];
}

/** The token's position id. Shown only when there is padding. @param {Side} side @param {Token} token */
function positionIdOf({ tokens, real, positionIds }, { index }) {
  return real.end - real.start < tokens.length ? positionIds[index] : null;
}

/** What says that there is more at an edge (css/sentence.css). Pixels. */
const MORE = 22;

/** Scrolls the strip, never the page: the chosen token is whole, and so is the first one that is seen. @param {HTMLElement|undefined} button @param {boolean} [another]  it begins anew: the text is another one */
function bringIntoSight(button, another = false) {
  const strip = /** @type {HTMLElement|null|undefined} */ (button?.closest(".tokens"));
  if (!button || !strip) return;
  if (getComputedStyle(strip).flexWrap === "wrap") return bringLineIntoSight(strip, button, another);
  const tail = parseFloat(strip.style.getPropertyValue("--tail")) || 0;
  const room = strip.clientWidth;
  const last = strip.scrollWidth - tail - room;
  let needed = 0;
  if (last > 0) {
    const name = /** @type {HTMLElement|null} */ (strip.querySelector(".side-name")); // it stays at the left edge
    const before = (name?.offsetWidth ?? 0) + MORE;
    const edge = strip.getBoundingClientRect().left - strip.scrollLeft;
    const tokens = [...strip.querySelectorAll(".tok")].map((tok) => tok.getBoundingClientRect());
    const { left, right } = button.getBoundingClientRect();
    const isLast = right >= tokens[tokens.length - 1].right;
    const least = Math.max(
      right - edge - room + (isLast ? 4 : MORE),
      Math.min(another ? 0 : strip.scrollLeft, left - edge - before),
    );
    const starts = tokens.map((tok) => tok.left - edge - before);
    /** @param {number} x */
    const next = (x) => Math.max(0, Math.min(left - edge - before, ...starts.filter((start) => start >= x - 1)));
    const to = least <= 0 ? 0 : Math.min(next(least), next(last)); // where the line ends, nothing is gained
    needed = Math.max(0, to - last);
    if (needed > tail) strip.style.setProperty("--tail", `${needed}px`); // before it scrolls
    strip.scrollLeft = to;
  }
  if (needed < tail) strip.style.setProperty("--tail", `${needed}px`);
  tellMore(strip);
}

/** The same on a phone, where a text has two lines: another text is seen to its chosen token, and what precedes its line slides away. @param {HTMLElement} strip @param {HTMLElement} button @param {boolean} another */
function bringLineIntoSight(strip, button, another) {
  const [room, token] = [strip, button].map((one) => one.getBoundingClientRect());
  const line = Math.round(token.top - room.top + strip.scrollTop);
  const least = Math.max(0, Math.round(line + token.height - strip.clientHeight));
  strip.scrollTop = another ? least : Math.max(least, Math.min(strip.scrollTop, line));
  strip.classList.toggle("low", line - strip.scrollTop > 4);
  tellMore(strip);
}

/** Whether there are tokens before and after those that are seen. @param {HTMLElement} strip */
function tellMore(strip) {
  const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = strip;
  const [before, after] = [scrollLeft + scrollTop, scrollWidth - clientWidth + scrollHeight - clientHeight];
  strip.classList.toggle("cut-before", before > 4); // once both are read: the browser would lay out the page between them
  strip.classList.toggle("cut", after - before > 4);
}

/** Marks the chosen tokens. @param {HTMLElement[]} buttons @param {{query: number|null, key: number|null}} at @param {boolean} causal  no token reads those after it @param {number|null} used  looks as a key does */
function light(buttons, at, causal, used) {
  buttons.forEach((button, index) => {
    button.classList.toggle("q", index === at.query);
    button.classList.toggle("k", index === (at.key ?? used));
    button.classList.toggle("later", causal && at.query !== null && index > at.query);
    update(button, { tabindex: index === (at.query ?? at.key ?? 0) ? 0 : -1 });
    const roles = [index === at.query && t("sentence.is_query"), index === at.key && t("sentence.is_key")];
    const description = roles.filter(Boolean).join(", ");
    if (description) button.setAttribute("aria-description", description);
    else button.removeAttribute("aria-description");
  });
}
