/**
 * Over the text a thin line: how surprising each token was, and how unsure the model. A token that is pointed at or focused
 * says what else it could have been; a pointer that is dragged over the text goes through its rows.
 */

import { keyOf, requestOf } from "../../data/request.js";
import { isTrained } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { writingSide } from "../../model/written.js";
import { h, newId, replace, update } from "../../ui/dom.js";
import { briefPercent, number } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, tokenText } from "../../ui/token_text.js";
import { writerOf } from "../../views/generation/player.js";

/**
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../views/view.js"
 */

/** @typedef {{p: number, bits: number, others: Prediction["candidates"]}} Known  of a token: its probability, the entropy before it, and the most likely there */

/** The bits of the line's top: one in a thousand. */
const TOP = 10;
/** How long a pointer, and the keyboard's focus, rests before a token says more. Milliseconds. */
const [RESTS, STAYS] = [150, 600];
/** The most rows of one question, and the most tokens that are kept. */
const [MOST_ROWS, KEPT] = [512, 4096];
const SHOWN = 5;

/** −log₂ p. @param {number} p */
const surpriseBits = (p) => (p > 0 ? -Math.log2(p) : Infinity);

/** The run without its text: what is known of a token is known under it alone. @param {State} state @param {any} model */
function runKey(state, model) {
  const none = writingSide(model) === "target" ? { target: null, targetIds: [] } : { text: "", ids: [] };
  return JSON.stringify(requestOf({ ...state, ...none }));
}

/** What is known of tokens, by run and the ids up to and including each. */
function createKnown() {
  /** @type {Map<string, Known>} */
  const known = new Map();
  /** @param {string} run @param {number[]} ids */
  const keyOf = (run, ids) => `${run} ${ids.join(".")}`;
  return {
    /** @param {string} run @param {number[]} ids */
    of: (run, ids) => known.get(keyOf(run, ids)),
    /** @param {string} run @param {number[]} ids @param {number} p @param {Prediction} from */
    learn(run, ids, p, { candidates, entropy_bits: bits }) {
      if (known.size >= KEPT) known.delete(/** @type {string} */ (known.keys().next().value));
      known.set(keyOf(run, ids), { p, bits, others: candidates.slice(0, SHOWN) });
    },
  };
}

/**
 * @param {HTMLElement} root  of the strip @param {Actions} actions @param {"source"|"target"} name
 * @param {(index: number) => void} choose  a token's row @param {boolean} isPointed  whether a pointer brought this code
 * @returns {(trace: ModelTrace, state: State, buttons: HTMLElement[]) => void}
 */
export function createSurprise(root, actions, name, choose, isPointed) {
  const known = createKnown();
  const { session, onChange } = writerOf(actions);
  /** @type {{trace: ModelTrace, state: State, buttons: HTMLElement[]}|null} */
  let now = null;
  const heard = new WeakSet();
  let first = true;
  const card = createCard(root);
  const pointed = createPointed(root, (index) => show(index), choose);
  if (isPointed) pointed.now();

  /** Of the steps that drew the last tokens of the text. @param {number} [from]  as many tokens are not asked about */
  const hear = (from = Infinity) => {
    const { ids = [] } = session.path() ?? {};
    if (!now || actions.get().padCount) return;
    const run = runKey(actions.get(), now.trace.model);
    for (let length = Math.min(from + 1, ids.length); length <= ids.length; length++) {
      const step = session.step(ids.slice(0, length));
      if (!step || heard.has(step)) continue;
      heard.add(step); // once, when it arrived: later the run may be another one
      known.learn(run, ids.slice(0, length), step.before, step.from);
    }
  };
  onChange(() => hear());

  /** The ids of the side, and of the token at `index` what is known. */
  function about() {
    if (!now?.trace.written || now.trace.written.side !== name) return null;
    const { trace, state } = now;
    const { tokens, real } = /** @type {NonNullable<ModelTrace["written"]>} */ (trace.written);
    const ids = tokens.slice(real.start, real.end).map(({ id }) => id);
    const run = runKey(state, trace.model);
    const of = (/** @type {number} */ index) => known.of(run, ids.slice(0, index - real.start + 1));
    return { trace, state, tokens, real, ids, run, of };
  }

  /** @param {number|null} index  of a token; null: none is pointed at */
  function show(index) {
    const all = about();
    if (!all || index === null || index <= all.real.start || index >= all.real.end) return card.hide();
    const found = all.of(index);
    if (found) return card.show(/** @type {any} */ (now).buttons[index], all.tokens[index], found);
    card.hide();
    // The tokens may still be those of the text, or of the model, before.
    if (all.state.file !== null || !isTrained(all.state) || all.trace.key !== keyOf(all.state)) return undefined;
    ask(all).then(() => pointed.at() === index && about()?.of(index) && show(index)); // what is refused is not asked again
    return undefined;
  }

  /** Asks for all that is not known, in one question. @param {NonNullable<ReturnType<typeof about>>} all */
  async function ask({ state, real, ids, run, of }) {
    const rows = ids.map((_, i) => real.start + i).filter((row) => row + 1 < real.end && !of(row + 1));
    const found = await actions.alternatives(state, rows.slice(-MOST_ROWS)).catch(() => []);
    for (const one of found)
      if (typeof one.actual === "number")
        known.learn(run, ids.slice(0, one.position - real.start + 2), one.actual, one);
    draw();
  }

  /** The line, where it is known. */
  function draw() {
    const all = about();
    now?.buttons.forEach((button, index) => {
      const found = all && index > all.real.start && index < all.real.end ? all.of(index) : undefined;
      button.classList.toggle("told", Boolean(found));
      for (const [property, bits] of Object.entries({ surprise: found && surpriseBits(found.p), entropy: found?.bits }))
        if (bits === undefined) button.style.removeProperty(`--${property}`);
        else button.style.setProperty(`--${property}`, String(Math.min(1, bits / TOP)));
    });
  }

  return (trace, state, buttons) => {
    const another = now?.trace !== trace;
    now = { trace, state, buttons };
    if (first) hear(0); // the first steps brought this code
    first = false;
    if (!predictsTokens(trace.model)) return card.hide();
    if (another) card.hide();
    draw();
    return undefined;
  };
}

