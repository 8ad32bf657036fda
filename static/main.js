/** Starts the page that owns the document: its first state comes from the address, and the address follows it. */

import * as api from "./data/api.js";
import { retrying } from "./data/ask.js";
import { lazy } from "./data/lazily.js";
import { createModels } from "./data/models.js";
import { isEmpty } from "./model/selection.js";
import { baseOf } from "./model/trainings.js";
import { DECLARED, mount } from "./page.js";
import { takeFirstPaint } from "./river/first_paint.js";
import { addressNow, keepRoom, keptRoom, mirrorUrl, rememberPlace, takeInvitation } from "./shell/address.js";
import { initialState, inputFor } from "./shell/initial_state.js";
import { lackedPlace } from "./shell/path.js";
import { onSystemTheme } from "./shell/reader_settings.js";
import { fitted } from "./shell/setter.js";
import { startPatch } from "./shell/start.js";
import { createStatus } from "./shell/status.js";
import { createStore } from "./state/store.js";
import { errorText } from "./ui/format.js";
import { language, loadCatalogue, t } from "./ui/i18n.js";
import { remember } from "./ui/remembered.js";

/**
 * @import { Models } from "./data/models.js"
 * @import { ModelTrace } from "./data/model_trace.js"
 * @import { Context, Door } from "./page.js"
 * @import { State } from "./state/store.js"
 */

const another = lazy(() => import("./beside.js"));
const root = document.body;
const banner = /** @type {HTMLElement} */ (document.querySelector(".banner"));
const field = /** @type {HTMLTextAreaElement} */ (document.querySelector(".sentence textarea"));
/** The parts that the server rendered, until the page is mounted. */
const waiting = createStatus({ root, voice: banner, banner });

async function start() {
  takeInvitation();
  const [examples] = await Promise.all([loadExamples(), loadCatalogue()]);
  const models = createModels(await retrying(() => api.models(), { onWait: waiting.waiting }), api);
  // The language in a link is remembered, because the first change removes it from the address.
  if (new URLSearchParams(location.search).has("lang")) remember("lang", language());

  const lost = addressNow() === null;
  const { state, replaced, kept } = initialState(models, examples, DECLARED);
  const { model, refused } = await opened(models, state.model ?? models.first);
  if (refused) state.model = model.name;
  if (isEmpty(state) && model.picture) Object.assign(state, inputFor(model, state, examples));
  const store = createStore(state);
  store.set(fitted(state, state, () => model, DECLARED));
  const lacked = lackedPlace(state, store.get(), model);
  const early = document.activeElement === field ? field.value : null;
  /** @type {ReturnType<typeof import("./beside.js").createBeside>|null} */
  let second = null;
  const onTrace = () => void second?.follow(store.get());
  const address = mirrorUrl(store, DECLARED, () => startPatch(examples, models.list, models.first, DECLARED));
  if (kept) address.flush();
  rememberPlace(store, DECLARED, root);
  const page = mount(root, store, {
    models,
    examples,
    address,
    early,
    kept,
    onTrace,
    first: takeFirstPaint(root),
    door: createDoor(),
  });
  /** @param {string} text */
  function sayUntilItChanges(text) {
    page.status.notice(text);
    const stop = store.subscribe(() => {
      page.status.notice("");
      stop();
    });
  }
  /** Another model beside this one: its code comes when it is first asked for. */
  async function beside() {
    if (!second && store.get().beside === null) return;
    await another.load();
    second ??= /** @type {NonNullable<typeof another.code>} */ (another.code).createBeside(root, store, page, {
      models,
      examples,
    });
    await second.follow(store.get());
  }
  store.subscribe(() => void beside());
  beside();
  if (replaced) page.status.notice(replacedText(replaced, state.model ?? "", models.problems));
  if (refused) page.status.notice(errorText(refused));
  if (lacked && !replaced) sayUntilItChanges(t("error.no_place", { ...lacked, model: model.name }));
  const sayLost = () => page.status.notice(t("error.lost_text"));
  if (lost) sayLost();
  addEventListener("popstate", () => addressNow() === null && sayLost());
  onSystemTheme(page.redraw); // the same pictures in other colours
  await page.drawn;
}

/**
 * The model of this name; a snapshot's model if it has none of that step.
 * @param {Models} models @param {string} name @returns {Promise<{model: any, refused: unknown}>}
 */
async function opened(models, name) {
  try {
    return { model: await models.load(name, waiting.waiting), refused: null };
  } catch (error) {
    if (/** @type {any} */ (error).code !== "unknown_snapshot") throw error;
    return { model: await models.load(baseOf(name), waiting.waiting), refused: error };
  }
}

/** Why another model is shown. @param {string} name @param {string} used @param {{name: string, reason: string}[]} problems */
function replacedText(name, used, problems) {
  const problem = problems.find((one) => one.name === name);
  if (!problem) return t("error.unknown_model_replaced", { name, used });
  return t("error.aside_model_replaced", { name, used, reason: problem.reason });
}

/** The examples; the page also works without them. */
async function loadExamples() {
  const answer = await fetch("static/examples.json");
  return answer.ok ? answer.json() : { examples: [] };
}

/** The door to the room of a class, whose code comes when somebody teaches or joins. @returns {Door} */
function createDoor() {
  const code = lazy(() => import("./learn/room/room.js"));
  /** @type {ReturnType<typeof import("./learn/room/room.js").createRoom>|null} */
  let room = null;
  /** @type {Context|null} */
  let context = null;
  /** @type {[ModelTrace|null, State]|null} */
  let last = null;

  /** @param {(room: ReturnType<typeof import("./learn/room/room.js").createRoom>) => void} then */
  async function enter(then) {
    const page = /** @type {Context} */ (context);
    try {
      await code.load();
      room ??= /** @type {NonNullable<typeof code.code>} */ (code.code).createRoom(page, { keptRoom, keepRoom });
      if (last) room.draw(...last);
      then(room);
    } catch (error) {
      page.status.notice(errorText(/** @type {Error} */ (error)));
    }
  }

  const teach = () => void enter((one) => one.teach());

  return {
    /** Opens a room, or what its teacher has on the screen. */
    teach,
    isTeaching: () => room?.isTeaching() ?? false,
    /** @param {Context} page */
    attach(page) {
      context = page;
      page.frame.header.teach?.addEventListener("click", teach); // the start page has no tools
      const { key, code: invited } = keptRoom();
      if (key || invited !== undefined) enter((one) => one.enter());
      return (/** @type {State} */ state) => room?.follow(state);
    },
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      last = [trace, state];
      room?.draw(trace, state);
    },
  };
}

start().catch((error) => {
  console.error(error);
  waiting.failed(error);
});
