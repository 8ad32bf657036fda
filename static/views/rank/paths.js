/** Direct path patching: what a head or FFN writes in the second sentence, seen by one receiver alone: the answer, or a head's q, k or v. */

import { rankingPicture, saveButtons } from "../../chart/figures.js";
import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { RANK_PATHS, rankState } from "../../data/explain.js";
import { effectMaps } from "../../model/ablations.js";
import { attentionOf, has } from "../../model/description.js";
import { indexOfMost } from "../../model/matrix.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, replace, setText, signedTrack, update } from "../../ui/dom.js";
import { number, signed } from "../../ui/format.js";
import { attentionName } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { ffnName, headName, opening } from "./effects.js";
import { blocksOf, buildBlock, layerRows } from "./map.js";

/**
 * @import { Picture } from "../../chart/pictures.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { PathEffect } from "../../data/streams.js"
 * @import { EffectMap } from "../../model/ablations.js"
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Block } from "./map.js"
 */

/** A cell narrower than this, in pixels, has no room for a decimal. */
const ONE = 30;

/** How many writers are named. */
const MANY = 5;

/** Less than this is not worth a name: of the way, or where logits are shown, in logits. */
const LEAST = 0.01;

/** What a head can receive with. */
const ROLES = /** @type {const} */ (["q", "k", "v"]);

/** The choice of what sees the patch, and whether paths pass FFNs. */
export function buildPaths() {
  const sees = segment(t("paths.sees"), RANK_PATHS, "path", (name) => t(`paths.sees_${name}`));
  const ffns = h("button", { class: "btn rank-bars", type: "button", dataset: { testid: "path-ffns" } });
  ffns.append(t("paths.ffns"));
  const [said, about] = [h("span", { dataset: { testid: "paths-most" } }), h("p", { class: "rank-about dim" })];
  const [legend, maps, list] = [
    h("p", { class: "rank-legend dim" }),
    h("div", { class: "rank-maps" }),
    h("ol", { class: "rank-rows path-rows" }),
  ];
  const save = h("span", { class: "save-buttons" });
  const needs = h("section", { class: "rank-needs" }, h("p", { class: "rank-head" }, said, save), list, about);
  const shown = h("div", { class: "rank-columns" }, needs, h("div", null, legend, maps));
  const blocks = /** @type {Map<string, Block>} */ (new Map());
  const parts = {
    element: h("div", { class: "rank-do" }, sees.box, ffns),
    ...{ shown, sees, ffns, said, save, list, about, legend, maps, blocks },
    read: () => /** @type {Picture|null} */ (null),
  };
  save.append(...saveButtons(() => parts.read()));
  return parts;
}

/** @typedef {ReturnType<typeof buildPaths>} Parts */

/** Whether the heads of an attention have a q, k or v of their own. @param {Attention} attention @param {string} role */
const receives = (attention, role) =>
  has(attention, role) && ["head", "kv_head"].includes(attention.roles[role].dims.split(" ")[0]);

/** What sees the patch here: as chosen, if the open attention has it. @param {ModelTrace} trace @param {State} state */
function seenBy({ attention }, state) {
  const { path } = rankState.of(state);
  return path === "rows" || path === "answer" || receives(attention, path) ? path : "rows";
}

/** What is asked besides the two sentences; null: activations are patched, not paths. @param {ModelTrace} trace @param {State} state */
export function pathsOf(trace, state) {
  const [path, { ffns }] = [seenBy(trace, state), rankState.of(state)];
  if (path === "rows") return null;
  const { layer, head } = state;
  return { to: path === "answer" ? null : { attention: trace.attention.id, layer, head, role: path }, ffns };
}

/** "the answer", "q of head 5·5". @param {ModelTrace} trace @param {State} state */
export function receiverName(trace, state) {
  const role = seenBy(trace, state);
  const head = headName(trace.model, { attention: trace.attention.id, layer: state.layer, head: state.head });
  return role === "answer" ? t("paths.answer") : t("paths.role", { role, head });
}

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawChoice({ sees, ffns }, trace, state, actions) {
  const [path, { ffns: passes }] = [seenBy(trace, state), rankState.of(state)];
  const can = (/** @type {typeof RANK_PATHS[number]} */ name) =>
    ["rows", "answer"].includes(name) || receives(trace.attention, name);
  sees.show(path, (name) => actions.set(rankState.patch({ path: name })), can);
  update(ffns, { "aria-pressed": String(passes), hidden: path === "rows" });
  ffns.onclick = () => actions.set(rankState.patch({ ffns: !passes }));
}

