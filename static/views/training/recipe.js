/** How this model was trained: the targets of its loss, its learning rate, dropout, and the average that ships. */

import { drawStepChart } from "../../chart/curves/line_charts.js";
import { drops } from "../../data/training.js";
import { peakStep, rateAt, scheduleOf, smoothedLoss, targetsOf, verdict } from "../../model/trainings.js";
import { h, perRoot, replace, scrolling, tableHead } from "../../ui/dom.js";
import { integer, measureName, number, percent, significant } from "../../ui/format.js";
import { hasString, language, phrase, t } from "../../ui/i18n.js";
import { math, mi, mn, mo, row, sup } from "../../ui/mathml.js";
import { drawBarList, nameOfPart, part } from "../parts.js";
import { drawDropout } from "./dropout.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { ModelDetail } from "../../model/description.js"
 * @import { Schedule } from "../../model/trainings.js"
 * @import { State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Actions } from "../view.js"
 * @import { Losses } from "./forcing.js"
 */

// A table of trainings: what each reached on held-out text (first, so that a phone shows it), on how much, how long.

/**
 * @typedef {Object} Training
 * @property {Record<string, string>} [what]  what was done, by language
 * @property {number} [minutes] @property {number} [tokens] @property {Record<string, number>} held_out
 */

/** @param {Training} training */
const whatOf = ({ what = {} }) => what[language()] ?? what.en;

/** @param {string} name  of the table @param {(Training & {name: string})[]} trainings  each with what its row is called */
function trainingsTable(name, trainings) {
  const names = trainings.flatMap(({ held_out }) => Object.keys(held_out));
  const measured = [...new Set(names)].filter((one) => hasString(`watched.measure.${one}`));
  const [stage, ...spending] = ["stage", "tokens", "minutes"].map((one) => t(`training.stages_${one}`));
  const rows = trainings.map(({ name: said, tokens, minutes, held_out }) => {
    const figures = measured.map((one) => (one in held_out ? figure(one, held_out[one]) : "–"));
    const spent = [tokens === undefined ? "–" : integer(tokens), minutes === undefined ? "–" : number(minutes, 1)];
    const cells = [...figures, ...spent].map((cell) => h("td", { class: "mono" }, cell));
    return h("tr", null, h("th", { scope: "row" }, said), cells);
  });
  const head = tableHead([stage, ...measured.map(measureName), ...spending]);
  return scrolling(name, h("table", { class: "token-table costs trainings" }, head, h("tbody", null, rows)));
}

/** chrF is out of 100. @param {string} name @param {number} value */
const figure = (name, value) => number(value, name.startsWith("chrf") ? 1 : 4);

// The trainings that the weights went through, one after another, and those that are not in them.

/** @param {Part} place @param {{stages?: (Training & {model: string})[]}} card */
function drawStages(place, { stages = [] }) {
  place.element.hidden = stages.length < 2;
  if (place.element.hidden) return;
  nameOfPart(place, t("training.stages"), t("training.stages_about"));
  const rows = stages.map((stage, i) => {
    const from = i ? t("training.stages_from", { model: stages[i - 1].model }) : t("training.stages_random");
    return { ...stage, name: `${stage.model}: ${whatOf(stage) ?? from}` };
  });
  replace(place.place, trainingsTable(t("training.stages"), rows));
}

/** Trainings that are not in these weights. @param {Part} place @param {{tried?: Training[]}} card */
function drawTried(place, { tried = [] }) {
  place.element.hidden = tried.length === 0;
  if (place.element.hidden) return;
  nameOfPart(place, t("training.tried"), t("training.tried_about"));
  const rows = tried.map((one) => ({ ...one, name: whatOf(one) }));
  replace(place.place, trainingsTable(t("training.tried"), rows));
}

const NAMES = /** @type {const} */ (["smoothing", "schedule", "dropout", "average", "stages", "tried"]);
/** How many points the formula of a schedule is drawn with. */
const POINTS = 300;

const elementsOf = perRoot((root) => {
  const parts = /** @type {Record<typeof NAMES[number], Part>} */ (
    Object.fromEntries(NAMES.map((name) => [name, part(name)]))
  );
  root.append(...NAMES.map((name) => parts[name].element));
  return parts;
});

/** @param {HTMLElement} place @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawRecipe(place, trace, state, actions) {
  const parts = elementsOf(place);
  const { card } = trace.model;
  drawSmoothing(parts.smoothing, trace, card.recipe);
  drawSchedule(parts.schedule, trace.model);
  if (drops(trace.model)) drawDropout(parts.dropout, trace, state, actions);
  else {
    const p = trace.model.dropout;
    nameOfPart(parts.dropout, t("training.dropout"), null);
    replace(parts.dropout.said, p ? t("training.dropout_not_run", { p }) : t("training.no_dropout"));
  }
  drawAverage(parts.average, card);
  drawStages(parts.stages, card);
  drawTried(parts.tried, card);
}

/**
 * The bars that the loss wants: one for the right answer, one for each of the others.
 * @param {Part} place @param {ModelTrace} trace @param {any} recipe  of the card
 */
