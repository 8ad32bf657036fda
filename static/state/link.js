/**
 * A link reproduces the picture. `model` and `text` are written as they are; a run with more than these is one JSON
 * (`run`), and both come after the `#`, with whatever else a person typed. What it is compared with is a patch of that
 * run (`against`). The rest is the selection, and each view's state as `view.name`.
 */

import { PAGE_FIELDS } from "./page_fields.js";
import { isPlain, RUN_DEFAULTS, runOf, shortRun, stateOf } from "./run.js";
import { isForked, isTreeOf } from "./text_tree.js";
import { sameValue } from "./view_state.js";

/**
 * @import { Field } from "./fields.js"
 * @import { Declared, ViewStates } from "./view_state.js"
 * @import { State } from "./store.js"
 */

// A link's parameters, from its query and from what comes after `#`. What a person typed comes after it: browsers send that to no
// server, so no log and no limit on a request's head sees it.

/** Every parameter of an address (`?a=b#c=d`). What comes after `#` wins; an anchor there is not a parameter. @param {string} address */
function paramsIn(address) {
  const [path, hash = ""] = split(address);
  const params = new URLSearchParams(path.replace(/^[^?]*\?|^\.?\/$/, ""));
  if (!isAnchor(hash)) for (const [name, value] of new URLSearchParams(hash)) params.set(name, value);
  return params;
}

/** The query, and after `#` those parameters that `isTyped`. @param {URLSearchParams} params @param {(name: string) => boolean} isTyped */
function addressOf(params, isTyped) {
  const all = [...params];
  const [query, hash] = [false, true].map((typed) =>
    new URLSearchParams(all.filter(([name]) => isTyped(name) === typed)).toString(),
  );
  return `./${query && `?${query}`}${hash && `#${hash}`}`;
}

/** An address with another parameter in its query. @param {string} address @param {string} name @param {string} value */
export function withParam(address, name, value) {
  const [path, hash] = split(address);
  return `${path}${path.includes("?") ? "&" : "?"}${name}=${value}${hash && `#${hash}`}`;
}

/** The name of an element, as a link within a page has it. @param {string} hash  without its `#` */
export const isAnchor = (hash) => hash !== "" && !hash.includes("=");

/** @param {string} address @returns {[string, string]} */
export function split(address) {
  const at = address.indexOf("#");
  return at < 0 ? [address, ""] : [address.slice(0, at), address.slice(at + 1)];
}

/**
 * The state that a link has. Missing and invalid values are left out.
 * @param {string} address  its query, and what comes after `#` @param {Declared[]} declared  by the views
 * @returns {Partial<State>}
 */
export function readLink(address, declared) {
  const params = paramsIn(address);
  const viewState = viewStatesIn(params, declared);
  const page = pageIn(params);
  if (page.against) page.compare ??= true; // the patch implies it
  return { ...runIn(params), ...page, ...(Object.keys(viewState).length ? { viewState } : {}) };
}

/** The query and text that reproduce `state`, relative to the page: a proxy may have put it under a prefix. Language and theme stay with the reader. @param {State} state @param {Declared[]} declared */
export function linkOf(state, declared) {
  if (state.lesson !== null) return linkOfLesson(state);
  if (state.start) return "./";
  const params = new URLSearchParams();
  writeRun(params, state);
  for (const [name, [param, field]] of Object.entries(PAGE_FIELDS)) {
    const value = /** @type {any} */ (state)[name];
    if (!sameValue(value, field.initial) && isSaid(name, state)) params.set(param, field.write(value));
  }
  if (state.against && !state.compare) params.set("compare", PAGE_FIELDS.compare[1].write(false));
  for (const { view, fields } of declared) {
    for (const [name, field] of Object.entries(fields)) {
      const value = state.viewState[view]?.[name] ?? field.initial;
      if (!field.unlinked && !sameValue(value, field.initial)) params.set(`${view}.${name}`, field.write(value));
    }
  }
  // A link without a head opens at the one that its model's card names, so the first of all is said.
  if (!isBlank(state) && isFirstHead(state)) params.set("layer", "0");
  const link = addressOf(params, typedIn(declared));
  if (!params.has("tree") || !isTooLong(link)) return link;
  params.delete("tree"); // the tab keeps it, and a file may have it
  return addressOf(params, typedIn(declared));
}

/** A link whose text is still in its query, with the text after `#`. @param {string} address @param {Declared[]} declared */
export const tidied = (address, declared) => addressOf(paramsIn(address), typedIn(declared));

/** Which parameters a person typed. @param {Declared[]} declared */
const typedIn = (declared) => (/** @type {string} */ param) =>
  param === "text" || param === "run" || fieldOf(param, declared)?.typed === true;

/** @param {string} param @param {Declared[]} declared @returns {Field<any>|undefined} */
function fieldOf(param, declared) {
  const [view, name] = param.split(".");
  if (name !== undefined) return declared.find((one) => one.view === view)?.fields[name];
  return Object.values(PAGE_FIELDS).find(([known]) => known === param)?.[1];
}

/** The link of a lesson's step, which itself says what is open. @param {State} state */
const linkOfLesson = ({ lesson, lessonStep }) =>
  `./?${new URLSearchParams({ lesson: String(lesson), step: String(lessonStep) })}`;

