/** The page's requests, each sent once (ask.js): to the server, or to an opened file. */

import { isTrained } from "../model/compare/runs.js";
import { attentionOf, attentionsOf, overviewOf, tapOf } from "../model/description.js";
import { maskEdited } from "../model/interventions.js";
import { partNamed } from "../model/taps.js";
import { createAsker, createLru, fill } from "./ask.js";
import { measuredRequest, QUESTION_PATHS, QUESTIONS } from "./explain.js";
import { grow } from "./grow.js";
import { lazy } from "./lazily.js";
import {
  alternativesOf,
  detailRequest,
  keyOf,
  listed,
  openOf,
  overviewRequest,
  partsFor,
  picturesOf,
  predictionOf,
  requestOf,
  sentenceKey,
  splitAnswer,
  wholeFor,
  withTarget,
} from "./request.js";
import { measureAblations } from "./streams.js";

/**
 * @import { Attention } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Bag, Waiting } from "./ask.js"
 * @import { FileError } from "./file_error.js"
 * @import { Detail, HeadRows, ModelTrace, Prediction } from "./model_trace.js"
 * @import { Models } from "./models.js"
 * @import { Ablations, AblationStart } from "./streams.js"
 * @import { Decoded } from "./wire.js"
 */

/** How many answers of each kind are kept. An overview is at most 4 MB, pooled where it would be more; a detail of 256 tokens 0.6 MB. */
const KEPT = {
  overview: 8,
  detail: 32,
  heads: 16, // of 256 tokens and 8 heads 2 MB each
  head_rows: 8, // of 1,024 tokens and 24 × 16 heads 1.6 MB each
  compared_detail: 16,
  alone: 8,
  prediction: 64,
  compared_prediction: 32,
  alternatives: 8, // of 512 rows 0.4 MB each
  quiz: 16, // predictions under other settings
  before_weights: 2, // of 256 tokens 12 MB each
  after_weights: 3,
  before_logits: 2, // 4 MB
  after_logits: 3,
  alone_logits: 2,
  node_a: 4, // of the tree of texts
  node_b: 4,
  counts: 16,
  ablations: 8,
  tensors: 4, // their tensors are kept in bags
  parameters: 4,
  tensors_before: 4,
  soon_tensors: 1, // prefetched
  soon_parameters: 1,
  parameters_part: 1, // all are kept with their model
  soon_parameters_part: 1,
  rows: 16, // of 20 tokens 20 KB
  ...Object.fromEntries(Object.keys(QUESTIONS).map((what) => [`explain_${what}`, 8])),
};

/** The most logits that are requested of a long text or a large vocabulary. */
export const MANY_LOGITS = 12_000_000;

/** Up to this many tokens, all heads come in float32 when their numbers are shown; longer texts in float16. */
const FLOAT32_TOKENS = 64;

/** @typedef {ReturnType<typeof createLru<Bag>>} Bags  named tensors, by what they are of */

/** How long a frame is waited for: a hidden tab has none. Milliseconds. */
const NO_FRAME_MS = 100;

/**
 * The value, once what arrived together with it has been painted.
 * @template T @param {T} value @returns {Promise<T>}
 */
export const oncePainted = (value) =>
  new Promise((resolve) => {
    const now = () => resolve(value);
    setTimeout(() => globalThis.requestAnimationFrame?.(() => setTimeout(now)), 1); // after the drawing
    setTimeout(now, NO_FRAME_MS);
  });

/** An answer, decoded. @template T @param {T} answer @returns {T} */
const whole = (answer) => answer;

/** @param {object} request @param {{signal: AbortSignal}} options @returns {Promise<Ablations>} */
async function ablationsOf(request, { signal }) {
  const all = /** @type {Ablations} */ ({ start: null, found: [] });
  const onStart = (/** @type {AblationStart} */ start) => Object.assign(all, { start, found: [] });
  await measureAblations(request, { signal, onStart, onOne: (one) => all.found.push(one) });
  return all;
}

/** The only tensor of an answer. @param {string} name */
const tensorCalled =
  (name) =>
  (/** @type {Decoded} */ { tensors }) =>
    tensors[name];

/** A part of a tensor, under the name that means the part. @param {string} as @param {string} name */
const partCalled =
  (as, name) =>
  (/** @type {Decoded} */ { tensors }) => ({ tensors: { [as]: tensors[name] } });

