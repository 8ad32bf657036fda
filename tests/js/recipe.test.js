/** The recipe on a card: schedules, smoothed targets, snapshots. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { early, linear, roundStep } from "../../static/chart/curves/chart.js";
import { prefixRow, trainingState } from "../../static/data/training.js";
import {
  baseOf,
  combinedNorm,
  heldOutOf,
  nameAt,
  peakStep,
  rateAt,
  sameModel,
  scheduleOf,
  smoothedLoss,
  snapshotPlace,
  targetsOf,
  verdict,
} from "../../static/model/trainings.js";

/** @import { Schedule } from "../../static/model/trainings.js" */

const LINEAR = {
  recipe: { schedule: { peak_rate: 1e-2, warm_up: 0.1 } },
  steps: 10,
  command: "chumoku train x --seed 0",
};
const ROOT = { recipe: { schedule: { d_model: 256, warm_up_steps: 1200, cool_down: 0.2 } }, steps: 11269, command: "" };
/** @param {any} card */
const schedule = (card) => /** @type {Schedule} */ (scheduleOf(card));
const near = (/** @type {number} */ a, /** @type {number} */ b) =>
  assert.ok(Math.abs(a - b) < 1e-12 + 1e-9 * Math.abs(b), `${a} is not ${b}`);

test("a linear schedule gives the rates that the trainer takes", () => {
  // tests/training/test_train.py: a run of 10 steps with this schedule
  const rates = [0, 1, 8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9];
  rates.forEach((rate, step) => near(rateAt(schedule(LINEAR), step), 1e-2 * rate));
  assert.equal(peakStep(schedule(LINEAR)), 1);
});

test("a warm start's rates are scaled, and an old card's recipe has no name for its schedule", () => {
  const scaled = schedule({ ...LINEAR, command: "chumoku train x --rate-scale 0.25 --seed 0" });
  near(rateAt(scaled, 1), 0.25e-2);
  assert.deepEqual(schedule({ recipe: { peak_rate: 1, warm_up: 0.5 }, steps: 4 }), {
    kind: "linear",
    peak: 1,
    warmUp: 0.5,
    steps: 4,
    scale: 1,
  });
});

test("a snapshot has the schedule of its run", () => {
  assert.deepEqual(schedule({ ...LINEAR, steps: 0, run_steps: 10 }), schedule(LINEAR));
});

test("the paper's schedule is highest after the warm-up, d^-0.5 w^-0.5", () => {
  const peak = peakStep(schedule(ROOT));
  assert.equal(peak, 1199);
  near(rateAt(schedule(ROOT), peak), (256 * 1200) ** -0.5);
  assert.ok(rateAt(schedule(ROOT), 11268) < 1e-6, "it cools down to 0");
});

test("a card that names no schedule has none", () => {
  for (const card of [null, {}, { steps: 3 }, { recipe: {}, steps: 3 }, { recipe: { peak_rate: 1, warm_up: 0.1 } }])
    assert.equal(scheduleOf(card), null);
});

test("smoothed targets add up to 1 in both forms", () => {
  for (const smoothing_form of ["all", "others"]) {
    const { right, others, k } = targetsOf({ label_smoothing: 0.1, smoothing_form }, 8);
    near(right + (k - 1) * others, 1);
  }
  near(targetsOf({ label_smoothing: 0.1 }, 8).right, 0.9 + 0.1 / 8);
  near(targetsOf({ label_smoothing: 0.1, smoothing_form: "others" }, 8).right, 0.9);
  assert.deepEqual(targetsOf({}, 8), { epsilon: 0, k: 8, right: 1, others: 0 });
});

test("the smoothed loss is −Σ q ln p", () => {
  const p = [0.5, 0.3, 0.2];
  const [nats, spread] = [-Math.log(p[0]), -p.reduce((sum, one) => sum + Math.log(one), 0) / 3];
  const targets = targetsOf({ label_smoothing: 0.3 }, 3);
  const expected = -(0.8 * Math.log(0.5) + 0.1 * Math.log(0.3) + 0.1 * Math.log(0.2));
  near(smoothedLoss(targets, nats, spread), expected);
});

const MODEL = {
  name: "m@40",
  snapshots: [
    { model: "m@0", step: 0 },
    { model: "m@40", step: 40 },
  ],
};

test("a slider's last place is the model that ships", () => {
  assert.equal(snapshotPlace(MODEL), 1);
  assert.equal(snapshotPlace({ ...MODEL, name: "m" }), 2);
  assert.deepEqual(
    [0, 1, 2].map((place) => nameAt(MODEL, place)),
    ["m@0", "m@40", "m"],
  );
});

test("snapshots of one model share what is chosen in it; others do not", () => {
  assert.ok(sameModel("m@0", "m") && sameModel("m@0", "m@40") && sameModel(null, null));
  assert.ok(!sameModel("m@0", "n@0") && !sameModel("m", null));
  assert.deepEqual([baseOf("a@b"), baseOf("a@b@7"), baseOf("a")], ["a@b", "a@b", "a"]);
});

test("the norm of parts is that of their squares' sum; a figure has its measure", () => {
  assert.equal(combinedNorm([3, 4]), 5);
  assert.deepEqual(heldOutOf({ model: "m@0", step: 0, held_out: { accuracy: 0.5 } }), ["accuracy", 0.5]);
  assert.equal(heldOutOf({ model: "m@0", step: 0 }), null);
});

test("an axis has round numbers, and its ends at its ends", () => {
  const { place, ticks } = linear(0, 8.4);
  assert.deepEqual(ticks, [0, 5]);
  assert.deepEqual([place(0), place(8.4)], [0, 1]);
  assert.deepEqual([0.3, 1, 4, 7].map(roundStep), [0.5, 1, 5, 10]);
  assert.deepEqual(early(3000).ticks, [0, 1, 10, 100, 3000]);
  assert.equal(early(3000).place(3000), 1);
});

test("less is better for a loss, more for an accuracy", () => {
  assert.equal(verdict("bits_per_byte", 0.97, 0.98), "better");
  assert.equal(verdict("nats_per_token", 2.1, 2), "worse");
  assert.equal(verdict("accuracy", 0.8, 0.7), "better");
  assert.equal(verdict("accuracy", 0.7, 0.7), "same");
});

test("the row whose prefix is compared stays the same while more is typed", () => {
  const side = (/** @type {number} */ n) => /** @type {any} */ ({ written: { tokens: Array(n) } });
  for (const chosen of [{}, trainingState.patch({ row: 6 }).viewState]) {
    const rows = [9, 10, 20].map((n) => prefixRow({ viewState: chosen }, side(n)));
    assert.equal(new Set(rows).size, 1);
    assert.equal(prefixRow({ viewState: chosen }, side(3)), 2, "of a shorter text the last one");
  }
});
