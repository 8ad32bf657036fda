/** How a model was trained, according to its card: the targets of its loss, and the learning rate of each step. Pure. */

/**
 * @typedef {{kind: "linear", peak: number, warmUp: number, steps: number, scale: number}
 *   | {kind: "root", dModel: number, warmUpSteps: number, coolDown: number, steps: number, scale: number}} Schedule  `warmUp`,
 *   `coolDown`: fractions of the run; `scale`: what the command multiplied all rates by
 */

/** @param {any} card @returns {Schedule|null} null: the card does not say */
export function scheduleOf(card) {
  const { recipe, command = "" } = card ?? {};
  const steps = card?.run_steps ?? card?.steps; // a snapshot is on its way to the run's end
  const said = recipe?.schedule ?? recipe;
  if (!said || !steps) return null;
  const scale = Number(/--rate-scale (\S+)/.exec(command)?.[1] ?? 1);
  if (said.peak_rate !== undefined) return { kind: "linear", peak: said.peak_rate, warmUp: said.warm_up, steps, scale };
  if (said.warm_up_steps === undefined) return null;
  return {
    kind: "root",
    dModel: said.d_model,
    warmUpSteps: said.warm_up_steps,
    coolDown: said.cool_down ?? 0,
    steps,
    scale,
  };
}

/** The rate of a step, counted from 0, if all steps take the same time. @param {Schedule} schedule @param {number} step */
export function rateAt(schedule, step) {
  const done = step / schedule.steps;
  if (schedule.kind === "linear") {
    const { peak, warmUp, scale } = schedule;
    return scale * peak * (done < warmUp ? done / warmUp : Math.max(0, (1 - done) / (1 - warmUp)));
  }
  const { dModel, warmUpSteps, coolDown, scale } = schedule;
  const rate = dModel ** -0.5 * Math.min((step + 1) ** -0.5, (step + 1) * warmUpSteps ** -1.5);
  return scale * rate * (coolDown ? Math.min(1, (1 - done) / coolDown) : 1);
}

/** The step with the highest rate. @param {Schedule} schedule */
export function peakStep(schedule) {
  const near = schedule.kind === "linear" ? schedule.warmUp * schedule.steps : schedule.warmUpSteps - 1;
  const [below, above] = [Math.floor(near), Math.ceil(near)];
  return rateAt(schedule, above) > rateAt(schedule, below) ? above : below;
}

/**
 * What the loss wants of K answers: of the right one, and of each of the others.
 * @param {{label_smoothing?: number, smoothing_form?: string}} recipe @param {number} k
 */
export function targetsOf({ label_smoothing: epsilon = 0, smoothing_form: form = "all" }, k) {
  const others = form === "all" ? epsilon / k : epsilon / (k - 1);
  return { epsilon, k, right: form === "all" ? 1 - epsilon + others : 1 - epsilon, others };
}

/**
 * The smoothed loss of a token: −Σ q(k) ln p(k). @param {ReturnType<typeof targetsOf>} targets
 * @param {number} nats  −ln p of the label @param {number} spread  the mean of −ln p over all K answers
 */
export const smoothedLoss = ({ k, right, others }, nats, spread) => right * nats + others * (k * spread - nats);

/** Measures of which more is better; of the others (losses) less is. */
const MORE = ["accuracy"];

/** Whether one figure is better than another. @param {string} measure @param {number} one @param {number} other @returns {"same"|"better"|"worse"} */
export function verdict(measure, one, other) {
  if (one === other) return "same";
  return one > other === MORE.includes(measure) ? "better" : "worse";
}
