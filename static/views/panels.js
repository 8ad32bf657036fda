/**
 * The panels around the opened view: views that name their place. To add one: its declaration here, and a module with
 * its `draw`, which is loaded when the panel is first shown. See ../README.md.
 */

import { rankState, showsEffects } from "../data/explain.js";
import { lazily } from "../data/lazily.js";
import { besideModel, besideState, isBeside } from "../model/compare/beside.js";
import { comparable, hasLogits, hasWeights, isTrained, masksChanged } from "../model/compare/runs.js";
import {
  answeringStack,
  answersTokens,
  attentionsOf,
  can,
  fillsMask,
  hasVocabulary,
  predictsTokens,
  readsBatch,
  splitsLogits,
  writesTarget,
} from "../model/description.js";
import { cachedAttention, crossAttention, keyTaps, recurrentAttention, stateTaps } from "../model/kv_cache.js";
import { tensorNeeds } from "../model/taps.js";
import { sameModel, snapshotsOf } from "../model/trainings.js";
import { comparedNodes } from "../model/written.js";
import { openFfn } from "./ffn/data.js";
import labels from "./heads/labels.js";
import inspector from "./inspector/inspector.js";
import { isModel } from "./places.js";
import {
  batchState,
  cacheState,
  compareState,
  dockState,
  fedState,
  GAME_MODEL,
  gameState,
  generationState,
} from "./view_states.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Panel } from "./view.js"
 */

/** Open as a drawer; in a lesson, where the lesson shows it. @param {string} id @returns {(state: State) => boolean} */
const inDrawer = (id) => (state) => state.drawer === id || state.lesson !== null;

/** Step, what the model answers, and how the next token is drawn. A file's text cannot go on. @type {Panel} */
const dock = {
  id: "dock",
  frame: { place: "dock", className: "dock-tools", title: "dock.label" },
  has: ({ description: { predicts } }) => predicts !== "none",
  shown: (state) => state.file === null,
  viewState: dockState,
  needs: (state, model) => (answersTokens(model) ? ["prediction"] : []),
  ...lazily(() => import("./dock.js")),
};

/** The same sentence in two models: which, what to look at, and how different their next tokens are. @type {Panel} */
const beside = {
  id: "beside",
  frame: { place: "home", className: "panel beside-about", title: "beside.title" },
  shown: isBeside,
  needs: [],
  ...lazily(() => import("./beside/draw.js")),
};

/** In the menu of tools: another model beside the page's. @type {Panel} */
const besidePicker = {
  id: "beside_pick",
  viewState: besideState,
  frame: { place: "tools", className: "beside-pick" },
  shown: ({ quiz, file, lesson }) => !quiz && file === null && lesson === null,
  needs: [],
  ...lazily(() => import("./beside/pick.js")),
};

/** Training in snapshots: a slider over the model's snapshots. The sentence stays. @type {Panel} */
const trainingSnapshots = {
  id: "watched",
  frame: { place: "drawer", className: "panel watched", title: "watched.title", tool: "compare" },
  // Beside another model, the two are what there is to see; beside one of its own snapshots, the slider belongs to it.
  shown: (state) =>
    inDrawer("watched")(state) &&
    state.file === null &&
    (!isBeside(state) || sameModel(state.model, besideModel(state))),
  has: (model) => snapshotsOf(model).length > 0,
  needs: (state, model) => (predictsTokens(model) ? ["prediction"] : []),
  // The slider does not wait for the figures of this sentence.
  also: (state, model) => ["explain:residual", ...(can(model, "units") ? ["explain:units"] : [])],
  ...lazily(() => import("./training_snapshots/draw.js")),
};

/**
 * A classifier's answer: its classes, what they are computed from, and where [CLS] looks in every head.
 * @type {Panel}
 */
const classes = {
  id: "classes",
  frame: { place: "right", className: "panel classes", title: "classes.title" },
  has: (model) => model.description.predicts === "classes",
  shown: (state) => !isModel(state) || state.lesson !== null, // in the whole model the dock says them
  needs: ["detail", "head_rows"],
  also: (state, model) => (model.picture && can(model, "route") ? ["explain:route"] : []),
  ...lazily(() => import("./classes.js")),
};

/**
 * A masked language model's answer: the most likely tokens at the chosen place, and a button that hides the token
 * there.
 * @type {Panel}
 */
const fillMask = {
  id: "gap",
  frame: { place: "right", className: "panel classes", title: "gap.title" },
  has: fillsMask,
  needs: ["prediction"],
  ...lazily(() => import("./fill_mask.js")),
};

