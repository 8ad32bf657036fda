/**
 * How a model was trained: its snapshots, the targets of its loss and the learning rate of each step, and the models that were
 * trained alike. Pure.
 */

// Snapshots: a model as it was at steps of its training. Each is a separate model, named `name@step`.

/**
 * @typedef {{model: string, step: number, tokens?: number|null, held_out?: Object<string, number>|null, loss?: number|null,
 *   gradient_norm?: number|null, gradients?: Object<string, number[][]>|null, problem?: string|null}} Snapshot  `gradients`: by stack, [layer][sublayer]
 */

/** The name of the model that a name is a snapshot of; another name stays. @param {string} name */
export const baseOf = (name) => name.replace(/@\d+$/, "");

/** Whether two names are one model at steps of its training. @param {string|null} one @param {string|null} other */
export const sameModel = (one, other) =>
  one === other || (one !== null && other !== null && baseOf(one) === baseOf(other));

/** @param {any} model @returns {Snapshot[]} by step */
export const snapshotsOf = (model) => model?.snapshots ?? [];

/** The open snapshot's place on the slider; the place after the last snapshot is the model that ships. @param {any} model */
export function snapshotPlace(model) {
  const found = snapshotsOf(model).findIndex((one) => one.model === model.name);
  return found < 0 ? snapshotsOf(model).length : found;
}

/** The name of the model at a place of the slider. @param {any} model @param {number} place */
export const nameAt = (model, place) => snapshotsOf(model)[place]?.model ?? baseOf(model.name);

/** Its figure on held-out text, with the name of the measure. @param {Snapshot} snapshot @returns {[string, number]|null} */
export const heldOutOf = ({ held_out }) => Object.entries(held_out ?? {})[0] ?? null;

/**
 * Numbers of each layer as one: the norm of a vector whose parts have these norms. @param {number[]} norms
 */
export const combinedNorm = (norms) => Math.hypot(...norms);

// What the cards say about models that were trained alike: their figures, and their loss over lengths beyond the
// training's.

/**
 * @typedef {{length: number[], loss: number[], apart: number[], error: number[], n_passages: number, n_documents: number, n_scored: number, ends: boolean}} Lengths
 *   columns; `apart`: from the loss at the longest length in training, `error`: the standard error of that, over
 *   documents; `ends`: the model has a table with a row for each position, and reads none beyond it
 * @typedef {{name: string, max_seq_len: number, n_parameters: number, snapshot_of?: string|null, card: any}} Known  a model of the list
 */

/** @param {Known} model @returns {{model: string, differs: Record<string, any>}|undefined} */
const baselineOf = (model) => model.card?.trained_like;

/** @param {Known} model @returns {Lengths|null} */
export const lengthsOf = (model) => (model.snapshot_of ? null : (model.card?.lengths ?? null));

/** The models with the same baseline as `model`, the baseline first; none if it has no such peers. @template {Known} M @param {M[]} models @param {Known} model */
export function peersOf(models, model) {
  const baseline = baselineOf(model)?.model;
  if (!baseline || model.snapshot_of) return [];
  const peers = models.filter((one) => baselineOf(one)?.model === baseline);
  return [...peers.filter(({ name }) => name === baseline), ...peers.filter(({ name }) => name !== baseline)];
}

/** The precision of the matrix products in its training, as its card says it: "bfloat16". @param {{card?: any}|undefined} model @returns {string} */
export const productsOf = (model) => /(\w+) matrix products/.exec(model?.card?.hardware ?? "")?.[1] ?? "";

const bitsOf = (/** @type {Known} */ one) => one.card?.evaluation?.bits_per_byte;

/**
 * The range of a model's bits per byte over several seeds: the largest such range, and the model's name. Null if no model
 * was trained from several seeds.
 * @param {Known[]} models
 */
export function spreadOf(models) {
  const seeded = models.filter((one) => !one.snapshot_of && one.card?.seeds?.length);
  const ranges = seeded.map((one) => {
    const all = [bitsOf(one), ...one.card.seeds.map((/** @type {any} */ seed) => seed.bits_per_byte)];
    return Math.max(...all) - Math.min(...all);
  });
  return seeded.length ? { size: Math.max(...ranges), models: seeded.map(({ name }) => name) } : null;
}

/** The gap in bits per byte between a model and another; `none`: it is below twice the spread of seeds. @param {Known} model @param {Known} other @param {{size: number}} spread */
export function gapBetween(model, other, { size }) {
  const gap = bitsOf(model) - bitsOf(other);
  return { gap, none: Math.abs(gap) < 2 * size };
}

/** Whether it was measured on texts longer than any in its training. @param {Known} model */
export const goesOn = (model) => (lengthsOf(model)?.length.at(-1) ?? 0) > model.max_seq_len;

/**
 * The models whose curves are shown with this model's: its baseline, and its peers that read longer texts.
 * @template {Known} M @param {M[]} models @param {Known} model @returns {M[]}
 */
export const lengthPeers = (models, model) =>
  peersOf(models, model).filter((one, i) => lengthsOf(one) && (i === 0 || one.name === model.name || goesOn(one)));

/**
 * How the loss changed beyond the training's length: at the longest length, compared with twice the standard error.
 * @param {Known} model @returns {{kind: "ends"|"within"|"same"|"rises"|"falls", length: number, apart: number, error: number}}
 */
export function beyondOf(model) {
  const { length, apart, error, ends } = /** @type {Lengths} */ (lengthsOf(model));
  const at = length.length - 1;
  const found = { length: length[at], apart: apart[at], error: error[at] };
  if (!goesOn(model)) return { kind: ends ? "ends" : "within", ...found };
  const kind = Math.abs(found.apart) <= 2 * found.error ? "same" : found.apart > 0 ? "rises" : "falls";
  return { kind, ...found };
}

/** A model trained alike with LayerNorms in other places, whose gradients were measured at step 0. @template {Known} M @param {M[]} models @param {{name: string}} model  or a snapshot of it */
export function inOtherOrder(models, model) {
  const own = models.find(({ name }) => name === baseOf(model.name));
  const orderOf = (/** @type {Known} */ one) => baselineOf(one)?.differs.norm_order ?? "pre";
  const others = own ? peersOf(models, own).filter((one) => one.card.gradients_at_start) : [];
  return others.find((one) => orderOf(one) !== orderOf(/** @type {M} */ (own))) ?? null;
}

/**
 * @typedef {{kind: "linear", peak: number, warmUp: number, steps: number, scale: number}
 *   | {kind: "root", dModel: number, warmUpSteps: number, coolDown: number, steps: number, scale: number}} Schedule  `warmUp`,
 *   `coolDown`: fractions of the run; `scale`: what the command multiplied all rates by
 */

/** @param {any} card @returns {Schedule|null} null: the card does not say */
export function scheduleOf(card) {
  const { recipe, command = "" } = card ?? {};
  const steps = card?.run_steps ?? card?.steps; // a snapshot has only a part of the run's steps
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
 * The target probabilities of the loss for K answers: for the right one, and for each of the others.
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