/** `against` implies `compare`, unless the run before is shown alone; a tree that does not fork is the text. @param {string} name @param {State} state */
function isSaid(name, state) {
  if (name === "tree") return isTreeOf(state.tree, state) && isForked(state.tree);
  return name !== "compare" || state.against === null;
}

/** @param {State} state */
const isBlank = ({ text, ids, pixels }) => text === "" && ids === null && pixels === null;

/** The first of the model's last attention. @param {State} state */
const isFirstHead = ({ attention, layer, head }) => attention === null && layer === 0 && head === 0;

/** @param {URLSearchParams} params @param {State} state */
function writeRun(params, state) {
  const run = runOf(state);
  const plain = isPlain(run);
  if (!plain) params.set("run", JSON.stringify(shortRun(run)));
  else if (state.model !== null) params.set("model", state.model);
  // With token ids, the text is only what was typed.
  if ((plain || state.ids) && state.text) params.set("text", state.text);
}

/** @param {URLSearchParams} params @returns {Partial<State>} */
function runIn(params) {
  /** @type {Partial<State>} */
  const found = {};
  const asked = Object.entries(stateOf(parsed(params.get("run"))));
  for (const [name, value] of asked) {
    if (!sameValue(value, /** @type {any} */ (RUN_DEFAULTS)[name])) /** @type {any} */ (found)[name] = value;
  }
  const [model, text] = [params.get("model"), params.get("text")];
  return { ...found, ...(model !== null && { model }), ...(text !== null && { text }) };
}

/** @param {string|null} json @returns {unknown} */
function parsed(json) {
  try {
    return JSON.parse(json ?? "null");
  } catch {
    return null;
  }
}

/** @param {URLSearchParams} params @returns {Partial<State>} */
function pageIn(params) {
  /** @type {Object<string, unknown>} */
  const found = {};
  for (const [name, [param, field]] of Object.entries(PAGE_FIELDS)) {
    const value = read(params, param, field);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** @param {URLSearchParams} params @param {Declared[]} declared */
function viewStatesIn(params, declared) {
  /** @type {ViewStates} */
  const found = {};
  for (const { view, fields } of declared) {
    for (const [name, field] of Object.entries(fields)) {
      const value = read(params, `${view}.${name}`, field);
      if (value !== undefined) found[view] = { ...found[view], [name]: value };
    }
  }
  return found;
}

/** @param {URLSearchParams} params @param {string} param @param {Field<any>} field */
function read(params, param, field) {
  const text = params.get(param);
  return text === null ? undefined : field.read(text);
}

// Text that is too long for an address: the tab's storage keeps it, and the address has a name in its place. So a
// reload, Back and Forward find it again; another tab or another reader does not.

/** How many characters an address may have after `#`: many programs cut longer links. */
export const LONGEST = 16 * 1024;
/** Whether this address is too long to be shared. @param {string} address */
export const isTooLong = (address) => split(address)[1].length > LONGEST;
/** Characters in storage, of which browsers give a tab 5 million; the oldest texts go. */
const KEPT = 2_000_000;
const [PREFIX, ORDER, PARAM] = ["chumoku.text.", "chumoku.texts", "kept="];

/** @typedef {Pick<Storage, "getItem"|"setItem"|"removeItem">} Keeps */

/** @param {() => Keeps} storage  may throw: a browser may forbid it */
export function createLongText(storage) {
  return {
    /** The address, with a name in the place of a long text. Without storage it stays as it is. @param {string} address */
    shortened(address) {
      if (!isTooLong(address)) return address;
      const [path, hash] = split(address);
      const name = nameOf(hash);
      try {
        keep(storage(), name, hash);
      } catch {
        return address;
      }
      return `${path}#${PARAM}${name}`;
    },

    /** The address with its text; null: the text is not in this tab. @param {string} address @returns {string|null} */
    restored(address) {
      const [path, hash] = split(address);
      if (!hash.startsWith(PARAM)) return address;
      try {
        const text = storage().getItem(PREFIX + hash.slice(PARAM.length));
        return text === null ? null : `${path}#${text}`;
      } catch {
        return null;
      }
    },
  };
}

/** @param {Keeps} storage @param {string} name @param {string} text @throws if there is no room even alone */
function keep(storage, name, text) {
  const before = textsIn(parsed(storage.getItem(ORDER))).filter((one) => one !== name);
  const sizes = before.map((one) => storage.getItem(PREFIX + one)?.length ?? 0);
  let sum = text.length + sizes.reduce((total, size) => total + size, 0);
  while (before.length && sum > KEPT) {
    sum -= /** @type {number} */ (sizes.shift());
    storage.removeItem(PREFIX + before.shift());
  }
  storage.setItem(PREFIX + name, text);
  storage.setItem(ORDER, JSON.stringify([...before, name]));
}

/** @param {unknown} names @returns {string[]} */
const textsIn = (names) => (Array.isArray(names) ? names.filter((name) => typeof name === "string") : []);

/** A name that the same text always gets (FNV-1a in two halves, 64 bits). @param {string} text */
function nameOf(text) {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(text.length - 1 - i), 0x01000197);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}
