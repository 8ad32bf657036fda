/** The colours that mean numbers: code has those of the style sheet. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { inkOn, pixelTable, rampColour, rampStops } from "../../static/chart/theme.js";
import { SHEET, useTheme } from "./tokens.js";

test("ramps in code are those of the style sheet, in either theme", () => {
  for (const name of /** @type {const} */ (["weights", "signed", "q", "k", "v"])) {
    const ramps = [...SHEET.matchAll(new RegExp(`--ramp-${name}: linear-gradient\\(90deg, (.*)\\);`, "g"))];
    const stops = ramps.map(([, colours]) => colours.split(", "));
    assert.equal(stops.length, 2);
    for (const [i, theme] of /** @type {const} */ (["light", "dark"]).entries()) {
      useTheme(theme);
      assert.deepEqual(rampStops(name), stops[i]);
    }
  }
});

test("a ramp begins and ends with its first and last stop", () => {
  useTheme();
  assert.deepEqual(rampColour("weights", 0), [0xfb, 0xfa, 0xf6]);
  assert.deepEqual(rampColour("weights", 1), [0x17, 0x1b, 0x57]);
  const bytes = new Uint8Array(pixelTable("weights").buffer);
  assert.deepEqual([...bytes.slice(-4)], [0x17, 0x1b, 0x57, 255]);
});

test("text is light on deep colours and dark on pale ones", () => {
  useTheme();
  assert.equal(inkOn([0x17, 0x1b, 0x57]), "#ffffff");
  assert.equal(inkOn([0xfb, 0xfa, 0xf6]), "#1b1d2a");
});
