/** Starts the page, and keeps it true: on every change it loads what the visible panels need, then draws them. */

import { createControls } from "./controls.js";
import * as api from "./data/api.js";
import { createLoader } from "./data/loader.js";
import { keyOf } from "./data/request.js";
import { retrying } from "./data/retry.js";
import { createSources } from "./data/sources.js";
import { createTraces } from "./data/traces.js";
import quizBar from "./learn/quiz/bar.js";
import { placeReading } from "./learn/reading.js";
import { isEmpty } from "./model/selection.js";
import { PANELS } from "./panels/index.js";
import { mirrorUrl } from "./shell/address.js";
import { createFileMode } from "./shell/file_mode.js";
import { createPanels } from "./shell/panels.js";
import { fitted, initialState } from "./shell/start.js";
import { createStatus } from "./shell/status.js";
import { onSystemTheme } from "./shell/theme.js";
import { createStore } from "./state/store.js";
import { VIEWS } from "./stations/index.js";
import { loadCatalogue, t } from "./ui/i18n.js";

async function start() {
  const status = createStatus();
  const [examples] = await Promise.all([loadExamples(), loadCatalogue()]);
  const list = await retrying(() => api.models(), { onWait: status.waiting });

  const first = initialState(list, examples);
  if (first.replaced)
    status.notice(t("error.unknown_model_replaced", { name: first.replaced, used: first.state.model }));
  const store = createStore(first.state);
  const url = mirrorUrl(store);
  const modelNamed = (name) => list.models.find((model) => model.name === name);
  const traces = createSources(createTraces(api, { modelNamed, onWait: status.waiting }), api, modelNamed);
  const files = createFileMode(store, traces);
  const set = (change) => {
    const patch = files.allowed(change);
    store.set(fitted(store.get(), patch, traces.model));
  };
  const actions = {
    set,
    get: store.get,
    learn: traces.learn,
    predict: traces.prediction,
    soon: (patches) => loader.soon(store.get(), needsAfter(patches)),
    t,
  };
  const context = { actions, models: list.models, modelOf: traces.model, examples, views: VIEWS, url, status, files };

  /** What the page will need after one of these changes; what explains itself is asked for when it is seen. */
  const needsAfter = (patches) => {
    const needs = patches.flatMap((patch) => [...panels.needs({ ...store.get(), ...patch })]);
    return [...new Set(needs)].filter((need) => !/^(explain:|change$)/.test(need));
  };

  const controls = createControls(context);
  const panels = createPanels(VIEWS, [...PANELS, quizBar], actions, traces.model, placeReading);
  const loader = createLoader(traces, modelNamed);
  const page = { store, loader, panels, controls, status, trace: null };
  store.subscribe((state) => refresh(page, state));
  onSystemTheme(() => refresh(page, store.get())); // the same pictures in other colours
  await refresh(page, store.get());
}

/** Sentences worth opening; a page without them still works. */
async function loadExamples() {
  const answer = await fetch("/static/examples.json");
  return answer.ok ? answer.json() : { examples: [] };
}

/** Show `state`: the controls at once, with the trace that is there; the rest as it arrives. */
async function refresh(page, state) {
  const { loader, panels, controls, status } = page;
  if (isEmpty(state)) {
    loader.cancel();
    page.trace = null;
    status.show("empty");
    controls.draw(null, state, null);
    return;
  }
  status.show("loading");
  controls.draw(page.trace, state, null);
  if (page.trace?.key !== keyOf(state)) panels.busy(true);
  try {
    const newest = await loader.load(state, panels.needs(state), (trace, have) => {
      page.trace = trace;
      controls.draw(trace, state, null);
      panels.draw(trace, state, have);
    });
    if (newest) status.show("ready");
  } catch (error) {
    if (error.name === "AbortError") return; // given up for something newer
    if (!(error instanceof api.ApiError)) console.error(error);
    status.show("error");
    controls.draw(page.trace, state, error);
    panels.busy(false);
  }
}

start().catch((error) => {
  console.error(error);
  createStatus().failed(error);
});
