/**
 * What views need, as data. A view names its needs ("detail", "tensor:layers.0.attn.z"); `needCalled` says when each is
 * fetched, and `createFetchers` how.
 */

import { laid } from "../model/compare/compare.js";
import {
  aloneOf,
  compared,
  comparisonOf,
  isTrained,
  masksChanged,
  offsetOf,
  otherRun,
  sidesAfter,
} from "../model/compare/runs.js";
import { can, predictsTokens } from "../model/description.js";
import { knockoutsOf, withoutKnockouts } from "../model/interventions.js";
import { position, rowOf } from "../model/selection.js";
import { inside, sidesOf } from "../model/sides.js";
import { comparedNodes, nodeShown } from "../model/written.js";
import { retrying } from "./ask.js";
import { QUESTION_WHEN } from "./explain.js";
import { MANY_LOGITS } from "./traces.js";

/**
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Waiting } from "./ask.js"
 * @import { Deliver } from "./loader.js"
 * @import { Compared, ModelTrace } from "./model_trace.js"
 */

/**
 * @typedef {"head"|"after"|"passes"|"last"|"quiet"|"later"} When  `head`: with the numbers of the open head; `after` these; `passes`: then, too,
 *   but of a large trace one after the other, because each takes long; `last`: the largest answers, one after the other; `later`: once all is
 *   drawn and nothing newer is wanted; `quiet`: the same, after a pause in which a reader looks
 * @typedef {Object} Kind
 * @property {When} when
 * @property {boolean} [whileTyping]  also fetched between two keystrokes
 * @property {boolean} [ahead]  fetched before a change that will need it, too
 * @property {boolean} [ifPooled]  if the trace is not pooled, the overview has it
 * @typedef {Kind & {need: string, kind: string, name: string}} Need  `name`: after the colon of `need`
 * @typedef {(state: State, trace: ModelTrace, deliver: Deliver, names: string[], soon?: ""|"soon_") => Promise<unknown>} Fetch
 * @typedef {(state: State, ids: string[]) => Promise<unknown>} Bring
 */

/** @type {Record<string, Kind>} */
const KINDS = {
  detail: { when: "head", ahead: true }, // one head in float32
  heads: { when: "head", ahead: true }, // all heads of the layer
  head_rows: { when: "passes", ahead: true, ifPooled: true }, // one row of all heads; "exact": also of a picture that is not pooled
  compared_detail: { when: "head", ahead: true },
  prediction: { when: "head", ahead: true, whileTyping: true },
  counts: { when: "head", ahead: true }, // of other tokenizers
  without_knockouts: { when: "passes", ahead: true }, // the run without its knockouts
  as_trained: { when: "passes", ahead: true }, // what the model answers with the masks and the text as in training
  compared: { when: "last", ahead: true }, // both runs
  compared_nodes: { when: "passes" }, // two texts of the tree
  ablations: { when: "last" }, // what each head and FFN does for the answer; "quiet": after a pause
  code: { when: "head", whileTyping: true }, // of a view
  tensor: { when: "head", ahead: true },
  route_before: { when: "passes" }, // the river and the pictures of heads of the run that this one is compared with
  tensor_before: { when: "passes" }, // of the run that this one is compared with
  weight: { when: "head", ahead: true },
  rows: { when: "head", ahead: true }, // of a parameter
  explain: { when: "head" }, // except for those in QUESTION_WHEN
};

/** @type {Record<string, Partial<Kind>>} */
const VARIANTS = { "head_rows:exact": { ifPooled: false, ahead: false }, "ablations:quiet": { when: "quiet" } };

/** @param {string} need @returns {Need} @throws if nothing meets it */
export function needCalled(need) {
  const [kind, ...rest] = need.split(":");
  if (!Object.hasOwn(KINDS, kind)) throw new Error(`nothing meets the need "${need}"`);
  const name = rest.join(":");
  const asked = kind === "explain" ? { when: QUESTION_WHEN[name] ?? "head", ifPooled: name === "changes" } : {};
  return { ...KINDS[kind], ...asked, ...VARIANTS[need], need, kind, name };
}

/** Whether the trace has it without a request. @param {Need} need @param {ModelTrace} trace */
export const isHere = ({ ifPooled }, { pool }) => Boolean(ifPooled) && pool === 1;

