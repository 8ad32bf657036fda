/** Activation patching: a second sentence, and which of its activations move this answer towards its own, as maps layers × positions. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { measuredRequest, rankState } from "../../data/explain.js";
import { requestOf } from "../../data/request.js";
import { otherRepeat, otherSentence } from "../../model/by_hand.js";
import { stacksOf } from "../../model/description.js";
import { labelName, namesIn, tokenLabel } from "../../model/labels.js";
import { h, replace, setText } from "../../ui/dom.js";
import { errorText, number, signed } from "../../ui/format.js";
import { attentionName } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { className } from "../../ui/token_text.js";
import { buildByHand, drawByHand } from "./by_hand.js";
import { answerPlace } from "./effects.js";
import { blocksOf, buildBlock, layerRows } from "./map.js";
import { buildPaths, drawChoice, drawPaths, pathsOf } from "./paths.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Patched, PatchStart, PathEffect } from "../../data/streams.js"
 * @import { Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Measured } from "./effects.js"
 * @import { Block } from "./map.js"
 */

/** A cell narrower than this, in pixels, has no room for a decimal. */
const ONE = 26;

/** A smaller part of the way than this has no number: many of them would hide the few that move the answer. */
const LEAST = 0.05;

/** A part of the way, in a cell `w` pixels wide: in a narrow one so short that two beside each other stay apart. @param {number} value @param {number} w */
export const movedText = (value, w) =>
  w < ONE || Math.abs(value) < LEAST ? "" : w < 2 * ONE ? number(value, 1).replace("0.", ".") : number(value, 2);

export function buildPatch() {
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "text",
      class: "patch-text",
      "aria-label": t("patch.source"),
      dataset: { testid: "patch-text" },
    })
  );
  const offers = ["offer", "repeat"].map((name) =>
    h("button", { class: "btn", type: "button", dataset: { testid: `patch-${name}` } }),
  );
  const stop = h("button", { class: "btn", type: "button", dataset: { testid: "patch-stop" } });
  const [said, about] = [h("h2", { dataset: { testid: "patch-said" } }), h("p", { class: "rank-about dim" })];
  const [legend, maps] = [h("p", { class: "rank-legend dim" }), h("div", { class: "rank-maps" })];
  const [paths, byHand] = [buildPaths(), buildByHand()];
  const label = h("label", { class: "patch-label", title: t("patch.source") }, t("patch.second"), input);
  const tools = h("div", { class: "rank-do" }, label, offers, stop, paths.element);
  const head = h("div", { class: "rank-head" }, said, legend);
  const element = h("section", null, tools, head, maps, paths.shown, byHand.element, about);
  const blocks = /** @type {Map<string, Block>} */ (new Map());
  return { element, input, offers, stop, paths, byHand, said, about, legend, maps, blocks, stopped: "" };
}

/** @typedef {ReturnType<typeof buildPatch>} Parts */
/** @typedef {Measured<Patched|PathEffect, PatchStart>} PatchesMeasured */

/** What is asked; null: there is no second sentence yet, or the row answers nothing. @param {ModelTrace} trace @param {State} state */
export function patchRequest(trace, state) {
  const { source } = rankState.of(state);
  const request = measuredRequest(state, trace);
  if (!source || !request) return null;
  const other = { ...state, text: source, ids: null, pixels: null, target: null, targetIds: null, interventions: [] };
  const paths = pathsOf(trace, state);
  return { ...request, from: requestOf(other), ...(paths && { paths }) };
}

/** @param {Parts} parts @param {PatchesMeasured|null} measured @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawPatch(parts, measured, trace, state, actions) {
  const source = rankState.of(state).source ?? "";
  const { input, offers, paths, said, about } = parts;
  const asked = pathsOf(trace, state);
  drawChoice(paths, trace, state, actions);
  drawByHand(parts.byHand, trace, state, actions);
  if (document.activeElement !== input) input.value = source;
  input.onchange = () => actions.set(rankState.patch({ source: input.value }));
  const others = [otherSentence(trace, state), otherRepeat(trace, state)];
  others.forEach((other, i) => {
    offers[i].hidden = other === null || other.text === source;
    if (other)
      replace(offers[i], phrase("patch.offer", { here: h("b", null, other.here), there: h("b", null, other.there) }));
    offers[i].onclick = () => other && actions.set(rankState.patch({ source: other.text }));
  });
  chooseOffered(others[0], state, actions);
  const { start = null, found = [], done = true, error = null } = measured ?? {};
  parts.stop.hidden = measured === null || (done && !parts.stopped);
  setText(parts.stop, t(parts.stopped ? "patch.again" : "patch.stop"));
  setText(about, t("patch.about"));
  if (error) setText(said, refusedWords(/** @type {any} */ (error)));
  else if (!start) setText(said, t(source && measured ? "rank.begins" : "patch.empty"));
  else
    replace(
      said,
      h(
        "span",
        null,
        sentence(start),
        preferSame(start) || inLogits(start) ? [" ", h("small", null, degreesWords(start))] : [],
      ),
    );
  about.hidden = asked !== null;
  if (asked) parts.byHand.element.hidden = true;
  parts.legend.hidden = parts.maps.hidden = !start || !found.length || asked !== null;
  paths.shown.hidden = !start || asked === null;
  if (!start) return;
  const shown = {
    found: /** @type {PathEffect[]} */ (found),
    done,
    scale: scaleWords(start, trace),
    base: start.difference,
    logits: inLogits(start),
  };
  if (asked) drawPaths(paths, shown, trace, state, actions);
  else if (found.length) drawMaps(parts, start, /** @type {Patched[]} */ (found), trace, state, actions);
}

