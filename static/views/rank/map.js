/** The map of one attention: a cell for what switching off each head changes, and a column for the FFNs. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { cssColour } from "../../chart/theme.js";
import { mostNeeded } from "../../model/ablations.js";
import { h, setText, update } from "../../ui/dom.js";
import { attentionName } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { placeOf } from "../places.js";
import {
  effectFigures,
  effectPhrase,
  effectWords,
  ffnName,
  figureAbout,
  headName,
  isOff,
  measureUnit,
  opening,
  shortSwitch,
  switchWords,
  turn,
} from "./effects.js";

/**
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Ablation, AblationStart } from "../../data/streams.js"
 * @import { EffectMap, Measure } from "../../model/ablations.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/** A cell narrower than this, in pixels, has no room for two decimals, or for one. */
const [TWO, ONE] = [42, 30];

/** The place of one map, and its chosen cell. @typedef {{element: HTMLElement, title: HTMLElement, place: HTMLElement, cursor: {row: number, col: number}|null}} Block */

/** @returns {Block} */
export function buildBlock() {
  const [title, place] = [h("h3", null), h("div", { class: "place" })];
  return { element: h("section", { class: "rank-map" }, title, place), title, place, cursor: null };
}

/**
 * A block for each name: those that stand, or new ones, put in place, when the names have changed.
 * @template {Block} B
 * @param {Map<string, B>} blocks @param {string[]} names @param {() => B} build @param {(all: HTMLElement[]) => void} put
 */
export function blocksOf(blocks, names, build, put) {
  if (names.join() !== [...blocks.keys()].join()) {
    blocks.clear();
    for (const name of names) blocks.set(name, build());
    put([...blocks.values()].map(({ element }) => element));
  }
  return [...blocks.values()];
}

/**
 * What is coloured: heads by their scale; the FFNs in the columns after them, which often do more than all heads together, by one of
 * their own, so that their strongest has the strongest colour.
 * @param {Float32Array} values @param {number} cols @param {number} heads @param {Scale} scale @param {number} most  of the strongest FFN of all maps that share a legend
 */
export function tonesOf(values, cols, heads, { min, max }, most) {
  const end = Math.max(Math.abs(min), Math.abs(max));
  const tone = (/** @type {number} */ value, /** @type {number} */ i) =>
    i % cols < heads ? Math.min(max, Math.max(min, value)) : most && (value / Math.abs(most)) * end;
  return values.map(tone);
}

/** The value of the strongest FFN; 0: there is none. @param {Float32Array} values @param {number} cols @param {number} heads */
export const mostAfter = (values, cols, heads) =>
  values.reduce((most, value, i) => (i % cols >= heads && Math.abs(value) > Math.abs(most) ? value : most), 0);

/** The rows of a map: "layer 0", … @param {number} count */
export const layerRows = (count) => ({
  labels: Array.from({ length: count }, (_, row) => String(row)),
  names: Array.from({ length: count }, (_, n) => t("rank.layer_n", { n })),
});

/** A block with what can be done with its chosen cell. */
export function buildEffectMap() {
  const block = buildBlock();
  const open = h("button", { class: "btn", type: "button", dataset: { testid: "rank-open" } });
  const off = h("button", { class: "btn", type: "button", dataset: { testid: "rank-off" } });
  block.element.append(h("p", { class: "rank-do" }, open, off));
  return { ...block, open, off };
}

/**
 * @param {ReturnType<typeof buildEffectMap>} block @param {EffectMap} map
 * @param {{by: Measure, scale: Scale, ffn: number, start: AblationStart, found: Ablation[], again: () => void}} of
 * @param {ModelTrace} trace @param {State} state @param {Actions} actions  `again` draws all of it
 */