/** @param {Need[]} needs @returns {[string, string[]][]} names by kind */
export function byKind(needs) {
  /** @type {Map<string, string[]>} */
  const kinds = new Map();
  for (const { kind, name } of needs) kinds.set(kind, [...(kinds.get(kind) ?? []), name]);
  return [...kinds];
}

/**
 * Needs by what fetches them: the open head and the tensors that are due with it are one request.
 * @param {Need[]} needs @returns {[string, string[]][]}
 */
export function byFetcher(needs) {
  const kinds = new Map(byKind(needs));
  const names = kinds.get("tensor");
  if (!names || !kinds.delete("detail")) return [...kinds];
  kinds.delete("tensor");
  return [...kinds, ["opened", names]];
}

/** @param {string} kind @param {string[]} names */
export const asNeeds = (kind, names) => names.map((name) => (name ? `${kind}:${name}` : kind));

/**
 * How each kind is met: all names of one load in one request, each explanation in a separate one.
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {Bring} bring  the code of these views
 * @param {(waiting: Waiting) => void} onWait
 * @returns {Record<string, Fetch>}
 */
export function createFetchers(traces, bring, onWait) {
  let waiting = new AbortController();
  /** @type {Record<string, Fetch>} */
  const fetchers = {
    opened: (state, trace, deliver, names) => {
      if (trace.file === null) traces.together(state, names);
      return Promise.all([fetchers.detail(state, trace, deliver, []), fetchers.tensor(state, trace, deliver, names)]);
    },
    detail: async (state, trace, deliver) => {
      const detail = await traces.detail(state);
      const detailBefore = detailAsTrained(traces, state, trace);
      deliver("detail", { detail, ...(detailBefore && { detailBefore }) }); // "compared_detail" may have brought it
    },
    heads: async (state, trace, deliver) => deliver("heads", { heads: await traces.heads(state) }),
    head_rows: async (state, trace, deliver, names) => {
      const { attentions, queries, classes } = trace;
      const query = classes && !trace.model.picture ? queries.real.start : position(state, trace).query;
      const own = attentions.filter((one) => one.queries === queries.side);
      deliver(asNeeds("head_rows", names), { headRows: await traces.headRows(state, own, query) });
    },
    compared_detail: async (state, { model }, deliver) => {
      const other = otherRun(state, model);
      const comparedDetail = traces.knownDetail(other) ?? (await traces.detail(other, "compared_detail"));
      const asTrained = state.against === null ? { detailBefore: comparedDetail } : {};
      deliver("compared_detail", { comparedDetail, ...asTrained });
    },
    prediction: async (state, trace, deliver) => {
      const row = rowOf(state, trace);
      deliver("prediction", { predictions: { [row]: await traces.prediction(state, row) } });
    },
    counts: async (state, trace, deliver) => deliver("counts", { counts: await traces.counts(state, trace.text) }),
    without_knockouts: async (state, trace, deliver) =>
      deliver("without_knockouts", { withoutKnockouts: await runWithoutKnockouts(traces, state, trace) }),
    as_trained: async (state, trace, deliver) =>
      deliver("as_trained", { asTrained: await answerAsTrained(traces, state, trace) }),
    compared: async (state, trace, deliver) =>
      deliver("compared", { compared: await comparedRuns(traces, state, trace) }),
    compared_nodes: async (state, { model }, deliver) => {
      const two = /** @type {number[]} */ (comparedNodes(state));
      const kinds = /** @type {const} */ (["node_a", "node_b"]);
      const node = (/** @type {number} */ at, /** @type {number} */ i) =>
        traces.node({ ...state, padCount: 0, ...nodeShown(state, model, at) }, kinds[i]);
      deliver("compared_nodes", { comparedNodes: await Promise.all(two.map(node)) });
    },
    ablations: async (state, trace, deliver, names) => {
      const none = (/** @type {any} */ error) => ({ start: null, found: [], error: refusal(error).refused });
      deliver(asNeeds("ablations", names), { ablations: await traces.ablations(state, trace).catch(none) });
    },
    code: async (state, trace, deliver, names) => {
      waiting.abort(); // for the code of what is not shown any more
      waiting = new AbortController();
      const { signal } = waiting;
      await retrying(() => bring(state, names), { signal, onWait });
      deliver(asNeeds("code", names), {});
    },
    tensor: async (state, trace, deliver, names, soon = "") =>
      deliver(asNeeds("tensor", names), { tensors: await traces.tensors(state, names, `${soon}tensors`) }),
    route_before: async (state, trace, deliver) => {
      // After that of the run itself, which would cancel an older one.
      const other = otherRun(state, trace.model);
      const found = traces.explain(state, trace, "route").then(() => traces.explain(other, trace, "route"));
      const pictures = traces.overview(other).catch(() => null); // mostly here: what was shown before the change
      deliver("route_before", { routeBefore: await found.catch(() => null), overviewBefore: await pictures });
    },
    tensor_before: async (state, { model }, deliver, names) => {
      const tensorsBefore = await traces.tensors(otherRun(state, model), names, "tensors_before");
      deliver(asNeeds("tensor_before", names), { tensorsBefore });
    },
    weight: async (state, trace, deliver, names, soon = "") =>
      deliver(asNeeds("weight", names), { weights: await traces.parameters(state, names, `${soon}parameters`) }),
    // Those of the prediction's candidates; a vocabulary is never sent whole.
    rows: async (state, trace, deliver, names) => {
      const ids = (await traces.prediction(state, rowOf(state, trace))).candidates.map(idOf);
      const found = names.map(async (name) => [name, { ids, ...(await traces.rows(state, name, ids)) }]);
      deliver(asNeeds("rows", names), { rows: Object.fromEntries(await Promise.all(found)) });
    },
    explain: (state, trace, deliver, names) =>
      Promise.all(
        names.map(async (name) => {
          const answer = await traces.explain(state, trace, name).catch(refusal);
          deliver(`explain:${name}`, { explained: { [name]: answer } });
        }),
      ),
  };
  return fetchers;
}

