/**
 * The sampling settings: a slider with a number for each, the seed, and texts: not written, last, first. They are part of the state, and so of the
 * link.
 */

import { h, setText, update } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { generationState, LONGEST_CONTINUATION } from "../view_states.js";
import { GENERATION_PACES } from "./player.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/** The largest value in a link. */
const LARGEST_SEED = 999_999_999;

/** @typedef {{name: "temperature"|"topK"|"topP"|"minP"|"penalty", low: number, high: number, step: number, special: [number, string]}} Slider */

/** `special`: a value with a special meaning, and its text. @type {Slider[]} */
const SLIDERS = [
  { name: "temperature", low: 0, high: 2, step: 0.05, special: [0, "generation.greedy"] },
  { name: "topK", low: 0, high: 100, step: 1, special: [0, "generation.off"] },
  { name: "topP", low: 0.05, high: 1, step: 0.01, special: [1, "generation.off"] },
  { name: "minP", low: 0, high: 0.5, step: 0.01, special: [0, "generation.off"] },
  { name: "penalty", low: 1, high: 2, step: 0.05, special: [1, "generation.off"] },
];

/**
 * @param {Actions} actions
 * @returns {{nodes: HTMLElement[], draw: (state: State) => void}}
 */
export function createSampling(actions) {
  const sliders = SLIDERS.map((field) => slider(field, actions));
  const fields = [...sliders, seedField(actions), ...TEXTS.map((name) => textField(name, actions))];
  return {
    nodes: fields.map(({ node }) => node),
    draw(state) {
      for (const { show } of fields) show(state);
    },
  };
}

/** @param {Slider} field @param {Actions} actions */
function slider({ name, low, high, step, special: [special, word] }, actions) {
  const text = (/** @type {number} */ value) => (value === special ? t(word) : shortNumber(value));
  const readout = h("output", { class: "mono readout-short" });
  const input = h("input", {
    type: "range",
    min: low,
    max: high,
    step,
    dataset: { testid: `sampling-${name}` },
    on: { input: () => actions.set({ [name]: Number(input.value) }) },
  });
  const title = h("span", { class: "name" }, t(`generation.${name}`));
  const node = h("label", { title: t(`generation.${name}_about`) }, title, input, readout);
  const show = (/** @type {State} */ state) => {
    const value = state[name];
    input.max = String(Math.max(high, value)); // a link may have a value that the slider does not offer
    if (Number(input.value) !== value) input.value = String(value);
    setText(readout, text(value));
    update(input, { "aria-valuetext": text(value) });
  };
  return { node, show };
}

/** Fields of texts: words with spaces between, but for the answer's beginning. */
const TEXTS = /** @type {const} */ (["banned", "stop", "begin"]);

/** @param {typeof TEXTS[number]} name @param {Actions} actions */
function textField(name, actions) {
  const words = (/** @type {string} */ text) => [...new Set(text.split(/\s+/).filter(Boolean))];
  const change = () => actions.set({ [name]: name === "begin" ? input.value.trim() : words(input.value) });
  const attrs = {
    type: "text",
    class: "texts",
    maxLength: 100,
    spellcheck: false,
    dataset: { testid: `sampling-${name}` },
  };
  const input = h("input", { ...attrs, placeholder: t(`generation.${name}_example`), on: { change } });
  const node = h(
    "label",
    { title: t(`generation.${name}_about`) },
    h("span", { class: "name" }, t(`generation.${name}`)),
    input,
  );
  const show = (/** @type {State} */ { [name]: value, file }) => {
    node.hidden = file !== null; // its vocabulary is not in the file
    const text = typeof value === "string" ? value : value.join(" ");
    if (document.activeElement !== input && input.value !== text) input.value = text;
  };
  return { node, show };
}

/** @param {Actions} actions */
function seedField(actions) {
  const set = (/** @type {number} */ seed) => actions.set({ seed });
  const field = numberField({ low: 0, high: LARGEST_SEED, testid: "sampling-seed", set });
  const node = h("label", { title: t("generation.seed_about") }, t("generation.seed"), field.input);
  return { node, show: (/** @type {State} */ { seed }) => field.show(seed) };
}

/**
 * A field for a whole number. An invalid value is corrected when the field loses focus.
 * @param {{low: number, high: number, step?: number, testid: string, set: (value: number) => void}} options  `step`: less
 *   than 1 lets fractions in
 * @returns {{input: HTMLInputElement, show: (value: number) => void}}
 */
export function numberField({ low, high, step = 1, testid, set }) {
  let known = low;
  const typed = () => {
    const value = input.valueAsNumber;
    const fits = step < 1 ? Number.isFinite(value) : Number.isInteger(value);
    if (!fits || value < low || value > high) return;
    known = value;
    set(value);
  };
  const left = () => {
    input.value = String(known);
  };
  const attrs = { type: "number", class: "mono number", min: low, max: high, step, dataset: { testid } };
  const input = h("input", { ...attrs, on: { input: typed, change: left } });
  const show = (/** @type {number} */ value) => {
    known = value;
    if (document.activeElement !== input && input.value !== String(value)) input.value = String(value);
  };
  return { input, show };
}

/** 0.8 → "0.8", 0.95 → "0.95", 20 → "20". @param {number} value */
export function shortNumber(value) {
  return number(value, 2).replace(/\.?0+$/, "");
}

// How far Play goes and how fast.

/** @param {Actions} actions */
export function createReach(actions) {
  const set = (/** @type {number} */ length) => actions.set(generationState.patch({ length }));
  const length = numberField({ low: 1, high: LONGEST_CONTINUATION, testid: "gen-length", set });
  const options = Object.keys(GENERATION_PACES).map((name) => h("option", { value: name }, t(`generation.${name}`)));
  const change = () =>
    actions.set(generationState.patch({ pace: /** @type {keyof typeof GENERATION_PACES} */ (pace.value) }));
  const pace = h("select", { on: { change }, dataset: { testid: "gen-pace" } }, options);
  const nodes = [
    h("label", { title: t("generation.length_about") }, phrase("generation.length", { n: length.input })),
    h("label", null, t("generation.pace"), pace),
  ];
  /** @param {State} state */
  const draw = (state) => {
    const now = generationState.of(state);
    length.show(now.length);
    if (pace.value !== now.pace) pace.value = now.pace;
  };
  return { nodes, draw };
}
