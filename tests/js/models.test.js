/** A model's description is loaded when it is first needed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createModels } from "../../static/data/models.js";

const LISTED = {
  default: "a",
  models: [
    { name: "a", n_layer: 1 },
    { name: "b", n_layer: 2, description: { id: "whole" } },
  ],
};

/** A server that fails the given number of times, and counts its requests. @param {number} failures */
function server(failures = 0) {
  const asked = /** @type {string[]} */ ([]);
  return {
    asked,
    async model(/** @type {string} */ name) {
      asked.push(name);
      if (asked.length <= failures) throw new Error("no");
      return { name, description: { id: name } };
    },
  };
}

test("a model is loaded once for all callers, and then cached", async () => {
  const api = server();
  const models = createModels(LISTED, api);
  assert.equal(models.named("a"), undefined);
  const [one, two] = await Promise.all([models.load("a"), models.load("a")]);
  assert.deepEqual(one, { name: "a", n_layer: 1, description: { id: "a" } });
  assert.equal(one, two);
  assert.equal(models.named("a"), one);
  assert.equal(models.named(null), one);
  assert.deepEqual(api.asked, ["a"]);
});

test("a complete entry is not requested", async () => {
  const api = server();
  assert.equal(await createModels(LISTED, api).load("b"), LISTED.models[1]);
  assert.deepEqual(api.asked, []);
});

test("a model that the server does not list is not requested", async () => {
  const api = server();
  assert.equal(await createModels(LISTED, api).load("other"), undefined);
  assert.deepEqual(api.asked, []);
});

test("after a failure it is requested again", async () => {
  const models = createModels(LISTED, server(1));
  await assert.rejects(models.load("a"), /no/);
  assert.equal((await models.load("a")).description.id, "a");
});

test("the list's entry of a model is available before it is loaded", async () => {
  const models = createModels(LISTED, server());
  assert.deepEqual(models.known("a"), { name: "a", n_layer: 1 });
  assert.equal(models.known("other"), undefined);
  await models.load("a");
  assert.equal(models.known("a"), models.named("a"));
});

test("with one try, it does not wait for a server that is unreachable", async () => {
  let asked = 0;
  const away = async () => {
    asked++;
    throw Object.assign(new Error("away"), { code: "unreachable" });
  };
  await assert.rejects(createModels(LISTED, { model: away }).load("a", undefined, 1), /away/);
  assert.equal(asked, 1);
});

test("a snapshot is loaded by its name, with what the list says of its model", async () => {
  const api = server();
  const models = createModels(LISTED, api);
  assert.ok(models.has("a@40") && models.has("a") && !models.has("other@40"));
  assert.deepEqual(await models.load("a@40"), { name: "a@40", n_layer: 1, description: { id: "a@40" } });
  assert.equal(models.named("a"), undefined);
  assert.deepEqual(api.asked, ["a@40"]);
});