/**
 * It opens with maps: of the sentence that is offered first, which then stays, whatever an edit does to the prediction.
 * @param {{text: string}|null} offered @param {State} state @param {Actions} actions
 */
function chooseOffered(offered, state, actions) {
  if (offered && rankState.of(state).source === null) actions.set(rankState.patch({ source: offered.text }));
}

/** Why the two sentences cannot be compared, in the page's language. @param {{code?: string, where?: string, got?: unknown, limit?: unknown}} error */
export function refusedWords(error) {
  const { code, where, got, limit } = error;
  if (code !== "bad_source" || where !== "from") return errorText(error);
  return got == null ? t("patch.alike") : t("patch.lengths", { there: Number(got), here: Number(limit) });
}

/** @param {PatchStart} start @returns {(Node|string)[]} */
function sentence(start) {
  const { answer, against, ...ends } = endsOf(start);
  return phrase("patch.said", { answer: h("b", null, answer), against: h("b", null, against), ...ends });
}

/** Whether both sentences favour the same answer: 0 and 1 are then two degrees of it. @param {Pick<PatchStart, "difference"|"source_difference">} start */
export const preferSame = ({ difference, source_difference }) => difference * source_difference > 0;

/** Nearer to each other than this, in logits, two sentences make a part of the way of every rounding. */
const NEAR = 1;

/** Whether effects are shown in logits, not as parts of the way. @param {Pick<PatchStart, "difference"|"source_difference">} start */
export const inLogits = ({ difference, source_difference }) => Math.abs(source_difference - difference) < NEAR;

/** Why 0 and 1 say little, or are not shown. @param {PatchStart} start */
function degreesWords(start) {
  if (!inLogits(start)) return t("patch.same", { answer: favoured(start) });
  return t("patch.near", { gap: number(Math.abs(start.source_difference - start.difference), 2) });
}

/** The answer that both sentences favour. @param {PatchStart} start */
export function favoured(start) {
  const { answer, against } = endsOf(start);
  return start.difference > 0 ? answer : against;
}

/** The two answers by name, and the logit difference of each sentence. @param {PatchStart} start */
function endsOf({ answer, against, classes, tokens, difference, source_difference }) {
  const name = (/** @type {number} */ id) =>
    classes.length ? className(classes[id]) : labelName(tokenLabel(tokens[id]));
  const ends = { here: signed(difference, 2), there: signed(source_difference, 2) };
  return { answer: name(answer), against: name(against), ...ends };
}

/** A part of the way, in logits. @param {PatchStart} start @param {number} moved */
const logitsMoved = ({ difference, source_difference }, moved) => signed(moved * (source_difference - difference), 2);

/** What 0 and 1 are in a saved figure. @param {PatchStart} start @param {ModelTrace} trace */
export const scaleWords = (start, trace) =>
  t(inLogits(start) ? "patch.figure_logits" : "patch.figure_scale", {
    ...endsOf(start),
    place: answerPlace(trace, start.row),
  });

/** The maps of a model: of the stream, and of what each attention and FFN adds. @param {Model} model */
export const patchKinds = (model) =>
  stacksOf(model).flatMap((stack) => {
    const attentions = new Set(
      stack.layers.flatMap(({ sublayers }) => sublayers.flatMap((/** @type {any} */ one) => one.attention ?? [])),
    );
    const hasFfn = stack.layers.some(({ sublayers }) => sublayers.some(({ kind }) => kind === "ffn"));
    const of = { stack: stack.id, side: stack.side, n_layer: stack.layers.length };
    return [
      { ...of, what: "stream", attention: null },
      ...[...attentions].map((attention) => ({ ...of, what: "attention", attention })),
      ...(hasFfn ? [{ ...of, what: "ffn", attention: null }] : []),
    ];
  });

