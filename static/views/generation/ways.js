/** Ten continuations: the text continued with each of the ten seeds after the chosen one, and where the ways part. */

import { streamWays } from "../../data/streams.js";
import { sharedLength } from "../../model/selection.js";
import { h, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { toldBy } from "./session.js";

/**
 * @import { WayStep } from "../../data/streams.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Player } from "./buttons.js"
 * @import { Session, Writing } from "./session.js"
 */

/** How many ways, and tokens of each: what a window shows. */
const [WAYS, TOKENS] = [10, 8];
/** Milliseconds between two drawings while they arrive. */
const SHOWN_EVERY = 120;

/** @param {Session} session @param {Player} player @param {Actions} actions */
export function createWays(session, player, actions) {
  const attrs = { class: "btn", type: "button", dataset: { testid: "tree-ways" } };
  const button = h("button", { ...attrs, on: { click: () => (running ? stop() : write()) } });
  const said = h("span", { class: "ways-said", role: "status", dataset: { testid: "ways-said" } });
  let running = /** @type {AbortController|null} */ (null);
  /** What is written, or was last. @type {Writing|null} */
  let last = null;

  function stop() {
    running?.abort(); // closes the connection, which stops the server's work
    running = null;
    draw(actions.get());
  }

  async function write() {
    const from = session.from();
    if (!from || why(actions.get()) !== null) return;
    player.pause();
    if (from.ids.length !== session.path()?.ids.length) session.go(from);
    last = session.writing(from);
    running = new AbortController();
    const { signal } = running;
    setText(said, "");
    draw(actions.get());
    try {
      const texts = await waysFrom(last, signal);
      if (!signal.aborted) setText(said, partedWords(texts, from.ids.length));
    } catch (error) {
      if (!signal.aborted) setText(said, errorText(/** @type {Error} */ (error)));
    }
    if (!signal.aborted) stop();
  }

  /** Writes them, and shows them in the tree as they come. @param {Writing} writing @param {AbortSignal} signal @returns {Promise<number[][]>} their ids */
  async function waysFrom(writing, signal) {
    const { seed } = actions.get();
    const { from } = writing;
    const texts = Array.from({ length: WAYS }, () => from.ids);
    let settings = /** @type {any} */ (null);
    let waiting = /** @type {{ids: number[], told: ReturnType<typeof toldBy>}[]} */ ([]);
    let shown = 0;
    const show = () => {
      if (!signal.aborted && !writing.isShown()) stop();
      if (waiting.length && !signal.aborted) writing.grow(waiting);
      [waiting, shown] = [[], performance.now()];
    };
    /** @param {WayStep} step */
    const onStep = (step) => {
      texts[step.way] = [...texts[step.way], step.token.id];
      waiting.push({ ids: texts[step.way], told: toldBy(step, seed + 1 + step.way, settings) });
      if (step.way === 0 && performance.now() - shown > SHOWN_EVERY) show();
    };
    const onStart = (/** @type {any} */ start) => {
      settings = start.prediction.settings;
    };
    try {
      const request = { ...player.request(from, TOKENS), n: 1, ways: WAYS };
      await streamWays(request, { signal, onStart, onStep });
    } finally {
      show();
    }
    return texts;
  }

  /** Why there are no ways on, or null. @param {State} state */
  function why({ temperature }) {
    if (temperature === 0) return t("ways.greedy");
    const blocked = session.blocked();
    return blocked ? t(`generation.${blocked}`, { n: session.window() }) : null;
  }

  /** @param {State} state */
  function draw(state) {
    const { seed } = state;
    const at = session.path()?.ids.length;
    if (last && (!last.isShown() || (!running && at !== last.from.ids.length))) {
      running?.abort(); // another text, model or edit: the rest would belong to none
      [last, running] = [null, null];
      setText(said, "");
    }
    const reason = running ? null : why(state);
    setText(button, t(running ? "ways.stop" : "ways.write"));
    update(button, { "aria-busy": running ? "true" : null, "aria-disabled": reason === null ? null : "true" });
    update(button, { title: reason ?? t("ways.about", { from: seed + 1, to: seed + WAYS, tokens: TOKENS }) });
  }

  return { button, said, draw };
}

/** "4 different next tokens, 9 different texts.". @param {number[][]} texts @param {number} start  where they begin */
function partedWords(texts, start) {
  const different = (/** @type {number} */ end) => new Set(texts.map((ids) => ids.slice(start, end).join("."))).size;
  const common = texts.reduce((length, ids) => Math.min(length, sharedLength(texts[0], ids)), texts[0].length);
  const vars = { next: different(start + 1), texts: different(Infinity), n: common - start };
  return t(vars.n > 0 ? "ways.parted_later" : "ways.parted", vars);
}
