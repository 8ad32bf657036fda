/** A question to the class: its options, how many chose each, in the first vote and in the second. */

import { h, replace } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { language, t } from "../../ui/i18n.js";

/** @import { Question } from "../../data/rooms.js" */

/** @param {number[]} counts */
export const total = (counts) => counts.reduce((sum, one) => sum + one, 0);

/** A question of the page in this reader's language; one that was typed has only its own. @template {{ask: string, options: string[]}} Asked @param {Asked & Pick<Question, "others">} question @returns {Asked} */
export const inReadersLanguage = (question) => ({ ...question, ...question.others?.[language()] });

/** The page's own task for everybody's turn, which is sent by its name. */
export const OWN_TASK = "room.turn_proposal";

/** A task in this reader's language; one that was typed has only its own. @param {string} ask */
export const taskInWords = (ask) => (ask === OWN_TASK ? t(OWN_TASK) : ask);

/**
 * Both votes of each option, as shares. @param {Pick<Question, "options"|"counts"|"right">} question
 * @returns {{option: string, right: boolean, rounds: {n: number, share: number}[]}[]}
 */
export function tallies({ options, counts, right }) {
  return options.map((option, i) => ({
    option,
    right: i === right,
    rounds: (counts ?? []).map((round) => ({ n: round[i], share: round[i] / Math.max(1, total(round)) })),
  }));
}

/**
 * @param {HTMLElement} root @param {Question} asked
 * @param {{mine?: Record<string, number>, choose?: (choice: number) => void, mark?: (choice: number) => void}} on  `mine`: the own
 *   choice by round; `choose`: of a pupil; `mark`: the teacher says which is right
 */
export function drawVote(root, asked, { mine = {}, choose, mark } = {}) {
  const question = inReadersLanguage(asked);
  const { round, revealed, right, says } = question;
  const lines = tallies(question).map((line, i) => optionOf(line, i));
  const ask = h("p", { class: "room-ask", dataset: { testid: "room-question" } }, question.ask);
  const note = revealed && says ? h("p", { class: "room-says", dataset: { testid: "room-says" } }, says) : null;
  replace(
    root,
    ask,
    h("div", { class: "room-options", role: "group", "aria-label": question.ask }, lines),
    legend(),
    note,
  );

  /** @param {ReturnType<typeof tallies>[number]} line @param {number} i */
  function optionOf({ option, rounds }, i) {
    const chosen = mine[round] === i;
    const verdict = revealed && right !== null ? (i === right ? "right" : chosen ? "other" : null) : null;
    const own = revealed && chosen && h("span", { class: "dim" }, ` · ${t("room.own_vote")}`);
    const words = h("span", { class: "room-option-words" }, option, verdict === "right" && h("b", null, " ✓"), own);
    const bars = rounds.map(({ n, share }, at) =>
      h(
        "span",
        { class: "room-bar-line", dataset: { round: at + 1, n } },
        h("span", { class: "room-share", style: { "--share": share } }),
        h("span", { class: "room-count" }, t("room.votes", { n, p: percent(share, 0) })),
      ),
    );
    const data = { testid: "room-option", focus: `option-${i}`, verdict: verdict ?? "" };
    if (choose && !revealed) {
      const click = () => choose(i);
      const attrs = { class: "btn room-option", type: "button", "aria-pressed": chosen };
      return h("button", { ...attrs, dataset: data, on: { click } }, words, bars);
    }
    const tick = mark && !revealed && markOf(option, () => mark(i));
    return h("div", { class: "room-option", dataset: data }, words, tick, bars);
  }

  /** Which bar is which, once there are two. */
  function legend() {
    if (round < 2 || !question.counts) return null;
    const names = ["room.first_vote", "room.second_vote"].map((key, i) =>
      h("span", { class: "room-key", dataset: { round: i + 1 } }, t(key)),
    );
    return h("p", { class: "room-legend dim" }, names);
  }
}

/** The teacher's own question: only the teacher knows the answer. @param {string} option @param {() => void} click */
function markOf(option, click) {
  const title = t("room.mark_right", { option });
  const attrs = { class: "btn icon room-mark", type: "button", "aria-label": title, title };
  return h("button", { ...attrs, dataset: { testid: "room-mark" }, on: { click } }, "✓");
}

/** How many have voted, of those who are there. @param {Question} question @param {number} people */
export function votedWords({ round, counts }, people) {
  const n = total(counts?.[round - 1] ?? []);
  return t(round === 2 ? "room.voted_again" : "room.voted", { n, of: people });
}
