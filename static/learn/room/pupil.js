/** A pupil in the room: joins, follows the teacher or looks around, votes, and hands in. */

import { keyOf } from "../../data/request.js";
import { firstOf } from "../../data/rooms.js";
import { linkOf } from "../../state/link.js";
import { DEFAULTS } from "../../state/store.js";
import { button } from "../../ui/controls.js";
import { h, hide, keepingFocus, newId, replace, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { revealAnswer } from "../lesson/step.js";
import { createFollowing, sharedLink } from "./following.js";
import { preparedQuestions } from "./questions.js";
import { drawVote, inReadersLanguage, taskInWords } from "./vote.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Own, Question, Shared, Turn } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Part, Seat } from "./room.js"
 */

/**
 * The dialog at the door: the code, a nickname or none, and what is kept.
 * @param {string} code  of the link; may be empty
 * @param {{join: (code: string, name: string) => Promise<void>, refuse: () => void}} on @returns {HTMLDialogElement}
 */
export function createJoining(code, on) {
  const plain = { type: "text", autocomplete: "off", spellcheck: "false" };
  const [codeId, nameId] = [newId("room-code"), newId("room-name")];
  const codeField = h("input", {
    ...{ ...plain, id: codeId, value: code, maxlength: 12, required: true, autocapitalize: "characters" },
    class: "room-code-field",
    dataset: { testid: "room-code-field" },
  });
  const nameField = h("input", {
    ...{ ...plain, id: nameId, maxlength: 24, autofocus: code !== "" },
    dataset: { testid: "room-name-field" },
  });
  const problem = h("p", { class: "problem", role: "alert", dataset: { testid: "join-problem" } });
  const enter = h("button", { class: "btn primary", type: "submit", dataset: { testid: "room-join" } }, t("room.join"));
  const cancel = h(
    "button",
    { class: "btn quiet", type: "button", on: { click: () => dialog.close() } },
    t("room.not_now"),
  );
  let joined = false;
  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    enter.disabled = true;
    setText(problem, "");
    try {
      await on.join(codeField.value, nameField.value);
      joined = true;
      dialog.close();
    } catch (error) {
      setText(problem, errorText(/** @type {Error} */ (error)));
    }
    enter.disabled = false;
  }
  const title = h("h2", { id: newId("room-join") }, t("room.join_title"));
  const field = (/** @type {string} */ id, /** @type {string} */ words, /** @type {Node} */ input) =>
    h("p", { class: "room-field" }, h("label", { for: id }, words), input);
  const form = h(
    "form",
    { on: { submit } },
    title,
    field(codeId, t("room.code"), codeField),
    field(nameId, t("room.nickname"), nameField),
    h("p", { class: "dim" }, t("room.kept")),
    problem,
    h("p", { class: "room-buttons" }, enter, cancel),
  );
  const dialog = h(
    "dialog",
    { class: "room-dialog", "aria-labelledby": title.id, dataset: { testid: "room-dialog" } },
    form,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (!joined) on.refuse();
  });
  return dialog;
}

