/** What is said beside an uploaded photo (static/shell/sentence/picture/photo.js), and of one that is refused. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { aboutOf } from "../../static/shell/sentence/picture/photo.js";
import { DEFAULTS } from "../../static/state/store.js";
import { errorText } from "../../static/ui/format.js";
import { t } from "../../static/ui/i18n.js";
import { testWith } from "./words.js";

Object.assign(globalThis, { document: { documentElement: { lang: "en" } } });
const test = testWith(JSON.parse(readFileSync(new URL("../../static/i18n/en.json", import.meta.url), "utf8")));

/** @param {number} size @param {number} [pixels] */
const model = (size, pixels = 16e6) => ({ picture: { size, channels: 3 }, uploads: { bytes: 5 * 2 ** 20, pixels } });
/** @param {number} size  of a photo of many colours */
const shown = (size) => {
  const bytes = Array.from({ length: size * size * 3 }, (_, i) => String.fromCharCode((i * i) % 251));
  const state = { ...DEFAULTS, model: "vit", pixels: btoa(bytes.join("")) };
  return aboutOf(model(size), state, false);
};

test("a photo that no link can carry is said to be too large for one", () => {
  for (const size of [64, 224]) assert.ok(shown(size).endsWith(t("photo.large")), String(size));
  for (const size of [24, 48]) assert.equal(shown(size), t("photo.shown", { size }));
});

test("a limit of less than 10 megapixels is not rounded to whole ones", () => {
  /** @param {number} pixels */
  const limits = (pixels) => aboutOf(model(224, pixels), DEFAULTS, true);
  assert.match(limits(1_500_000), /and 1\.5 megapixels\./);
  assert.match(limits(250_000), /and 0\.25 megapixels\./);
  assert.match(limits(16_000_000), /and 16 megapixels\./);
  const refused = { code: "too_many_pixels", message: "", got: "2000 × 1000", limit: 1.5 };
  assert.match(errorText(refused), /^Too many pixels: 2000 × 1000; the limit is 1\.5 megapixels\./);
});
