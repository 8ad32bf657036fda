/**
 * A tree of texts: what was written after a sentence, and every other way that was tried. A value: each change makes another tree.
 * A node is known by its run and its ids, all tokens up to and including its own.
 */

/**
 * @import { Field } from "./fields.js"
 * @import { Intervention } from "./run.js"
 */

/**
 * @typedef {{model: string|null, text: string, causal?: boolean, interventions?: Intervention[]}} WritingRun  `text`: the sentence
 *   that was typed, or that is translated
 * @typedef {"prompt"|"edited"|"given"|"greedy"|"drawn"|"taken"|"typed"} How  "given": it came with a link; "edited": no token, but
 *   another run from here
 * @typedef {Object} TextNode
 * @property {number} up  the node before it; -1: it begins a text
 * @property {number} run  an index of `runs`
 * @property {number[]} ids  its own: of a beginning the whole prompt, none if it was edited, otherwise one
 * @property {How} how
 * @property {number} [p]  the model's probability of it @property {number} [after]  with the sampling settings
 * @property {number} [u]  the number in [0, 1) that drew it @property {number} [seed]
 * @property {number} [settings]  an index of `settings`
 * @property {string} [name] @property {true} [folded]
 * @typedef {Object<string, any>} Word  a token's label, without its id
 * @typedef {{kind: "pruned", cut: [number, TextNode][], tip: number}|{kind: "grown", from: number, to: number}|{kind: "changed", at: number, was: TextNode}} Change
 * @typedef {Object} TextTree
 * @property {WritingRun[]} runs @property {Object<string, number>[]} settings @property {Object<string, Word>} words  by id
 * @property {(TextNode|null)[]} nodes  null: it was pruned, so that the others keep their places
 * @property {number} tip  the end of the shown line, which goes on after what Back undid; -1: nothing was written yet
 * @property {number[]} pair  the nodes that are compared: none, one or two
 * @property {Change[]} past  what can be undone, the newest last
 * @typedef {Pick<TextNode, "how"|"p"|"after"|"u"|"seed"> & {settings?: Object<string, number>, word?: Word & {id: number}}} Told  of a
 *   new node
 */

/** @type {TextTree} */
export const NO_TREE = Object.freeze({ runs: [], settings: [], words: {}, nodes: [], tip: -1, pair: [], past: [] });

/** So many nodes are kept, or as many as the shown line has. */
export const MOST_NODES = 600;
/** No model writes more tokens, as `MAX_IDS` in app/api/run.py. */
export const LONGEST_LINE = 65_536;

/** @type {WeakMap<TextTree, number[][]>} */
const kidsKnown = new WeakMap();

/** The nodes after each node, the oldest first. @param {TextTree} tree @returns {number[][]} */
export function kidsOf(tree) {
  const known = kidsKnown.get(tree);
  if (known) return known;
  const kids = /** @type {number[][]} */ (tree.nodes.map(() => []));
  tree.nodes.forEach((node, at) => node && node.up >= 0 && kids[node.up].push(at));
  kidsKnown.set(tree, kids);
  return kids;
}

/** @param {TextTree} tree @param {number} at @returns {TextNode} */
export const nodeAt = ({ nodes }, at) => /** @type {TextNode} */ (nodes[at]);

/** The nodes from the beginning to this one. @param {TextTree} tree @param {number} at @returns {number[]} */
export function wayTo(tree, at) {
  const way = [];
  for (let one = at; one >= 0; one = nodeAt(tree, one).up) way.push(one);
  return way.reverse();
}

/** The text at a node: all ids, and how many of them are the prompt. @param {TextTree} tree @param {number} at */
export function textAt(tree, at) {
  const way = wayTo(tree, at).map((one) => nodeAt(tree, one));
  const wrote = way.findIndex(({ up, how }) => up >= 0 && how !== "prompt" && how !== "edited");
  const prompt = wrote < 0 ? way : way.slice(0, wrote);
  return { ids: way.flatMap(({ ids }) => ids), nPrompt: prompt.flatMap(({ ids }) => ids).length };
}

/**
 * Where two texts part: the first token of each that the other does not have there; and how likely all is that was written in each.
 * Null: one begins the other, or a probability is unknown.
 * @param {TextTree} tree @param {number} a @param {number} b
 * @returns {{id: number, p: number, all: number}[]|null}
 */