/**
 * @param {Pick<typeof import("./api.js"), "trace"|"tokenize"|"weights"|"explain">} api
 * @param {{modelNamed: (name: string|null) => any, onWait?: (waiting: Waiting) => void}} options
 */
export function createTraces(api, { modelNamed, onWait }) {
  /** @type {Bags} */ const runs = createLru(3);
  /** @type {Bags} */ const models = createLru(2);
  /** @type {ReturnType<typeof createLru<number>>} */ const lengths = createLru(8); // tokens of sentences that were read, without PADs
  const { ask, abandon, caches, keep, known } = createAsker(KEPT, api.trace, onWait);

  /** Caches an answer that came with another one. @param {string} kind @param {object} request @param {any} answer */
  const know = (kind, request, answer) => keep(kind, JSON.stringify(request), Promise.resolve(answer));

  return {
    /** Another text is shown: what takes long for the one before is cancelled. */
    abandon,

    /**
     * Every head as a picture, and the masks; with them, the prediction after the text, and the open head.
     * @param {State} state @param {boolean} [opened]  whether the open head is needed, too
     * @param {string[]} [names]  tensors that are needed, too
     */
    overview(state, opened = false, names = []) {
      const model = modelNamed(state.model);
      const bag = runs.get(keyOf(state));
      const missing = names.filter((name) => !bag?.has(name));
      const whole = wholeFor(state, model, missing);
      const parts = {
        ...partsFor(state, model, opened, lengths.get(sentenceKey(state))),
        ...(whole.length && { whole }),
      };
      return ask("overview", overviewRequest(state, model), shared, (request, options) =>
        api.trace({ ...request, ...parts }, options),
      );

      /** @param {Decoded} answer */
      function shared(answer) {
        const { overview, detail, whole, predictions } = splitAnswer(answer);
        for (const one of predictions) know("prediction", predictionOf(state, one.position), one);
        const of = withTarget(state, answer.meta);
        const { tokens = [] } = answer.meta;
        const isNew = lengths.get(sentenceKey(state)) === undefined;
        lengths.set(sentenceKey(state), tokens.length - state.padCount);
        const came = Object.keys(whole);
        if (came.length) fill(runs, keyOf(of), came, async () => ({ tensors: whole }));
        if (!detail) return overview;
        const head = openOf(of, model, detail);
        know("detail", detailRequest(of, model), isNew ? oncePainted(head) : head); // a new text's pictures come as early as without it
        return overview;
      }
    },

    /** Whether the overview of a state is here: nothing is requested for it. @param {State} state */
    knowsOverview: (state) => known("overview", overviewRequest(state, modelNamed(state.model))) !== null,

    /** One head in float32. @param {State} state @param {"detail"|"compared_detail"|"alone"} [kind] */
    detail(state, kind = "detail") {
      const model = modelNamed(state.model);
      return ask(kind, detailRequest(state, model), (/** @type {Decoded} */ answer) => openOf(state, model, answer));
    },

    /**
     * What each head and each FFN does for the answer at the chosen row; null: a PAD has none.
     * @param {State} state @param {ModelTrace} trace @returns {Promise<Ablations|null>}
     */
    async ablations(state, trace) {
      const request = measuredRequest(state, trace);
      return request && ask("ablations", request, whole, ablationsOf);
    },

    /** The same, if it is here. @param {State} state @param {ModelTrace} trace @returns {Ablations|null} */
    knownAblations(state, trace) {
      const request = measuredRequest(state, trace);
      return request && known("ablations", request);
    },

    /** One head in float32, if it is here: nothing is requested. @param {State} state @returns {Detail|null} */
    knownDetail: (state) => known("detail", detailRequest(state, modelNamed(state.model))),

    /** The weights of all heads of the open layer, in float32. @param {State} state */
    heads(state) {
      const attention = attentionOf(modelNamed(state.model), state.attention);
      const name = tapOf(attention, state.layer, overviewOf(attention) ?? "");
      return ask("heads", { ...requestOf(state), want: [name], dtype: "float32" }, tensorCalled(name));
    },

    /**
     * One row of every head of an attention in float32, where pictures are pooled: as the overview has them, one a layer.
     * @param {State} state @param {Attention[]} attentions @param {number} query
     * @returns {Promise<HeadRows>}
     */
    headRows(state, attentions, query) {
      const want = attentions.flatMap((one) => one.roles[overviewOf(one) ?? ""]?.taps ?? []);
      const request = { ...requestOf(state), want, queries: [query], dtype: "float32" };
      return ask("head_rows", request, (/** @type {Decoded} */ { tensors }) => ({ query, tensors }));
    },

    /** The prediction after `position`. @param {State} state @param {number} position */
    prediction: (state, position, kind = "prediction") =>
      ask(kind, predictionOf(state, position), (/** @type {Decoded} */ { meta }) => meta.predictions[0]),

    /**
     * What else could have stood after these rows, and how likely what stands there was.
     * @param {State} state @param {number[]} positions @returns {Promise<Prediction[]>}
     */
    alternatives: (state, positions) =>
      ask("alternatives", alternativesOf(state, positions), (/** @type {Decoded} */ { meta }) => meta.predictions),

    /**
     * All heads' weights as numbers, for `count` tokens.
     * @param {State} state @param {number} count
     */
    weights(state, count, kind = "after_weights") {
      const dtype = count <= FLOAT32_TOKENS ? "float32" : "float16";
      return ask(kind, { ...requestOf(state), want: picturesOf(modelNamed(state.model)), dtype }, whole);
    },

    /**
     * Asks for the open head and these tensors in one request; each is then on its way for whoever asks for it.
     * @param {State} state @param {string[]} names
     */
    together(state, names) {
      const model = modelNamed(state.model);
      const request = detailRequest(state, model);
      const { want: own, heads } = request;
      const [run, key] = [keyOf(state), JSON.stringify(request)];
      if (!own.length || caches.detail.get(key) || names.every((name) => runs.get(run)?.has(name))) return;
      fill(runs, run, names, (want) => {
        const whole = { ...requestOf(state), want, dtype: "float32", detail: { want: own, heads } };
        const answer = ask("tensors", whole, splitAnswer);
        const opened = answer.then(({ detail }) => openOf(state, model, detail));
        keep("detail", key, opened);
        opened.catch(() => caches.detail.drop(key, opened));
        return answer.then(({ overview }) => overview);
      }).catch(() => {}); // whoever waits for them gets the error
    },

    /** What the overview says without its pictures, of another run. @param {State} state */
    about: (state, kind = "after_weights") => ask(kind, { ...requestOf(state), want: [] }, whole),

    /**
     * Of a text's last token: each head's row, the most likely next tokens and, if those of all positions are not too many, their logits.
     * @param {State} state @param {"node_a"|"node_b"} kind
     */
    node(state, kind) {
      const model = modelNamed(state.model);
      const { logits, writes } = model.description;
      const { length } = /** @type {number[]} */ (writes === "target" ? state.targetIds : state.ids);
      const writing = attentionsOf(model).filter((one) => one.queries === writes);
      const rows = writing.flatMap((one) => one.roles[overviewOf(one) ?? ""]?.taps ?? []);
      const want = length * model.vocab_size <= MANY_LOGITS ? [logits.tap, ...rows] : rows;
      const request = { ...requestOf(state), want, queries: [length - 1], dtype: "float32" };
      return ask(kind, { ...request, predict: listed(state, [length - 1]) }, whole);
    },

    /** The logits of every position, 16 KiB each; a classifier's only row. @param {State} state */
    logits(state, kind = "after_logits") {
      const { tap } = modelNamed(state.model).description.logits;
      return ask(kind, { ...requestOf(state), want: [tap], dtype: "float32" }, tensorCalled(tap));
    },

    /**
     * Any tensors of the run, by name, in float32.
     * @param {State} state @param {string[]} names @param {"tensors"|"soon_tensors"|"tensors_before"} [kind]
     */
    tensors: (state, names, kind = "tensors") =>
      fill(runs, keyOf(state), names, (want) => ask(kind, { ...requestOf(state), want, dtype: "float32" }, whole)),

    /**
     * Any of the model's parameters, or of their columns, by name.
     * @param {State} state @param {string[]} names @param {"parameters"|"soon_parameters"} [kind]
     */
    parameters: ({ model }, names, kind = "parameters") =>
      fill(models, model ?? "", names, async (missing) => {
        const want = missing.filter((one) => !partNamed(one));
        const parts = missing.filter(partNamed).map((as) => {
          const { name, columns } = /** @type {NonNullable<ReturnType<typeof partNamed>>} */ (partNamed(as));
          return ask(`${kind}_part`, { model, want: [name], columns }, partCalled(as, name), api.weights);
        });
        const rest = want.length ? [ask(kind, { model, want }, whole, api.weights)] : [];
        const answers = await Promise.all([...rest, ...parts]);
        return { tensors: Object.assign({}, ...answers.map(({ tensors }) => tensors)) };
      }),

    /** Some rows of one parameter. @param {State} state @param {string} name @param {number[]} rows */
    rows: ({ model }, name, rows) => ask("rows", { model, want: [name], rows }, tensorCalled(name), api.weights),

    /**
     * An explanation of the run: one of `QUESTIONS`.
     * @param {State} state @param {ModelTrace} trace @param {string} what
     */
    explain(state, trace, what) {
      const question = QUESTIONS[what](state, trace);
      if (question === null) return Promise.resolve(null);
      const path = QUESTION_PATHS[what] ?? what;
      const here = path === what ? null : known(`explain_${path}`, question);
      if (here) return Promise.resolve(here);
      return ask(`explain_${what}`, question, whole, (request, options) =>
        what === "spelled" ? api.tokenize(request, options) : api.explain(path, request, options),
      );
    },

    /** How many tokens other tokenizers split `text` into. @param {State} state @param {string} text */
    counts: ({ model }, text) =>
      ask(
        "counts",
        { model, text, compare: true },
        (/** @type {{encodings: any[]}} */ { encodings }) => encodings,
        api.tokenize,
      ),

    /**
     * Caches the overview's next row and the next prediction, which a generation's step has brought: no request is
     * needed.
     * @param {State} before  what is shown now
     * @param {State} after  the same with the new token
     * @param {any} step
     */
    learn(before, after, step) {
      const model = modelNamed(after.model);
      if (!keepsRows(before, model, step)) return;
      know("prediction", predictionOf(after, step.index), step.prediction);
      const shown = caches.overview.get(JSON.stringify(overviewRequest(before, model)));
      if (!shown) return;
      const key = JSON.stringify(overviewRequest(after, model));
      const grown = shown.then((/** @type {Decoded} */ overview) => grow(overview, step, model));
      caches.overview.set(key, grown);
      grown.catch(() => caches.overview.drop(key, grown));
    },
  };
}

