/**
 * What a link has besides the run: the selection and how it is shown. The switches of a single view are not here: the
 * view declares them (view_state.js).
 */

import { decimal, index, list, object, onOff, pair, text, typed, whole } from "./fields.js";
import { isIntervention } from "./run.js";
import { compact, LONGEST_LINE, MOST_NODES, NO_TREE, wayTo } from "./text_tree.js";

/**
 * @import { Field } from "./fields.js"
 * @import { Intervention } from "./run.js"
 * @import { How, TextNode, TextTree, Word } from "./text_tree.js"
 */

/** @param {any} one @returns {one is {at: number, edit: Intervention}} */
const isPaused = (one) => Number.isInteger(one?.at) && isIntervention(one.edit);

/** The sampling settings, by their names in the state. */
export const SAMPLING = /** @type {const} */ ([
  "temperature",
  "topK",
  "topP",
  "minP",
  "penalty",
  "banned",
  "stop",
  "begin",
  "seed",
]);

/** As in app/api/schema.py. */
const [LONGEST_TEXT, MOST_TEXTS] = [100, 50];

/** @param {any} one @returns {one is string} */
const isText = (one) => typeof one === "string" && one !== "" && [...one].length <= LONGEST_TEXT;

/** Short texts, in JSON. */
const texts = () => {
  const all = list(isText);
  return {
    ...all,
    read: (/** @type {string} */ text) => all.read(text)?.slice(0, MOST_TEXTS),
    typed: /** @type {const} */ (true),
  };
};

// The tree of texts: a line of numbers for each node, which an address writes without escapes, and the rest as JSON.

const HOWS = /** @type {How[]} */ (["prompt", "edited", "given", "greedy", "drawn", "taken", "typed"]);
const NUMBERS = /** @type {const} */ (["p", "after", "u", "seed", "settings"]);
/** @type {Record<typeof NUMBERS[number], number>} */
const LARGEST = { p: 1, after: 1, u: 1, seed: Number.MAX_SAFE_INTEGER, settings: MOST_NODES + LONGEST_LINE };
const [OF_NODE, BETWEEN_NODES, AFTER_NODES] = ["*", "_", "__"];

/** A tree from elsewhere; undefined: it is not valid. @param {any} value @returns {TextTree|undefined} */
export function treeIn(value) {
  const { runs, settings, words, nodes, tip, pair = [] } = Object(value);
  if (
    ![runs, settings, nodes].every(Array.isArray) ||
    Object(words) !== words ||
    nodes.length > MOST_NODES + LONGEST_LINE
  )
    return undefined;
  const isRun = (/** @type {any} */ { model, text, interventions = [] }) =>
    (model === null || typeof model === "string") &&
    typeof text === "string" &&
    Array.isArray(interventions) &&
    interventions.every(isIntervention);
  const isWord = (/** @type {any} */ one) => typeof one?.text === "string" && typeof one.bytes === "string";
  const isNode = (/** @type {any} */ node, /** @type {number} */ at) =>
    [node?.up + 1, node?.run, ...(node?.ids ?? [-1])].every((n) => Number.isInteger(n) && n >= 0) &&
    node.up < at &&
    node.run < runs.length &&
    HOWS.includes(node.how) &&
    (node.up < 0 ? node.ids.length > 0 : node.ids.length === Number(node.how !== "edited")) &&
    NUMBERS.every(
      (name) =>
        node[name] === undefined || (Number.isFinite(node[name]) && node[name] >= 0 && node[name] <= LARGEST[name]),
    ) &&
    (node.settings ?? -1) < settings.length &&
    typeof (node.name ?? "") === "string";
  const fits = runs.map(Object).every(isRun) && Object.values(words).every(isWord) && nodes.every(isNode);
  const isPlace = (/** @type {any} */ at) => Number.isInteger(at) && at >= 0 && at < nodes.length;
  const ends = (tip === -1 || isPlace(tip)) && Array.isArray(pair) && pair.length <= 2 && pair.every(isPlace);
  return fits && ends ? { runs, settings: settings.map(Object), words, nodes, tip, pair, past: [] } : undefined;
}

/** @param {string} text  UTF-8 in hexadecimal */
const bytesOf = (text) => [...new TextEncoder().encode(text)].map((one) => one.toString(16).padStart(2, "0")).join("");

/** @param {Word} word  as its text alone, if the rest follows from it */
const shortWord = ({ text, bytes, partial, special }) =>
  partial || special || bytes !== bytesOf(text) ? { text, bytes, partial, special } : text;

/** @param {any} word @returns {Word} */
const longWord = (word) =>
  typeof word === "string" ? { text: word, bytes: bytesOf(word), partial: false, special: false } : word;