/** @typedef {{found: PathEffect[], done: boolean, scale: string, base: number, logits: boolean}} Paths  `scale`: what 0 and 1 are, for a saved figure; `base`: the logit difference here; `logits`: effects are shown in them, not as parts of the way */

/** What is shown of a path. @param {Pick<Paths, "base"|"logits">} paths @param {PathEffect} one */
export const shownOf = ({ base, logits }, { moved, difference }) => (logits ? difference - base : moved);

/** The writers that move the answer most, either way. @param {Pick<Paths, "found"|"base"|"logits">} paths */
export function strongestPaths(paths) {
  const size = (/** @type {PathEffect} */ one) => Math.abs(shownOf(paths, one));
  const named = paths.found.filter((one) => size(one) >= LEAST);
  return named.sort((a, b) => size(b) - size(a)).slice(0, MANY);
}

/** @param {Parts} parts @param {Paths} paths @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawPaths(parts, paths, trace, state, actions) {
  const { found, done } = paths;
  const [receiver, most] = [receiverName(trace, state), strongestPaths(paths)];
  const some = seenBy(trace, state) === "answer" ? "most_answer" : "most";
  const none = paths.logits ? "none_logits" : "none";
  const said = !found.length ? "nothing" : most.length ? some : none;
  setText(parts.said, done ? t(`paths.${said}`, { receiver }) : t("rank.begins"));
  setText(parts.about, t(pathsOf(trace, state)?.to ? "paths.about_head" : "paths.about", { receiver }));
  const values = most.map((one) => shownOf(paths, one));
  keepingFocus(parts.list, () =>
    replace(parts.list, ...most.map((one, i) => rowOf(one, values[i], values, trace, actions))),
  );
  parts.legend.hidden = !found.length;
  update(parts.save, { hidden: !most.length || !done });
  parts.read = () => rankingOf(most, paths, trace, state);
  if (found.length) drawMaps(parts, paths, trace, state, actions);
}

/** What the numbers of a saved figure are. @param {Paths} paths @param {ModelTrace} trace @param {State} state */
function figureAbout({ scale }, trace, state) {
  const { source, ffns } = rankState.of(state);
  const words = { receiver: receiverName(trace, state), source: source ?? "", scale };
  return t(ffns ? "paths.figure_ffns" : "paths.figure", words);
}

/** The writers that are named, as a picture that can be saved. @param {PathEffect[]} most @param {Paths} paths @param {ModelTrace} trace @param {State} state */
function rankingOf(most, paths, trace, state) {
  const title = `${t("paths.patching")} · ${t("paths.title", { receiver: receiverName(trace, state) })}`;
  const rows = most.map((one) => ({
    ...{ name: writerName(trace, one), value: shownOf(paths, one), text: signed(shownOf(paths, one), 3) },
  }));
  const columns = { of: t("rank.figure_part"), what: t(paths.logits ? "paths.figure_logits" : "paths.figure_moved") };
  return rankingPicture({ id: "paths-ranking", title, about: figureAbout(paths, trace, state), ...columns, rows });
}

/** @param {Pick<ModelTrace, "model">} trace @param {PathEffect} one */
const writerName = ({ model }, one) => (one.kind === "head" ? headName(model, one) : ffnName(model, one));

/** A writer, and what can be asked next: what its own q, k and v get. @param {PathEffect} one @param {number} value  of it @param {number[]} values  of all that are named @param {ModelTrace} trace @param {Actions} actions */
function rowOf(one, value, values, { model }, actions) {
  const name = writerName({ model }, one);
  const where = one.kind === "head" ? one.head : "ffn";
  const open = h(
    "button",
    {
      ...{ class: "rank-row", type: "button", title: t("rank.open", { part: name }) },
      dataset: { testid: "path-row", layer: one.layer, head: where, focus: `path ${one.layer} ${where}` },
      on: { click: () => actions.set(opened(one, actions.get())) },
    },
    h("span", null, name),
    signedTrack(value, values),
    h("span", { class: "mono" }, signed(value, 3)),
  );
  const attention = one.kind === "head" ? attentionOf(model, one.attention) : null;
  const roles = ROLES.filter((role) => attention && receives(attention, role));
  const asks = roles.map((role) => {
    const about = t("paths.ask", { role, head: name });
    const ask = () => actions.set({ ...opened(one, actions.get()), ...rankState.patch({ path: role }) });
    const dataset = { testid: `path-ask-${role}`, focus: `path ${one.layer} ${where} ${role}` };
    return h(
      "button",
      { class: "btn", type: "button", title: about, "aria-label": about, dataset, on: { click: ask } },
      role,
    );
  });
  const fed = asks.length > 0 && h("span", { class: "dim path-fed", "aria-hidden": true }, t("paths.fed"));
  return h("li", null, open, h("span", { class: "path-asks" }, fed, asks));
}

