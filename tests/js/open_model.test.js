/** What the dialog that opens a model says of a download, and the address of the opened model. */

import assert from "node:assert/strict";
import { addressOf, problemText, progressText, timeText } from "../../static/shell/open_model.js";
import { errorText, sizeText } from "../../static/ui/format.js";
import { testWith } from "./words.js";

const test = testWith({
  "opening.progress": "{bytes} of {of}",
  "opening.left": "{time} left",
  "opening.mb": "{n} MB",
  "opening.gb": "{n} GB",
  "opening.seconds": "{n} s",
  "opening.minutes": "{n} min",
  "opening.cannot": "This model cannot be opened. {got}",
  "error.broken_model": "This model cannot be used. {got} Choose another one above; the others are not affected.",
  "error.download_too_large": "This model is {got_size} to download; this server takes at most {limit_size}.",
});
Object.assign(globalThis, { document: { documentElement: { lang: "en" } } });

test("bytes are in megabytes, from a thousand of them in gigabytes", () => {
  assert.deepEqual([300_000, 4_260_000, 312_400_000, 1_400_000_000].map(sizeText), [
    "0.3 MB",
    "4.3 MB",
    "312 MB",
    "1.4 GB",
  ]);
});

test("the time that is left is in seconds, then in minutes, and never none", () => {
  assert.deepEqual([0.2, 40.4, 89, 90, 3600].map(timeText), ["1 s", "40 s", "89 s", "2 min", "60 min"]);
});

test("before a speed is known, and when all has come, no time is named", () => {
  const of = 548_000_000;
  assert.equal(progressText({ bytes: 0, of, seconds_left: null }), "0.0 MB of 548 MB");
  assert.equal(progressText({ bytes: 312e6, of, seconds_left: 40 }), "312 MB of 548 MB · 40 s left");
  assert.equal(progressText({ bytes: of, of, seconds_left: 0 }), "548 MB of 548 MB");
});

test("the opened model reads the sentence that stands there, if an address can hold it", () => {
  assert.equal(addressOf("small", "The cat", []), "./?model=small&layer=0#text=The+cat");
  assert.equal(addressOf("a&b", "x".repeat(3000), []), "./?model=a%26b");
});

test("a model that cannot be opened says why, in whole sentences, and not to choose another one above", () => {
  const got = "ann/lora is an adapter. Merge it into its model first.";
  const error = { code: "broken_model", got, message: "", hint: "" };
  assert.equal(problemText(error), `This model cannot be opened. ${got}`);
});

test("a download has the sizes that its owner's page has", () => {
  const error = { code: "download_too_large", got: 16e9, limit: 8e9 };
  assert.equal(problemText(error), errorText(error));
  assert.equal(problemText(error), "This model is 16.0 GB to download; this server takes at most 8.0 GB.");
});
