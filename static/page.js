/**
 * A page: its elements below one root, drawn from one store. On every change it loads what the visible panels need,
 * then draws them. Two pages fit in one document; one of them may own it (the address bar, the theme, global keys).
 *
 * @typedef {ReturnType<typeof import("./state/store.js").createStore>} Store
 * @typedef {Object} Context  what every control is given
 * @property {Actions} actions
 * @property {Frame} frame  the page's own elements
 * @property {any[]} models  the lines of /api/models
 * @property {string} firstModel  the name of the server's default
 * @property {{name: string, reason: string}[]} problems  the models that are unavailable
 * @property {any} examples  static/examples.json
 * @property {(state: State) => any} modelOf  the model of the shown trace, also of a file
 * @property {View[]} views
 * @property {Declared[]} declared  the views' states
 * @property {(() => HTMLElement|undefined)} openStation  the element of the station that is open
 * @property {ReturnType<typeof import("./shell/address.js").mirrorUrl>} address
 * @property {ReturnType<typeof import("./shell/status.js").createStatus>} status
 * @property {ReturnType<typeof import("./shell/saved_traces.js").createFileMode>} files
 * @property {ReturnType<typeof createTakers>} takers  of dropped files
 * @property {ReturnType<typeof createOutside>} outside  what a lesson returns to
 * @property {EventTarget} ground  receives the page's key events and dropped files
 * @property {string|null} early  text typed before the page was mounted
 * @property {boolean} kept  whether it opens where the reader left off
 * @property {(root: HTMLElement, state: State) => void} miniature  draws the whole model as one small picture, and asks for what it needs
 * @property {Door|null} door  to the room of a class; only of the page that owns the document
 *
 * @typedef {Pick<typeof server, "trace"|"tokenize"|"weights"|"explain">} Server  the functions that pictures call
 *
 * @typedef {(state: State) => void} Follow  called once for each state
 * @typedef {(trace: ModelTrace|null, state: State, error: ApiError|null) => void} Draw  called when a trace has come or has more in it
 *   than before, and with the trace before (null: none) while another one is loaded
 * @typedef {{follow: Follow, draw: Draw}} Controls
 * @typedef {{teach: () => void, isTeaching: () => boolean, attach: (page: Context) => Follow, draw: Draw}} Door
 */

import * as server from "./data/api.js";
import { ApiError } from "./data/api.js";
import { createLoader } from "./data/loader.js";
import { keyOf } from "./data/request.js";
import { createSources, createTraces } from "./data/traces.js";
import { createHelp } from "./learn/help.js";
import { createLessons, createOutside } from "./learn/lesson/control.js";
import quizBar, { createQuiz } from "./learn/quiz/quiz.js";
import { createReading, placeReading } from "./learn/reading.js";
import { editsOf, switched } from "./model/edits.js";
import { isEmpty } from "./model/selection.js";
import { keepFirstPaint } from "./river/first_paint.js";
import { river } from "./river/panel.js";
import { linksOnly } from "./shell/address.js";
import { createCamera } from "./shell/camera.js";
import { createCaption, createExamples } from "./shell/examples.js";
import { buildFrame } from "./shell/frame.js";
import { createFullScreen } from "./shell/full_screen.js";
import { createHeader } from "./shell/header.js";
import { createPanels, HEAD_VIEWS } from "./shell/panels.js";
import { createPath } from "./shell/path.js";
import { createFileMode, createOpen, createTakers } from "./shell/saved_traces.js";
import { createSentence } from "./shell/sentence/sentence.js";
import { createSetter } from "./shell/setter.js";
import { createStart } from "./shell/start.js";
import { createStatus } from "./shell/status.js";
import { createTools } from "./shell/tools.js";
import { createStore } from "./state/store.js";
import { mergedViewState } from "./state/view_state.js";
import { SAVE } from "./ui/controls.js";
import { together, whenIdle } from "./ui/dom.js";
import { errorText } from "./ui/format.js";
import { t } from "./ui/i18n.js";
import { createHeads } from "./views/heads/heads.js";
import { VIEWS } from "./views/index.js";
import { createMasks } from "./views/masks.js";
import { PANELS } from "./views/panels.js";
import { isModel } from "./views/places.js";

