/** The room of a class: what is sent and when, what a link brings, how votes are counted, and the file at the end. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ApiError } from "../../static/data/api.js";
import { createPoster, firstOf, isTooLongToSend, LONGEST_SENT } from "../../static/data/rooms.js";
import { doorSays } from "../../static/learn/room/entrance.js";
import { withLetters } from "../../static/learn/room/following.js";
import { handedText } from "../../static/learn/room/pupil.js";
import { ownQuestion, saidHere } from "../../static/learn/room/questions.js";
import { resultsPage } from "../../static/learn/room/results.js";
import { createProblems } from "../../static/learn/room/room.js";
import { inReadersLanguage, OWN_TASK, tallies, taskInWords } from "../../static/learn/room/vote.js";
import { cardContent, stateOfSentence, wallContent } from "../../static/learn/room/wall.js";
import { invitationIn } from "../../static/shell/address.js";
import { DEFAULTS } from "../../static/state/store.js";
import { inLanguage, t } from "../../static/ui/i18n.js";
import { testWith } from "./words.js";

const test = testWith(JSON.parse(readFileSync(new URL("../../static/i18n/en.json", import.meta.url), "utf8")));
globalThis.document ??= /** @type {any} */ ({ documentElement: { lang: "en", dataset: {} } });

test("the door says whether other devices can come in, and that nobody came", () => {
  const open = { problem: null, came: false, locked: false, waited: 0 };
  assert.equal(doorSays(open), "room.door_works");
  assert.equal(doorSays({ ...open, waited: 60_000 }), "room.door_nobody");
  assert.equal(doorSays({ ...open, waited: 60_000, came: true }), null);
  assert.equal(doorSays({ ...open, waited: 60_000, locked: true }), null);
  assert.equal(doorSays({ ...open, problem: "only_this_machine" }), "room.problem.only_this_machine");
  // A pupil in a tab of the same machine is no proof; one in spite of a container is.
  assert.equal(doorSays({ ...open, problem: "only_this_machine", came: true }), "room.problem.only_this_machine");
  assert.equal(doorSays({ ...open, problem: "inside", came: true }), null);
});

test("the page's own task is said in each reader's language, a typed one as it was typed", () => {
  assert.equal(taskInWords(OWN_TASK), "Write a sentence, or hide a connection.");
  assert.equal(taskInWords("A sentence with red"), "A sentence with red");
});

test("a code leaves the address, and the rest of the link stays", () => {
  const found = invitationIn("http://a.example/under/?model=gpt&room=K7QF3M#text=a+cat");
  assert.deepEqual(found, { kept: { code: "K7QF3M" }, href: "http://a.example/under/?model=gpt#text=a+cat" });
  assert.equal(invitationIn("http://a.example/?model=gpt#text=a"), null);
});

test("a teacher's key leaves the address, too", () => {
  const found = invitationIn("http://a.example/?model=gpt#room_key=secret&text=a");
  assert.deepEqual(found?.kept, { key: "secret", role: "teacher" });
  assert.ok(!found?.href.includes("secret"));
  assert.ok(found?.href.endsWith("#text=a"));
});

/** A server that takes what `answers` says, and notes it. @param {(ApiError|null)[]} answers  null: it is taken */
function server(...answers) {
  /** @type {any[]} */
  const heard = [];
  const post = async (/** @type {any} */ _method, /** @type {any} */ _path, /** @type {any} */ { message }) => {
    heard.push(message);
    const error = answers.shift() ?? null;
    if (error) throw error;
  };
  return { heard, post };
}

/** @param {() => boolean} holds */
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}

test("of many places only the newest is sent, and no vote is lost", async () => {
  const { heard, post } = server();
  const { say } = createPoster("key", "teacher", () => {}, post, 5);
  for (let n = 0; n < 20; n++) say({ kind: "lead", link: `./#text=${n}` });
  say({ kind: "vote", question: 1, round: 1, choice: 0 });
  say({ kind: "vote", question: 1, round: 1, choice: 1 });
  say({ kind: "vote", question: 1, round: 2, choice: 0 });
  await until(() => heard.length === 4);
  const sent = heard.map(({ link, round, choice }) => link ?? [round, choice]);
  assert.deepEqual(sent, ["./#text=0", "./#text=19", [1, 1], [2, 0]]);
});

test("what cannot be sent is sent again, unless something newer stands for it", async () => {
  const { heard, post } = server(new ApiError({ code: "too_fast", status: 429 }));
  const { say } = createPoster("key", "pupil", () => {}, post, 5);
  say({ kind: "vote", question: 1, round: 1, choice: 0 });
  await until(() => heard.length === 2);
  assert.deepEqual(heard[1], heard[0]);
});

