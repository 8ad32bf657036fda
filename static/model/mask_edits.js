/**
 * Cells of a mask, edited by hand: what a pencil passes becomes interventions that do not contradict each other. No DOM.
 */

import { opensCells } from "./interventions.js";
import { REASONS } from "./taps.js";

/**
 * @import { Intervention } from "../state/run.js"
 */

/**
 * @typedef {keyof typeof REASONS} Reason
 * @typedef {"head"|"layer"|"all"} Scope  the open head, all heads of its layer, or all heads of all layers
 * @typedef {{query: number, key: number}} Cell
 * @typedef {{query?: number, key?: number}} Line  a cell, or without `key` a row, without `query` a column
 * @typedef {Object} Head  the open one, with its mask
 * @property {string} attention @property {number} layer @property {number} head
 * @property {string} first  the model's first attention: the one that an edit without a name is about
 * @property {[rows: number, cols: number]} shape
 * @property {Uint8Array} base  the reasons in a run without interventions, row after row
 */

/** The names of a set of reasons. @param {number} reasons @returns {Reason[]} */
export const reasonNames = (reasons) =>
  /** @type {Reason[]} */ (Object.keys(REASONS)).filter((name) => reasons & REASONS[name]);

const ALL = Object.values(REASONS).reduce((all, bit) => all | bit);

/** @param {Intervention} one  that allows */
const liftsOf = ({ lifts }) =>
  lifts ? lifts.reduce((/** @type {number} */ all, /** @type {Reason} */ name) => all | (REASONS[name] ?? 0), 0) : ALL;

/** Whether a field of an edit covers an index; an edit without the field covers all. @param {number|null|undefined} field @param {number|undefined} index */
const covers = (field, index) => (field ?? null) === null || field === index;

/** The edits of masks that reach a head. @param {Intervention[]} interventions @param {Pick<Head, "attention"|"first"|"layer"|"head">} of */
const reaching = (interventions, { attention, first, layer, head }) =>
  interventions.filter(
    ({ kind, where }) =>
      kind === "mask" &&
      (where.attention ?? first) === attention &&
      covers(where.layer, layer) &&
      covers(where.head, head),
  );

/** @param {Head} head @param {Cell} cell */
const baseAt = ({ base, shape }, { query, key }) => base[query * shape[1] + key];

/** The reasons of a cell after these edits, in their order. @param {number} reasons @param {Intervention[]} edits @param {Cell} cell */
const after = (reasons, edits, { query, key }) =>
  edits
    .filter(({ where }) => covers(where.query, query) && covers(where.key, key))
    .reduce((now, one) => (one.allow ? now & ~liftsOf(one) : now | REASONS.edited), reasons);

/** The cells of a line that a matrix has. @param {any} line  or an edit's `where` @param {Head["shape"]} shape @returns {Cell[]} */
function cellsOf({ query, key }, [rows, cols]) {
  const all = (/** @type {number|null|undefined} */ one, /** @type {number} */ n) =>
    typeof one !== "number" ? Array.from({ length: n }, (_, i) => i) : [one].filter((i) => i < n);
  return all(query, rows).flatMap((row) => all(key, cols).map((col) => ({ query: row, key: col })));
}

/**
 * The reasons without interventions, from the mask of a run with them. What an edit lifted comes back where the run's
 * own masks have it.
 * @param {Uint8Array} mask @param {Intervention[]} interventions  of the run @param {Omit<Head, "base">} head
 * @param {(query: number, key: number) => number} usual  causal mask and padding @returns {Head["base"]}
 */
export function baseUnder(mask, interventions, head, usual) {
  const base = mask.map((reasons) => reasons & ~REASONS.edited);
  for (const one of reaching(interventions, head).filter(({ allow }) => allow))
    for (const { query, key } of cellsOf(one.where, head.shape)) {
      const lifted = one.lifts ? liftsOf(one) & (usual(query, key) | REASONS.window) : usual(query, key);
      base[query * head.shape[1] + key] |= lifted;
    }
  return base;
}