export function partedAt(tree, a, b) {
  const ways = [a, b].map((at) =>
    wayTo(tree, at)
      .map((one) => nodeAt(tree, one))
      .filter(({ up, how }) => up >= 0 && how !== "prompt" && how !== "edited"),
  );
  const fork = ways[0].findIndex(({ ids: [id] }, i) => id !== ways[1][i]?.ids[0]);
  if (fork < 0 || !ways[1][fork] || ways.flat().some(({ p }) => p === undefined)) return null;
  return ways.map((way) => ({
    id: way[fork].ids[0],
    p: /** @type {number} */ (way[fork].p),
    all: way.reduce((product, { p }) => product * /** @type {number} */ (p), 1),
  }));
}

/** A node and all after it, each after the one before it. @param {TextTree} tree @param {number} at @returns {number[]} */
export function allFrom(tree, at) {
  const all = /** @type {number[]} */ ([]);
  for (const left = [at]; left.length > 0; ) {
    const one = /** @type {number} */ (left.pop()); // no recursion: a line may have thousands of tokens
    all.push(one);
    left.push(...kidsOf(tree)[one].toReversed());
  }
  return all;
}

/** @param {WritingRun} a @param {WritingRun} b */
export const sameRun = (a, b) => JSON.stringify(a) === JSON.stringify(b);
/** @param {WritingRun} a @param {WritingRun} b */
export const sameSentence = (a, b) => a.model === b.model && a.text === b.text;

/** How many ids two texts begin with in common. @param {number[]} a @param {number[]} b */
function shared(a, b) {
  const apart = a.findIndex((id, i) => id !== b[i]);
  return apart < 0 ? a.length : apart;
}

/** @param {TextTree} tree @param {WritingRun} run  of which sentence @returns {number[]} */
const beginnings = (tree, run) =>
  tree.nodes.flatMap((node, at) => (node?.up === -1 && sameSentence(tree.runs[node.run], run) ? [at] : []));

/**
 * The nodes whose text begins these ids, under any run, and how long each is; the longest first, of equal ones those under `run`.
 * @param {TextTree} tree @param {WritingRun} run @param {number[]} ids @returns {{at: number, length: number, same: boolean}[]}
 */
function along(tree, run, ids) {
  const kids = kidsOf(tree);
  const found = /** @type {{at: number, length: number, same: boolean}[]} */ ([]);
  const left = beginnings(tree, run).map((at) => ({ at, before: 0 }));
  for (let one = left.pop(); one; one = left.pop()) {
    const { at, before } = one;
    const { ids: own, run: under } = nodeAt(tree, at);
    if (own.some((id, i) => id !== ids[before + i])) continue;
    const length = before + own.length;
    found.push({ at, length, same: sameRun(tree.runs[under], run) });
    for (const kid of kids[at]) left.push({ at: kid, before: length });
  }
  return found.sort((a, b) => b.length - a.length || Number(b.same) - Number(a.same) || a.at - b.at);
}

/** The node with this text: under this run or, if it was not written under it, any other. @param {TextTree} tree @param {WritingRun} run @param {number[]} ids @returns {number} -1: there is none */
export const find = (tree, run, ids) => along(tree, run, ids).find(({ length }) => length === ids.length)?.at ?? -1;

/** @template T @param {T[]} list @param {T} one @returns {[T[], number]} the list with it, and its place */
function withOne(list, one) {
  const json = JSON.stringify(one);
  const at = list.findIndex((other) => JSON.stringify(other) === json);
  return at >= 0 ? [list, at] : [[...list, one], list.length];
}

/** @param {TextTree} tree @param {number} at @param {Partial<TextNode>} change @returns {TextTree} */
export const changedNode = (tree, at, change) => ({
  ...tree,
  nodes: tree.nodes.map((node, i) => (i === at && node ? { ...node, ...change } : node)),
});

/** @param {TextTree} tree @param {number} up @param {WritingRun} under @param {number[]} ids @param {Told} told @returns {TextTree} */
function added(tree, up, under, ids, { settings: used, word, ...told }) {
  const [runs, run] = withOne(tree.runs, under);
  const [settings, which] = used ? withOne(tree.settings, used) : [tree.settings, undefined];
  const { id, ...label } = word ?? { id: -1 };
  const words = word ? { ...tree.words, [id]: label } : tree.words;
  const node = { up, run, ids, ...told, ...(which !== undefined && { settings: which }) };
  return { ...tree, runs, settings, words, nodes: [...tree.nodes, node] };
}

