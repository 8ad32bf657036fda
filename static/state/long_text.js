/**
 * Text that is too long for an address: the tab's storage keeps it, and the address has a name in its place. So a
 * reload, Back and Forward find it again; another tab or another reader does not.
 */

import { split } from "./link.js";

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
  const before = parsed(storage.getItem(ORDER)).filter((one) => one !== name);
  const sizes = before.map((one) => storage.getItem(PREFIX + one)?.length ?? 0);
  let sum = text.length + sizes.reduce((total, size) => total + size, 0);
  while (before.length && sum > KEPT) {
    sum -= /** @type {number} */ (sizes.shift());
    storage.removeItem(PREFIX + before.shift());
  }
  storage.setItem(PREFIX + name, text);
  storage.setItem(ORDER, JSON.stringify([...before, name]));
}

/** @param {string|null} json @returns {string[]} names, the oldest first */
function parsed(json) {
  try {
    const names = JSON.parse(json ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

/** A name that the same text always gets (FNV-1a in two halves, 64 bits). @param {string} text */
function nameOf(text) {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(text.length - 1 - i), 0x01000197);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}