/**
 * @import { ModelTrace } from "./data/model_trace.js"
 * @import { FirstPaint } from "./river/first_paint.js"
 * @import { Models } from "./data/models.js"
 * @import { Frame } from "./shell/frame.js"
 * @import { Patch, State } from "./state/store.js"
 * @import { Declared } from "./state/view_state.js"
 * @import { Actions, Panel, View } from "./views/view.js"
 */

// From a state of the store to what the page shows.

/**
 * Shows `state`: immediately what depends only on it, and what shows a trace as soon as that arrives.
 * @param {{loader: ReturnType<typeof import("./data/loader.js").createLoader>,
 *   panels: ReturnType<typeof import("./shell/panels.js").createPanels>, status: Context["status"],
 *   onTrace: () => void, controls: Controls, trace: ModelTrace|null, whole: boolean, without: (refused: number, error: ApiError) => void}} page
 *   `without`: sets aside an intervention that was refused
 * @param {State} state @param {boolean} [moves]  the camera moves: it needs at once what is known
 */
export async function refresh(page, state, moves = false) {
  const { loader, panels, controls, status } = page;
  if (isEmpty(state)) {
    loader.cancel();
    page.trace = null;
    status.show("empty");
    controls.follow(state);
    controls.draw(null, state, null);
    return;
  }
  status.show("loading");
  controls.follow(state);
  const waits = page.trace?.key !== keyOf(state) && !loader.knows(state); // what is here is drawn at once: after an undo
  if (waits) controls.draw(page.trace, state, null);
  panels.arrange(state);
  if (waits) panels.busy(true);
  const turns = page.whole !== isModel(state); // the river becomes a strip, which a head's place is drawn with
  page.whole = isModel(state);
  let first = true;
  try {
    const shows = (/** @type {ModelTrace} */ trace, /** @type {Set<string>} */ available, alone = "") => {
      if (alone) {
        if ((alone === "place" && turns) || !panels.isDue(trace, state, available, true)) return false;
        return together(() => {
          if (alone === "place") controls.draw(trace, state, null); // the row of heads stands over it
          panels.draw(trace, state, available, true);
        });
      }
      const arrived = page.trace !== trace;
      page.trace = trace;
      if (arrived) page.onTrace();
      together(() => {
        if (first || panels.isDue(trace, state, available)) controls.draw(trace, state, null);
        first = false;
        panels.draw(trace, state, available);
      });
    };
    if (!(await loader.load(state, panels.needs(state), shows, moves))) return;
    status.show("ready");
    const head = { ...state, view: "attention" };
    const { trace } = page;
    panels.load(head, HEAD_VIEWS).then(
      () => trace && state.view !== head.view && panels.rehearse(trace, head),
      () => {}, // what did not come is asked for again
    );
  } catch (error) {
    if (/** @type {any} */ (error).name === "AbortError") return; // cancelled by something newer
    if (!(error instanceof ApiError)) console.error(error);
    const refused = first ? refusedEdit(error) : null;
    if (refused !== null) return page.without(refused, /** @type {ApiError} */ (error));
    status.show("error");
    controls.draw(page.trace, state, /** @type {any} */ (error));
    panels.busy(false);
  }
}

/** The index of the intervention that an answer refuses; null: it is about something else. @param {unknown} error */
function refusedEdit(error) {
  const [, index] = /^interventions\[(\d+)\]/.exec(String(/** @type {any} */ (error)?.where ?? "")) ?? [];
  return index === undefined ? null : Number(index);
}

// The controls of a page. Each is made once from the page's context; they are drawn in the order of their list.

