/**
 * The edits of a run as the reader made them: those that are applied and those that are set aside (`state.paused`), in one order;
 * heads that are switched off; and which edits are said together. No DOM.
 */

import { attentionOf, attentionsOf } from "./description.js";
import { edgeKey, knockoutsOf, openedLayers } from "./interventions.js";

/**
 * @import { Intervention } from "../state/run.js"
 * @import { State } from "../state/store.js"
 * @import { Attention } from "./description.js"
 * @import { Edge } from "./interventions.js"
 */

/**
 * @typedef {{at: number, edit: Intervention}} Paused  an edit that is set aside; `at`: its place among all edits
 * @typedef {{edit: Intervention, on: boolean}} Edit
 * @typedef {Pick<State, "interventions"|"paused">} Edited
 */

/** Every edit in its place. @param {Edited} state @returns {Edit[]} */
export function editsOf({ interventions, paused }) {
  const left = [...paused].sort((a, b) => a.at - b.at);
  /** @type {Edit[]} */
  const all = [];
  for (const edit of interventions) {
    while (left.length && left[0].at <= all.length) all.push({ edit: left[0].edit, on: !left.shift() });
    all.push({ edit, on: true });
  }
  return [...all, ...left.map(({ edit }) => ({ edit, on: false }))];
}

/** The change that leaves these edits. @param {Edit[]} edits @returns {Edited} */
export const withEdits = (edits) => ({
  interventions: edits.filter(({ on }) => on).map(({ edit }) => edit),
  paused: edits.flatMap(({ edit, on }, at) => (on ? [] : { at, edit })),
});

/** Those edits applied, or set aside. @param {Edited} state @param {Iterable<number>} which @param {boolean} on */
export function switched(state, which, on) {
  const chosen = new Set(which);
  return withEdits(editsOf(state).map((one, i) => (chosen.has(i) ? { ...one, on } : one)));
}

/** Without those edits. @param {Edited} state @param {Iterable<number>} which */
export function without(state, which) {
  const chosen = new Set(which);
  return withEdits(editsOf(state).filter((_, i) => !chosen.has(i)));
}

/**
 * An edit made, or taken back; if it was set aside, applied again.
 * @param {Edited} state @param {(edit: Edit) => boolean} isOf  whether an edit is this one @param {Intervention} made
 */
export function toggledBy(state, isOf, made) {
  const edits = editsOf(state);
  const known = edits.filter(isOf);
  if (!known.length) return withEdits([...edits, { edit: made, on: true }]);
  if (known.some(({ on }) => on)) return withEdits(edits.filter((one) => !isOf(one)));
  return withEdits(edits.map((one) => (isOf(one) ? { ...one, on: true } : one)));
}

// A head that is off: its output z is 0 before W_O, so it writes nothing.

/** @typedef {{attention: string, layer: number, head: number}} Head */

/** Whether its heads can be switched off: each has a separate output. @param {Attention} attention */
export const hasHeads = ({ roles }) => roles.z?.dims.split(" ")[0] === "head";

/** @param {Head} head @returns {Intervention} */
const offOf = ({ attention, layer, head }) => ({ kind: "ablate", where: { attention, layer, role: "z", head } });

/** @param {Intervention} one */
const isOff = ({ kind, where, to }) =>
  kind === "ablate" && to !== "mean" && (where.role ?? "z") === "z" && Number.isInteger(where.head);

/** What identifies a head. @param {Head} head */
export const headKey = ({ attention, layer, head }) => `${attention} ${layer} ${head}`;

/** The head that an intervention switches off. @param {Intervention} one @param {Attention[]} attentions @returns {Head|null} */
function headOff(one, attentions) {
  const { attention, layer, head } = one.where;
  return isOff(one) ? { attention: attention ?? attentions[0]?.id, layer, head } : null;
}

/** The heads that are off, in the order of the edits. @param {Intervention[]} interventions @param {Attention[]} attentions  of the model @returns {Head[]} */
export const headsOff = (interventions, attentions) =>
  interventions.map((one) => headOff(one, attentions)).filter((head) => head !== null);

/** Whether the open head is off. @param {Pick<State, "interventions"|"layer"|"head">} state @param {{attentions: Attention[], attention: Attention}} trace */
export const isOpenHeadOff = ({ interventions, layer, head }, { attentions, attention: { id: attention } }) =>
  headsOff(interventions, attentions).some((one) => headKey(one) === headKey({ attention, layer, head }));