/** The change that opens a writer. @param {PathEffect} one @param {State} state */
const opened = (one, state) => (one.kind === "head" ? opening(one, state) : { view: "ffn", layer: one.layer });

/**
 * Maps layers × heads, one for each attention; the last of a stack also has a column for its FFNs.
 * @param {Parts} parts @param {Paths} paths @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawMaps(parts, paths, trace, state, actions) {
  const { found, done } = paths;
  const scale = signedScale(
    Float32Array.from(found, (one) => shownOf(paths, one)),
    "signed",
    0.1,
  );
  const legend = t(paths.logits ? "patch.legend_logits" : "patch.legend");
  replace(parts.legend, scaleLegend(scale, { number: (value) => number(value, 2) }), " ", legend);
  const maps = effectMaps(trace.model, /** @type {any[]} */ (found)).filter(({ parts }) => parts.some(Boolean));
  const names = maps.map(({ attention }) => attention);
  const all = blocksOf(parts.blocks, names, buildBlock, (elements) => replace(parts.maps, ...elements));
  const again = () => drawMaps(parts, paths, trace, state, actions);
  const about = figureAbout(paths, trace, state);
  maps.forEach((map, i) => {
    drawMap(all[i], map, { scale, about, paths, done, again }, trace, state, actions);
  });
}

/**
 * @param {Block} block @param {EffectMap} map @param {{scale: import("../../chart/matrix/scale.js").Scale, about: string, paths: Paths, done: boolean, again: () => void}} of
 * @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawMap(
  block,
  { attention, ffnOf, shape, parts },
  { scale, about, paths, done, again },
  trace,
  state,
  actions,
) {
  const [{ model }, cols] = [trace, shape[1]];
  const found = /** @type {(PathEffect|undefined)[]} */ (/** @type {unknown} */ (parts));
  const heads = Array.from({ length: cols - (ffnOf ? 1 : 0) }, (_, head) => String(head));
  const title = [t("paths.title", { receiver: receiverName(trace, state) }), attentionName(model, attention)]
    .filter(Boolean)
    .join(" · ");
  setText(block.title, title);
  const values = Float32Array.from(found, (one) => (one ? shownOf(paths, one) : 0));
  const most = indexOfMost(values.map(Math.abs));
  const chosen = block.cursor ?? { row: Math.floor(most / cols), col: most % cols };
  const partName = (/** @type {number} */ row, /** @type {number} */ col) =>
    col < heads.length
      ? headName(model, { attention, layer: row, head: col })
      : ffnName(model, { stack: String(ffnOf), layer: row });
  const words = (/** @type {number} */ row, /** @type {number} */ col) => {
    const [part, one] = [partName(row, col), found[row * cols + col]];
    if (!one) return `${part}: ${t(done ? "paths.no_path" : "rank.unmeasured")}`;
    const moves = { moved: signed(one.moved, 3), logits: signed(one.difference - paths.base, 2) };
    return t(paths.logits ? "paths.cell_logits" : "paths.cell", {
      part,
      receiver: receiverName(trace, state),
      ...moves,
    });
  };
  const missing = Uint8Array.from(found, (one) => Number(!one));
  drawMatrix(block.place, {
    ...{
      id: `paths-${attention}`,
      title: `${t("paths.patching")} · ${title}`,
      about,
      values,
      shape,
      scale,
      wide: true,
      tall: true,
      numbers: true,
    },
    forbidden: missing.includes(1) ? missing : null,
    hatching: t(done ? "paths.no_path" : "rank.unmeasured"),
    label: `${title}. ${t("paths.label", { rows: shape[0], cols: heads.length })}`,
    bare: true,
    rows: { ...layerRows(shape[0]), title: t("rank.layers"), role: "" },
    cols: { labels: ffnOf ? [...heads, t("rank.ffn_column")] : heads, title: t("rank.heads"), role: "" },
    edges: ffnOf ? { col: heads.length } : undefined,
    cellText: (value, { w }) => (w < ONE || Math.abs(value) < LEAST ? "" : number(value, 2)),
    hover: (row, col) => [words(row, col)],
    describe: (row, col) => [words(row, col)],
    chosen: { ...chosen, span: "cell", role: "k" },
    onChoose(row, col) {
      block.cursor = { row, col };
      again();
    },
    onOpen: (row, col) =>
      actions.set(
        col < heads.length
          ? opening({ attention, layer: row, head: col }, actions.get())
          : { view: "ffn", attention, layer: row },
      ),
    filename: `chumoku-paths-${attention}`,
  });
}
