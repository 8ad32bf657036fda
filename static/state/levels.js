/** Three levels of depth: how much of the page is shown. Each level shows what the one before it shows, and more. */

/** @typedef {"look"|"understand"|"everything"} Level */

/** From the newcomer's level to the whole page. @type {Level[]} */
export const LEVELS = ["look", "understand", "everything"];

/** Whether the page shows what begins at `level`. @param {{level: Level}} state @param {Level} level */
export const atLeast = (state, level) => LEVELS.indexOf(state.level) >= LEVELS.indexOf(level);

/** The page's level, or `level` where that shows less. @param {{level: Level}} state @param {Level} level @returns {Level} */
export const raisedTo = (state, level) => (atLeast(state, level) ? state.level : level);

/** A level from text that may be anything. @param {string|null} text @returns {Level} */
export const levelFrom = (text) => LEVELS.find((level) => level === text) ?? "look";