/** @param {Context} context @param {Seat} seat @returns {Part} */
export function createPupil(context, { say, leave }) {
  const { declared, actions, address, frame, modelOf } = context;
  const status = h("span", { class: "room-status", role: "status", dataset: { testid: "room-status" } });
  const back = button("room-back", "primary", t("room.back"), () => following.back());
  const free = button("room-explore", "quiet", t("room.look_around"), () => following.explore());
  const out = button("room-leave", "quiet", t("room.leave"), leave);
  const bar = h("div", { class: "room-bar" }, status, back, h("span", { class: "grow" }), free, out);
  const card = h("section", {
    class: "room-card",
    hidden: true,
    "aria-label": t("room.card"),
    dataset: { testid: "room-card" },
  });
  /** What it is about can be seen under it. */
  const fold = button("room-fold", "icon quiet", "", () => unfold(card.classList.contains("folded")));
  const asked = h("div");
  const handing = h("div");
  replace(card, fold, asked, handing);
  const phone = matchMedia("(max-width: 760px)");
  let newest = "";

  /** @param {boolean} on */
  function unfold(on) {
    card.classList.toggle("folded", !on);
    const title = t(on ? "room.fold" : "room.unfold");
    update(fold, { "aria-expanded": on, "aria-label": title, title });
    setText(fold, on ? "▾" : "▴");
  }
  const following = createFollowing(context, [bar, card], (explores) => {
    say({ kind: "explore", explores });
    tell();
  });
  /** @type {Shared|null} */
  let room = null;
  /** @type {Own} */
  let own = { name: "", explores: false, votes: {}, sentences: {} };
  let drawn = "";
  /** @type {ModelTrace|null} */
  let trace = null;
  let isNamed = false;
  /** `given`: what the field had before the pupil typed: the page's own sentence. */
  const typing = { turn: 0, field: h("textarea"), given: "" };
  /** What was handed in before, by turn: a refusal leaves it. @type {Record<string, string|undefined>} */
  const before = {};
  let recalls = /** @type {number|null} */ (null);

  function tell() {
    const explores = following.isExploring();
    const author = room?.lead?.author;
    setText(
      status,
      explores ? t("room.exploring") : author ? t("room.shows_of", { name: author }) : t("room.following"),
    );
    update(back, { hidden: !explores });
    update(free, { hidden: explores });
    frame.root.classList.toggle("room-explores", explores);
  }

  /** The step's own question is answered with the class's, so that its picture shows it. @param {Question} asked */
  async function answerLesson(asked) {
    const { lesson, lessonStep } = actions.get();
    if (lesson === null || following.isExploring()) return;
    const [step] = await preparedQuestions(context, trace, actions.get()).catch(() => []);
    const now = actions.get();
    if (!step || step.label !== inReadersLanguage(asked).ask || now.lesson !== lesson || now.lessonStep !== lessonStep)
      return; // it was about something else
    following.untouched();
    revealAnswer(frame.root);
  }

  /** @param {number} choice */
  function vote(choice) {
    const question = /** @type {NonNullable<Shared["question"]>} */ (room?.question);
    const { id, round } = question;
    own.votes[id] = { ...own.votes[id], [round]: choice };
    say({ kind: "vote", question: id, round, choice });
    draw();
  }

  function draw() {
    const question = room?.question ?? null;
    const turn = room?.turn ?? null;
    const content = JSON.stringify([question, turn, own]);
    if (content === drawn) return;
    drawn = content;
    hide(card, !question && !turn, frame.main);
    frame.root.classList.toggle("room-asks", question !== null && !question.revealed);
    const news = JSON.stringify([question?.id, question?.round, question?.revealed, turn?.id]);
    if (news !== newest) unfold(true);
    newest = news;
    keepingFocus(card, () => {
      replace(asked);
      replace(handing);
      if (question) drawQuestion(asked, question);
      if (turn) drawTurn(handing, turn);
    });
  }

  /** @param {HTMLElement} root @param {NonNullable<Shared["question"]>} question */
  function drawQuestion(root, question) {
    const mine = own.votes[question.id] ?? {};
    const vote_ = h("div");
    drawVote(vote_, question, { mine, choose: vote });
    const voted = mine[question.round] !== undefined;
    const key = question.revealed
      ? null
      : voted
        ? "room.you_voted"
        : question.round === 2
          ? "room.vote_again"
          : "room.vote";
    replace(root, vote_, key && h("p", { class: "dim", role: "status", dataset: { testid: "room-voted" } }, t(key)));
  }

  /** @param {HTMLElement} root @param {Turn} turn */
  function drawTurn(root, turn) {
    const handed = own.sentences[turn.id];
    const named = h("input", {
      ...{ type: "checkbox", id: newId("room-named"), checked: isNamed, dataset: { testid: "room-named" } },
      on: { change: () => (isNamed = named.checked) },
    });
    const hand = button(
      "room-hand-in",
      "primary",
      t(handed === undefined ? "room.hand_in" : "room.hand_in_again"),
      () => handIn(turn),
    );
    const reads = !modelOf(actions.get())?.picture;
    const field = fieldOf(turn);
    const label = h("label", { for: field.id }, t("room.typed"));
    replace(
      root,
      h("p", { class: "room-ask" }, h("b", null, t("room.your_turn")), " ", taskInWords(turn.ask)),
      reads && h("p", { class: "room-field" }, label, field),
      h("p", { class: "dim" }, t(reads ? "room.turn_how" : "room.turn_how_picture")),
      own.name !== "" &&
        h("p", null, named, " ", h("label", { for: named.id }, t("room.show_name", { name: own.name }))),
      h("p", { class: "room-buttons" }, reads && button("room-try", "", t("room.try"), tryOut), hand),
      handed !== undefined &&
        h("p", { role: "status", dataset: { testid: "room-handed" } }, t("room.handed", { text: handed })),
    );
  }

  /** The sentence is typed here: a lesson shows no field, and on a phone it is far from the button. @param {Turn} turn */
  function fieldOf(turn) {
    if (typing.turn === turn.id) return typing.field;
    const { text } = actions.get();
    const field = h("textarea", { rows: 2, id: newId("room-typed"), value: text, dataset: { testid: "room-typed" } });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      tryOut();
    });
    Object.assign(typing, { turn: turn.id, field, given: field.value });
    return field;
  }

  const isTyped = () => typing.field.value !== typing.given;
  /** A field in which nothing was typed has the page's sentence. */
  function followText() {
    if (isTyped()) return;
    typing.field.value = actions.get().text;
    typing.given = typing.field.value;
  }

  const typed = () => typing.field.value.replace(/\s+/g, " ").trim();

  /** The whole model with this sentence, on the pupil's own page. */
  function tryOut() {
    const { model, pair } = actions.get();
    const text = typed();
    if (text === "") return;
    typing.given = typing.field.value;
    following.explore();
    if (phone.matches) unfold(false); // the picture of it is below
    address.open(linkOf(/** @type {State} */ ({ ...DEFAULTS, model, text, pair }), declared));
  }

  /** @param {Turn} turn */
  function handIn(turn) {
    if (isTyped()) tryOut(); // who types and hands in means what was typed
    const state = actions.get();
    const text = handedText(state, trace?.key === keyOf(state) ? trace : null);
    before[turn.id] = own.sentences[turn.id];
    own.sentences[turn.id] = text;
    say({ kind: "sentence", turn: turn.id, link: sharedLink(state, declared), text, named: isNamed });
    draw();
  }

  tell();
  return {
    bar,
    others: [card],
    show(/** @type {Shared} */ now) {
      const before = room?.question;
      room = now;
      if (now.question?.revealed && before?.id === now.question.id && !before.revealed) answerLesson(now.question);
      const called = recalls !== null && now.recalls > recalls;
      if (called) following.back();
      recalls = now.recalls;
      following.lead(now.lead);
      tell();
      draw();
      if (called && !now.question) unfold(false); // what the teacher shows is in sight
    },
    own(now) {
      own = { ...now, votes: { ...now.votes }, sentences: { ...now.sentences } };
      if (room === null) following.begin(now.explores);
      draw();
    },
    follow() {
      following.follow();
      followText();
    },
    draw(now) {
      trace = now;
      if (now) following.drawn();
    },
    refused({ kind, question, round, turn }) {
      if (kind === "vote") delete own.votes[question]?.[round];
      if (kind === "sentence") {
        const { [turn]: earlier } = before;
        if (earlier === undefined) delete own.sentences[turn];
        else own.sentences[turn] = earlier;
      }
      draw();
    },
    open: () => bar.scrollIntoView({ block: "nearest" }),
    stop() {
      following.stop();
      frame.root.classList.remove("room-explores", "room-asks");
    },
  };
}

/** What is handed in, in words: the whole text, with what was written. @param {State} state @param {ModelTrace|null} trace */
export function handedText(state, trace) {
  const text = trace?.readText ?? state.text;
  const target = trace?.targetText;
  return firstOf((target ? `${text} → ${target}` : text).replace(/[\p{Cc}]/gu, " "), 400);
}