/** The mask of the open head under other interventions. @param {Head} head @param {Intervention[]} interventions @returns {Uint8Array} */
export function maskUnder(head, interventions) {
  const mask = head.base.slice();
  for (const one of reaching(interventions, head))
    for (const { query, key } of cellsOf(one.where, head.shape)) {
      const at = query * head.shape[1] + key;
      mask[at] = one.allow ? mask[at] & ~liftsOf(one) : mask[at] | REASONS.edited;
    }
  return mask;
}

/**
 * The cells that an edit of single cells, rows or columns allows, although they would be forbidden; null: none.
 * @param {Uint8Array} mask  now @param {Intervention[]} interventions @param {Omit<Head, "base">} head @returns {Uint8Array|null}
 */
export function openedIn(mask, interventions, head) {
  const allowing = reaching(interventions, head).filter(opensCells);
  if (!allowing.length) return null;
  const opened = new Uint8Array(mask.length);
  for (const { where } of allowing)
    for (const { query, key } of cellsOf(where, head.shape)) {
      const at = query * head.shape[1] + key;
      if (mask[at] === 0) opened[at] = 1;
    }
  return opened;
}

/** Where a cell is hidden by hand, in the order of how far that reaches. */
export const HIDDEN_IN = { head: 1, layer: 2, all: 3 };

/**
 * Of each cell that is hidden by hand, the widest place in which it is: one of HIDDEN_IN; of others 0.
 * @param {Uint8Array} mask  of the open head @param {Intervention[]} interventions @param {Omit<Head, "base"> & {layers: number}} head  `layers`: of its attention
 * @returns {Uint8Array}
 */
export function placesHidden(mask, interventions, { attention, first, layer, shape, layers }) {
  const wide = interventions.filter(
    ({ kind, allow, where }) =>
      kind === "mask" && !allow && (where.attention ?? first) === attention && (where.head ?? null) === null,
  );
  return mask.map((reasons, at) => {
    if (!(reasons & REASONS.edited)) return 0;
    const [query, key] = [Math.floor(at / shape[1]), at % shape[1]];
    const over = wide.filter(({ where }) => covers(where.query, query) && covers(where.key, key));
    const isIn = (/** @type {number} */ one) => over.some(({ where }) => covers(where.layer, one));
    if (!isIn(layer)) return HIDDEN_IN.head;
    const all = Array.from({ length: layers }, (_, one) => one).every(isIn);
    return all && layers > 1 ? HIDDEN_IN.all : HIDDEN_IN.layer;
  });
}

/**
 * What a click on a line does: a line with an allowed cell is forbidden, another is allowed. A row that was hidden by
 * hand is only shown again: its later keys stay forbidden.
 * @param {Head} head @param {Intervention[]} interventions @param {Line} line
 * @returns {{allow: boolean, cells: Cell[]}}
 */
export function flipped(head, interventions, line) {
  const edits = reaching(interventions, head);
  const all = cellsOf(line, head.shape);
  const reasons = all.map((cell) => after(baseAt(head, cell), edits, cell));
  if (reasons.some((one) => one === 0)) return { allow: false, cells: all.filter((_, i) => reasons[i] === 0) };
  const byHand = all.filter((cell, i) => reasons[i] === REASONS.edited);
  return { allow: true, cells: byHand.length ? byHand : all };
}

/**
 * The interventions after a line of cells was forbidden or allowed: without what the new edit overrules, and without
 * the edit itself where the cells are so already.
 * @param {Head} head @param {Intervention[]} interventions
 * @param {{scope: Scope, allow: boolean, line: Line, cells: Cell[]}} edit  `cells`: those of the line that it is about
 * @returns {Intervention[]}
 */
export function editedLine(head, interventions, { scope, allow, line, cells }) {
  const where = {
    attention: head.attention,
    layer: scope === "all" ? null : head.layer,
    role: "mask",
    ...(scope === "head" && { head: head.head }),
    ...line,
  };
  const kept = interventions.filter((one) => !overrules(where, allow, one, head.first));
  const places = placesIn(head, kept, scope).map((place) => reaching(kept, place));
  let lifts = 0;
  let done = true;
  for (const edits of places)
    for (const cell of cells) {
      const reasons = after(baseAt(head, cell), edits, cell);
      lifts |= reasons;
      done &&= (reasons === 0) === allow;
    }
  if (done) return kept;
  return [...kept, { kind: "mask", where, allow, ...(allow && { lifts: reasonNames(lifts) }) }];
}