/** @param {Context} context @param {boolean} [edits]  whether its heads can be switched off @returns {Draw} */
const createHeadsPanel = ({ frame, actions }, edits = true) =>
  whileShown(frame.heads.element, createHeads(actions, frame.heads, edits));

/** @typedef {{follow: ((context: Context) => Follow)[], draw: ((context: Context) => Draw)[]}} Creators */

/** @type {Creators} */
const CONTROLS = {
  follow: [
    createPath,
    createTools,
    createStart,
    createExamples,
    createCaption,
    createLessons,
    createFullScreen,
    createHelp,
    (context) => context.door?.attach(context) ?? (() => {}),
  ],
  draw: [
    createOpen,
    createHeader,
    createSentence,
    (context) => createHeadsPanel(context),
    ({ frame, actions, modelOf, ground }) =>
      createMasks({ root: frame.masks.switches, tools: frame.path.groups.change.element }, actions, modelOf, ground),
    createQuiz,
    createReading,
    ({ door }) => door?.draw ?? (() => {}),
  ],
};

/** Draws only what can be seen, except once: to build it before it is shown. @param {HTMLElement} element @param {Draw} draw @returns {Draw} */
function whileShown(element, draw) {
  let built = false;
  return (trace, state, error) => {
    if (!element.hidden) draw(trace, state, error);
    else if (trace && !built) whenIdle(() => element.hidden && draw(trace, state, error));
    built ||= trace !== null;
  };
}

/** The controls of a page of pictures alone. @type {Creators} */
const OF_PICTURES = { follow: [createPath], draw: [(context) => createHeadsPanel(context, false)] };

/** @type {Panel[]} */
const SIDE = [river, ...PANELS, quizBar];

/** The panels of a page that has only pictures: the second of two pages, or one in a saved file. */
export const PICTURES = ["river", "classes", "effective", "next_token"];

/** The views' states, which a link has in addition to the run. */
export const DECLARED = [...VIEWS, ...SIDE].flatMap(({ viewState }) => viewState ?? []);

/**
 * Builds a page below `root` and replaces its content. The catalogue must be loaded.
 * @param {HTMLElement} root
 * @param {Store} store
 * @param {{models: Models, examples: any, address?: Context["address"], early?: string|null,
 *   second?: boolean, pictures?: string[]|null, api?: Server, onTrace?: () => void, kept?: boolean,
 *   first?: FirstPaint|null, door?: Door|null}} options  `address`: of the page that owns the document; `first`: what the server painted;
 *   `second`: it is the second of two pages; `pictures`: it has these panels and no controls; `api`: answers requests; `onTrace`: called when
 *   another trace is shown
 */
