/** The teacher's question: what can be asked now, the votes as they come, and the answer. */

import { buildFold, button } from "../../ui/controls.js";
import { h, keepingFocus, newId, replace, update } from "../../ui/dom.js";
import { language, t } from "../../ui/i18n.js";
import { revealAnswer } from "../lesson/step.js";
import { lessonNotes, ownQuestion, preparedQuestions, saidHere, YES_NO } from "./questions.js";
import { drawVote, votedWords } from "./vote.js";
import { countHere } from "./wall.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Taught } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Prepared, Put } from "./questions.js"
 * @import { Seat } from "./room.js"
 */

/** The step of a lesson, which a question is about. @param {State} state */
const stepNamed = ({ lesson, lessonStep }) => (lesson === null ? "" : `${lesson} ${lessonStep}`);

/**
 * @param {Context} context
 * @param {{acts: HTMLElement, notes: HTMLElement, question: HTMLElement, screen: HTMLElement}} places  `acts`: in the bar, what the
 *   teacher does next; `notes`, `question`: in the drawer; `screen`: for the projector, without votes until they are shown
 * @param {Seat & {open: () => void}} seat  `open`: the drawer, at its question
 */
export function createAsking(context, { acts, notes, question, screen }, { say, problem, open }) {
  const { actions, frame } = context;
  /** @type {Taught|null} */
  let room = null;
  /** @type {ModelTrace|null} */
  let trace = null;
  /** What can be asked about what is shown. @type {Prepared[]} */
  let offers = [];
  /** The question that was put, with what answers it. @type {(Put & {covers: boolean, view: string})|null} */
  let put = null;
  /** The step of the lesson when it was put. */
  let askedAt = "";
  const drawn = { acts: "", question: "", notes: "" };

  function draw() {
    const current = room?.question ?? null;
    const here = countHere(room?.members ?? []);
    const asks = offers.map((one) => one.label);
    const inBar = JSON.stringify([current, here, asks.length]);
    if (inBar !== drawn.acts) keepingFocus(acts, () => replace(acts, current ? votingActs(current, here) : askAct()));
    const inDrawer = JSON.stringify([current, current ? 0 : asks]);
    const typing = !current && drawn.question.startsWith("[null") && question.contains(document.activeElement);
    if (inDrawer !== drawn.question && !typing) {
      keepingFocus(question, () => (current ? drawVoting(current) : drawOffers()));
      drawn.question = inDrawer;
    }
    drawn.acts = inBar;
  }

  /** While the class votes, a click on the lesson's own options would show the answer on the class's screen. */
  function holdLesson(open_ = isVoting()) {
    for (const one of frame.root.querySelectorAll(".lesson-question")) update(one, { inert: open_ });
  }
  const isVoting = () => Boolean(room?.question && !room.question.revealed);

  /** The bar leads through a question, so that a class is led with the drawer closed. */
  function askAct() {
    if (offers.length === 0) return null;
    const click = () => (offers.length === 1 ? ask(offers[0]) : open());
    return button("room-ask", "primary", t("room.ask_class"), click);
  }

  /** @param {NonNullable<Taught["question"]>} current @param {number} here */
  function votingActs(current, here) {
    if (current.revealed) return button("room-done", "primary", t("room.done"), done);
    return [
      h("span", { role: "status", dataset: { testid: "room-voted" } }, votedWords(current, here)),
      current.counts?.flat().some(Boolean) &&
        button("room-see-votes", "quiet room-see-votes", t("room.see_votes"), open),
      current.round === 1 && button("room-again", "", t("room.again"), () => say({ kind: "again" })),
      button("room-reveal", "primary", t(answering() ? "room.reveal" : "room.reveal_counts"), reveal),
      button("room-done", "quiet", t("room.withdraw"), done),
    ];
  }

  /** @param {NonNullable<Taught["question"]>} current */
  function drawVoting(current) {
    const vote = h("div");
    drawVote(vote, current, { mark: answering() ? undefined : (right) => say({ kind: "reveal", right, says: "" }) });
    const hint = !current.revealed && t(answering() ? "room.question_how" : "room.mark_hint");
    replace(question, h("h3", null, t("room.question")), vote, hint && h("p", { class: "dim" }, hint));
  }

  /** What answers the question that is on the screens: another device of the teacher's may have put another one. */
  const answering = () => (put && saidHere(put.words).own.ask === room?.question?.ask ? put : null);

  async function reveal() {
    try {
      const judged = await answering()?.judge();
      uncover();
      if (answering() && askedAt === stepNamed(actions.get())) revealAnswer(frame.root);
      const { own, others } = saidHere(judged?.says ?? { [language()]: "" });
      say({ kind: "reveal", right: judged?.right ?? null, says: own, others });
    } catch (error) {
      problem(error);
    }
  }

  function done() {
    uncover();
    put = null;
    say({ kind: "done" });
  }
  /** What was covered is shown again, in the place where the question was put. */
  function uncover() {
    if (actions.get().quiz && put?.covers) actions.set({ quiz: false, view: put.view });
  }

  /** The newest question of what can be asked now. */
  let turn = 0;
  let offeredAt = "";
  async function offer() {
    const state = actions.get();
    const mine = ++turn;
    if (offeredAt !== stepNamed(state)) {
      offers = []; // what could be asked before is not asked in another step
      draw();
    }
    offeredAt = stepNamed(state);
    const found = await preparedQuestions(context, trace, state).catch(() => []);
    const words = await lessonNotes(state).catch(() => "");
    if (mine !== turn) return;
    offers = found;
    if (words !== drawn.notes) replace(notes, words && notesOf(words));
    drawn.notes = words;
    await recognize().catch(() => {}); // then only the votes can be shown
    draw();
  }

  /** The page was opened again: the model still answers the question that is on the screens. */
  async function recognize() {
    const asked = room?.question;
    if (!asked || answering()) return;
    const same = offers.find(({ label, options }) => label === asked.ask || options?.join() === asked.options.join());
    if (!same) return;
    const prepared = await same.put();
    if (saidHere(prepared.words).own.ask !== asked.ask) return; // the same question about something else
    put = { ...prepared, covers: same.covers, view: actions.get().view };
    askedAt = stepNamed(actions.get());
    drawn.acts = drawn.question = "";
  }

  function drawOffers() {
    const buttons = offers.map((one, i) => button(`room-ask-${i}`, "room-offer", one.label, () => ask(offers[i])));
    replace(
      question,
      h("h3", null, t("room.ask_class")),
      buttons.length > 0 ? h("div", { class: "room-offers" }, buttons) : h("p", { class: "dim" }, t("room.no_offer")),
      ownFold(),
    );
  }

  function ownFold() {
    const field = { type: "text", maxlength: 600, id: newId("room-own-ask"), dataset: { testid: "room-own-ask" } };
    const ask_ = h("input", field);
    const data = { testid: "room-own-options" };
    const options = h("textarea", { rows: 4, id: newId("room-own-options"), dataset: data }, YES_NO());
    const send = button("room-own-put", "", t("room.put"), () => {
      const own = ownQuestion(ask_.value, options.value);
      if (!own) return problem(t("room.own_needs"));
      put = null; // the teacher answers it
      askedAt = stepNamed(actions.get());
      say({ kind: "ask", ...own });
    });
    return buildFold(
      "room-own",
      t("room.own"),
      h("p", { class: "room-field" }, h("label", { for: ask_.id }, t("room.own_ask")), ask_),
      h("p", { class: "room-field" }, h("label", { for: options.id }, t("room.own_options")), options),
      send,
    );
  }

  /** @param {Prepared} one */
  async function ask({ covers, put: prepare }) {
    try {
      put = { ...(await prepare()), covers, view: actions.get().view };
      if (covers) actions.set({ quiz: true });
      askedAt = stepNamed(actions.get());
      const { own, others } = saidHere(put.words);
      say({ kind: "ask", ...own, others });
    } catch (error) {
      problem(error);
    }
  }

  return {
    /** @param {Taught} now */
    show(now) {
      room = now;
      frame.root.classList.toggle("room-asks", isVoting());
      holdLesson();
      screen.hidden = now.question === null;
      if (now.question) drawVote(screen, now.question.revealed ? now.question : { ...now.question, counts: null });
      draw();
    },
    /** The next step of a lesson takes the question of this one away; its votes are kept. @param {State} state */
    follow(state) {
      const at = stepNamed(state);
      if (room?.question && at !== "" && askedAt !== "" && at !== askedAt) {
        askedAt = at;
        done();
      }
      holdLesson();
      if (at !== offeredAt) offer();
    },
    /** @param {ModelTrace|null} now */
    draw(now) {
      holdLesson();
      trace = now;
      offer();
    },
    stop() {
      frame.root.classList.remove("room-asks");
      holdLesson(false);
    },
  };
}

/** For the teacher's eyes. @param {string} words */
const notesOf = (words) =>
  h("p", { class: "room-notes", dataset: { testid: "room-notes" } }, h("b", null, t("room.notes")), " ", words);