/** Whether a new edit at `where` makes an earlier one superfluous. @param {any} where @param {boolean} allow @param {Intervention} one @param {string} first */
function overrules(where, allow, one, first) {
  if (one.kind !== "mask" || (one.where.attention ?? first) !== where.attention) return false;
  const names = ["layer", "head", "query", "key"];
  const within = names.every((name) => covers(where[name], one.where[name] ?? undefined));
  const same = within && names.every((name) => covers(one.where[name], where[name] ?? undefined));
  return within && (same || !allow || !one.allow);
}

/**
 * Heads that differ in their edits, within a scope: those that edits name, and any other one (−1).
 * @param {Head} head @param {Intervention[]} interventions @param {Scope} scope
 */
function placesIn({ attention, first, layer, head }, interventions, scope) {
  const masks = interventions.filter(({ kind }) => kind === "mask");
  const named = (/** @type {string} */ name) => masks.map(({ where }) => where[name] ?? -1);
  const layers = scope === "all" ? [...new Set([layer, -1, ...named("layer")])] : [layer];
  const heads = scope === "head" ? [head] : [...new Set([head, -1, ...named("head")])];
  return layers.flatMap((one) => heads.map((other) => ({ attention, first, layer: one, head: other })));
}

/** So few cells stay cells, also where they are a whole row. */
const FEW = 2;

/**
 * The interventions after a pencil passed these cells. Cells that are all the allowed ones (or all the forbidden ones) of
 * a row or column are one edit.
 * @param {Head} head @param {Intervention[]} interventions @param {{scope: Scope, allow: boolean, cells: Cell[]}} stroke
 * @returns {Intervention[]}
 */
export function edited(head, interventions, { scope, allow, cells }) {
  const edits = reaching(interventions, head);
  const reasonsOf = (/** @type {Cell} */ cell) => after(baseAt(head, cell), edits, cell);
  let left = cells.filter((cell) => (reasonsOf(cell) === 0) !== allow);
  let all = interventions;
  for (const name of /** @type {const} */ (["query", "key"]))
    for (const index of new Set(left.map((cell) => cell[name]))) {
      const own = left.filter((cell) => cell[name] === index);
      const line = { [name]: index };
      const due = cellsOf(line, head.shape).filter((cell) => (reasonsOf(cell) === 0) !== allow);
      if (own.length < due.length || own.length <= FEW) continue;
      all = editedLine(head, all, { scope, allow, line, cells: own });
      left = left.filter((cell) => !own.includes(cell));
    }
  for (const cell of left) all = editedLine(head, all, { scope, allow, line: cell, cells: [cell] });
  return all;
}

/**
 * A row's weights with its hidden cells set to 0 after the softmax, where the mask sets their scores to −∞ before it: what is left adds up to
 * `sum`, less than 1, and `renormalised` is divided by that. Null: no cell is hidden by an edit alone.
 * @param {ArrayLike<number>} scores @param {ArrayLike<number>} reasons  of the row, key by key
 * @returns {{weights: number[], sum: number, renormalised: number[]}|null}
 */
export function zeroAfter(scores, reasons) {
  const why = Array.from(reasons);
  if (!why.includes(REASONS.edited)) return null;
  const open = why.map((one, i) => (one === 0 || one === REASONS.edited ? scores[i] : -Infinity));
  const most = Math.max(...open);
  const exps = open.map((score) => Math.exp(score - most));
  const whole = exps.reduce((total, one) => total + one, 0);
  const weights = exps.map((one, i) => (why[i] === REASONS.edited ? 0 : one / whole));
  const sum = weights.reduce((total, one) => total + one, 0);
  return { weights, sum, renormalised: weights.map((one) => (sum === 0 ? 0 : one / sum)) };
}