/**
 * A prompt that ends earlier: what followed is a branch of single tokens. Its node keeps its text and what comes after it, which may be
 * pruned and come back; the shorter prompt is the first new one.
 * @param {TextTree} tree @param {number} root @param {number} length @returns {TextTree}
 */
function split(tree, root, length) {
  const { ids, run } = nodeAt(tree, root);
  let up = -1;
  let next = tree;
  for (const own of [ids.slice(0, length), ...ids.slice(length, -1).map((id) => [id])]) {
    next = added(next, up, tree.runs[run], own, { how: "prompt" });
    up = next.nodes.length - 1;
  }
  return changedNode(next, root, { up, ids: ids.slice(-1) });
}

/**
 * The tree in which this text is shown: it grows by what it did not have.
 * @param {TextTree} tree @param {WritingRun} run @param {{ids: number[], nPrompt: number}} text
 * @param {(index: number) => Told} tell  of a new token; the tokens of the prompt are known
 * @param {boolean} [strict]  whether the node must have been written under this very run
 * @returns {{tree: TextTree, at: number}}
 */
export function visited(tree, run, text, tell, strict = false) {
  const { tree: next, at } = extended(tree, run, text, tell, strict);
  return { tree: bounded(next), at };
}

/**
 * The same with however many nodes, for several texts in turn. @param {TextTree} tree @param {WritingRun} run
 * @param {{ids: number[], nPrompt: number}} text @param {(index: number) => Told} tell @param {boolean} [strict]
 */
export function extended(tree, run, { ids, nPrompt }, tell, strict = false) {
  const known = along(tree, run, ids);
  const here = known.find(({ length, same }) => length === ids.length && (same || !strict));
  if (here) return { tree: withTip(strict ? filled(tree, here.at, tell(ids.length - 1)) : tree, here.at), at: here.at };
  const cut = beginnings(tree, run).find((at) => shared(nodeAt(tree, at).ids, ids) > 0);
  let base = known.find(({ length }) => length < ids.length);
  let next = tree;
  if (!base && cut !== undefined) {
    const length = shared(nodeAt(tree, cut).ids, ids);
    next = split(tree, cut, length);
    base = { at: tree.nodes.length, length, same: sameRun(tree.runs[nodeAt(tree, cut).run], run) };
  } else if (!base) {
    next = added(tree, -1, run, ids.slice(0, nPrompt), { how: "prompt" });
    base = { at: next.nodes.length - 1, length: nPrompt, same: true };
  }
  let { at, length } = base;
  const add = (/** @type {number[]} */ own, /** @type {Told} */ told) => {
    next = added(next, at, run, own, told);
    at = next.nodes.length - 1;
  };
  if (!base.same) add([], { how: "edited" });
  for (; length < ids.length; length++) add([ids[length]], length < nPrompt ? { how: "prompt" } : tell(length));
  return { tree: withTip(next, at), at };
}

/** Of a token that came with a link, what drew it is known once it is drawn again. @param {TextTree} tree @param {number} at @param {Told} told @returns {TextTree} */
function filled(tree, at, { word: _, settings: used, ...told }) {
  const { how, p } = nodeAt(tree, at);
  if (p !== undefined || how === "prompt" || how === "edited" || told.p === undefined) return tree;
  const [settings, which] = used ? withOne(tree.settings, used) : [tree.settings, undefined];
  return { ...changedNode(tree, at, { ...told, settings: which }), settings };
}

/** The shown line ends at `at`, or after it where it did. @param {TextTree} tree @param {number} at @returns {TextTree} */
function withTip(tree, at) {
  return tree.tip >= 0 && wayTo(tree, tree.tip).includes(at) ? tree : { ...tree, tip: at };
}

