/** The colours that mean numbers: in the style sheet and in code. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { rampStops } from "../../static/chart/theme.js";

const SHEET = readFileSync(new URL("../../static/css/tokens.css", import.meta.url), "utf8");

test("ramps in the style sheet and in code are the same", () => {
  for (const name of /** @type {const} */ (["weights", "signed"])) {
    const ramps = [...SHEET.matchAll(new RegExp(`--ramp-${name}: linear-gradient\\(90deg, (.*)\\);`, "g"))];
    const stops = ramps.map(([, colours]) => colours.split(", "));
    assert.deepEqual(stops, [rampStops(name, "light"), rampStops(name, "dark")]);
  }
});
