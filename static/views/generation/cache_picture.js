/**
 * Keys and values of every layer over the tokens. Grey columns were kept, coloured ones computed by the newest step; hatched ones
 * are beyond the window. Below them, what is read of the source.
 */

import { cssColour, currentTheme, pixelsBetween, pixelTable } from "../../chart/theme.js";
import { tapOf } from "../../model/description.js";
import { beyondWindow, tokensOf } from "../../model/kv_cache.js";
import { namesIn } from "../../model/labels.js";
import { h, replace } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";

/**
 * @import { FetchedTrace, FloatTensor } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 */

/** The roles that are kept, and the ramp of each. */
const KEPT = /** @type {const} */ (["k", "v"]);

/** The open head's keys and values; several heads may share them. @param {Attention} attention @param {Pick<State, "head">} state */
export const kvHeadOf = ({ n_head: heads, n_kv_head: shared }, { head }) =>
  Math.floor((Math.min(head, heads - 1) * shared) / heads);

/** What the columns are called. @param {Pick<FetchedTrace, "sides">} trace @param {Attention} attention */
export const columnNames = ({ sides }, attention) => namesIn(tokensOf(attention, sides));

/**
 * @typedef {{from: number, to: number}} Fresh  the columns that the newest step computed
 * @typedef {{role: "k"|"v", attention: Attention, layer: number, head: number, fresh: Fresh, names: string[], dropped: boolean[]}} Place
 */

/**
 * Draws every layer whose tensors are here. Returns whether a column is beyond the window.
 * @param {HTMLElement} place @param {FetchedTrace} trace @param {State} state
 * @param {{own: Attention, cross: Attention|null, fresh: Fresh, first: boolean}} of  `first`: of the step that read the source
 */
export function drawLayers(place, trace, state, { own, cross, fresh, first }) {
  const all = Array.from({ length: own.n_layer }, (_, layer) => layer);
  const has = (/** @type {Attention} */ one, /** @type {number} */ layer) =>
    KEPT.every((role) => trace.tensor(tapOf(one, layer, role)));
  const here = all.filter((layer) => has(own, layer));
  const dropped = here.map((layer) => beyondWindow(trace, own, layer));
  const content = JSON.stringify([
    trace.key,
    currentTheme(),
    state.head,
    here,
    fresh,
    cross && has(cross, here[0] ?? 0),
  ]);
  const window = dropped.some((one) => one.includes(true));
  if (place.dataset.drawn === content) return window;
  const slides = place.dataset.drawn !== undefined && fresh.to - fresh.from === 1;
  place.dataset.drawn = content;
  // Of one new column, whose it is.
  const newest = fresh.to - fresh.from === 1 && columnNames(trace, own)[fresh.from];
  const source = { from: 0, to: first ? Number.POSITIVE_INFINITY : 0 };
  /** @param {Attention} attention @param {number} layer @param {Fresh} made @param {boolean[]} far */
  const pair = (attention, layer, made, far) => {
    const names = columnNames(trace, attention);
    const head = kvHeadOf(attention, state);
    const of = { attention, layer, head, fresh: made, names, dropped: far };
    return KEPT.map((role) => picture(trace.tensor(tapOf(attention, layer, role)), { ...of, role }));
  };
  replace(
    place,
    here.map((layer, i) =>
      h(
        "figure",
        { class: `cache-layer${slides ? " slides" : ""}` },
        h(
          "figcaption",
          { style: { "--columns": fresh.to + 1 } },
          t("heads.layer", { n: layer }),
          newest && h("b", null, nameNodes(newest)),
        ),
        pair(own, layer, fresh, dropped[i]),
        cross && has(cross, layer) && h("div", { class: "cache-cross" }, pair(cross, layer, source, [])),
      ),
    ),
  );
  return window;
}

/**
 * One layer's keys or values of a head: a column for each token, the stronger the larger. What is new stands apart: it is never too narrow to be seen.
 * @param {FloatTensor} tensor  [kv_head position d_head] @param {Place} of
 */
function picture({ shape: [, n, d], data }, { role, attention, layer, head, fresh, names, dropped }) {
  const cells = data.subarray(head * n * d, (head + 1) * n * d);
  const most = cells.reduce((sum, one) => Math.max(sum, Math.abs(one)), Number.MIN_VALUE);
  const name = role.toUpperCase();
  const [from, to] = [Math.min(fresh.from, n), Math.min(fresh.to, n)];
  /** @param {number} first @param {number} end @param {boolean} isNew */
  const columns = (first, end, isNew) => {
    const shade = shadesOf(role, isNew);
    const image = new ImageData(end - first, d);
    const pixels = new Uint32Array(image.data.buffer);
    for (let at = first; at < end; at++)
      if (!dropped[at])
        // else transparent over hatching
        for (let i = 0; i < d; i++) pixels[i * (end - first) + at - first] = shade(cells[at * d + i] / most);
    const size = { width: end - first, height: d };
    const canvas = h("canvas", { ...size, class: isNew ? "new" : "kept", style: { "--columns": end - first } });
    /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(image, 0, 0);
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      const share = Math.max(0, offsetX / canvas.clientWidth);
      const at = Math.min(end - 1, first + Math.floor(share * (end - first)));
      const i = Math.min(d - 1, Math.max(0, Math.floor((offsetY / canvas.clientHeight) * d)));
      const value = significant(cells[at * d + i]);
      canvas.title = t("cache.cell", { role: name, layer, token: names[at], i, value });
    });
    return canvas;
  };
  const parts = [
    from > 0 && columns(0, from, false),
    to > from && columns(from, to, true),
    n > to && columns(to, n, false),
    fresh.to > 0 && h("i", { "aria-hidden": true }), // the column that is to come
  ];
  const words = t("cache.picture_of", { role: name, layer, n, most: number(most, 2) });
  const shared = attention.n_kv_head / attention.n_head;
  return h(
    "div",
    { class: `cache-picture ${role}`, dataset: { role, layer, of: attention.id }, style: { "--shared": shared } },
    h("b", { class: role }, name),
    h("div", { class: "cache-columns", role: "img", "aria-label": words }, parts),
  );
}

/** The colour of a value in [-1, 1]: of what was kept, grey; of what is new, that of its role, whose ramp has 0 in the middle. @param {"k"|"v"} role @param {boolean} isNew */
function shadesOf(role, isNew) {
  const own = isNew ? pixelTable(role) : pixelsBetween([cssColour("--panel"), cssColour("--ink-3")], 256);
  return (/** @type {number} */ share) =>
    isNew ? own[Math.round(127.5 + 127.5 * share)] : own[Math.round(255 * Math.abs(share))];
}
