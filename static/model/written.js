/** The ids that a model writes: what a generation continues (the sentence, or an encoder-decoder's target), and what fills a mask. Pure. */

import { nodeAt, textAt } from "../state/text_tree.js";
import { offsetOf } from "./compare/runs.js";
import { attentionOf, writesTarget } from "./description.js";
import { isContent, namesIn, tokenLabel } from "./labels.js";
import { indexOfMost, sum } from "./matrix.js";
import { memo } from "./memo.js";
import { inside } from "./sides.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { TextTree } from "../state/text_tree.js"
 * @import { Token } from "./labels.js"
 * @import { Side } from "./sides.js"
 */

// Fill-mask: which token is hidden, and the text with another token in its place.

/** The first hidden token; −1 without one. @param {any} model @param {Side} side */
export const maskedRow = ({ special }, { tokens }) => tokens.findIndex(({ id }) => id === special.mask);

/** Whether there is a token of the text at `row`: neither a PAD nor [CLS]. @param {ModelTrace} trace @param {number} row */
export function canHide({ model, queries: { tokens, real } }, row) {
  return row >= real.start && row < real.end && tokens[row].id !== model.special.first?.id;
}

/**
 * The change that puts token `id` at `row`: the mask hides the token there, any other fills the gap.
 * @param {ModelTrace} trace @param {number} row @param {number} id @returns {Partial<State>}
 */
export function filled({ model, queries: { tokens, real } }, row, id) {
  const ids = tokens.map((token, at) => (at === row ? id : token.id)).slice(real.start, real.end);
  const own = ids[0] === model.special.first?.id ? ids.slice(1) : ids; // [CLS] is added again
  return { ids: own, nPrompt: null, query: row, key: null };
}

/** @param {any} model @returns {"source"|"target"} */
export const writingSide = (model) => (writesTarget(model) ? "target" : "source");

/**
 * Whether the page's query is a row of the side that generation extends: not while a head of the encoder is open.
 * @param {State} state @param {any} model
 */
export function followsQuery(state, model) {
  return attentionOf(model, state.attention).queries === writingSide(model);
}

/**
 * The position, among the queries, of the token at `index` of what is written.
 * @param {State} state @param {any} model @param {number} index
 */
export const queryAt = (state, model, index) => index + offsetOf(state, writingSide(model));

/**
 * The change that shows these ids, with the last of them as the query.
 * @param {State} state @param {any} model @param {number[]} ids @param {number} nPrompt @returns {Partial<State>}
 */
export function showingIds(state, model, ids, nPrompt) {
  const chosen = followsQuery(state, model) ? { query: queryAt(state, model, ids.length - 1), key: null } : {};
  return writesTarget(model) ? { target: null, targetIds: ids, ...chosen } : { ids, nPrompt, ...chosen };
}

/** Whether a row is that of the END of what was written: nothing follows. Some models begin a text with that token. @param {ModelTrace} trace @param {number} row */
export const endsText = ({ written, model }, row) =>
  row > 0 && row + 1 === written?.real.end && written.tokens[row].id === model.special.end;

/** The run and the text of a node of the tree of texts. @param {State} state @param {any} model @param {number} at @returns {Partial<State>} */
export function nodeShown(state, model, at) {
  const { tree } = state;
  const { ids, nPrompt } = textAt(tree, at);
  const { causal = null, interventions = [] } = tree.runs[nodeAt(tree, at).run];
  return { ...showingIds(state, model, ids, nPrompt), causal, interventions };
}

/**
 * The two nodes that are compared, if they are of the shown sentence; null: there are none. Of the longer text it is the node where it is as
 * long as the other.
 * @param {Pick<State, "tree"|"model"|"text"|"ids">} state
 */
export function comparedNodes({ tree, model, text, ids }) {
  const isHere = (/** @type {number} */ at) => {
    const run = tree.runs[nodeAt(tree, at).run];
    return run.model === model && [text, ids?.join(".")].includes(run.text);
  };
  return tree.pair.length === 2 && tree.pair.every(isHere) ? asLong(tree, tree.pair) : null;
}

/** Two nodes at the length of the shorter text; as they are, if one begins the other. @param {TextTree} tree @param {number[]} pair */
function asLong(tree, pair) {
  const texts = pair.map((at) => textAt(tree, at).ids);
  const length = Math.min(...texts.map((ids) => ids.length));
  if (texts[0].slice(0, length).every((id, i) => id === texts[1][i])) return pair;
  return pair.map((at, i) => {
    let one = at;
    for (let more = texts[i].length - length; more > 0; one = nodeAt(tree, one).up)
      more -= nodeAt(tree, one).ids.length;
    return one;
  });
}

/**
 * The ids of a hypothesis that a decoder reads: END is predicted by the last row, and never read.
 * @param {{id: number}[]} tokens @param {number|null} end
 */
export const writtenIds = (tokens, end) =>
  tokens.map(({ id }) => id).filter((id, i) => i < tokens.length - 1 || id !== end);

// Which token a row of a translation stands for.