export function mount(root, store, options) {
  const { models, examples, address, early = null, second = false, pictures = second ? PICTURES : null } = options;
  const { api = server, onTrace = () => {}, first = null, kept = false, door = null } = options;
  const side = pictures ? SIDE.filter(({ id }) => pictures.includes(id)) : SIDE;
  const frame = buildFrame(root, { panels: side, owner: address !== undefined, second });
  root.classList.remove("outlines");
  // A second page lies within the first, whose caption would be of another run: its pictures are saved without one.
  if (pictures) root.addEventListener(SAVE, (event) => event.stopPropagation());
  const status = createStatus({ root, voice: frame.sentence.status, banner: frame.sentence.banner });
  const live = createTraces(api, { modelNamed: models.named, onWait: status.waiting });
  const traces = createSources(live, api, models);
  const outside = createOutside({ examples, declared: DECLARED });
  /** @param {ArrayBuffer} buffer @param {string} name */
  const open = (buffer, name) => {
    panels.loadAll().catch(() => {}); // what is missing is asked for again when it is shown
    return traces.open(buffer, name);
  };
  const files = createFileMode(store, { open, load: (name) => models.load(name, undefined, 1) }, outside.patch);
  const setter = createSetter(store, { models, modelOf: traces.model, status, declared: DECLARED, examples });

  /** @type {Actions} */
  const actions = {
    set: setter.set,
    openModel: setter.openModel,
    get: store.get,
    refusals: new Map(),
    models: models.list,
    page: root,
    say: frame.said,
    isLoading: () => status.now() === "loading",
    learn: traces.learn,
    predict: traces.prediction,
    alternatives: traces.alternatives,
    soon: async (patches) => {
      if (isEmpty(store.get())) return; // it may have become empty meanwhile
      const after = patches.map(stateAfter);
      const needs = new Set(after.flatMap((state) => [...panels.needs(state)]));
      await loader.soon(after[0] ?? store.get(), [...needs]); // all are of one run and one head
    },
    t,
  };
  const panels = createPanels(VIEWS, side, actions, traces.model, frame, placeReading);
  if (first && store.get().start) keepFirstPaint(first, frame, store);
  const loader = createLoader(traces, { modelNamed: models.named, bring: panels.load, onWait: status.waiting });

  /** @param {Patch} patch @returns {State} */
  const stateAfter = (patch) => ({
    ...store.get(),
    ...patch,
    viewState: mergedViewState(store.get().viewState, patch.viewState ?? {}),
  });

  /** @type {Context} */
  const context = {
    actions,
    frame,
    models: models.list,
    firstModel: models.first,
    problems: models.problems,
    examples,
    modelOf: traces.model,
    views: VIEWS,
    declared: DECLARED,
    status,
    files,
    early,
    kept,
    address: address ?? linksOnly(store, DECLARED),
    openStation: () => panels.station(store.get()),
    takers: createTakers(),
    outside,
    ground: address ? document : root,
    door,
    miniature: (place, state) => void mount(place, createStore(state), { models, examples, api, pictures: ["river"] }),
  };
  const { follow, draw } = pictures ? OF_PICTURES : CONTROLS;
  const [follows, draws] = [follow.map((create) => create(context)), draw.map((create) => create(context))];
  const page = {
    loader,
    panels,
    status,
    onTrace,
    trace: /** @type {ModelTrace|null} */ (null),
    whole: false,
    refused: { key: "", said: "" },
    controls: /** @type {Controls} */ ({
      follow: (state) => follows.forEach((one) => one(state)),
      draw: (...now) => draws.forEach((one) => one(...now)),
    }),
    /** @param {number} refused @param {ApiError} error */
    without(refused, error) {
      const why = errorText(error).replace(/^interventions\[\d+\](?:\.\w+)?(?:\.|: )/, ""); // its chip says which one
      const all = editsOf(store.get());
      const at = all.findIndex(({ edit }) => edit === store.get().interventions[refused]);
      const key = JSON.stringify(all[at]?.edit);
      actions.refusals.set(key, why);
      this.refused = { key, said: t("error.edit", { n: at + 1, why }) };
      status.notice(this.refused.said);
      context.address.quietly(() => setter.set(switched(store.get(), [at], false)));
    },
  };
  /** @param {State} state  after Back, the model may not be loaded yet @param {boolean} [moves] */
  const show = (state, moves) =>
    traces.model(state) ? refresh(page, state, moves) : setter.settle(() => refresh(page, store.get(), moves));
  const camera = address && !pictures ? createCamera(frame) : null;
  store.subscribe((state, was) => {
    if (camera?.moves(was, state)) camera.move(state, () => show(store.get(), true));
    else if (camera?.slides(was, state)) camera.slide(state, () => show(state));
    else show(state);
  });
  store.subscribe(({ paused }) => {
    const { key, said } = page.refused;
    if (said && !paused.some(({ edit }) => JSON.stringify(edit) === key)) status.withdraw(said);
  });
  const redraw = () => show(store.get());
  return { status, redraw, drawn: redraw(), set: setter.set, shown: () => page.trace };
}