/** @param {{id: number}} token */
const idOf = ({ id }) => id;

/** If an explanation is not available, its panel says so; the other panels are unaffected. @param {any} error */
function refusal(error) {
  if (error.status >= 400 && error.status < 500) return { refused: error };
  throw error;
}

// The other runs: the one without its knockouts, which the river shows, and those that are compared.

/**
 * @typedef {{route: any, predictions: Object<number, any>, classes: ModelTrace["classes"]}} RunWithoutKnockouts
 */

/**
 * null: there are no knockouts. Each request follows that of the run itself, which would cancel an older one. Where the masks are changed,
 * too, its answer is not shown: that of the run as trained is (`answerAsTrained`), and the two would cancel each other.
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {State} state @param {ModelTrace} trace @returns {Promise<RunWithoutKnockouts|null>}
 */
async function runWithoutKnockouts(traces, state, trace) {
  if (!knockoutsOf(state.interventions, trace.attentions).length) return null;
  const before = { ...state, interventions: withoutKnockouts(state.interventions) };
  const asTrained = masksChanged(state, trace.model);
  const row = asTrained ? null : trace.written && rowOf(state, trace);
  const [route, prediction, overview] = await Promise.all([
    can(trace.model, "route")
      ? traces.explain(state, trace, "route").then(() => traces.explain(before, trace, "route"))
      : null,
    row === null ? null : traces.prediction(state, row).then(() => traces.prediction(before, row)),
    trace.classes && !asTrained ? traces.overview(before) : null,
  ]);
  return { route, predictions: row === null ? {} : { [row]: prediction }, classes: overview?.meta.classes ?? null };
}

/**
 * @typedef {ReturnType<typeof import("./traces.js").createTraces>} Traces
 * @typedef {Pick<RunWithoutKnockouts, "predictions"|"classes">} AnswerAsTrained  under the row of the run that is shown
 */

/**
 * The answer of the run with its masks as in training, which a page that switches a mask mostly has already. null: they are, or what
 * is shown is saved. A PAD's row has no counterpart.
 * @param {Traces} traces @param {State} state @param {ModelTrace} trace @returns {Promise<AnswerAsTrained|null>}
 */