test("what is refused for itself is reported once, and the next is sent", async () => {
  const { heard, post } = server(new ApiError({ code: "not_open", status: 409 }));
  /** @type {string[]} */
  const refused = [];
  const { say } = createPoster("key", "pupil", (error) => refused.push(error.code), post, 5);
  say({ kind: "vote", question: 1, round: 1, choice: 0 });
  say({ kind: "explore", explores: true });
  await until(() => heard.length === 2);
  assert.deepEqual(refused, ["not_open"]);
});

test("the poster of a room that is left sends nothing more, and tells of no late answer", async () => {
  /** @type {(error: Error) => void} */
  let fail = () => {};
  let sent = 0;
  const post = () => {
    sent++;
    return new Promise((_, reject) => {
      fail = reject;
    });
  };
  /** @type {string[]} */
  const refused = [];
  const { say, stop } = createPoster("key", "pupil", (error) => refused.push(error.code), post, 1);
  say({ kind: "vote", question: 1, round: 1, choice: 0 });
  say({ kind: "explore", explores: true });
  stop();
  say({ kind: "explore", explores: false });
  fail(new ApiError({ code: "room_over", status: 404 }));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([sent, refused], [1, []]);
});

test("a refusal stays while events come, until the next act; a place that the page sends is no act", () => {
  let told = "";
  const problems = createProblems((words) => {
    told = words;
  });
  problems.refuse("No.", "vote");
  problems.lost(false); // each event says so
  problems.acted("lead");
  assert.equal(told, "No.");
  problems.lost(true);
  assert.notEqual(told, "No.");
  problems.lost(false);
  assert.equal(told, "No.");
  problems.acted("vote");
  assert.equal(told, "");
  problems.refuse("Too long.", "lead");
  problems.acted("lead");
  assert.equal(told, "");
});

test("the wall is drawn anew when a name is withdrawn, a text changes or somebody goes, and for nothing else", () => {
  const sentence = { id: 1, member: 1, link: "./#text=a", text: "a", author: /** @type {string|null} */ ("Ann") };
  const member = { id: 1, name: "Ann", explores: false, here: true };
  const room = { turn: { id: 1, ask: "?" }, wall_shown: true, sentences: [sentence], members: [member] };
  const drawn = wallContent(room);
  const unnamed = { ...sentence, author: null };
  assert.notEqual(wallContent({ ...room, sentences: [unnamed] }), drawn);
  assert.notEqual(cardContent(unnamed), cardContent(sentence));
  assert.notEqual(wallContent({ ...room, sentences: [{ ...sentence, text: "b" }] }), drawn);
  assert.notEqual(wallContent({ ...room, members: [{ ...member, here: false }] }), drawn);
  assert.equal(wallContent({ ...room, members: [{ ...member, explores: true }] }), drawn);
});

test("a text is cut between characters, and what is too long is known before it is sent", () => {
  assert.equal(firstOf("𠮷𠮷𠮷", 2), "𠮷𠮷");
  const text = `a${"𠮷".repeat(400)}`; // 400 UTF-16 units would end in half a character
  assert.equal(handedText(/** @type {any} */ ({ text }), null), `a${"𠮷".repeat(399)}`);
  const link = (/** @type {number} */ n) => "x".repeat(n);
  assert.ok(!isTooLongToSend({ kind: "lead", link: link(LONGEST_SENT.lead) }));
  assert.ok(isTooLongToSend({ kind: "lead", link: link(LONGEST_SENT.lead + 1) }));
  assert.ok(isTooLongToSend({ kind: "lead", link: "駅".repeat(LONGEST_SENT.lead / 3 + 1) }));
  assert.ok(isTooLongToSend({ kind: "sentence", link: link(LONGEST_SENT.sentence), text: "a" }));
  assert.ok(isTooLongToSend({ kind: "sentence", link: link(1500), text: "駅".repeat(200) }), "bytes, not characters");
  assert.ok(!isTooLongToSend({ kind: "sentence", link: link(1500), text: "駅".repeat(100) }));
  assert.ok(!isTooLongToSend({ kind: "recall" }));
});

test("a led link has letters as they are, and says the same", () => {
  const text = "猫は100%寝る𠮷+&=#é\u0085 %E7";
  const link = `./?layer=3#${new URLSearchParams({ text })}`;
  assert.ok(withLetters(link).includes("猫は100%25"));
  assert.equal(new URLSearchParams(withLetters(link).split("#")[1]).get("text"), text);
});

test("the limits of messages are the server's", () => {
  const source = (/** @type {string} */ file) => readFileSync(new URL(`../../app/${file}`, import.meta.url), "utf8");
  const [, lead, pupil] = /LEAD_BYTES, PUPIL_BYTES = ([\d_]+), (\d+)/.exec(source("services/rooms/limits.py")) ?? [];
  assert.deepEqual([Number(lead.replace("_", "")), Number(pupil)], [LONGEST_SENT.lead, LONGEST_SENT.sentence]);
});

