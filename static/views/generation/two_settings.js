/** Two settings side by side: the same start and seed at two temperatures, written at once; a click takes one of the texts. */

import { streamGeneration } from "../../data/streams.js";
import { tokenName } from "../../model/labels.js";
import { sharedLength } from "../../model/selection.js";
import { h, replace, setText, update } from "../../ui/dom.js";
import { errorText, number, percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { generationState } from "../view_states.js";
import { numberField } from "./settings.js";

/**
 * @import { Token } from "../../model/labels.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Player } from "./buttons.js"
 * @import { Session, Writing } from "./session.js"
 */

/** The two temperatures, by their names in the view's state. */
const SIDES = /** @type {const} */ (["cool", "warm"]);
const WARMEST = 10;

/** @typedef {{token: Token, after: number}} Written  `after`: how likely it was at its temperature */
/** @typedef {{writing: Writing, texts: Written[][]}} Both  of what the texts go on from */

/** How many tokens two texts share. @param {Written[][]} texts */
const commonLength = ([a, b]) => sharedLength(...idsOf([a, b]));

/** @param {Written[][]} texts @returns {[number[], number[]]} */
const idsOf = (texts) => /** @type {[number[], number[]]} */ (texts.map((text) => text.map(({ token }) => token.id)));

/** @param {Session} session @param {Player} player @param {Actions} actions */
export function createTwoSettings(session, player, actions) {
  let both = /** @type {Both|null} */ (null);
  let running = /** @type {AbortController|null} */ (null);
  const fields = SIDES.map((name) => {
    const set = (/** @type {number} */ value) => actions.set(generationState.patch({ [name]: value }));
    return { name, ...numberField({ low: 0, high: WARMEST, step: 0.1, testid: `two-${name}`, set }) };
  });
  const attrs = { class: "btn", type: "button", dataset: { testid: "two-write" } };
  const button = h("button", { ...attrs, on: { click: () => (running ? stop() : write()) } });
  const said = h("span", { class: "dim", role: "status", dataset: { testid: "two-said" } });
  const columns = h("div", { class: "two-texts" });
  const title = (/** @type {string} */ name) => t("two.field", { side: t(`two.${name}`) });
  const labels = fields.map(({ name, input }) =>
    h("label", { title: t("generation.temperature_about") }, title(name), input),
  );
  const head = h("h3", null, t("two.title"));
  const node = h(
    "section",
    { class: "beams two", dataset: { testid: "two" } },
    head,
    h("div", { class: "ctl" }, labels, button, said),
    columns,
  );

  function stop() {
    running?.abort(); // closes both connections, which stops the server's work
    running = null;
    draw(null, actions.get());
  }

  async function write() {
    const from = session.from();
    if (!from || session.blocked()) return;
    player.pause();
    running = new AbortController();
    const { signal } = running;
    both = { writing: session.writing(from), texts: [[], []] };
    setText(said, "");
    draw(null, actions.get());
    const { length, ...settings } = generationState.of(actions.get());
    try {
      await Promise.all(
        SIDES.map((name, side) =>
          writeOne(side, { ...player.request(from, length), temperature: settings[name] }, signal),
        ),
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
      show(actions.get());
    };
    await streamGeneration({ ...request, rows: false, n: 1 }, { signal, onEvent });
  }

  /** @param {State} state */
  function show(state) {
    const { writing, texts } = /** @type {Both} */ (both);
    const { from } = writing;
    const common = commonLength(texts);
    const settings = generationState.of(state);
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
      const label = h("b", { class: "mono" }, `T ${number(settings[name], 1)}`);
      return h(
        "div",
        { class: `two-text ${name}` },
        h("p", null, label, " ", h("button", take, t("beams.take"))),
        h("p", { class: "written", translate: "no" }, words),
      );
    };
    replace(columns, SIDES.map(column));
  }

  /** @param {ModelTrace|null} _ @param {State} state */
  function draw(_, state) {
    const settings = generationState.of(state);
    for (const { name, show: put } of fields) put(settings[name]);
    const why = running ? null : session.blocked();
    setText(button, t(running ? "two.stop" : "two.write"));
    update(button, {
      "aria-busy": running ? "true" : null,
      "aria-disabled": why ? "true" : null,
      title: t("two.about", { n: settings.length, seed: state.seed }),
    });
    if (both && !both.writing.isShown()) {
      running?.abort(); // another text, model or edit: these do not go on from it
      [both, running] = [null, null];
      replace(columns);
      setText(said, "");
    }
    if (both) show(state);
  }

  return { node, draw };
}

/** "The texts part after 3 tokens.". @param {Written[][]} texts */
function partedWords(texts) {
  const [a, b] = idsOf(texts);
  const n = commonLength(texts);
  return n === a.length && n === b.length ? t("two.same") : t("two.parted", { n });
}