/**
 * The one rule for what a row is called, what a click on a token chooses and what is highlighted. In a cross-attention the
 * question is where a written word came from, so row t stands for the token that it writes: t + 1. A click on the first token
 * chooses START. In every other attention row t is token t, which attends.
 * @param {{queries: string, keys: string}} attention
 */
export const standsForWritten = ({ queries, keys }) => queries === "target" && keys !== "target";

/** The token that a row stands for; of the last row, the place after the text. @param {number} row @param {boolean} written */
export const tokenOfRow = (row, written) => (written ? row + 1 : row);

/** The row that a click on a token chooses. @param {number} token @param {boolean} written */
export const rowOfToken = (token, written) => (written ? Math.max(0, token - 1) : token);

/** Rows by what they write, as labels: "⇒ を買った". What the last one writes is not there yet. @type {(tokens: Token[]) => string[]} */
export const writtenNames = memo((tokens) => {
  const names = namesIn(tokens);
  return names.map((_, row) => `⇒ ${names[row + 1] ?? COMES}`);
});

/** What a sentence calls a query: the token that its row writes, or that attends. @param {Pick<ModelTrace, "attention"|"queries">} trace @param {number} row */
export function queryName({ attention, queries: { tokens } }, row) {
  return namesIn(tokens)[tokenOfRow(row, standsForWritten(attention))] ?? COMES;
}

/** The labels of a matrix's rows; in a cross-attention with what they write: "START ⇒ 駅". The same array for the same tokens. @type {(tokens: Token[], writes: boolean) => string[]} */
const labelsOfRows = memo((tokens, writes) => {
  const labels = tokens.map(tokenLabel);
  return writes ? labels.map((label, row) => `${label} ⇒ ${labels[row + 1] ?? COMES}`) : labels;
});

/** @param {Pick<ModelTrace, "attention"|"queries">} trace */
export const rowLabels = ({ attention, queries: { tokens } }) => labelsOfRows(tokens, standsForWritten(attention));

/** The place of the next token. */
export const COMES = "…";

/**
 * The row of a finished translation that tells most, chosen by default: where a word of content draws most attention to
 * a word of content, as the mean over the heads of the last layer. The same for the same sentence, also after a mask has
 * changed the weights. null: there is none, or no weights.
 * @type {(trace: ModelTrace) => number|null}
 */
export const tellingRow = memo(
  ({ sides: { source, target }, attentions, row: rowOf }) => {
    const cross = attentions.find(standsForWritten);
    if (!cross || !target) return null;
    const keys = source.tokens.flatMap((token, i) => (inside(source.real, i) && isContent(token) ? [i] : []));
    const heads = [...Array(cross.n_head).keys()];
    const tells = target.tokens.map((_, row) => {
      const written = target.tokens[row + 1];
      if (!written || !isContent(written)) return 0;
      const rows = heads.map((head) => rowOf(cross.n_layer - 1, head, row, cross.id));
      return Math.max(0, ...keys.map((key) => sum(rows.map((weights) => weights?.[key] ?? 0))));
    });
    const most = indexOfMost(tells);
    return tells[most] > 0 ? most : null;
  },
  ({ model, sides: { source, target } }) => [
    model,
    [source, target].map((side) => side?.tokens.map(({ id }) => id).join()).join(";"),
  ],
);

// Choosing a token by hand.

const [WORD, LETTERS] = [/^[\p{L}\p{N}]/u, /[\p{L}\p{N}\p{P}]$/u];
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Typed text as it goes on after a token: words are set apart by a space where they are written so. @param {string} typed @param {{text: string, special: boolean}} before */
export function goingOn(typed, { text, special }) {
  const apart = !special && WORD.test(typed) && LETTERS.test(text);
  return apart && !SPACELESS.test(typed[0]) && !SPACELESS.test(text.at(-1) ?? "") ? ` ${typed}` : typed;
}

/** Whether the answer so far is only a part of its forced beginning. @param {string} begin @param {{text: string, special: boolean}} before @param {{text: string}[]} answer */
export function begins(begin, before, answer) {
  if (!begin) return false;
  const [whole, written] = [goingOn(begin, before), answer.map(({ text }) => text).join("")];
  return whole.length > written.length && whole.startsWith(written);
}

/**
 * The patch that puts token `id` after `position`. The previous continuation is kept as a branch. A token taken inside
 * the sentence ends the prompt there.
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {number} position @param {number} id
 * @returns {Partial<State>}
 */
export const taken = (trace, state, position, id) => upTo(trace, state, position, [id]);

/** The patch that ends the text after `position`, and goes on with `more`. @param {ModelTrace} trace @param {State} state @param {number} position @param {number[]} more @returns {Partial<State>} */
export function upTo({ model, written }, state, position, more = []) {
  const {
    tokens,
    real: { start, end },
  } = /** @type {Side} */ (written);
  const before = tokens.slice(start, Math.min(position + 1, end)).map((token) => token.id); // PADs are not part of the text
  const nPrompt = Math.min(state.nPrompt ?? end - start, before.length);
  return showingIds(state, model, [...before, ...more], nPrompt);
}
