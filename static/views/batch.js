/** Two sentences of different length in one batch: what the padding mask is for, with the model's own numbers. */

import { runBatch, SAME, sentencesOf } from "../data/batch.js";
import { inside } from "../model/sides.js";
import { h, newId, perRoot, replace, scrolling, setText, tableHead } from "../ui/dom.js";
import { errorText, percent, power } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { className, tokenText } from "../ui/token_text.js";
import { batchState } from "./view_states.js";

/**
 * @import { Gaps, Member, Run, Sentence } from "../data/batch.js"
 * @import { Token } from "../model/labels.js"
 * @import { Actions, Draw } from "./view.js"
 */

// One sentence of a batch: its tokens and PADs, its three runs, and how they differ.

/** 0 is written as 0: no bit differs. @param {number} gap */
const gapText = (gap) => (gap === 0 ? "0" : power(gap));

/** @typedef {"alone"|"masked"|"unmasked"} RunName */

const RUNS = /** @type {RunName[]} */ (["alone", "masked", "unmasked"]);

/** @param {HTMLElement} root @param {Member} member @param {number} index */
function drawMember(root, member, index) {
  const { tokens, pads, alone } = member;
  const title = t("batch.sentence", { n: index + 1 });
  const real = { start: 0, end: tokens.length - pads };
  const own = t("sentence.tokens", { n: real.end });
  const chip = (/** @type {Token} */ token, /** @type {number} */ i) =>
    h("span", { class: inside(real, i) ? "tok" : "tok pad" }, tokenText(token));
  const runs = RUNS.flatMap((name) => {
    const run = member[name];
    return run ? [{ name, run }] : [];
  });
  const head = [t("batch.run"), ...alone.classes.map(({ name }) => className(name)), t("batch.gap")];
  replace(
    root,
    h("h3", null, title, h("span", { class: "dim" }, pads ? t("batch.padded", { own, n: pads }) : own)),
    h("div", { class: "tokens", role: "group", "aria-label": title, tabindex: 0 }, tokens.map(chip)),
    scrolling(
      title,
      h(
        "table",
        { class: "token-table" },
        tableHead(head),
        h(
          "tbody",
          null,
          runs.map(({ name, run }) => runRow(name, run, index)),
        ),
      ),
    ),
    pads
      ? runs.slice(1).map(({ name, run }) => run.gaps && verdict(name, run.gaps, index))
      : h("p", { class: "verdict" }, t("batch.longest")),
  );
}

/** @param {RunName} name @param {Run} run @param {number} sentence */
function runRow(name, { classes, gaps }, sentence) {
  const most = Math.max(...classes.map(({ probability }) => probability));
  const share = (/** @type {Run["classes"][number]} */ { name: of, probability }) =>
    h(
      "td",
      { class: probability === most ? "most" : null, dataset: { name: of, probability } },
      percent(probability, 2),
    );
  const same = gaps && gaps.largest <= SAME;
  const mark = gaps && [gapText(gaps.largest), " ", h("span", { "aria-hidden": true }, same ? "✓" : "⚠")];
  const gap = h(
    "td",
    { class: same === false ? "note" : null, dataset: gaps ? { gap: gaps.largest } : {} },
    mark ?? "",
  );
  return h(
    "tr",
    { dataset: { testid: "batch-run", run: name, sentence } },
    h("th", { scope: "row" }, t(`batch.run.${name}`)),
    classes.map(share),
    gap,
  );
}

/** The differences in a sentence. @param {string} name @param {Gaps} gaps @param {number} sentence */
function verdict(name, gaps, sentence) {
  const same = gaps.largest <= SAME;
  const words = {
    gap: gapText(gaps.largest),
    classes: gapText(gaps.classes),
    state: gapText(gaps.state),
    pattern: gapText(gaps.pattern),
  };
  const key = same ? "batch.equal" : name === "masked" ? "batch.differs_masked" : "batch.differs";
  const attrs = {
    class: same ? "verdict" : "verdict differs",
    dataset: { testid: "batch-verdict", run: name, sentence, same },
  };
  return h("p", attrs, phrase("batch.verdict", { run: h("b", null, t(`batch.run.${name}`)), words: t(key, words) }));
}

/** Typing has ended after a pause this long. */
const PAUSE_MS = 350;

const elementsOf = perRoot((root) => {
  const actions = /** @type {Actions|null} */ (null);
  const parts = { turn: 0, timer: 0, actions, asked: "" };
  const typed = () => {
    clearTimeout(parts.timer);
    parts.timer = setTimeout(() => parts.actions?.set(batchState.patch({ text: input.value })), PAUSE_MS);
  };
  const attrs = {
    type: "text",
    id: newId("batch-text"),
    autocomplete: "off",
    spellcheck: false,
    placeholder: t("batch.placeholder"),
  };
  const input = h("input", { ...attrs, dataset: { testid: "batch-text" }, on: { input: typed } });
  const said = h("p", { class: "dim", role: "status", dataset: { testid: "batch-said" } });
  const members = [h("section", { class: "member" }), h("section", { class: "member" })];
  const box = h("div", { class: "members", hidden: true }, members);
  const title = h(
    "h2",
    null,
    h("span", { class: "nowrap" }, t("batch.title")),
    h("span", { class: "dim" }, t("batch.about")),
  );
  replace(
    root,
    title,
    h("label", { class: "batch-input", for: input.id }, h("span", null, t("batch.second")), input),
    said,
    box,
  );
  return Object.assign(parts, { input, said, members, box });
});

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  parts.actions = actions;
  const second = batchState.of(state).text;
  if (document.activeElement !== parts.input) parts.input.value = second;
  const sentences = sentencesOf(state, second);
  const asked = JSON.stringify([trace.model.name, sentences, state.causal]);
  if (asked === parts.asked) return;
  parts.asked = asked;
  if (second.trim()) return void load(parts, trace.model, sentences, state.causal);
  parts.turn++;
  parts.box.hidden = true;
  setText(parts.said, t("batch.empty"));
}

/** @param {Parts} parts @param {any} model @param {Sentence[]} sentences @param {boolean|null} causal */
async function load(parts, model, sentences, causal) {
  const turn = ++parts.turn;
  setText(parts.said, t("batch.running"));
  parts.box.classList.add("stale");
  try {
    const members = await runBatch(model, sentences, causal);
    if (turn !== parts.turn) return;
    parts.box.hidden = false;
    members.forEach((member, i) => drawMember(parts.members[i], member, i));
    const same = members.every(({ pads }) => pads === 0);
    setText(parts.said, t(same ? "batch.same_length" : "batch.length", { n: members[0].tokens.length }));
  } catch (error) {
    if (turn !== parts.turn || /** @type {Error} */ (error).name === "AbortError") return;
    parts.asked = ""; // the next change retries
    parts.box.hidden = true;
    setText(parts.said, errorText(error));
  }
  if (turn === parts.turn) parts.box.classList.remove("stale");
}