/** @param {Parts} parts @param {PatchStart} start @param {Patched[]} found @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawMaps(parts, start, found, trace, state, actions) {
  const kinds = patchKinds(trace.model);
  const way = inLogits(start) ? start.source_difference - start.difference : 1; // of what is shown
  const scale = signedScale(
    Float32Array.from(found, ({ moved }) => moved * way),
    "signed",
    1,
  );
  const legend = t(inLogits(start) ? "patch.legend_logits" : "patch.legend");
  replace(parts.legend, scaleLegend(scale, { number: (value) => number(value, 2) }), " ", legend);
  const names = kinds.map(({ stack, what, attention }) => [stack, what, attention].filter(Boolean).join(" "));
  const blocks = blocksOf(parts.blocks, names, buildBlock, (all) => replace(parts.maps, ...all));
  kinds.forEach((kind, i) => {
    const tokens = trace.sides[kind.side]?.tokens ?? [];
    const others = start.ids[kind.side] ?? [];
    const label = (/** @type {string} */ name, /** @type {number} */ at) =>
      others[at] === tokens[at].id || !start.tokens[others[at]]
        ? name
        : `${name}←${labelName(tokenLabel(start.tokens[others[at]]))}`;
    const labels = namesIn(tokens).map(label);
    const title = [t(`patch.${kind.what}`), titleOf(trace.model, kind)].filter(Boolean).join(" · ");
    setText(blocks[i].title, title);
    const { values, missing } = mapOfPatches(found, kind, labels.length);
    const again = () => drawMaps(parts, start, found, trace, state, actions);
    drawMap(blocks[i], {
      id: names[i].replaceAll(" ", "-"),
      title,
      logits: (value) => logitsMoved(start, value / way),
      moved: inLogits(start) ? null : (value) => signed(value, 3),
      about: t("patch.figure", { source: rankState.of(state).source ?? "", scale: scaleWords(start, trace) }),
      values: values.map((value) => value * way),
      missing,
      scale,
      labels,
      n_layer: kind.n_layer,
      again,
    });
  });
}

/** Which stack or attention it is, if there are several. @param {Model} model @param {{stack: string, attention: string|null}} kind */
const titleOf = (model, { stack, attention }) =>
  attention !== null ? attentionName(model, attention) : stacksOf(model).length > 1 ? t(`patch.stack_${stack}`) : "";

/**
 * One map, layers × positions. @param {Patched[]} found
 * @param {{stack: string, what: string, attention: string|null, n_layer: number}} kind @param {number} n
 */
export function mapOfPatches(found, { stack, what, attention, n_layer }, n) {
  const [values, missing] = [new Float32Array(n_layer * n), new Uint8Array(n_layer * n).fill(1)];
  for (const one of found) {
    if (one.stack !== stack || one.what !== what || (one.attention ?? null) !== attention) continue;
    values[one.layer * n + one.position] = one.moved;
    missing[one.layer * n + one.position] = 0;
  }
  return { values, missing: missing.includes(1) ? missing : null };
}

/**
 * @param {Block} block
 * @param {{id: string, title: string, about: string, logits: (value: number) => string, moved: ((value: number) => string)|null, values: Float32Array, missing: Uint8Array|null, scale: import("../../chart/matrix/scale.js").Scale,
 *   labels: string[], n_layer: number, again: () => void}} map
 */
function drawMap(block, { id, title, about, logits, moved, values, missing, scale, labels, n_layer, again }) {
  const cols = labels.length;
  const strongest = values.reduce((best, value, i) => (Math.abs(value) > Math.abs(values[best]) ? i : best), 0);
  const { row, col } = block.cursor ?? { row: Math.floor(strongest / cols), col: strongest % cols };
  const words = (/** @type {number} */ r, /** @type {number} */ c) =>
    missing?.[r * cols + c]
      ? `${labels[c]}: ${t("rank.unmeasured")}`
      : t(moved ? "patch.cell" : "patch.cell_logits", {
          layer: r,
          token: labels[c],
          moved: moved?.(values[r * cols + c]) ?? "",
          logits: logits(values[r * cols + c]),
        });
  drawMatrix(block.place, {
    ...{
      id: `patch-${id}`,
      title: `${t("patch.title")} · ${title}`,
      about,
      values,
      shape: [n_layer, cols],
      scale,
      forbidden: missing,
      hatching: t("rank.unmeasured"),
      wide: true,
      tall: true,
      numbers: true,
    },
    label: `${title}. ${t("patch.label")}`,
    bare: true,
    rows: { ...layerRows(n_layer), title: t("rank.layers"), role: "" },
    cols: { labels, title: t("patch.positions"), role: "" },
    cellText: (value, { w }) => movedText(value, w),
    hover: (r, c) => [words(r, c)],
    describe: (r, c) => [words(r, c)],
    chosen: { row: Math.min(row, n_layer - 1), col: Math.min(col, cols - 1), span: "cell", role: "k" },
    onChoose(r, c) {
      block.cursor = { row: r, col: c };
      again();
    },
    filename: `chumoku-patch-${id}`,
  });
}
