/**
 * Each picture's SVG file equals the one in svg/. A change fails with a page of before, after and difference; if it is meant,
 * `make pictures` accepts it.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { VIEWS } from "../../static/views/index.js";
import { NOT_EXPORTED, PICTURES } from "./list.js";
import { comparable, normalised } from "./normal.js";
import { svgOf } from "./page.js";
import { REPORT, report } from "./report.js";
import { createServer } from "./server.js";

const KEPT = new URL("svg/", import.meta.url);
const MOST = 64_000;
const accepts = Boolean(process.env.CHUMOKU_ACCEPT_PICTURES);
const files = PICTURES.map(({ name }) => `${name}.svg`);

if (accepts) for (const old of readdirSync(KEPT)) if (!files.includes(old)) rmSync(new URL(old, KEPT));

/** @param {string} name */
function kept(name) {
  try {
    return readFileSync(new URL(`${name}.svg`, KEPT), "utf8");
  } catch {
    return null;
  }
}

/** @type {Map<string, ReturnType<typeof createServer>>} */
const servers = new Map();

/** @param {string} name */
function serverOf(name) {
  const server = servers.get(name) ?? createServer(name);
  servers.set(name, server);
  return server;
}

for (const { name, from, ...picture } of PICTURES) {
  test(`the picture ${name}`, async () => {
    const after = normalised(await svgOf(picture, serverOf(from)));
    assert.ok(after.length <= MOST, `${name}.svg has ${after.length} characters`);
    const before = kept(name);
    if (before !== null && comparable(before) === comparable(after)) return;
    if (accepts) return writeFileSync(new URL(`${name}.svg`, KEPT), after);
    report({ name, before, after });
    assert.fail(
      `${name}.svg ${before === null ? "is new" : "has changed"}: see ${REPORT}; \`make pictures\` accepts it`,
    );
  });
}

test("every kept picture is one of the list", () => {
  assert.deepEqual(readdirSync(KEPT).sort(), files.sort());
});

test("every station has a picture here, or a reason", () => {
  const shown = PICTURES.map(({ link }) => new URLSearchParams(link.split("#")[0]).get("view"));
  for (const { id } of VIEWS) assert.ok(shown.includes(id) || id in NOT_EXPORTED, id);
});

test("the two themes have enough pictures", () => {
  const dark = PICTURES.filter(({ theme }) => theme === "dark").length;
  assert.ok(PICTURES.length - dark >= 60 && dark >= 10, `${PICTURES.length - dark} light, ${dark} dark`);
});