/**
 * Which token the pointer or the focus is on, and dragging. Only a pointer that moves points: a token that the page puts under a
 * resting one (pointerover) is not asked about.
 * @param {HTMLElement} root @param {(index: number|null) => void} show @param {(index: number) => void} choose
 */
function createPointed(root, show, choose) {
  let at = /** @type {number|null} */ (null);
  let dragged = /** @type {number|null} */ (null);
  let pressed = /** @type {number|null} */ (null); // a token that was clicked is about its row
  let rests = 0;
  /** @param {EventTarget|null} target */
  const indexOf = (target) => {
    const token = /** @type {HTMLElement|null} */ (target)?.closest?.(".tok[data-index]");
    return token && root.contains(token) ? Number(/** @type {HTMLElement} */ (token).dataset.index) : null;
  };
  const point = (/** @type {number|null} */ index, wait = RESTS) => {
    if (index !== pressed) pressed = null;
    const next = index === pressed ? null : index;
    if (next === at) return;
    at = next;
    clearTimeout(rests);
    if (at === null) show(null);
    else rests = setTimeout(() => show(at), wait);
  };
  root.addEventListener("pointerleave", () => point(null));
  root.addEventListener("focusin", ({ target }) => {
    if (/** @type {Element} */ (target).matches(":focus-visible")) point(indexOf(target), STAYS);
  });
  root.addEventListener("focusout", () => point(null));
  root.addEventListener("keydown", ({ key }) => key === "Escape" && point(null));
  root.addEventListener("pointerdown", ({ target, pointerType, button }) => {
    pressed = indexOf(target);
    point(pressed);
    dragged = pointerType !== "touch" && button === 0 ? indexOf(target) : null;
  });
  root.addEventListener("pointermove", ({ target, pointerType, buttons }) => {
    const index = indexOf(target);
    if (pointerType !== "touch") point(index);
    if (dragged === null || !(buttons & 1) || index === null || index === dragged) return;
    dragged = pressed = index;
    point(index);
    choose(index);
  });
  return { at: () => at, now: () => point(indexOf(root.querySelector(".tok:hover"))) };
}

/** What a token could have been. @param {HTMLElement} root */
function createCard(root) {
  const id = newId("could-be");
  const node = h("div", { class: "could-be", role: "tooltip", id, dataset: { testid: "could-be" } });
  let of = /** @type {HTMLElement|null} */ (null);
  const hide = () => {
    node.remove();
    if (of) update(of, { "aria-describedby": null });
    of = null;
  };
  return {
    hide,
    /** @param {HTMLElement} button @param {Token} token @param {Known} known */
    show(button, token, { p, bits, others }) {
      hide();
      of = button;
      const vars = {
        token: namedToken(token),
        p: briefPercent(p),
        bits: number(surpriseBits(p), 1),
        unsure: number(bits, 1),
      };
      const rows = others.map((one) => rowOf(one, one.before, one.id === token.id));
      const isThere = others.some((one) => one.id === token.id);
      replace(node, h("p", null, phrase("surprise.said", vars)), rows, !isThere && rowOf(token, p, true));
      root.append(node);
      const { left, bottom } = button.getBoundingClientRect();
      const room = document.documentElement.clientWidth - node.offsetWidth - 8;
      Object.assign(node.style, { left: `${Math.max(8, Math.min(left, room))}px`, top: `${bottom + 6}px` });
      update(button, { "aria-describedby": id });
    },
  };
}

/** @param {Parameters<typeof tokenText>[0]} token @param {number} p @param {boolean} chosen */
const rowOf = (token, p, chosen) =>
  h(
    "div",
    { class: chosen ? "is-there" : null },
    h("span", { class: "text" }, tokenText(token)),
    h("u", { "aria-hidden": true }, h("s", { style: { width: `${p * 100}%` } })),
    h("span", null, briefPercent(p)),
    chosen && h("span", { class: "sr-only" }, t("surprise.there")),
  );
