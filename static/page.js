/**
 * A page: its elements below one root, drawn from one store. On every change it loads what the visible panels need,
 * then draws them. Two pages fit in one document; one of them may own it (the address bar, the theme, global keys).
 *
 * @typedef {ReturnType<typeof import("./state/store.js").createStore>} Store
 * @typedef {Object} Context  what every control is given
 * @property {Actions} actions
 * @property {Frame} frame  the page's own elements
 * @property {any[]} models  the lines of /api/models
 * @property {{name: string, reason: string}[]} problems  the models that are set aside
 * @property {any} examples  static/examples.json
 * @property {(state: State) => any} modelOf  the model of the shown trace, also of a file
 * @property {View[]} views
 * @property {Declared[]} declared  the views' own state
 * @property {(() => HTMLElement|undefined)} openStation  the element of the station that is open
 * @property {ReturnType<typeof import("./shell/address.js").mirrorUrl>} address
 * @property {ReturnType<typeof import("./shell/status.js").createStatus>} status
 * @property {ReturnType<typeof import("./shell/file_mode.js").createFileMode>} files
 * @property {() => void} chooseFile  set by shell/open.js
 * @property {(file: File) => boolean} takesFile  whether a dropped file is a picture for the open model; set by shell/sentence/picture/photo.js
 * @property {EventTarget} ground  receives the page's key events and dropped files
 * @property {string|null} early  text typed before the page was mounted
 *
 * @typedef {Pick<typeof server, "trace"|"tokenize"|"weights"|"explain">} Server  what pictures ask
 *
 * @typedef {(trace: ModelTrace|null, state: State,
 *   error: ApiError|null) => void} Draw  called at every change with the current trace (null:
 * none yet)
 */

import { CONTROLS, OF_PICTURES } from "./controls.js";
import * as server from "./data/api.js";
import { createLoader } from "./data/loader.js";
import { createSources } from "./data/sources.js";
import { createTraces } from "./data/traces.js";
import quizBar from "./learn/quiz/quiz.js";
import { placeReading } from "./learn/reading.js";
import { isEmpty } from "./model/selection.js";
import { besidePicker, PANELS } from "./panels/index.js";
import { refresh } from "./refresh.js";
import { foldButton, river } from "./river/panel.js";
import { linksOnly } from "./shell/address.js";
import { createFileMode } from "./shell/file_mode.js";
import { buildFrame } from "./shell/frame.js";
import { createPanels } from "./shell/panels.js";
import { createSetter } from "./shell/setter.js";
import { createStatus } from "./shell/status.js";
import { mergedOwn } from "./state/own.js";
import { VIEWS } from "./stations/index.js";
import { t } from "./ui/i18n.js";

/**
 * @import { ApiError } from "./data/api.js"
 * @import { ModelTrace } from "./data/model_trace.js"
 * @import { Models } from "./data/models.js"
 * @import { Frame } from "./shell/frame.js"
 * @import { Declared } from "./state/own.js"
 * @import { Patch, State } from "./state/store.js"
 * @import { Actions, Panel, View } from "./stations/view.js"
 */

/** @type {Panel[]} */
const SIDE = [besidePicker, foldButton, river, ...PANELS, quizBar];

/** The panels of a page of pictures alone: one beside another, which has the controls, or one in a saved file. */
export const PICTURES = ["river", "classes", "effective", "next_token"];

/** The views' own state, which a link has beside the run. */
export const DECLARED = [...VIEWS, ...SIDE].flatMap(({ own }) => own ?? []);

/**
 * Builds a page below `root` and replaces its content. The catalogue must be loaded.
 * @param {HTMLElement} root
 * @param {Store} store
 * @param {{models: Models, examples: any, address?: Context["address"], early?: string|null,
 *   second?: boolean, pictures?: string[]|null, api?: Server, onTrace?: () => void}} options  `address`: of the page that owns the document;
 *   `second`: it stands beside another; `pictures`: it has these panels and no controls; `api`: who answers; `onTrace`: called when
 *   another trace is shown
 */
export function mount(root, store, options) {
  const { models, examples, address, early = null, second = false, pictures = second ? PICTURES : null } = options;
  const { api = server, onTrace = () => {} } = options;
  const side = pictures ? SIDE.filter(({ id }) => pictures.includes(id)) : SIDE;
  const frame = buildFrame(root, { panels: side, owner: address !== undefined, second });
  const status = createStatus({ root, voice: frame.sentence.status, banner: frame.sentence.banner });
  const live = createTraces(api, { modelNamed: models.named, onWait: status.waiting });
  const traces = createSources(live, api, models);
  const files = createFileMode(store, {
    open(buffer, name) {
      panels.loadAll().catch(() => {}); // what is missing is asked for again when it is shown
      return traces.open(buffer, name);
    },
    load: (name) => models.load(name, undefined, 1),
  });
  const setter = createSetter(store, { models, modelOf: traces.model, files, status, declared: DECLARED, examples });

  /** @type {Actions} */
  const actions = {
    set: setter.set,
    openModel: setter.openModel,
    get: store.get,
    models: models.list,
    page: root,
    steps: frame.sentence.steps,
    isLoading: () => status.now() === "loading",
    learn: traces.learn,
    predict: traces.prediction,
    soon: async (patches) => {
      if (!isEmpty(store.get())) await loader.soon(store.get(), needsAfter(patches)); // it may have become empty meanwhile
    },
    t,
  };
  const panels = createPanels(VIEWS, side, actions, traces.model, frame, placeReading);
  const loader = createLoader(traces, { modelNamed: models.named, bring: panels.load, onWait: status.waiting });

  /**
   * Prefetches what the page will need after one of these changes, except explanations.
   * @param {Patch[]} patches
   */
  function needsAfter(patches) {
    const after = patches.map((patch) => ({
      ...store.get(),
      ...patch,
      own: mergedOwn(store.get().own, patch.own ?? {}),
    }));
    const needs = new Set(after.flatMap((state) => [...panels.needs(state)]));
    return [...needs].filter((need) => !/^(explain:|code:|change$)/.test(need));
  }

  /** @type {Context} */
  const context = {
    actions,
    frame,
    models: models.list,
    problems: models.problems,
    examples,
    modelOf: traces.model,
    views: VIEWS,
    declared: DECLARED,
    status,
    files,
    early,
    address: address ?? linksOnly(store, DECLARED),
    openStation: () => panels.station(store.get()),
    chooseFile: () => {},
    takesFile: () => false,
    ground: address ? document : root,
  };
  const draws = (pictures ? OF_PICTURES : CONTROLS).map((create) => create(context));
  const page = {
    loader,
    panels,
    status,
    onTrace,
    trace: /** @type {ModelTrace|null} */ (null),
    controls: /** @type {Draw} */ ((...now) => draws.forEach((draw) => draw(...now))),
  };
  /** @param {State} state  after Back, the model may not be loaded yet */
  const show = (state) =>
    traces.model(state) ? refresh(page, state) : setter.settle(() => refresh(page, store.get()));
  store.subscribe(show);
  const redraw = () => show(store.get());
  return { status, redraw, drawn: redraw(), set: setter.set, shown: () => page.trace };
}