/** The heads that an edit other than that names, such as a connection hidden in one head. @param {Intervention[]} interventions @param {Attention[]} attentions  of the model @returns {Head[]} */
export const headsEdited = (interventions, attentions) =>
  withoutHeadsOff(interventions).flatMap(({ where: { attention, layer, head } }) =>
    Number.isInteger(head) && Number.isInteger(layer) ? { attention: attention ?? attentions[0]?.id, layer, head } : [],
  );

/** The interventions that switch no head off. @param {Intervention[]} interventions */
export const withoutHeadsOff = (interventions) => interventions.filter((one) => !isOff(one));

/** A head off, or on again. @param {Edited} state @param {Head} head @param {Attention[]} attentions */
export const headToggled = (state, head, attentions) =>
  toggledBy(state, ({ edit }) => keyOf(edit, attentions) === headKey(head), offOf(head));

/** @param {Intervention} one @param {Attention[]} attentions */
function keyOf(one, attentions) {
  const head = headOff(one, attentions);
  return head && headKey(head);
}

/** All other heads of its layer off; if they are already, all on. @param {Edited} state @param {Head} head @param {Attention[]} attentions */
export function onlyHead(state, head, attentions) {
  const { attention, layer } = head;
  const inLayer = (/** @type {Head|null} */ one) => one?.attention === attention && one.layer === layer;
  const stays = (/** @type {Edit} */ { edit, on }) => {
    const one = headOff(edit, attentions);
    return !inLayer(one) || (!on && one?.head === head.head);
  };
  const rest = editsOf(state).filter(stays);
  if (isOnly(headsOff(state.interventions, attentions).filter(inLayer), head, attentions)) return withEdits(rest);
  const others = othersOf(head, attentions).map((one) => ({ edit: offOf(one), on: true }));
  return withEdits([...rest, ...others]);
}

/** The other heads of its layer. @param {Head} head @param {Attention[]} attentions @returns {Head[]} */
function othersOf(head, attentions) {
  const count = attentions.find(({ id }) => id === head.attention)?.n_head ?? 0;
  const all = Array.from({ length: count }, (_, n) => ({ ...head, head: n }));
  return all.filter((one) => one.head !== head.head);
}

/** Whether of a layer's heads all but this one are off. @param {Head[]} off  those of its layer @param {Head} head @param {Attention[]} attentions */
function isOnly(off, head, attentions) {
  const keys = new Set(off.map(headKey));
  const others = othersOf(head, attentions);
  return !keys.has(headKey(head)) && others.length > 0 && others.every((one) => keys.has(headKey(one)));
}

// What is said together, as one chip: told from the edits alone, so that a link brings the same chips.

/**
 * @typedef {{on: boolean, edits: number[]} & (
 *   {kind: "edge", edge: Edge, layers: number, all: boolean} | {kind: "edges", edge: Edge, layers: number, all: boolean, queries: number[], keys: number[], n: number} |
 *   {kind: "head"|"only"|"heads"|"all_heads", head: Head, n: number} |
 *   {kind: "other", edit: Intervention})} Group  `edits`: their places among all edits; `head`: of several the
 * first, `n`: how many are off; `layers`: in how many an edge is hidden, `all`: in every one; `queries`, `keys`: of several edges in one
 * place, which `n` counts
 */

/** More hidden connections than this are said row by row, and more heads of a layer by their number. */
const [MOST_EDGES, MOST_HEADS] = [3, 2];

/** What the line of edits lists. Whole layers without their causal mask are said by its switch. @param {Edited} state @param {any} model @returns {Group[]} */
export function groupsOf(state, model) {
  const attentions = attentionsOf(model);
  const opened = openedLayers(state, model);
  /** @type {Map<string, Found[]>} */
  const together = new Map();
  editsOf(state).forEach(({ edit, on }, at) => {
    if (opened.includes(edit)) return;
    const found = { at, on, edit, ...readAs(edit, attentions) };
    const name = `${on} ${found.name || at}`;
    together.set(name, [...(together.get(name) ?? []), found]);
  });
  const groups = [...together.values()].flatMap((found) => groupOf(found, model));
  return [true, false].reduce(byRow, groups);
}

/** The head that alone stays on in its layer, where nothing but its neighbours is off; null: there is none. @param {State["interventions"]} interventions @param {any} model @returns {Head|null} */
export function onlyOn(interventions, model) {
  const off = groupsOf({ interventions, paused: [] }, model).filter((one) => "head" in one);
  return off.length === 1 && off[0].kind === "only" ? off[0].head : null;
}