/** @param {Object<string, any>} words @param {(word: any) => any} of */
const wordsBy = (words, of) => Object.fromEntries(Object.entries(words).map(([id, word]) => [id, of(word)]));

/** @param {TextNode} node */
function rowOf({ up, run, ids, how, name, folded, ...told }) {
  const numbers = NUMBERS.map((one) => (told[one] === undefined ? "" : Number(told[one].toPrecision(6))));
  const called = encodeURIComponent(name ?? "").replace(/[_*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return [up, run, ids.join("."), HOWS.indexOf(how), ...numbers, called, folded ? 1 : ""]
    .join(OF_NODE)
    .replace(/\*+$/, "");
}

/** @param {string} row @returns {any} a node, if it is one */
function nodeIn(row) {
  const [up, run, ids, how, ...more] = row.split(OF_NODE);
  const numbers = NUMBERS.flatMap((name, i) => (more[i] ? [[name, Number(more[i])]] : []));
  const [called, folded] = more.slice(NUMBERS.length);
  return {
    ...{ up: Number(up), run: Number(run), ids: ids ? ids.split(".").map(Number) : [], how: HOWS[Number(how)] },
    ...Object.fromEntries(numbers),
    ...(called && { name: decodeURIComponent(called) }),
    ...(folded && { folded: true }),
  };
}

/** Of the shown sentence. @type {Field<TextTree>} */
const treeField = {
  initial: NO_TREE,
  typed: true,
  read(text) {
    const end = text.indexOf(AFTER_NODES);
    try {
      const { words, ...rest } = JSON.parse(text.slice(end + AFTER_NODES.length));
      return treeIn({
        ...rest,
        words: wordsBy(words, longWord),
        nodes: text.slice(0, end).split(BETWEEN_NODES).map(nodeIn),
      });
    } catch {
      return undefined;
    }
  },
  write(tree) {
    const { nodes, words, runs, settings, tip, pair } = compact(tree, [wayTo(tree, tree.tip)[0]]);
    const rows = /** @type {TextNode[]} */ (nodes).map(rowOf).join(BETWEEN_NODES);
    return `${rows}${AFTER_NODES}${JSON.stringify({ runs, settings, words: wordsBy(words, shortWord), tip, ...(pair.length && { pair }) })}`;
  },
};

/** @param {any} one @returns {one is {role: string, content: string}} */
const isTurn = (one) => typeof one?.role === "string" && typeof one.content === "string";

/** By name in the state: its name in a link, and how it is written there. */
export const PAGE_FIELDS = {
  chat: /** @type {const} */ (["chat", { ...list(isTurn), typed: true }]),
  nPrompt: /** @type {const} */ (["prompt", index(null)]),
  attention: /** @type {const} */ (["attention", text(null)]),
  layer: /** @type {const} */ (["layer", index(0)]),
  head: /** @type {const} */ (["head", index(0)]),
  query: /** @type {const} */ (["query", index(null)]),
  row: /** @type {const} */ (["row", index(null)]),
  key: /** @type {const} */ (["key", index(null)]),
  paused: /** @type {const} */ (["paused", { ...list(isPaused), typed: true }]), // a patch has a text
  view: /** @type {const} */ (["view", text("model")]),
  drawer: /** @type {const} */ (["drawer", text(null)]),
  cell: /** @type {const} */ (["cell", pair()]),
  ffnUnit: /** @type {const} */ (["unit_id", index(null)]),
  answer: /** @type {const} */ (["answer", index(null)]),
  quiz: /** @type {const} */ (["quiz", onOff(false)]),
  compare: /** @type {const} */ (["compare", onOff(false)]),
  against: /** @type {const} */ (["against", { ...object(), typed: true }]),
  beside: /** @type {const} */ (["beside", { ...object(), typed: true }]),
  temperature: /** @type {const} */ (["temperature", decimal(0.8, 0, 10)]),
  topK: /** @type {const} */ (["top_k", index(20)]),
  topP: /** @type {const} */ (["top_p", decimal(0.95, 0.01, 1)]),
  minP: /** @type {const} */ (["min_p", decimal(0, 0, 1)]),
  penalty: /** @type {const} */ (["repetition_penalty", decimal(1, 0.1, 10)]),
  banned: /** @type {const} */ (["banned", texts()]),
  stop: /** @type {const} */ (["stop", texts()]),
  begin: /** @type {const} */ (["begin", typed("")]),
  seed: /** @type {const} */ (["seed", index(7)]),
  tree: /** @type {const} */ (["tree", treeField]),
  lesson: /** @type {const} */ (["lesson", text(null)]),
  lessonStep: /** @type {const} */ (["step", whole(1, 1, 99)]),
};
