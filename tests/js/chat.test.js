/** The turns of a chat, and what is read of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { writingRequest } from "../../static/data/request.js";
import { beginsAnswer, nextRole, readAs, saidIn } from "../../static/shell/sentence/chat.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";

/** @param {string[]} roles */
const turns = (...roles) => roles.map((role) => ({ role, content: `${role} says` }));
const INPUT = { text: "<s>[user] hi", special: true, add_special_tokens: false };
const STATE = { ...DEFAULTS, model: "tiny", start: false, ...readAs(INPUT), chat: turns("user") };

test("user and assistant take turns", () => {
  assert.equal(nextRole([]), "user");
  assert.equal(nextRole(turns("system")), "user");
  assert.equal(nextRole(turns("system", "user")), "assistant");
  assert.equal(nextRole(turns("user", "assistant")), "user");
});

test("an answer is begun unless the assistant spoke last; empty turns are not sent", () => {
  assert.equal(beginsAnswer(turns("user")), true);
  assert.equal(beginsAnswer(turns("user", "assistant")), false);
  assert.deepEqual(saidIn([{ role: "system", content: "  " }, ...turns("user")]), turns("user"));
});

test("a link has the text, how it is read, and the turns, all after #", () => {
  const [query, typed] = linkOf(STATE, []).split("#");
  assert.ok(!query.includes("says") && !query.includes("hi"));
  assert.ok(typed);
  const back = readLink(linkOf(STATE, []), []);
  for (const name of /** @type {const} */ (["text", "special", "addSpecial", "chat"]))
    assert.deepEqual(back[name], STATE[name]);
});

test("what is written goes on without a second <s>", () => {
  const model = { description: { writes: "source", attentions: [], stacks: [], can: {} } };
  const asked = /** @type {any} */ (writingRequest(STATE, [1, 7, 8], model));
  assert.deepEqual(asked.input, { token_ids: [1, 7, 8], add_special_tokens: false });
  const plain = /** @type {any} */ (writingRequest({ ...STATE, addSpecial: true }, [1, 7, 8], model));
  assert.deepEqual(plain.token_ids, [1, 7, 8]);
});
