/**
 * Leading and following: the teacher's state is a link, and with what is at the top of the screen it is all that a follower needs.
 * Generated tokens are in it by their ids, so no follower asks for a generation.
 */

import { keyOf, withTarget } from "../../data/request.js";
import { linkOf } from "../../state/link.js";
import { NO_TREE } from "../../state/text_tree.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Lead, Message, ScrollPlace } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Declared } from "../../state/view_state.js"
 */

/** A link to what is shown, without what each has for themselves: an open drawer, and the tree of earlier texts. @param {State} state @param {Declared[]} declared */
export const sharedLink = (state, declared) => withLetters(linkOf({ ...state, drawer: null, tree: NO_TREE }, declared));

/** `%E7%8C%AB` → `猫`: a link with letters is a third as long as one that spells their bytes. @param {string} link */
export const withLetters = (link) => link.replace(/(?:%[89A-F][\dA-F])+/g, decodeURIComponent);

/** Where a screen is, in terms of the page's parts: on another screen they have other heights. @param {HTMLElement} root @param {number} edge  the end of what stays above, in pixels @returns {ScrollPlace|null} */
function scrollPlace(root, edge) {
  if (scrollY <= 0) return null;
  for (const part of partsOf(root)) {
    const { top, bottom, height } = part.getBoundingClientRect();
    if (bottom > edge && height > 0) {
      const by = (edge - top) / height;
      return { at: part.dataset.panel ?? "", by: Math.round(Math.max(-1, by) * 1000) / 1000 };
    }
  }
  return null;
}

/** @param {HTMLElement} root @param {number} edge @param {ScrollPlace|null} place */
function scrollToPlace(root, edge, place) {
  if (!place) return scrollTo({ top: 0 });
  const part = partsOf(root).find((one) => one.dataset.panel === place.at);
  if (!part) return;
  const { top, height } = part.getBoundingClientRect();
  scrollTo({ top: Math.max(0, scrollY + top + place.by * height - edge) });
}

/** The parts of the page that can be seen, from the top. @param {HTMLElement} root @returns {HTMLElement[]} */
function partsOf(root) {
  const all = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".main [data-panel]")]);
  return all.filter((one) => one.offsetParent !== null && getComputedStyle(one).position !== "sticky");
}

/** The end of what stays in sight above. @param {HTMLElement} root */
const edgeOf = (root) => Number.parseFloat(getComputedStyle(root).getPropertyValue("--path-end")) || 0;

/**
 * Tells the room what the teacher's page shows.
 * @param {Context} context @param {(message: Message) => void} say
 */
export function createLeading({ frame, declared }, say) {
  let told = "";
  /** What was handed in, as long as it is what is shown. */
  const shown = { link: "", sentence: /** @type {number|null} */ (null) };
  /** @type {State|null} */
  let state = null;
  /** @type {ModelTrace|null} */
  let trace = null;

  function tell() {
    if (!state || state.file !== null) return;
    const own = state.lesson === null ? pinned(state, trace) : state;
    const link = sharedLink(own, declared);
    const scroll = state.lesson === null ? scrollPlace(frame.root, edgeOf(frame.root)) : null;
    const sentence = shown.link === sharedLink(state, declared) ? shown.sentence : null;
    const content = JSON.stringify([link, scroll, sentence]);
    if (content === told) return;
    told = content;
    say({ kind: "lead", link, scroll, sentence });
  }
  const onScroll = () => tell();
  addEventListener("scroll", onScroll, { passive: true });

  return {
    /** @param {State} now */
    follow(now) {
      state = now;
      tell();
    },
    /** @param {ModelTrace|null} now @param {State} of */
    draw(now, of) {
      [trace, state] = [now, of];
      tell();
    },
    /** From now on the state is what somebody handed in. @param {State} now @param {number} sentence */
    show(now, sentence) {
      Object.assign(shown, { link: sharedLink(now, declared), sentence });
      state = now;
      tell();
    },
    stop: () => removeEventListener("scroll", onScroll),
  };
}

/** With the target that the model wrote: followers need not write it again. @param {State} state @param {ModelTrace|null} trace */
function pinned(state, trace) {
  if (trace?.targetFrom !== "greedy" || trace.key !== keyOf(state)) return state;
  return withTarget(state, { target_tokens: trace.sides.target?.tokens });
}

/**
 * Shows what the teacher shows, until the pupil looks around.
 * @param {Context} context @param {HTMLElement[]} own  the room's elements: a press there changes nothing on the page
 * @param {(explores: boolean) => void} changed
 */
export function createFollowing({ frame, address, actions, declared }, own, changed) {
  /** @type {Lead|null} */
  let lead = null;
  let explores = false;
  /** What the page shows when it follows: the teacher's link, fitted to this page. */
  let expected = "";
  let touched = false;
  let scrolled = "";
  /** Whether the newest place is still to be scrolled to, once it is drawn. */
  let due = false;

  const touch = (/** @type {Event} */ { target }) => {
    if (!own.some((one) => one.contains(/** @type {Node} */ (target)))) touched = true;
  };
  const KINDS = ["pointerdown", "keydown", "input"];
  for (const kind of KINDS) frame.root.addEventListener(kind, touch, { capture: true, passive: true });
  const free = () => {
    due = false;
  };
  for (const kind of ["wheel", "touchmove"]) frame.root.addEventListener(kind, free, { passive: true });
  const now = () => sharedLink(actions.get(), declared);

  function apply() {
    if (!lead || explores) return;
    if (lead.link !== expected || now() !== expected) {
      touched = false;
      expected = lead.link;
      address.open(lead.link);
      expected = now();
    }
    due = true;
    scroll();
  }

  function scroll() {
    if (!lead || explores || touched) return;
    const content = JSON.stringify(lead.scroll);
    if (content === scrolled) return;
    scrolled = content;
    scrollToPlace(frame.root, edgeOf(frame.root), lead.scroll);
  }

  /** @param {boolean} on */
  function explore(on) {
    if (explores === on) return;
    explores = on;
    changed(on);
    if (on) return;
    expected = scrolled = "";
    touched = false;
    apply();
  }

  return {
    /** @param {Lead|null} newest */
    lead(newest) {
      if (JSON.stringify(newest) === JSON.stringify(lead)) return;
      const same = newest?.link === lead?.link;
      lead = newest;
      if (same) scroll();
      else apply();
    },
    /** The page's state has changed: by the pupil, or by the page itself. */
    follow() {
      if (explores || !lead || !expected || now() === expected) return;
      if (touched) explore(true);
      else expected = now();
    },
    /** What is shown is drawn: it has its heights. */
    drawn() {
      if (!due) return;
      scrolled = "";
      scroll();
    },
    back: () => explore(false),
    explore: () => explore(true),
    /** What changes now is no act of the pupil's. */
    untouched() {
      touched = false;
    },
    /** @param {boolean} on  what the server knows of an earlier page */
    begin(on) {
      explores = on;
    },
    isExploring: () => explores,
    stop() {
      for (const kind of KINDS) frame.root.removeEventListener(kind, touch, { capture: true });
      for (const kind of ["wheel", "touchmove"]) frame.root.removeEventListener(kind, free);
    },
  };
}