async function answerAsTrained(traces, state, trace) {
  if (trace.file !== null || !masksChanged(state, trace.model)) return null;
  const { before } = compared({ ...state, against: null }, trace.model);
  if (trace.classes) return { predictions: {}, classes: (await traces.overview(before)).meta.classes };
  const { written } = trace;
  const row = written && rowOf(state, trace);
  if (!written || row === null || !inside(written.real, row)) return null;
  const there = row - offsetOf(state, written.side);
  const prediction = await traces.prediction(state, row).then(() => traces.prediction(before, there)); // in turn: the newest of a kind is kept
  return { predictions: { [row]: prediction }, classes: null };
}

/**
 * The open head with the masks as in training, if it was shown before: nothing is requested for it. null where the run has other tokens.
 * @param {Traces} traces @param {State} state @param {ModelTrace} trace
 */
function detailAsTrained(traces, state, { file, model, attention, queries, keys }) {
  if (file !== null || isTrained(state)) return null;
  const own = { ...state, against: null };
  const was = traces.knownDetail(compared(own, model).before);
  if (!was || state.padCount === 0) return was;
  const { sides } = comparisonOf(own, model);
  const [at, from] = [sides[attention.queries], sides[attention.keys]];
  if (!at || !from) return null;
  const { overview, mask } = laid(was, { queries, keys }, { queries: at, keys: from });
  // Its own q, k and v are of other positions.
  const placed = { q: undefined, k: undefined, v: undefined, scores: undefined, pattern: was.pattern && overview };
  return /** @type {any} */ ({ ...was, ...placed, overview, mask });
}

/**
 * Both runs as numbers, and what a padded one should equal.
 * @param {Traces} traces @param {State} state @param {ModelTrace} trace @returns {Promise<Compared>}
 */
export async function comparedRuns(traces, state, trace) {
  const { model, written } = trace;
  const { before, after } = compared(state, model);
  const most = Math.max(trace.sides.source.tokens.length, trace.sides.target?.tokens.length ?? 0);
  const rows = trace.written ? trace.written.tokens.length : 1;
  const few = !(trace.pool > 1) || rows * model.vocab_size <= MANY_LOGITS;
  /** @param {State} one @param {"before"|"after"} kind */
  const run = async (one, kind) => {
    const [weights, logits] = await Promise.all([
      trace.pool > 1 ? traces.about(one, `${kind}_weights`) : traces.weights(one, most, `${kind}_weights`),
      few ? traces.logits(one, `${kind}_logits`) : null,
    ]);
    return { weights, logits, sides: sidesOf(weights.meta), classes: weights.meta.classes ?? null };
  };
  const [was, is, alone, prediction] = await Promise.all([
    run(before, "before"),
    run(after, "after"),
    hasAlone(state) && !isOnlyPadded(state) ? aloneRun(traces, state, model) : null,
    predictsTokens(model) && written ? comparedPrediction(traces, state, trace, written) : null,
  ]);
  // If only PADs differ from training, the single run is the run before: "compared_detail", which is loaded first.
  const single = hasAlone(state) && isOnlyPadded(state) ? { detail: trace.comparedDetail, logits: was.logits } : alone;
  return { before: was, after: is, sides: sidesAfter(state, model, before), alone: single, prediction };
}

/**
 * What the other run predicts after the same token; null in a PAD's row, which the other run lacks.
 * @param {Traces} traces @param {State} state @param {ModelTrace} trace @param {Side} written
 */
async function comparedPrediction(traces, state, trace, { side, real }) {
  const row = rowOf(state, trace);
  const there = inside(real, row) ? comparisonOf(state, trace.model).sides[side]?.at(row) : null;
  return there == null ? null : traces.prediction(otherRun(state, trace.model), there, "compared_prediction");
}

/** Whether only PADs differ from training. @param {State} state */
const isOnlyPadded = (state) => !isTrained(state) && isTrained({ ...state, padCount: 0 });

/** A padded run is also compared with the run without its PADs. @param {State} state */
const hasAlone = ({ padCount, against }) => padCount > 0 && against === null;

/** @param {Traces} traces @param {State} state @param {any} model */
async function aloneRun(traces, state, model) {
  const alone = aloneOf(state, model);
  const [detail, logits] = await Promise.all([traces.detail(alone, "alone"), traces.logits(alone, "alone_logits")]);
  return { detail, logits };
}