/** What a head gives that predicts nothing: a score, a label for each token, where an answer starts and ends. @type {Panel} */
const headAnswer = {
  id: "given",
  frame: { place: "right", className: "panel classes given", title: "given.title" },
  has: ({ description: { predicts, logits } }) => predicts === "none" && logits.dims !== "position d_model",
  needs: (state, model) => tensorNeeds(model.description.logits.tap),
  ...lazily(() => import("./head_answer.js")),
};

/** In an FFN, until one of its units is chosen: then the inspector has its arithmetic. @type {Panel} */
const ffnUnits = {
  id: "ffn_units",
  frame: { place: "right", className: "panel ffn-units", title: "ffn.card_title" },
  shown: ({ view, ffnUnit, quiz }) => view === "ffn" && ffnUnit === null && !quiz,
  needs: (state, model) => (state.view === "ffn" ? tensorNeeds(openFfn(state, model).post) : []),
  also(state, model) {
    const answers = can(model, "contributions") && openFfn(state, model).stack === answeringStack(model).id;
    return answers ? ["explain:contributions"] : [];
  },
  ...lazily(() => import("./ffn_units.js")),
};

/**
 * What changed between two runs, in numbers: heads, leaks, the next token; and a padded run compared with the single
 * run.
 * @type {Panel}
 */
const compare = {
  id: "compare",
  frame: { place: "below", className: "panel compare", title: "compare.title" },
  roles: ["overview"],
  viewState: compareState,
  shown: ({ compare }) => compare,
  needs: (state, model) => {
    const { pairs } = comparable(state, model);
    if (!state.compare || pairs.length === 0) return [];
    const open = hasWeights(pairs, state, model) ? ["detail", "compared_detail"] : [];
    const next = hasLogits(pairs) && predictsTokens(model) ? ["prediction"] : [];
    return [...open, ...next, "compared"];
  },
  also: (state, model) =>
    comparable(state, model).pairs.some(({ what }) => what === "weights") ? ["explain:changes"] : [],
  ...lazily(() => import("./compare/draw.js")),
};

/**
 * Two sentences of different length in one batch: what the padding mask is for, with the model's own numbers.
 * @type {Panel}
 */
const batch = {
  id: "batch",
  frame: { place: "drawer", className: "panel batch", title: "batch.title", tool: "compare" },
  viewState: batchState,
  shown: (state) => inDrawer("batch")(state) && state.file === null,
  has: readsBatch,
  needs: [],
  ...lazily(() => import("./batch.js")),
};

/**
 * How many keys each head of the open layer looks at, and all heads together: shown while two models are compared.
 * @type {Panel}
 */
const effectiveKeys = {
  id: "effective",
  roles: ["overview"],
  frame: { place: "below", className: "panel effective", title: "effective.title" },
  shown: ({ beside }) => beside !== null,
  needs: ["heads"],
  ...lazily(() => import("./effective_keys.js")),
};

/**
 * Generation: the sentence continues token by token, and every step can be inspected, undone or changed.
 * @type {Panel}
 */
const generation = {
  id: "generation",
  frame: { place: "drawer", className: "panel generation", title: "generation.title", tool: "compare", onPhone: true },
  shown: inDrawer("generation"),
  has: predictsTokens,
  viewState: generationState,
  // The text says where a generated token looks and with what weight, which comes from the open head's float32.
  needs: (state, model) => (state.ids || writesTarget(model) ? ["detail"] : []),
  ...lazily(() => import("./generation/draw.js")),
};

/** Of a longer text only the open layer is drawn: tokens, and characters of a text. */
const [MOST_TOKENS, MOST_CHARACTERS] = [96, 400];

/** Keys and values of every layer, or its state. @param {State} state @param {Model} model */
function cacheNeeds(state, model) {
  const isOpen = state.drawer === "cache" && state.file === null;
  const carries = isOpen ? recurrentAttention(model) : null;
  const attention = isOpen ? (carries ?? cachedAttention(model)) : null;
  if (!attention) return [];
  const long = state.ids ? state.ids.length > MOST_TOKENS : state.text.length > MOST_CHARACTERS;
  const all = Array.from({ length: attention.n_layer }, (_, layer) => layer);
  const shown = long ? [Math.min(state.layer, attention.n_layer - 1)] : all;
  if (carries) return tensorNeeds(...stateTaps(carries, shown));
  const cross = crossAttention(model);
  return tensorNeeds(...keyTaps(attention, shown), ...(cross ? keyTaps(cross, shown) : []));
}