/** How many edits they are: a connection is one, in however many layers, and so is each head that is off. @param {Group[]} groups */
export const countOf = (groups) =>
  groups.reduce((sum, one) => sum + (one.kind === "edges" || one.kind === "heads" ? one.n : 1), 0);

/** @typedef {{at: number, on: boolean, edit: Intervention, name: string, edge?: Edge, head?: Head}} Found */

/** What an edit is, and the name of what is said with it; "": nothing. @param {Intervention} edit @param {Attention[]} attentions */
function readAs(edit, attentions) {
  const head = headOff(edit, attentions);
  if (head) return { name: `heads ${head.attention} ${head.layer}`, head };
  const [edge] = knockoutsOf([edit], attentions);
  if (!edge) return { name: "" };
  const name = edge.head === undefined ? edgeKey({ ...edge, layer: 0 }) : `one ${edgeKey(edge)}`;
  return { name: `edge ${name}`, edge };
}

/** @param {Found[]} found @param {any} model @returns {Group[]} */
function groupOf(found, model) {
  const [{ on, edit, edge, head }] = found;
  const edits = found.map(({ at }) => at);
  if (edge) {
    const attentions = attentionsOf(model);
    const within = found.flatMap((one) => knockoutsOf([one.edit], attentions).map(({ layer }) => layer));
    const layers = new Set(within).size; // an edit may be in all of them
    return [
      {
        kind: "edge",
        on,
        edits,
        edge,
        layers,
        all: layers > 1 && layers === attentionOf(model, edge.attention).n_layer,
      },
    ];
  }
  if (!head) return [{ kind: "other", on, edits, edit }];
  const { attention, layer } = head;
  const off = found.flatMap((one) => one.head ?? []);
  const { n_head: count } = attentionOf(model, attention);
  const kept = Array.from({ length: count }, (_, n) => n).find((n) => off.every((one) => one.head !== n));
  const n = off.length;
  if (kept === undefined && count > 1) return [{ kind: "all_heads", on, edits, head, n }];
  if (kept !== undefined && count > 2 && n === count - 1)
    return [{ kind: "only", on, edits, head: { attention, layer, head: kept }, n }];
  if (n > MOST_HEADS) return [{ kind: "heads", on, edits, head, n }];
  return off.map((one, i) => ({ kind: "head", on, edits: [edits[i]], head: one, n: 1 }));
}

/** @typedef {Group & {kind: "edge"}} EdgeGroup */

/**
 * Of many hidden connections, those of one row and one place are one line: what a stroke of the pencil hides. Where more rows than
 * columns are hidden, those of one column.
 * @param {Group[]} groups @param {boolean} on @returns {Group[]}
 */
function byRow(groups, on) {
  const isOf = (/** @type {Group} */ one) => one.kind === "edge" && one.on === on;
  const edges = /** @type {EdgeGroup[]} */ (groups.filter(isOf));
  if (edges.length <= MOST_EDGES) return groups;
  const lines = gathered(edges, placeOf).flatMap((found) => {
    const [queries, keys] = ENDS.map((end) => gathered(found, ({ edge }) => edge[end]));
    return queries.length > keys.length ? keys : queries;
  });
  const first = new Map(lines.map((found) => [found[0], lineOf(found)]));
  return groups.flatMap((one) => (isOf(one) ? (first.get(/** @type {EdgeGroup} */ (one)) ?? []) : one));
}

const ENDS = /** @type {const} */ (["query", "key"]);

/** Where an edge is hidden. @param {EdgeGroup} group */
const placeOf = ({ edge: { attention, layer, head }, layers, all }) =>
  [attention, head ?? "", all ? "all" : layers > 1 ? `of ${layers}` : layer].join(" ");

/** @template T @param {T[]} all @param {(one: T) => unknown} by @returns {T[][]} */
function gathered(all, by) {
  const found = new Map();
  for (const one of all) found.set(by(one), [...(found.get(by(one)) ?? []), one]);
  return [...found.values()];
}

/** @param {EdgeGroup[]} found @returns {Group} */
function lineOf(found) {
  const [first] = found;
  if (found.length === 1) return first;
  const [queries, keys] = ENDS.map((end) => [...new Set(found.map(({ edge }) => edge[end]))]);
  return { ...first, kind: "edges", edits: found.flatMap(({ edits }) => edits), queries, keys, n: found.length };
}