function drawSmoothing(place, trace, recipe) {
  const { model } = trace;
  const targets = targetsOf(recipe, model.classes.length || model.vocab_size);
  const { epsilon, k, right, others } = targets;
  const vars = {
    epsilon,
    k: integer(k),
    form: t(`training.form.${recipe.smoothing_form === "others" ? "others" : "all"}`),
  };
  nameOfPart(place, t("training.smoothing"), t(epsilon ? "training.smoothing_about" : "training.no_smoothing", vars));
  const bar = (/** @type {string} */ id, /** @type {number} */ share, /** @type {string} */ name) => ({
    id,
    name,
    share,
    value: share ? significant(share, 3) : "0",
    words: `${name}: ${significant(share, 5)}`,
  });
  drawBarList(place.place, {
    label: t("training.targets"),
    bars: [
      bar("right", right, t("training.right")),
      bar("others", others, t("training.others", { n: integer(k - 1) })),
    ],
  });
  const found = trace.explained.forcing;
  replace(place.said, found?.rows?.length && epsilon ? lossSaid(targets, found) : "");
}

/**
 * What smoothing makes of this sentence's loss.
 * @param {ReturnType<typeof targetsOf>} targets @param {Losses} losses
 */
function lossSaid(targets, { nats, spread, mean }) {
  const smoothed = nats.map((one, i) => smoothedLoss(targets, one, spread[i]));
  const average = (/** @type {number[]} */ list) => list.reduce((sum, one) => sum + one, 0) / list.length;
  const least = -targets.right * Math.log(targets.right) - (targets.k - 1) * targets.others * Math.log(targets.others);
  return t("training.smoothed", {
    mean: number(mean, 3),
    smoothed: number(average(smoothed), 3),
    least: number(least, 3),
  });
}

/**
 * The learning rate of each step: the formula, and the rates that this run logged.
 * @param {Part} place @param {ModelDetail & {log?: {step: number[], rate: number[]}|null}} model
 */
function drawSchedule(place, model) {
  const schedule = scheduleOf(model.card);
  nameOfPart(
    place,
    t("training.schedule"),
    schedule && phrase(`training.schedule_${schedule.kind}`, numbersOf(schedule)),
  );
  if (!schedule) return void replace(place.said, t("training.no_schedule"));
  const { steps } = schedule;
  const at = Array.from({ length: POINTS + 1 }, (_, i) => Math.round((i / POINTS) * (steps - 1)));
  const peak = peakStep(schedule);
  const points = [...new Set([...at, peak])].sort((a, b) => a - b);
  /** @type {[number, number][]} */
  const formula = points.map((step) => [step, rateAt(schedule, step)]);
  const { log } = model;
  /** @type {[number, number][]} */
  const logged = log ? log.step.map((step, i) => [step - 1, log.rate[i]]) : [];
  const label = t("training.schedule_label", { peak: integer(peak), rate: significant(rateAt(schedule, peak), 3) });
  drawStepChart(place.place, {
    label,
    lines: logged.length ? [formula, logged] : [formula],
    early: false,
    last: steps,
    title: t("training.step"),
    floor: 0,
  });
  replace(place.said, `${label} ${t(log ? "training.logged" : "training.not_logged")}`);
}

/** @param {Schedule} schedule @returns {Record<string, string|number|Node>} */
function numbersOf(schedule) {
  if (schedule.kind === "linear")
    return {
      peak: significant(schedule.scale * schedule.peak, 3),
      share: percent(schedule.warmUp, 0),
      steps: integer(schedule.steps),
    };
  return {
    rate: paperRate(),
    d: schedule.dModel,
    warm: integer(schedule.warmUpSteps),
    share: percent(schedule.coolDown, 0),
    steps: integer(schedule.steps),
  };
}

/** rate = d^−0.5 · min(n^−0.5, n · w^−1.5) */
function paperRate() {
  const power = (/** @type {string} */ name, /** @type {string} */ exponent) =>
    sup(mi(name), row(mo("−"), mn(exponent)));
  const inside = [power("n", "0.5"), mo(","), mi("n"), mo("·"), power("w", "1.5")];
  return math(mi(t("training.rate")), mo("="), power("d", "0.5"), mo("·"), mi("min"), mo("("), ...inside, mo(")"));
}

/**
 * What ships is an average; whether it is better than the last step alone is only said where it was measured.
 * @param {Part} place @param {{recipe: any, averaging?: any}} card
 */
function drawAverage(place, { recipe, averaging }) {
  const [count, every] = recipe.last_checkpoints ?? [];
  nameOfPart(place, t("training.average"), null);
  const kind = count
    ? t("training.average_last", { n: count, every })
    : t("training.average_moving", { decay: recipe.ema_decay });
  replace(place.said, kind, " ", averaging ? measuredSaid(averaging) : t("training.average_unmeasured"));
}

/** @param {{average: Object<string, number>, last_step: Object<string, number>, checkpoints?: Object<string, number>[]}} averaging */
function measuredSaid({ average, last_step, checkpoints = [] }) {
  const [[name, ofAverage]] = Object.entries(average);
  const said = t(`training.average_${verdict(name, ofAverage, last_step[name])}`, {
    measure: measureName(name),
    average: number(ofAverage, 4),
    last: number(last_step[name], 4),
  });
  if (checkpoints.length < 2) return said;
  const each = checkpoints.map((one) => number(one[name], 4)).join(t("compare.comma"));
  return `${said} ${t("training.average_each", { n: checkpoints.length, each })}`;
}