/**
 * Whether a step leaves all earlier rows as they are: the run is causal and without PADs, its masks are not edited, and what its
 * edits gave earlier rows was kept.
 * @param {State} state @param {any} model @param {{cache?: {computed: number}}} step
 */
function keepsRows(state, model, { cache }) {
  if (isTrained(state)) return true;
  const { interventions } = state;
  const others =
    isTrained({ ...state, interventions: [] }) && maskEdited(interventions, attentionsOf(model)).size === 0;
  return others && cache?.computed === 1;
}

// The sources of traces: the server, or an opened file, which `state.file` names. Callers do not see the difference.

const reading = lazy(() => import("./file_traces.js"));

/**
 * @template {Object<string, any>} Live
 * @param {Live} live  the server's: every function takes the state first
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {Pick<Models, "named"|"known">} models
 */
export function createSources(live, api, models) {
  let count = 0;
  /** @type {ReturnType<typeof import("./file_traces.js").openedFile>|null} */
  let opened = null;
  /** @param {Pick<State, "file">} state */
  const fileOf = (state) => (opened && state.file === opened.key ? opened.traces : null);
  const asked = Object.keys(live).map((name) => [
    name,
    (/** @type {State} */ state, /** @type {unknown[]} */ ...more) => {
      /** @type {Record<string, any>} */
      const source = fileOf(state) ?? live;
      if (!source[name]) throw new Error(`a saved trace has no "${name}"`); // `lacks` says so before the request
      return source[name](state, ...more);
    },
  ]);

  return {
    .../** @type {Live} */ (Object.fromEntries(asked)),
    abandon: live.abandon,

    /** The model of what is shown. @param {State} state */
    model: (state) => fileOf(state)?.model ?? models.named(state.model),

    /**
     * Reads a file and forgets the previous one.
     * @param {ArrayBuffer} buffer @param {string} name @throws {FileError}
     */
    async open(buffer, name) {
      await reading.load();
      const key = JSON.stringify({ file: name, opened: ++count });
      const { openedFile } = /** @type {NonNullable<typeof reading.code>} */ (reading.code);
      opened = openedFile(buffer, { key, name }, api, models);
      return { key, meta: opened.meta, model: opened.traces.model };
    },
  };
}
