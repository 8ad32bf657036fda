/** The teacher's question: what can be asked now, the votes as they come, and the answer. */

import { buildFold, button } from "../../ui/controls.js";
import { h, keepingFocus, newId, replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { lessonNotes, ownQuestion, preparedQuestions, YES_NO } from "./questions.js";
import { drawVote, votedWords } from "./vote.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Taught } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { Prepared } from "./questions.js"
 * @import { Seat } from "./room.js"
 */

/**
 * @param {Context} context
 * @param {{question: HTMLElement, screen: HTMLElement}} places  in the drawer, and for the projector: there without votes until they are shown
 * @param {Seat} seat
 */
export function createAsking(context, { question, screen }, { say, problem }) {
  const { actions, frame } = context;
  /** @type {Taught|null} */
  let room = null;
  /** @type {ModelTrace|null} */
  let trace = null;
  /** The question that was put, with what answers it. @type {Prepared|null} */
  let put = null;
  let asked = "";
  function drawQuestion(fresh = false) {
    const current = room?.question ?? null;
    const people_ = room?.members.filter((one) => one.here).length ?? 0;
    const content = JSON.stringify([current, people_]);
    if (!fresh && content === asked) return;
    const was = asked;
    asked = content;
    if (current) return keepingFocus(question, () => drawVoting(current, people_));
    put = null;
    if (fresh || was.startsWith('[{"id"') || !question.childElementCount) offerQuestions();
  }

  /** @param {NonNullable<Taught["question"]>} current @param {number} here */
  function drawVoting(current, here) {
    const vote = h("div");
    drawVote(vote, current, { mark: put ? undefined : (right) => say({ kind: "reveal", right, says: "" }) });
    const { revealed, round } = current;
    replace(
      question,
      h("h3", null, t("room.question")),
      vote,
      !revealed &&
        h("p", { class: "dim", role: "status", dataset: { testid: "room-voted" } }, votedWords(current, here)),
      !revealed && !put && h("p", { class: "dim" }, t("room.mark_hint")),
      h(
        "p",
        { class: "room-buttons" },
        !revealed && round === 1 && button("room-again", "", t("room.again"), () => say({ kind: "again" })),
        !revealed && button("room-reveal", "primary", t(put ? "room.reveal" : "room.reveal_counts"), reveal),
        button("room-done", revealed ? "primary" : "quiet", t("room.done"), done),
      ),
    );
  }

  async function reveal() {
    try {
      const { right, says } = put ? await put.judge() : { right: null, says: "" };
      uncover();
      say({ kind: "reveal", right, says });
    } catch (error) {
      problem(error);
    }
  }

  function done() {
    uncover();
    say({ kind: "done" });
  }
  const uncover = () => actions.get().quiz && put?.covers && actions.set({ quiz: false });

  async function offerQuestions() {
    const state = actions.get();
    const found = await preparedQuestions(context, trace, state).catch(() => []);
    const notes = await lessonNotes(state).catch(() => "");
    if (room?.question) return;
    const offers = found.map((one, i) => button(`room-ask-${i}`, "room-offer", one.ask, () => ask(one)));
    const ask_ = h("input", {
      type: "text",
      maxlength: 600,
      id: newId("room-own-ask"),
      dataset: { testid: "room-own-ask" },
    });
    const options = h(
      "textarea",
      { rows: 4, id: newId("room-own-options"), dataset: { testid: "room-own-options" } },
      YES_NO(),
    );
    const send = button("room-own-put", "", t("room.put"), () => {
      const own = ownQuestion(ask_.value, options.value);
      if (own) say({ kind: "ask", ...own });
      else problem(t("room.own_needs"));
    });
    replace(
      question,
      notes &&
        h("p", { class: "room-notes", dataset: { testid: "room-notes" } }, h("b", null, t("room.notes")), " ", notes),
      h("h3", null, t("room.ask_class")),
      offers.length > 0 ? h("div", { class: "room-offers" }, offers) : h("p", { class: "dim" }, t("room.no_offer")),
      buildFold(
        "room-own",
        t("room.own"),
        h("p", { class: "room-field" }, h("label", { for: ask_.id }, t("room.own_ask")), ask_),
        h("p", { class: "room-field" }, h("label", { for: options.id }, t("room.own_options")), options),
        send,
      ),
    );
  }

  /** @param {Prepared} one */
  function ask(one) {
    put = one;
    if (one.covers) actions.set({ quiz: true });
    say({ kind: "ask", ask: one.ask, options: one.options });
  }

  return {
    /** @param {Taught} now */
    show(now) {
      room = now;
      frame.root.classList.toggle("room-asks", now.question !== null && !now.question.revealed);
      screen.hidden = now.question === null;
      if (now.question) drawVote(screen, now.question.revealed ? now.question : { ...now.question, counts: null });
      drawQuestion();
    },
    /** @param {ModelTrace|null} now */
    draw(now) {
      trace = now;
    },
    /** What can be asked follows what is shown, unless the teacher is typing a question. */
    offer() {
      if (!room?.question && !question.contains(document.activeElement)) drawQuestion(true);
    },
    stop: () => frame.root.classList.remove("room-asks"),
  };
}
