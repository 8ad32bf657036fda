/** From the name of a tensor back to its place in the model: the inverse of description.js. No DOM. */

import { attentionOf, attentionsOf, has, stacksOf, tapOf } from "./description.js";
import { memo } from "./memo.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Attention, Model, Stack, Sublayer } from "./description.js"
 */

/** The reasons that a mask holds, bit by bit (model/masks.py); 0: the query may attend to the key. */
export const REASONS = { causal: 1, padding: 2, window: 4, edited: 8 };

// What a view needs, by role: the roles its attention must have, and their tensors. No DOM.

/** @typedef {Pick<State, "attention"|"layer">} Open */

/** The needs of taps of the run. @param {...string} taps */
export const tensorNeeds = (...taps) => taps.map((tap) => `tensor:${tap}`);

/** The needs of parameters; null or undefined: the model has none. @param {...(string|null|undefined)} names */
export const parameterNeeds = (...names) => names.filter(Boolean).map((name) => `weight:${name}`);

/** Some columns of a parameter, by a name of their own: "a.weight[:,8:16]". @param {string} name @param {number} from @param {number} to */
export const columnsOf = (name, from, to) => `${name}[:,${from}:${to}]`;

/** The parameter and the columns that such a name means; null: it means a whole parameter. @param {string} name @returns {{name: string, columns: number[]}|null} */
export function partNamed(name) {
  const found = /^(.+)\[:,(\d+):(\d+)\]$/.exec(name);
  if (!found) return null;
  const [from, to] = [Number(found[2]), Number(found[3])];
  return { name: found[1], columns: Array.from({ length: to - from }, (_, i) => from + i) };
}

/** Whether the open attention has all of these roles. @param {string[]} roles @param {Model} model @param {Open} state */
export function hasRoles(roles, model, { attention }) {
  const open = attentionOf(model, attention);
  return roles.every((role) => has(open, role));
}

/** "role:z" is the open attention's tensor in the open layer: "tensor:<its name>". @param {string} need @param {Open} state @param {Model} model */
export function named(need, { attention, layer }, model) {
  const [kind, role] = need.split(":");
  return kind === "role" ? `tensor:${tapOf(attentionOf(model, attention), layer, role)}` : need;
}

/**
 * @typedef {{attention: Attention, layer: number, role: string}} Part
 */

/** @param {Model} model @returns {[object]} */
const byDescription = ({ description }) => [description];

const partsByTap = memo((/** @type {Model} */ model) => {
  const parts = attentionsOf(model).flatMap((attention) =>
    Object.entries(attention.roles).flatMap(([role, { taps }]) =>
      taps.map((tap, layer) => /** @type {[string, Part]} */ ([tap, { attention, layer, role }])),
    ),
  );
  return new Map(parts);
}, byDescription);

/**
 * The attention, layer and role that a tensor belongs to; null for any other.
 * @param {Model} model @param {string} name @returns {Part|null}
 */
export const partOf = (model, name) => partsByTap(model).get(name) ?? null;

const stacksByTap = memo((/** @type {Model} */ model) => {
  const own = stacksOf(model).flatMap((stack) =>
    tapsOf(stack).map((tap) => /** @type {[string, Stack]} */ ([tap, stack])),
  );
  return new Map(own);
}, byDescription);

/** The tensors of a stack outside its attentions. @param {Stack} stack @returns {string[]} */
function tapsOf({ embedding, layers, final_norm: last, leaves }) {
  const within = layers
    .flatMap(({ sublayers }) => sublayers)
    .flatMap((one) => [
      ...[one.reads, one.writes, one.leaves, one.input, ...Object.values(one.norm?.roles ?? {})],
      ...(one.kind === "ffn" ? Object.values(one.roles) : []),
    ]);
  return [...Object.values(embedding.roles), ...within, ...Object.values(last?.roles ?? {}), leaves].map(
    ({ tap }) => tap,
  );
}

/** Whether a tensor belongs to a stack, outside its attentions. @param {Model} model @param {string} name */
export const isInStack = (model, name) => stacksByTap(model).has(name);

/** The most features that a position has in such a tensor. @param {Model} model */
export const widestOf = (model) =>
  Math.max(
    model.description.d_model,
    ...stacksOf(model).flatMap(({ layers }) =>
      layers.flatMap(({ sublayers }) => sublayers.map((one) => (one.kind === "ffn" ? one.d_ff : 0))),
    ),
  );

/** The side whose tokens are the positions of a tensor outside the attentions. @param {Model} model @param {string} name */
export const sideOfTap = (model, name) => stacksByTap(model).get(name)?.side ?? model.description.writes ?? "source";

/** The LayerNorms of a stack in order, each with its place; the final one has none. @param {Stack} stack */
export function normsOf({ layers, final_norm: last }) {
  const own = layers.flatMap(({ sublayers }, layer) =>
    sublayers.flatMap((sublayer) => (sublayer.norm ? [{ norm: sublayer.norm, layer, sublayer }] : [])),
  );
  return last ? [...own, { norm: last, layer: null, sublayer: null }] : own;
}
