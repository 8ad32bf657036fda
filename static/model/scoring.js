/**
 * What the scores of an attention are made of, where the page can say it: q·k/√d; q and k turned by their positions; q·k/√d
 * plus a part for the distance, which its values then have, too (Shaw et al. 2018, equations 3 and 4). No DOM.
 */

import { parameterOf, tapOf } from "./description.js";
import { headOf } from "./identities.js";
import { cellIn, rowIn } from "./matrix.js";
import { biasRole, divisorOf, hasDistance, multiplied } from "./mechanism_needs.js";

/**
 * @import { Detail, ModelTrace } from "../data/model_trace.js"
 * @import { Matrix } from "./matrix.js"
 */

/**
 * @typedef {Object} Scoring  of the open head
 * @property {Matrix} q  what the scores multiply
 * @property {Matrix} k
 * @property {Matrix} v
 * @property {{rows: Matrix, keys: Matrix, values: Matrix}|null} distance  the row of each pair in the tables, and these
 * @property {Matrix|null} [bias]  what positions alone add to each score
 * @property {number} [divisor]  what products are divided by; by default √d
 */

/** @param {ModelTrace} trace @returns {Scoring} */
export function scoringOf({ attention, detail, tensor, weight }) {
  const { layer, head, q, k, v } = /** @type {Detail} */ (detail);
  const own = (/** @type {string} */ role) =>
    headOf(tensor(tapOf(attention, layer, role)), head, attention.n_head, attention.roles[role].dims);
  const table = (/** @type {string} */ role) => /** @type {any} */ (weight(parameterOf(attention, layer, role) ?? ""));
  const [one, other] = multiplied(attention) ?? [];
  const distance = hasDistance(attention)
    ? { rows: own("distance"), keys: table("table_k"), values: table("table_v") }
    : null;
  const added = biasRole(attention);
  return {
    q: one === "q" ? q : own(one),
    k: other === "k" ? k : own(other),
    v,
    distance,
    bias: added === null ? null : /** @type {any} */ (detail)[added],
    divisor: divisorOf(attention),
  };
}

/** The learned vector of the distance between a query and a key. @param {NonNullable<Scoring["distance"]>} distance @param {"keys"|"values"} table @param {number} query @param {number} key */
export const vectorOf = (distance, table, query, key) => rowIn(distance[table], cellIn(distance.rows, query, key));

/** @type {WeakMap<ArrayLike<number>, Map<string, Matrix>>} */
const made = new WeakMap();

/**
 * What each key passes on to this query: v, plus the vector of their distance.
 * @param {Pick<Scoring, "v"|"distance">} scoring @param {number} query @returns {Matrix} [key d_head], the same for the same query
 */
export function valuesFor({ v, distance }, query) {
  if (!distance) return v;
  const known = made.get(v.data) ?? new Map();
  made.set(v.data, known);
  const name = String(query);
  if (!known.has(name))
    known.set(
      name,
      shifted(v, (key) => vectorOf(distance, "values", query, key)),
    );
  return /** @type {Matrix} */ (known.get(name));
}

/** @param {Matrix} v @param {(key: number) => ArrayLike<number>} vector @returns {Matrix} */
function shifted({ shape, data }, vector) {
  const [rows, cols] = shape;
  const out = new Float32Array(rows * cols);
  for (let key = 0; key < rows; key++) {
    const more = vector(key);
    for (let d = 0; d < cols; d++) out[key * cols + d] = data[key * cols + d] + more[d];
  }
  return { shape, data: out };
}