test("both votes of an option are shares of those who voted then", () => {
  const counts = [
    [1, 3],
    [0, 2],
  ];
  const [a, b] = tallies({ options: ["a", "b"], counts, right: 1 });
  assert.deepEqual(a.rounds, [
    { n: 1, share: 0.25 },
    { n: 0, share: 0 },
  ]);
  assert.deepEqual(b.rounds, [
    { n: 3, share: 0.75 },
    { n: 2, share: 1 },
  ]);
  assert.deepEqual([a.right, b.right], [false, true]);
  assert.deepEqual(tallies({ options: ["a"], counts: [[0]], right: null })[0].rounds, [{ n: 0, share: 0 }]);
});

test("a question of the page is read in the reader's language, a typed one as it was typed", () => {
  const question = {
    ask: "Which?",
    options: ["yes", "no"],
    others: { ja: { ask: "どちら？", options: ["はい", "いいえ"], says: null } },
  };
  const root = /** @type {any} */ (document.documentElement);
  assert.equal(inReadersLanguage(question).ask, "Which?");
  root.lang = "ja";
  assert.deepEqual(inReadersLanguage(question).options, ["はい", "いいえ"]);
  assert.equal(inReadersLanguage({ ask: "Which?", options: [], others: {} }).ask, "Which?");
  assert.deepEqual(saidHere({ en: 1, ja: 2 }), { own: 2, others: { en: 1 } });
  root.lang = "en";
  assert.deepEqual(saidHere({ en: 1, ja: 2 }), { own: 1, others: { ja: 2 } });
});

test("something is said in another language, and the page's own stays", async () => {
  const read = (/** @type {string} */ url) => readFileSync(new URL(`../../${url}`, import.meta.url), "utf8");
  const { fetch } = globalThis;
  globalThis.fetch = /** @type {any} */ (async (/** @type {string} */ url) => new Response(read(url)));
  const both = await Promise.all([inLanguage("ja", () => t("room.yes")), inLanguage("en", () => t("room.yes"))]);
  assert.deepEqual(both, ["はい", "yes"]);
  await assert.rejects(
    inLanguage("ja", () => {
      throw new Error("no");
    }),
  );
  assert.equal(t("room.yes"), "yes");
  globalThis.fetch = fetch;
});

test("a teacher's own question has a text and two answers", () => {
  assert.equal(ownQuestion(" ", "a\nb"), null);
  assert.equal(ownQuestion("Which?", "a\n \n"), null);
  assert.deepEqual(ownQuestion(" Which? ", "a\n\n b "), { ask: "Which?", options: ["a", "b"] });
});

test("the file of results has what was typed as text, and no name by itself", () => {
  const evil = "<img src=x onerror=alert(1)>";
  const sentence = { text: evil, link: './#text="><script>', name: null };
  const question = {
    ask: evil,
    options: [evil, "b"],
    right: 1,
    says: evil,
    counts: [
      [1, 2],
      [0, 3],
    ],
    withdrawn: false,
  };
  const results = { opened: 0, people: 3, questions: [question], turns: [{ ask: evil, sentences: [sentence] }] };
  const page = resultsPage(results, { date: new Date(0), origin: "http://a.example/" });
  assert.ok(!page.includes("<img"));
  assert.ok(!page.includes("<script"));
  assert.ok(page.includes("&#60;img src=x onerror=alert(1)&#62;"));
  for (const figure of ["1 (33", "2 (67", "0 (0", "3 (100"]) assert.ok(page.includes(figure), figure);
});

test("the file of results says when the class was, and which question was withdrawn", () => {
  const question = { ask: "Which?", options: ["a", "b"], right: null, says: null, counts: [[1, 0]] };
  const questions = [
    { ...question, withdrawn: true },
    { ...question, ask: "And now?", withdrawn: false },
  ];
  const results = { opened: new Date(2026, 4, 3, 10, 17).getTime() / 1000, people: 1, questions, turns: [] };
  const page = resultsPage(results, { date: new Date(2026, 4, 3, 11, 28), origin: "http://a.example/" });
  for (const time of ["10:17", "11:28"]) assert.ok(page.includes(time), time);
  const [, first, second] = page.split("<section>");
  assert.ok(first.includes(t("room.results_withdrawn")));
  assert.ok(!second.includes(t("room.results_withdrawn")));
});

test("what was handed in is drawn as the whole model, with its edits", () => {
  const declared = /** @type {any[]} */ ([]);
  const actions = { get: () => ({ ...DEFAULTS, model: "gpt", theme: "dark" }) };
  const edit = { kind: "ablate", where: { layer: 0, head: 1, role: "z" } };
  const run = JSON.stringify({ model: "other", input: { text: "a cat" }, interventions: [edit] });
  const link = `./?view=attention&layer=2&lesson=masks#run=${encodeURIComponent(run)}`;
  const state = stateOfSentence(/** @type {any} */ ({ actions, declared }), link);
  assert.deepEqual([state.model, state.text, state.view, state.lesson], ["other", "a cat", "model", null]);
  assert.deepEqual(state.interventions, [edit]);
  assert.equal(state.theme, "dark");
});
