/**
 * What else a token could have been: of one that is pointed at or focused; of a written one that is clicked, each can be taken in
 * its place. Where the reader asks for it, a thin line over the text shows how surprising each token was, and how unsure the
 * model. A pointer that is dragged over the text goes through its rows.
 */

import { keyOf, requestOf } from "../../data/request.js";
import { isTrained } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { namesIn } from "../../model/labels.js";
import { taken, writingSide } from "../../model/written.js";
import { writerOf } from "../../views/generation/player.js";
import { choosesWritten } from "../../views/places.js";
import { dockState } from "../../views/view_states.js";
import { createCard, surpriseBits } from "./could_be.js";

/**
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../views/view.js"
 * @import { Known } from "./could_be.js"
 */

/** The bits of the line's top: one in a thousand. */
const TOP = 10;
/** How long a pointer, and the keyboard's focus, rests before a token says more. Milliseconds. */
const [RESTS, STAYS] = [350, 600];
/** The most rows of one question, and the most tokens that are kept. */
const [MOST_ROWS, KEPT] = [512, 4096];
const SHOWN = 5;

/** Whether the line is shown. @param {State} state */
const tellsSurprise = (state) => dockState.of(state).surprise;

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
  const { session, player, onChange } = writerOf(actions);
  /** @type {{trace: ModelTrace, state: State, buttons: HTMLElement[]}|null} */
  let now = null;
  const heard = new WeakSet();
  let first = true;
  let wanted = ""; // the text for which all tokens were asked about
  const isTold = () => tellsSurprise(actions.get());
  const tell = (/** @type {boolean} */ open) => {
    if (open !== isTold()) actions.set(dockState.patch({ surprise: open }));
  };
  const card = createCard(root, { leave: () => unpin(false), tell });
  /** The token whose card stays, and the ids up to it. @type {{index: number, text: string}|null} */
  let pinned = null;
  const pointed = createPointed(root, (index) => !pinned && show(index), choose, pin);
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

  /** @typedef {NonNullable<ReturnType<typeof about>>} All */

  /** The ids of the side, and of the token at `index` what is known. */
  function about() {
    if (!now?.trace.written || now.trace.written.side !== name) return null;
    const { trace, state } = now;
    const { tokens, real } = /** @type {NonNullable<ModelTrace["written"]>} */ (trace.written);
    const ids = tokens.slice(real.start, real.end).map(({ id }) => id);
    const run = runKey(state, trace.model);
    const upTo = (/** @type {number} */ index) => ids.slice(0, index - real.start + 1);
    const of = (/** @type {number} */ index) => known.of(run, upTo(index));
    return { trace, state, tokens, real, ids, run, of, upTo };
  }

  /** Whether a click on the token offers others. @param {number} index */
  function isOffered(index) {
    if (!now?.buttons[index].matches(".gen")) return false;
    const { file, lesson } = now.state;
    return file === null && lesson === null;
  }

  /** The card stays until another place is clicked. @param {number} index */
  function pin(index) {
    const all = about();
    const again = pinned?.index === index;
    unpin(false);
    if (again || !all || !isOffered(index)) return;
    if (choosesWritten(all.state, all.trace.model)) return; // its row stands for what it writes: the chips offer them
    pinned = { index, text: all.upTo(index).join(".") };
    show(index);
  }

  /** @param {boolean} [focuses]  whether the focus goes back to its token */
  function unpin(focuses = true) {
    const of = pinned?.index;
    pinned = null;
    card.hide();
    if (focuses && of !== undefined) now?.buttons[of]?.focus();
  }

  /** Another token in the place of one: the text ends with it, and what stood there is kept in the tree. @param {number} index @param {number} id */
  function take(index, id) {
    if (!now) return;
    unpin();
    player.pause();
    actions.set(taken(now.trace, actions.get(), index - 1, id));
  }

  /** @param {number|null} index  of a token; null: none is pointed at */
  function show(index) {
    const all = about();
    if (!all || index === null || index <= all.real.start || index >= all.real.end) return card.hide();
    const found = all.of(index);
    const { buttons } = /** @type {NonNullable<typeof now>} */ (now);
    const named = { id: all.tokens[index].id, name: namesIn(all.tokens)[index], before: all.tokens[index - 1] };
    if (found)
      card.show(buttons[index], named, found, {
        offers: isOffered(index),
        take: pinned && ((id) => take(index, id)),
        told: isTold(),
      });
    else card.hide();
    if (unknownOf(all).length) learn(all, () => !found && show(index));
    return undefined;
  }

  /** Asks for what is not known, unless the tokens are still those of the text, or of the model, before. @param {All} all @param {() => void} then  if the token is still pointed at */
  async function learn(all, then) {
    const at = pinned ? pinned.index : pointed.at();
    if (all.state.file !== null || !isTrained(all.state) || all.trace.key !== keyOf(all.state)) return;
    await ask(all);
    // What is refused is not asked again.
    if (at !== null && (pinned ? pinned.index : pointed.at()) === at && about()?.of(at)) then();
  }

  /** The rows before tokens of which nothing is known. @param {All} all */
  const unknownOf = ({ ids, real, of }) =>
    ids.map((_, i) => real.start + i).filter((row) => row + 1 < real.end && !of(row + 1));

  /** Asks for all that is not known, in one question. @param {All} all */
  async function ask(all) {
    const { state, real, ids, run } = all;
    const found = await actions.alternatives(state, unknownOf(all).slice(-MOST_ROWS)).catch(() => []);
    for (const one of found)
      if (typeof one.actual === "number")
        known.learn(run, ids.slice(0, one.position - real.start + 2), one.actual, one);
    draw();
  }

  /** The line, once it is known of all: over one word alone it would look like a fault. */
  function draw() {
    const read = isTold() ? about() : null;
    const all = read && !unknownOf(read).slice(-MOST_ROWS).length ? read : null;
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
    draw();
    const all = isTold() && wanted !== trace.key && trace.key === keyOf(state) ? about() : null;
    if (all) {
      wanted = trace.key;
      if (unknownOf(all).length) learn(all, () => {});
    }
    if (!pinned) {
      if (another && card.isShown()) show(pointed.at()); // what was measured meanwhile changes no word
    } else if (about()?.upTo(pinned.index).join(".") !== pinned.text) unpin(false);
    else if (!card.isShown()) show(pinned.index); // its numbers are here, or can be asked for now
    return undefined;
  };
}

/**
 * Which token the pointer or the focus is on, and dragging. Only a pointer that moves points: a token that the page puts under a
 * resting one (pointerover) is not asked about.
 * @param {HTMLElement} root @param {(index: number|null) => void} show @param {(index: number) => void} choose @param {(index: number) => void} pin
 */
function createPointed(root, show, choose, pin) {
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
  root.addEventListener("click", ({ target, shiftKey, altKey }) => {
    const index = indexOf(target);
    if (index !== null && !shiftKey && !altKey) pin(index);
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
