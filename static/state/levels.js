/** Three levels of depth: how much of the page is shown. Each level shows what the one before it shows, and more. */

import { paramsIn } from "./params.js";

/** @typedef {"look"|"understand"|"everything"} Level */

/** From the newcomer's level to the whole page. @type {Level[]} */
export const LEVELS = ["look", "understand", "everything"];

/** Parameters of a link that only say what is read, and how its reader likes the page. */
const PLAIN = ["model", "text", "lang", "theme", "type"];

/** Whether the page shows what begins at `level`. @param {{level: Level}} state @param {Level} level */
export const atLeast = (state, level) => LEVELS.indexOf(state.level) >= LEVELS.indexOf(level);

/** The page's level, or `level` where that shows less. @param {{level: Level}} state @param {Level} level @returns {Level} */
export const raisedTo = (state, level) => (atLeast(state, level) ? state.level : level);

/** Whether a link names nothing but a sentence. @param {URLSearchParams} params */
export const isBare = (params) => [...params.keys()].every((name) => PLAIN.includes(name));

/**
 * The level that a link opens at if it names none. A bare one opens at the reader's; any other was made to show
 * something that only the whole page has for certain.
 * @param {string} address  its query, and what comes after `#` @param {Level} usual  the reader's
 * @returns {Level}
 */
export const impliedLevel = (address, usual) => (isBare(paramsIn(address)) ? usual : "everything");

/** A level from text that may be anything. @param {string|null} text @returns {Level} */
export const levelFrom = (text) => LEVELS.find((level) => level === text) ?? "look";
