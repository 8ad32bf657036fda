/**
 * Which words fed what was written, token by token: the text tinted by what each word gave, summed up to a frame or of its token
 * alone; played, paused at any frame.
 */

import { riversOf } from "../../data/wire.js";
import { attendedFrom, canTell, meanFed, reachedFrom, readerOf, writtenAfter } from "../../model/fed.js";
import { sideOf } from "../../model/sides.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, tokenText } from "../../ui/token_text.js";
import { FED_BY, fedState } from "../view_states.js";
import { writerOf } from "./player.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Fed } from "../../model/fed.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, View } from "../view.js"
 */

/** Milliseconds of a frame while it is played. */
const FRAME = 500;

/** How many words are named. */
const NAMED = 3;

/** @typedef {{at: number, row: number}} Written */

const elementsOf = perRoot((root) => {
  const by = segment(t("fed.by"), FED_BY, "fed", (name) => t(`fed.by_${name}`));
  const sums = segment(t("fed.sums"), /** @type {const} */ (["sum", "one"]), "fed-sums", (name) => t(`fed.of_${name}`));
  const play = h("button", { class: "btn", type: "button", dataset: { testid: "fed-play" } });
  const slider = /** @type {HTMLInputElement} */ (
    h("input", { type: "range", min: 1, "aria-label": t("fed.frame"), dataset: { testid: "fed-frame" } })
  );
  const said = h("p", { class: "fed-said", role: "status", dataset: { testid: "fed-said" } });
  const texts = h("div", { class: "fed-texts" });
  const title = h("h2", null, t("fed.title"), h("span", { class: "dim" }, t("fed.about")));
  const bar = h("div", { class: "fed-bar" }, play, slider, sums.box, by.box);
  replace(root, title, bar, said, texts);
  return { by, sums, play, slider, said, texts, bar, timer: { id: 0 }, again: { draw: () => {} } };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  parts.again.draw = () => show(parts, trace, actions.get(), actions);
  show(parts, trace, state, actions);
}

/** @param {ReturnType<typeof elementsOf>} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function show(parts, trace, state, actions) {
  const { session } = writerOf(actions);
  session.follow(trace);
  const all = writtenAfter(trace, session.path()?.nPrompt ?? 1);
  const { by, sums, frame } = fedState.of(state);
  const can = canTell(trace, by, state.attention);
  parts.texts.hidden = parts.bar.hidden = all.length === 0;
  if (!all.length || !can) return setText(parts.said, t(all.length ? "fed.waits" : "fed.nothing"));
  const last = Math.min(frame ?? all.length, all.length);
  const shown = sums ? all.slice(0, last) : [all[last - 1]];
  const rivers = by === "river" ? riversOf(trace.explained.route) : [];
  const fed = meanFed(
    shown.map(({ row }) => (by === "river" ? reachedFrom(trace, rivers, row) : attendedFrom(trace, by, state, row))),
  );
  parts.by.show(by, (name) => actions.set(fedState.patch({ by: name })));
  parts.sums.show(sums ? "sum" : "one", (name) => actions.set(fedState.patch({ sums: name === "sum" })));
  controls(parts, { last, count: all.length }, actions);
  const newest = all[last - 1];
  replace(parts.said, saidOf(trace, fed, newest, { by, sums, state, first: all[0] }));
  const sides = /** @type {("source"|"target")[]} */ (Object.keys(fed)).map((side) => sideOf(trace.sides, side));
  replace(
    parts.texts,
    sides.map((side) => textOf(side, fed[side.side] ?? new Float64Array(0), trace.written === side ? newest.at : null)),
  );
}

/** @param {ReturnType<typeof elementsOf>} parts @param {{last: number, count: number}} at @param {Actions} actions */
function controls({ play, slider, timer, again }, { last, count }, actions) {
  const go = (/** @type {number|null} */ frame) => actions.set(fedState.patch({ frame }));
  const stop = () => {
    clearInterval(timer.id);
    timer.id = 0;
  };
  const next = () => {
    if (!slider.isConnected || slider.closest("[hidden]")) return stop();
    const at = Number(slider.value);
    if (at >= Number(slider.max)) stop();
    go(at >= Number(slider.max) ? null : at + 1);
    again.draw();
  };
  update(slider, { max: count, "aria-valuetext": t("fed.at", { n: last, count }) });
  slider.value = String(last);
  slider.oninput = () => {
    stop();
    go(Number(slider.value));
  };
  setText(play, t(timer.id ? "fed.pause" : "fed.play"));
  play.onclick = () => {
    if (timer.id) stop();
    else {
      if (last >= count) go(1);
      timer.id = setInterval(next, FRAME);
    }
    again.draw();
  };
}

/**
 * "“it” was fed by “red” 34 %, “car” 20 %", or of all that was written up to it.
 * @param {ModelTrace} trace @param {Fed} fed @param {Written} newest
 * @param {{by: typeof FED_BY[number], sums: boolean, state: State, first: Written}} of
 */
function saidOf(trace, fed, newest, { by, sums, state, first }) {
  const given = /** @type {("source"|"target")[]} */ (Object.keys(fed)).flatMap((side) =>
    Array.from(fed[side] ?? [], (share, at) => ({ share, token: sideOf(trace.sides, side).tokens[at] })),
  );
  const most = given.sort((a, b) => b.share - a.share).slice(0, NAMED);
  const words = most.flatMap(({ token, share }, i) => [i ? ", " : "", namedToken(token, "k"), ` ${percent(share)}`]);
  const tokens = trace.written?.tokens ?? [];
  const token = namedToken(tokens[newest.at], "q");
  const where =
    by === "head"
      ? ` (${headWords(trace.model, { layer: state.layer, head: state.head, attention: readerOf(trace, state.attention)?.id ?? "" })})`
      : "";
  const list = h("span", null, words, where);
  if (!sums || newest.at === first.at) return phrase("fed.said_one", { token, words: list });
  return phrase("fed.said_sum", { first: namedToken(tokens[first.at], "q"), token, words: list });
}

/** A text, each word tinted by what it gave. @param {Side} side @param {Float64Array} shares @param {number|null} at  the newest token */
function textOf({ tokens, side }, shares, at) {
  const most = Math.max(...shares, 1e-9);
  return h(
    "p",
    { class: "fed-text", translate: "no", dataset: { side } },
    tokens.map((token, i) =>
      h(
        "span",
        {
          class: `fed-token${i === at ? " q" : ""}`,
          style: { "--share": (shares[i] ?? 0) / most },
          title: percent(shares[i] ?? 0),
          dataset: { testid: "fed-token", share: shares[i] ?? 0 },
        },
        tokenText(token),
      ),
    ),
  );
}
