/** The address bar: it always has a link to what is shown, and Back returns to what was open before. */

import { isEmpty } from "../model/selection.js";
import { EDITED } from "../state/edit_history.js";
import { createLongText, isAnchor, linkOf, readLink, tidied } from "../state/link.js";
import { treeIn } from "../state/page_fields.js";
import { DEFAULTS } from "../state/store.js";
import { compact } from "../state/text_tree.js";
import { mergedViewState, sameValue } from "../state/view_state.js";
import { keepInMind } from "../ui/remembered.js";
import { pencilDown, walkState } from "../views/view_states.js";

/**
 * @import { Declared } from "../state/view_state.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { TextTree } from "../state/text_tree.js"
 */

/** Changes that open something: each is a step for Back. All others only rewrite the address. */
const STEPS = ["start", "model", "attention", "layer", "head", "view", "drawer", ...EDITED, "compare", "lesson"];
/** Steps that follow each other this fast (arrow keys through the heads) count as one. */
const ONE_STEP_MS = 700;
/** Browsers refuse more than about 100 rewrites in 30 seconds: typing writes when it pauses. */
const WRITE_AFTER_MS = 250;

const long = createLongText(() => sessionStorage);
const shown = () => location.pathname + location.search + location.hash;

/** Its name in the tab's storage. */
const TREE = "chumoku.tree";

/** The tree of texts that this tab has written. @returns {TextTree|undefined} */
export function treeInTab() {
  try {
    return treeIn(JSON.parse(sessionStorage.getItem(TREE) ?? "null"));
  } catch {
    return undefined;
  }
}

/** Keeps it for a reload, all sentences of it: an address has that of its own. @param {TextTree} tree */
function keepTree(tree) {
  if (tree.nodes.length === 0) return;
  try {
    sessionStorage.setItem(TREE, JSON.stringify(compact(tree)));
  } catch {
    // no room, or no storage: it lasts as long as the page
  }
}

/** The document's address with its text; null: the text is too long for an address, and not in this tab. */
export const addressNow = () => long.restored(location.search + location.hash);

/** The address without its text, if it cannot be found. */
export const knownAddress = () => addressNow() ?? location.search;

