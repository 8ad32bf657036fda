/** Two settings side by side: the same start and seed with two values of one setting, written at once; a click takes one of the texts. */

import { streamGeneration } from "../../data/streams.js";
import { tokenName } from "../../model/labels.js";
import { sharedLength } from "../../model/selection.js";
import { h, replace, setText, update } from "../../ui/dom.js";
import { errorText, percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { generationState } from "../view_states.js";
import { numberField, shortNumber } from "./settings.js";

/**
 * @import { Token } from "../../model/labels.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Player } from "./buttons.js"
 * @import { Session, Writing } from "./session.js"
 */

/** The two values, by their names in the view's state. */
const SIDES = /** @type {const} */ (["cool", "warm"]);

/** @typedef {"temperature"|"topK"|"topP"|"minP"|"penalty"} Setting */

/** What can differ: its name in a request, its bounds there, and two values to begin with. @type {Record<Setting, {asked: string, low: number, high: number, step: number, pair: [number, number]}>} */
const SETTINGS = {
  temperature: { asked: "temperature", low: 0, high: 10, step: 0.1, pair: [0.2, 1.2] },
  topK: { asked: "top_k", low: 0, high: 1000, step: 1, pair: [3, 100] },
  topP: { asked: "top_p", low: 0.01, high: 1, step: 0.01, pair: [0.5, 1] },
  minP: { asked: "min_p", low: 0, high: 1, step: 0.01, pair: [0.2, 0] },
  penalty: { asked: "repetition_penalty", low: 0.1, high: 10, step: 0.1, pair: [1, 1.5] },
};
const NAMES = /** @type {Setting[]} */ (Object.keys(SETTINGS));
/** Without any draw these change nothing. @type {Setting[]} */
const OF_DRAWS = ["topK", "topP", "minP"];

/**
 * The setting that differs, and its two values; those of a link may be another setting's.
 * @param {Pick<State, "viewState">} state @returns {{by: Setting, values: [number, number], requests: Record<string, number>[]}}
 */
export function twoOf(state) {
  const { by, ...given } = generationState.of(/** @type {State} */ (state));
  const { asked, low, high, step } = SETTINGS[/** @type {Setting} */ (by)];
  const fit = (/** @type {number} */ value) => Math.min(high, Math.max(low, step === 1 ? Math.round(value) : value));
  const values = /** @type {[number, number]} */ (SIDES.map((name) => fit(given[name])));
  return { by: /** @type {Setting} */ (by), values, requests: values.map((value) => ({ [asked]: value })) };
}

/** @typedef {{token: Token, after: number}} Written  `after`: how likely it was with its setting */
/** @typedef {{writing: Writing, by: Setting, values: [number, number], texts: Written[][]}} Both  of what the texts go on from, and with which values */

/** How many tokens two texts share. @param {Written[][]} texts */
const commonLength = ([a, b]) => sharedLength(...idsOf([a, b]));

/** @param {Written[][]} texts @returns {[number[], number[]]} */
const idsOf = (texts) => /** @type {[number[], number[]]} */ (texts.map((text) => text.map(({ token }) => token.id)));

/** @param {Session} session @param {Player} player @param {Actions} actions */
export function createTwoSettings(session, player, actions) {
  let both = /** @type {Both|null} */ (null);
  let running = /** @type {AbortController|null} */ (null);
  const pick = h(
    "select",
    {
      "aria-label": t("two.by"),
      dataset: { testid: "two-by" },
      on: { change: () => choose(/** @type {Setting} */ (pick.value)) },
    },
    NAMES.map((name) => h("option", { value: name }, t(`generation.${name}`))),
  );
  const choose = (/** @type {Setting} */ by) => {
    const [cool, warm] = SETTINGS[by].pair;
    actions.set(generationState.patch({ by, cool, warm }));
  };
  const fields = NAMES.map((by) => fieldsOf(by, actions));
  const attrs = { class: "btn", type: "button", dataset: { testid: "two-write" } };
  const button = h("button", { ...attrs, on: { click: () => (running ? stop() : write()) } });
  const said = h("span", { class: "dim", role: "status", dataset: { testid: "two-said" } });
  const columns = h("div", { class: "two-texts" });
  const labels = h("span", { class: "ctl" });
  const head = h("h3", null, t("two.title"));
  const node = h(
    "section",
    { class: "beams two", dataset: { testid: "two" } },
    head,
    h("div", { class: "ctl" }, pick, labels, button, said),
    columns,
  );

  function stop() {
    running?.abort(); // closes both connections, which stops the server's work
    running = null;
    draw(null, actions.get());
  }

  async function write() {
    const from = session.from();
    if (!from || whyNot(actions.get()) !== null) return;
    player.pause();
    running = new AbortController();
    const { signal } = running;
    const { by, values, requests } = twoOf(actions.get());
    both = { writing: session.writing(from), by, values, texts: [[], []] };
    setText(said, "");
    draw(null, actions.get());
    const { length } = generationState.of(actions.get());
    try {
      await Promise.all(
        requests.map((setting, side) => writeOne(side, { ...player.request(from, length), ...setting }, signal)),
      );
      if (!signal.aborted) setText(said, partedWords(both.texts));
    } catch (error) {
      if (!signal.aborted) setText(said, errorText(/** @type {Error} */ (error)));
    }
    if (!signal.aborted) stop();
  }

  /** @param {number} side @param {object} request @param {AbortSignal} signal */
  async function writeOne(side, request, signal) {
    const onEvent = (/** @type {string} */ name, /** @type {any} */ step) => {
      if (name !== "step" || !both || signal.aborted) return;
      both.texts[side].push({ token: step.token, after: step.after });
      show();
    };
    await streamGeneration({ ...request, rows: false, n: 1 }, { signal, onEvent });
  }

  function show() {
    const { writing, by, values, texts } = /** @type {Both} */ (both);
    const { from } = writing;
    const common = commonLength(texts);
    const column = (/** @type {typeof SIDES[number]} */ name, /** @type {number} */ side) => {
      const words = texts[side].map(({ token, after }, i) => {
        const about = t("two.token", { token: tokenName(token), share: percent(after, 1) });
        return h(
          "span",
          { class: i < common ? "" : "apart", title: about },
          token.special ? tokenName(token) : token.text,
        );
      });
      const ids = [...from.ids, ...idsOf(texts)[side]];
      const click = () => session.go({ ...from, ids });
      const take = {
        class: "btn",
        type: "button",
        dataset: { testid: `two-take-${name}`, ids: ids.join(".") },
        on: { click },
      };
      const label = h("b", null, `${t(`generation.${by}`)} ${shortNumber(values[side])}`);
      return h(
        "div",
        { class: `two-text ${name}` },
        h("p", null, label, " ", h("button", take, t("beams.take"))),
        h("p", { class: "written", translate: "no" }, words),
      );
    };
    replace(columns, SIDES.map(column));
  }

  /** Why nothing can be written, or null. @param {State} state */
  function whyNot(state) {
    if (state.temperature === 0 && OF_DRAWS.includes(twoOf(state).by)) return t("two.greedy");
    const blocked = session.blocked();
    return blocked && t(`generation.${blocked}`, { n: session.window() });
  }

  /** @param {ModelTrace|null} _ @param {State} state */
  function draw(_, state) {
    const { by, values } = twoOf(state);
    const { length } = generationState.of(state);
    const now = fields[NAMES.indexOf(by)];
    if (pick.value !== by) pick.value = by;
    if (labels.firstChild !== now[0].label)
      replace(
        labels,
        now.map(({ label }) => label),
      );
    now.forEach(({ show: put }, side) => put(values[side]));
    const why = running ? null : whyNot(state);
    setText(button, t(running ? "two.stop" : "two.write"));
    update(button, {
      "aria-busy": running ? "true" : null,
      "aria-disabled": why ? "true" : null,
      title: why ?? t("two.about", { n: length, seed: state.seed }),
    });
    if (both && !both.writing.isShown()) {
      running?.abort(); // another text, model or edit: these do not go on from it
      [both, running] = [null, null];
      replace(columns);
      setText(said, "");
    }
    if (both) show();
  }

  return { node, draw };
}

/** The fields of the two values of a setting. @param {Setting} by @param {Actions} actions */
const fieldsOf = (by, actions) =>
  SIDES.map((name) => {
    const set = (/** @type {number} */ value) => actions.set(generationState.patch({ [name]: value }));
    const { input, show } = numberField({ ...SETTINGS[by], testid: `two-${name}`, set });
    return { show, label: h("label", { title: t(`generation.${by}_about`) }, t(`two.${name}`), input) };
  });

/** "The texts part after 3 tokens.". @param {Written[][]} texts */
function partedWords(texts) {
  const [a, b] = idsOf(texts);
  const n = commonLength(texts);
  return n === a.length && n === b.length ? t("two.same") : t("two.parted", { n });
}