/** At most `MOST_NODES` nodes: other sentences go first, then the oldest ends of this one; the shown line stays. @param {TextTree} tree @returns {TextTree} */
export function bounded(tree) {
  const live = tree.nodes.filter((node) => node !== null).length;
  if (live <= MOST_NODES) return tree;
  const shown = new Set(wayTo(tree, tree.tip));
  const first = tree.nodes.findIndex((node, at) => node?.up === -1 && !shown.has(at));
  const end = tree.nodes.findIndex((node, at) => node !== null && !shown.has(at) && kidsOf(tree)[at].length === 0);
  if (first < 0 && end < 0) return tree;
  const gone = new Set(first >= 0 ? allFrom(tree, first) : [end]);
  return bounded({
    ...tree,
    nodes: tree.nodes.map((node, at) => (gone.has(at) ? null : node)),
    pair: tree.pair.filter((at) => !gone.has(at)),
    past: [],
  });
}

// To be kept: in a link, in the tab's storage and in a file (page_fields.js).

/** The trees that begin at these nodes, each node after the one before it, without what nothing refers to. @param {TextTree} tree @param {number[]} [roots] @returns {TextTree} */
export function compact(tree, roots = tree.nodes.flatMap((node, at) => (node?.up === -1 ? [at] : []))) {
  const order = roots.flatMap((at) => allFrom(tree, at));
  const place = new Map([[-1, -1], ...order.map((at, i) => /** @type {const} */ ([at, i]))]);
  const of = order.map((at) => nodeAt(tree, at));
  const [runs, settings] = /** @type {const} */ (["run", "settings"]).map((name) => [
    ...new Set(of.map((one) => one[name])),
  ]);
  const used = settings.filter((one) => one !== undefined);
  const nodes = of.map((node) => ({
    ...node,
    up: /** @type {number} */ (place.get(node.up)),
    run: runs.indexOf(node.run),
    ...(node.settings !== undefined && { settings: used.indexOf(node.settings) }),
  }));
  const ids = new Set(of.flatMap((one) => one.ids.map(String)));
  return {
    runs: runs.map((at) => tree.runs[Number(at)]),
    settings: used.map((at) => tree.settings[Number(at)]),
    words: Object.fromEntries(Object.entries(tree.words).filter(([id]) => ids.has(id))),
    nodes,
    tip: place.get(tree.tip) ?? -1,
    pair: tree.pair.flatMap((at) => place.get(at) ?? []),
    past: [],
  };
}

/** Whether the shown sentence's tree has more than its text: a branch, or a name. @param {TextTree} tree */
export function isForked(tree) {
  const all = tree.tip < 0 ? [] : allFrom(tree, wayTo(tree, tree.tip)[0]);
  return all.some((at) => kidsOf(tree)[at].length > 1 || nodeAt(tree, at).name !== undefined);
}

/** Whether the shown line is of this model and sentence. @param {TextTree} tree @param {{model: string|null, text: string, ids: number[]|null}} state */
export function isTreeOf(tree, { model, text, ids }) {
  const run = tree.tip < 0 ? null : tree.runs[nodeAt(tree, tree.tip).run];
  return run !== null && run.model === model && [text, ids?.join(".")].includes(run.text);
}

/** Both trees, with the tip of `other`, if it has one. @param {TextTree} tree @param {TextTree} other  compact @returns {TextTree} */
export function merged(tree, other) {
  const places = /** @type {number[]} */ ([]);
  let next = tree;
  for (const node of /** @type {TextNode[]} */ (other.nodes)) {
    const { up, run: which, ids, settings, name, folded: folds, ...told } = node;
    const run = other.runs[which];
    const is = (/** @type {number} */ at) =>
      sameRun(next.runs[nodeAt(next, at).run], run) && nodeAt(next, at).ids.join() === ids.join();
    let at = up < 0 ? undefined : kidsOf(next)[places[up]].find(is);
    if (up < 0) ({ tree: next, at } = extended(next, run, { ids, nPrompt: ids.length }, () => told));
    else if (at === undefined) {
      const word = ids.length ? { id: ids[0], ...other.words[ids[0]] } : undefined;
      next = added(next, places[up], run, ids, { ...told, settings: other.settings[settings ?? -1], word });
      at = next.nodes.length - 1;
    }
    places.push(/** @type {number} */ (at));
    if (name || folds) next = changedNode(next, places[places.length - 1], { name, folded: folds });
  }
  const tip = other.tip >= 0 ? places[other.tip] : tree.tip;
  return bounded({ ...next, tip, pair: other.pair.length ? other.pair.map((at) => places[at]) : tree.pair });
}