export function drawEffectMap(block, map, of, trace, state, actions) {
  const { attention, ffnOf, shape } = map;
  const [{ by, scale, ffn, start }, { model }] = [of, trace];
  const name = attentionName(model, attention);
  const several = name !== null;
  block.title.hidden = !several;
  setText(block.title, name ?? "");
  const n_head = shape[1] - (ffnOf ? 1 : 0);
  const heads = Array.from({ length: n_head }, (_, head) => String(head));
  const withFfn = (/** @type {string[]} */ all) => (ffnOf ? [...all, t("rank.ffn_column")] : all);
  const partAt = (/** @type {number} */ row, /** @type {number} */ col) => map.parts[row * shape[1] + col];
  const headAt = (/** @type {number} */ layer, /** @type {number} */ head) => ({ attention, layer, head });
  const cellName = (/** @type {number} */ row, /** @type {number} */ col) =>
    col < n_head ? headName(model, headAt(row, col)) : ffnName(model, { stack: ffnOf ?? "", layer: row });
  const chosen = block.cursor ?? chosenIn(map, of, state, n_head, model);
  const open = (/** @type {number} */ row, /** @type {number} */ col) =>
    actions.set({
      ...(col < n_head ? opening(headAt(row, col), actions.get()) : { view: "ffn", attention, layer: row }),
      drawer: null,
    });
  const unit = measureUnit(by, start);
  const hatched = map.parts.map((one) => !one || (one.kind === "head" && isOff(state.interventions, one, model)));
  const values = Float32Array.from(map.parts, (one) => (one ? unit.of(one[by]) : 0));
  const title = [t("rank.figure_title"), name].filter(Boolean).join(" · ");
  drawMatrix(block.place, {
    id: ["rank", by, ...(name ? [attention] : [])].join("-"),
    title,
    about: figureAbout(by, start, trace, ffnOf !== null),
    label: `${title}. ${t("rank.label", { rows: shape[0], cols: n_head })}`,
    values,
    tones: tonesOf(values, shape[1], n_head, scale, ffn),
    shape,
    forbidden: hatched.some(Boolean) ? Uint8Array.from(hatched, Number) : null,
    hatching: t(map.parts.includes(undefined) ? "rank.unmeasured" : "rank.off_mark"),
    onHatching: map.parts.includes(undefined) ? undefined : { text: t("rank.off_mark"), ink: cssColour("--ink-2") },
    scale,
    rows: {
      ...layerRows(shape[0]),
      ...(several ? { names: undefined } : {}),
      title: t("rank.layers"),
      role: "",
    },
    cols: {
      labels: withFfn(heads),
      names: several ? undefined : withFfn(heads.map((n) => t("rank.head_n", { n }))),
      title: t("rank.heads"),
      role: "",
    },
    edges: ffnOf ? { col: n_head } : undefined,
    wide: true,
    tall: true,
    bare: !several,
    numbers: true,
    cellText: (value, { w }) => (w < ONE ? "" : w < TWO ? unit.write(value, 1) : unit.write(value)),
    hover(row, col) {
      const one = partAt(row, col);
      return one ? [effectWords(model, one, start), ...effectFigures(one)] : [cellName(row, col), t("rank.unmeasured")];
    },
    describe(row, col) {
      const one = partAt(row, col);
      if (!one) return [`${cellName(row, col)}: ${t("rank.unmeasured")}`];
      return hatched[row * shape[1] + col]
        ? [`${cellName(row, col)}: ${t("rank.off_mark")}`]
        : effectPhrase(model, one, start);
    },
    chosen: { ...chosen, span: "cell", role: "k" },
    onChoose(row, col) {
      block.cursor = { row, col };
      of.again();
    },
    // A click on another cell chooses it, with what can be done with it; on the chosen one it opens the head.
    onOpen(row, col) {
      if (chosen.row === row && chosen.col === col) return open(row, col);
      block.cursor = { row, col };
      of.again();
    },
    filename: `chumoku-rank-${by}${name ? `-${attention}` : ""}`,
  });
  const { row, col } = chosen;
  // Before the reader chooses a cell, the list beside the map says the same and offers it.
  block.element.classList.toggle("unasked", !block.cursor);
  const opens = t("rank.open", { part: cellName(row, col) });
  update(block.open, { "aria-label": opens });
  setText(block.open, name ? t("rank.opens") : opens); // several maps: there is less room, and the readout names it
  block.open.onclick = () => open(row, col);
  block.off.hidden = col >= n_head;
  const switches = block.off.hidden ? "" : switchWords(model, headAt(row, col), state);
  update(block.off, { "aria-label": switches });
  setText(block.off, name && switches ? shortSwitch(model, headAt(row, col), state) : switches);
  block.off.onclick = () => turn(headAt(row, col), model, actions);
}

/**
 * The cell that is chosen before the reader chooses one: the open head, otherwise the head with the largest effect here.
 * @param {EffectMap} map @param {{by: Measure, found: Ablation[]}} of @param {State} state @param {number} n_head @param {ModelTrace["model"]} model
 */
function chosenIn({ attention, shape: [n_layer] }, { by, found }, state, n_head, model) {
  const isHere = placeOf(state).name === "head" && (state.attention ?? attention) === attention;
  const isThere = isHere && state.layer < n_layer && state.head < n_head;
  // Switched off already, it changes nothing more.
  if (isThere && !isOff(state.interventions, { attention, layer: state.layer, head: state.head }, model))
    return { row: state.layer, col: state.head };
  const [most] = mostNeeded(
    found.filter((one) => one.kind === "head" && one.attention === attention),
    by,
    1,
  );
  return most ? { row: most.layer, col: most.head } : { row: 0, col: 0 };
}