/** What a step with a KV cache kept and computed. @type {Panel} */
const cache = {
  id: "cache",
  frame: { place: "drawer", className: "panel kv", title: "cache.title", tool: "compare", onPhone: true },
  shown: inDrawer("cache"),
  has: predictsTokens,
  viewState: cacheState,
  needs: cacheNeeds,
  ...lazily(() => import("./generation/cache.js")),
};

/** Which words fed what was written, token by token. @type {Panel} */
const fed = {
  id: "fed",
  frame: { place: "drawer", className: "panel fed", title: "fed.title", tool: "cause" },
  shown: (state) => state.drawer === "fed" && state.file === null,
  has: (model) => predictsTokens(model) && attentionsOf(model).some(({ overview }) => overview !== null),
  viewState: fedState,
  needs: [],
  also: (state, model) => (can(model, "route") ? ["explain:route"] : []),
  ...lazily(() => import("./generation/fed.js")),
};

/**
 * Next token: row t predicts t+1. The most likely tokens of the whole vocabulary, before and after the sampling
 * settings.
 * @type {Panel}
 */
const nextToken = {
  id: "next_token",
  frame: { place: "drawer", className: "panel next", title: "next.title" },
  has: predictsTokens,
  shown: (state) => inDrawer("generation")(state) && !comparedTexts.shown?.(state),
  needs: ["prediction"],
  ...lazily(() => import("./next_token.js")),
};

/** Two texts of the tree side by side. @type {Panel} */
const comparedTexts = {
  id: "compared_texts",
  frame: { place: "drawer", className: "panel compared-texts", title: "pair.title" },
  has: predictsTokens,
  shown: (state) => state.drawer === "generation" && state.file === null && comparedNodes(state) !== null,
  needs: ["compared_nodes"],
  ...lazily(() => import("./generation/pair.js")),
};

/** @param {string} id @param {string} title @param {"heads"|"direct"|"patch"} shows */
const rankTool = (id, title, shows) => ({
  ...{ id, title, patch: { drawer: "rank", ...rankState.patch({ shows, height: "auto" }) } },
  isOpen: (/** @type {State} */ state) => state.drawer === "rank" && rankState.of(state).shows === shows,
});

/** Which heads the answer needs: each is switched off once. Measured while it is open. @type {Panel} */
const rank = {
  id: "rank",
  frame: { place: "drawer", className: "panel rank", title: "rank.title", tool: "cause" },
  has: (model) => can(model, "ablations"),
  shown: ({ drawer, file }) => drawer === "rank" && file === null,
  viewState: rankState,
  tools: (model) => [
    rankTool("rank", "rank.title", "heads"),
    ...(splitsLogits(model) ? [rankTool("rank-direct", "direct.title", "direct")] : []),
    rankTool("rank-patch", "patch.tool", "patch"),
  ],
  needs: [],
  also(state, model) {
    const { shows } = rankState.of(state);
    const before = ["without_knockouts", ...(masksChanged(state, model) ? ["as_trained"] : [])]; // whose answer is measured
    if (shows === "vocabulary" && hasVocabulary(model)) return ["explain:vocabulary", "explain:induction"];
    // The sentence that is offered has the next best answer: drawn again when that is known.
    if (shows === "patch" && !model.picture)
      return [...before, "explain:spelled", ...(predictsTokens(model) ? ["prediction", "explain:neighbours"] : [])];
    // Its answers are those before the edits and now.
    const answers = [...before, ...(predictsTokens(model) && !isTrained(state) ? ["prediction"] : [])];
    if (shows === "heads") return [...answers, ...(showsEffects(state, model) ? ["ablations"] : [])];
    return shows === "direct" && splitsLogits(model) ? [...answers, "explain:direct"] : [];
  },
  ...lazily(() => import("./rank/draw.js")),
};

/** Break the model, a game: as few connections hidden as possible. @type {Panel} */
const game = {
  id: "game",
  frame: { place: "drawer", className: "panel rank", title: "game.title", tool: "change" },
  has: (model) => model.name === GAME_MODEL,
  shown: ({ drawer, file, lesson }) => drawer === "game" && file === null && lesson === null,
  viewState: gameState,
  needs: ["prediction"],
  ...lazily(() => import("./game/draw.js")),
};

/** What each head does on this sentence, by rules. */
const roles = { ...labels, shown: inDrawer("labels") };

/** In this order within each place of the page. @type {Panel[]} */
export const PANELS = [
  ...[dock, besidePicker, beside, trainingSnapshots, rank, roles, inspector, classes, fillMask, headAnswer, ffnUnits],
  ...[compare, batch, effectiveKeys, generation, cache, fed, comparedTexts, nextToken],
  game,
];
