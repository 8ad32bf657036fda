/**
 * Keys and values of every layer over the tokens. Grey columns were kept, coloured ones computed by the newest step; hatched ones
 * are beyond the window. Below them, what is read of the source.
 */

import { cssColour, currentTheme, pixelsBetween, pixelTable } from "../../chart/theme.js";
import { tapOf } from "../../model/description.js";
import { beyondWindow, tokensOf } from "../../model/kv_cache.js";
import { namesOf, nameText } from "../../model/labels.js";
import { h, replace } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

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
  const source = { from: 0, to: first ? Number.POSITIVE_INFINITY : 0 };
  /** @param {Attention} attention @param {number} layer @param {Fresh} made @param {boolean[]} far */
  const pair = (attention, layer, made, far) => {
    const names = namesOf(tokensOf(attention, trace.sides)).map(nameText);
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
        h("figcaption", null, t("place.layer", { n: layer })),
        pair(own, layer, fresh, dropped[i]),
        cross && has(cross, layer) && h("div", { class: "cache-cross" }, pair(cross, layer, source, [])),
      ),
    ),
  );
  return window;
}

/**
 * One layer's keys or values of a head: a column for each token, the stronger the larger.
 * @param {FloatTensor} tensor  [kv_head position d_head] @param {Place} of
 */
function picture({ shape: [, n, d], data }, { role, attention, layer, head, fresh, names, dropped }) {
  const canvas = h("canvas", { width: n, height: d, role: "img" });
  const cells = data.subarray(head * n * d, (head + 1) * n * d);
  const most = cells.reduce((sum, one) => Math.max(sum, Math.abs(one)), Number.MIN_VALUE);
  const grey = pixelsBetween([cssColour("--panel"), cssColour("--ink-3")], 256);
  const own = pixelTable(role);
  const image = new ImageData(n, d);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < n; at++) {
    if (dropped[at]) continue; // transparent over hatching
    const isFresh = at >= fresh.from && at < fresh.to;
    for (let i = 0; i < d; i++) {
      const share = cells[at * d + i] / most; // in [-1, 1]; a ramp of its own has 0 in the middle
      pixels[i * n + at] = isFresh ? own[Math.round(127.5 + 127.5 * share)] : grey[Math.round(255 * Math.abs(share))];
    }
  }
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(image, 0, 0);
  const name = role.toUpperCase();
  canvas.setAttribute("aria-label", t("cache.picture_of", { role: name, layer, n, most: number(most, 2) }));
  const [from, to] = [Math.min(fresh.from, n), Math.min(fresh.to, n)];
  const mark = to > from && h("i", { "aria-hidden": true, style: { "--from": from / n, "--share": (to - from) / n } });
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const at = Math.min(n - 1, Math.max(0, Math.floor((offsetX / canvas.clientWidth) * n)));
    const i = Math.min(d - 1, Math.max(0, Math.floor((offsetY / canvas.clientHeight) * d)));
    const value = significant(cells[at * d + i]);
    canvas.title = t("cache.cell", { role: name, layer, token: names[at], i, value });
  });
  const shared = attention.n_kv_head / attention.n_head;
  return h(
    "div",
    { class: `cache-picture ${role}`, dataset: { role, layer, of: attention.id }, style: { "--shared": shared } },
    h("b", { class: role }, name),
    canvas,
    mark,
  );
}
