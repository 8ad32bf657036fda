/** One sentence of a batch: its tokens and PADs, its three runs, and how they differ. */

import { SAME } from "../../data/batch.js";
import { inside } from "../../model/compare/measure.js";
import { h, replace, scrolling, tableHead } from "../../ui/dom.js";
import { percent, power } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { className, tokenText } from "../../ui/token_text.js";

/** @import { Gaps, Member } from "../../data/batch.js" */

/** 0 is written as 0: no bit differs. */
const gapText = (gap) => (gap === 0 ? "0" : power(gap));

const RUNS = ["alone", "masked", "unmasked"];

/** @param {HTMLElement} root @param {Member} member @param {number} index */
export function drawMember(root, member, index) {
  const { tokens, pads, alone } = member;
  const title = t("batch.sentence", { n: index + 1 });
  const real = { start: 0, end: tokens.length - pads };
  const own = t("sentence.tokens", { n: real.end });
  const chip = (token, i) => h("span", { class: inside(real, i) ? "tok" : "tok pad" }, tokenText(token));
  const runs = RUNS.filter((name) => member[name] !== null);
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
          runs.map((name) => runRow(name, member[name], index)),
        ),
      ),
    ),
    pads
      ? runs.slice(1).map((name) => verdict(name, member[name].gaps, index))
      : h("p", { class: "verdict" }, t("batch.longest")),
  );
}

function runRow(name, { classes, gaps }, sentence) {
  const most = Math.max(...classes.map(({ probability }) => probability));
  const share = ({ name: of, probability }) =>
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

/** The differences in a sentence. @param {Gaps} gaps */
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
