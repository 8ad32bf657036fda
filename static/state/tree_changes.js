/** Changes of a tree of texts by hand, which can be undone: branches are pruned, named, folded, chosen, and grown elsewhere than shown. */

import { allFrom, bounded, changedNode, extended, kidsOf, nodeAt, wayTo } from "./text_tree.js";

/** @import { Change, TextNode, TextTree, Told, WritingRun } from "./text_tree.js" */

/** So many changes can be undone. */
const MOST_PAST = 20;

/** @param {TextTree} tree @param {Change} change @returns {TextTree} */
const noting = (tree, change) => ({ ...tree, past: [...tree.past, change].slice(-MOST_PAST) });

/** Without a node and all after it. A beginning stays. @param {TextTree} tree @param {number} at @returns {TextTree} */
export function pruned(tree, at) {
  if (nodeAt(tree, at).up < 0) return tree;
  const gone = new Set(allFrom(tree, at));
  const cut = /** @type {[number, TextNode][]} */ ([...gone].map((one) => [one, nodeAt(tree, one)]));
  const nodes = tree.nodes.map((node, one) => (gone.has(one) ? null : node));
  const tip = gone.has(tree.tip) ? nodeAt(tree, at).up : tree.tip;
  const pair = tree.pair.filter((one) => !gone.has(one));
  return noting({ ...tree, nodes, tip, pair }, { kind: "pruned", cut, tip: tree.tip });
}

/** @param {TextTree} tree @param {number} at @param {string} name  empty: none @returns {TextTree} */
export const renamed = (tree, at, name) =>
  noting(changedNode(tree, at, { name: name.trim() || undefined }), { kind: "changed", at, was: nodeAt(tree, at) });

/** @param {TextTree} tree @param {number} at @param {boolean} folds @returns {TextTree} */
export const folded = (tree, at, folds) => changedNode(tree, at, { folded: folds || undefined });

/** Of the chosen nodes, those that begin as this one does: another sentence has a choice that is not shown here. @param {TextTree} tree @param {number} at */
export const pairOf = (tree, at) => tree.pair.filter((one) => wayTo(tree, one)[0] === wayTo(tree, at)[0]);

/** With this node among the two that are compared, or without it if it was; a third takes the place of the second. @param {TextTree} tree @param {number} at @returns {TextTree} */
export function picked(tree, at) {
  const pair = pairOf(tree, at);
  return { ...tree, pair: pair.includes(at) ? pair.filter((one) => one !== at) : [...pair.slice(0, 1), at] };
}

/** The same, but what was chosen at the end of a text is at its end again, where that was written on. @param {TextTree} before @param {TextTree} tree @returns {TextTree} */
export function withPairAtEnds(before, tree) {
  const ends = before.pair.filter((at) => kidsOf(before)[at]?.length === 0);
  const pair = tree.pair.map((at) => {
    let end = at;
    for (let kids = kidsOf(tree)[end]; ends.includes(at) && kids.length === 1; kids = kidsOf(tree)[end]) [end] = kids;
    return end;
  });
  return pair.every((at, i) => at === tree.pair[i]) ? tree : { ...tree, pair };
}

/**
 * The tree with texts that are not shown: each as it is written, after `from`. What they add is undone at once.
 * @typedef {{ids: number[], nPrompt: number}} Text
 * @param {TextTree} tree @param {WritingRun} run @param {Text} from @param {{ids: number[], told: Told}[]} texts  `told`: of the last token
 * @param {Text} [shown]  another text, if the reader went to it meanwhile
 */
export function grownBy(tree, run, from, texts, shown = from) {
  const last = tree.past.at(-1);
  const goesOn = last?.kind === "grown" && last.to === tree.nodes.length;
  const given = () => /** @type {const} */ ({ how: "given" });
  const { tree: now } = extended(tree, run, shown, given);
  let { tree: next } = extended(now, run, from, given);
  for (const { ids, told } of texts) {
    const tell = (/** @type {number} */ index) => (index === ids.length - 1 ? told : given());
    ({ tree: next } = extended(next, run, { ids, nPrompt: from.nPrompt }, tell, true));
  }
  const change = {
    kind: /** @type {const} */ ("grown"),
    from: goesOn ? last.from : tree.nodes.length,
    to: next.nodes.length,
  };
  return noting(bounded({ ...next, tip: now.tip, past: goesOn ? next.past.slice(0, -1) : next.past }), change);
}

/** Without the nodes of a change, except those that lead to the shown text or to later ones. @param {TextTree} tree @param {{from: number, to: number}} grown @returns {TextTree} */
function withoutFrom(tree, { from, to }) {
  const stays = new Set(tree.nodes.flatMap((node, at) => (node && (at < from || at >= to) ? wayTo(tree, at) : [])));
  for (const at of tree.tip < 0 ? [] : wayTo(tree, tree.tip)) stays.add(at);
  return {
    ...tree,
    nodes: tree.nodes.map((node, at) => (stays.has(at) ? node : null)),
    pair: tree.pair.filter((at) => stays.has(at)),
  };
}

/** As before the last change by hand; what was written since stays. @param {TextTree} tree @returns {TextTree} */
export function undone(tree) {
  const last = tree.past.at(-1);
  if (!last) return tree;
  const past = tree.past.slice(0, -1);
  if (last.kind === "grown") return { ...withoutFrom(tree, last), past };
  if (last.kind === "changed") return { ...changedNode(tree, last.at, { name: last.was.name }), past };
  const nodes = [...tree.nodes];
  for (const [at, node] of last.cut) nodes[at] = node;
  return bounded({ ...tree, nodes, past, tip: last.tip });
}