/** What an address says of what is shown, without the reader's settings: the names of its fields. @param {string} address */
const fieldsOf = (address) =>
  [...address.matchAll(/[?&#](?!(?:theme|lang|type|debug|room|room_key)\b)(\w+)=/g)].map(([, name]) => name);

/** Whether an address says nothing of what is shown. @param {string} address */
export const isBare = (address) => fieldsOf(address).length === 0;

/** Whether it names a model and nothing that it should read. @param {string} address */
export const namesOnlyModel = (address) => fieldsOf(address).join() === "model";

/**
 * @param {ReturnType<typeof import("../state/store.js").createStore>} store
 * @param {Declared[]} declared  by the views @param {() => Patch|null} [start]  what the bare address shows
 */
export function mirrorUrl(store, declared, start = () => null) {
  let timer = 0;
  let lastStep = -Infinity; // performance.now() counts from the page's own start: the first step may come at once
  let keptLast = store.get().tree;
  let following = false; // the store is being set from the address, so it is not written back

  /** @param {"pushState"|"replaceState"} how @param {State} state */
  const put = (how, state) => {
    const link = long.shortened(linkOf(state, declared));
    const stands = new URL(link, location.href).href === location.href; // to write it again takes a millisecond or two
    if (how === "pushState" || !stands) history[how](null, "", link);
    if (state.tree !== keptLast && state.lesson === null) keepTree(state.tree); // a lesson begins anew
    keptLast = state.tree;
  };

  const write = () => {
    clearTimeout(timer);
    timer = 0;
    if (store.get().file === null) put("replaceState", store.get());
  };

  /** A file has no address: the bar keeps that of the live page, and Back leaves the file. @param {State} live */
  const stay = (live) => {
    clearTimeout(timer);
    put("replaceState", live);
    put("pushState", live);
  };

  store.subscribe((state, previous) => {
    if (following) return;
    if (state.file !== null) {
      if (previous.file === null) stay(previous);
      return;
    }
    if (previous.file !== null) return write();
    if (!isStep(state, previous)) {
      clearTimeout(timer);
      timer = setTimeout(write, WRITE_AFTER_MS);
      return;
    }
    const now = performance.now();
    if (now - lastStep > ONE_STEP_MS) {
      clearTimeout(timer);
      put("replaceState", previous); // what Back returns to
      put("pushState", state);
    } else write();
    lastStep = now;
  });

  history.replaceState(history.state, "", long.shortened(tidied(knownAddress(), declared)));
  /** Shows what an address says. @param {string} address */
  function show(address) {
    const { model, theme, type, lang, tree } = store.get(); // the tree has all that earlier addresses had
    following = true;
    const shown = isBare(address) ? start() : null;
    store.replace(
      /** @type {State} */ ({ ...DEFAULTS, model, theme, type, lang, ...readLink(address, declared), ...shown, tree }),
    );
    following = false;
  }

  addEventListener("popstate", () => {
    clearTimeout(timer);
    if (isAnchor(location.hash.slice(1))) return write(); // a link within the page
    lastStep = -Infinity; // what is changed next is a step from here
    show(knownAddress());
  });
  addEventListener("pagehide", () => timer && write());
  return {
    /** Writes pending changes. */
    flush: write,
    /** Makes a change to which Back does not return. @param {() => void} change */
    quietly(change) {
      following = true;
      change();
      following = false;
      write();
    },
    /** Shows what another's link shows, to which Back does not return. @param {string} link */
    open(link) {
      show(link);
      write();
    },
    /** A link to what is shown. */
    link() {
      write();
      return new URL(long.restored(shown()) ?? shown(), location.href).href;
    },
  };
}

// A room's code or its teacher's key, brought by a link, leaves the address at once: the tab keeps it.

/** In the tab's storage. */
const NAME = "chumoku.room";

/**
 * What the tab knows of a room: a code without a key is an invitation.
 * @typedef {{key?: string, role?: "teacher"|"pupil", code?: string, left?: {lesson: string, lessonStep: number}|null}} Kept  `left`: the
 *   step of a lesson that a pupil's sentence took the place of
 */

/** If the tab stores nothing, it lasts as long as the page. @type {string|null} */
let here = null;

/** @returns {Kept} */
export function keptRoom() {
  try {
    return JSON.parse(here ?? sessionStorage.getItem(NAME) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @param {Kept} kept */
export function keepRoom(kept) {
  const text = JSON.stringify(kept);
  try {
    sessionStorage.setItem(NAME, text);
    here = null;
  } catch {
    here = text;
  }
}

/** Takes a code or a teacher's key out of an address: what the tab should keep, and the address without them. @param {string} href */
export function invitationIn(href) {
  const url = new URL(href);
  const [query, hash] = [url.searchParams, new URLSearchParams(url.hash.slice(1))];
  const [code, key] = [query.get("room"), hash.get("room_key")];
  if (code === null && key === null) return null;
  query.delete("room");
  hash.delete("room_key");
  url.hash = hash.toString();
  /** @type {Kept} */
  const kept = key !== null ? { key, role: "teacher" } : { code: code ?? "" };
  return { kept, href: url.href };
}

/** Before the page reads its address. Who is in this room already stays in it. */
export function takeInvitation() {
  const found = invitationIn(location.href);
  if (!found) return;
  history.replaceState(history.state, "", found.href);
  const { code, key } = keptRoom();
  if (found.kept.key || !key || code !== found.kept.code) keepRoom(found.kept);
}

/** On return, nothing plays by itself. */
const atRest = walkState.patch({ plays: false }).viewState;

/** Longer links are not remembered. */
const MOST_REMEMBERED = 16_000;

/**
 * Remembers what is shown when the document is left: the bare address opens it again (initial_state.js, theme.js). The name of
 * the app leads to the start page, which is nothing to remember.
 * @param {ReturnType<typeof import("../state/store.js").createStore>} store @param {Declared[]} declared @param {EventTarget} root
 */
export function rememberPlace(store, declared, root) {
  let forgets = false;
  root.addEventListener("click", ({ target }) => {
    forgets = /** @type {Element} */ (target).closest(".brand") !== null;
  });
  addEventListener("pagehide", () => {
    const state = store.get();
    if (state.file !== null) return;
    const viewState = mergedViewState(mergedViewState(state.viewState, pencilDown), atRest);
    const link = forgets || state.start || isEmpty(state) ? "" : linkOf({ ...state, viewState }, declared);
    keepInMind("place", link.length > MOST_REMEMBERED ? "" : link);
  });
}

/**
 * The links of a page that does not own the address bar.
 * @param {ReturnType<typeof import("../state/store.js").createStore>} store
 * @param {Declared[]} declared  by the views
 * @returns {ReturnType<typeof mirrorUrl>}
 */
export function linksOnly(store, declared) {
  return {
    flush() {},
    quietly: (change) => change(),
    open() {},
    link: () => new URL(linkOf(store.get(), declared), location.href).href,
  };
}

/** @param {State} state @param {State} previous */
function isStep(state, previous) {
  if (previous.model === null) return false; // the initial state, not a choice
  if (state.lesson !== null && previous.lesson !== null) return false; // Back leaves a lesson
  const differs = (/** @type {string} */ name) =>
    !sameValue(state[/** @type {keyof State} */ (name)], previous[/** @type {keyof State} */ (name)]);
  return isEmpty(state) !== isEmpty(previous) || STEPS.some(differs);
}
