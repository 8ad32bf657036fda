/**
 * The KV cache of the newest step, as a picture: each layer's keys and values over the tokens. Grey columns were reused, coloured
 * ones computed by this step. Beside it, what the cache saves.
 */

import { cssColour, currentTheme, pixelsBetween, pixelTable } from "../../chart/theme.js";
import { tapOf } from "../../model/description.js";
import { cachedAttention, multiplyAdds, tokensOf } from "../../model/kv_cache.js";
import { namesOf, nameText } from "../../model/labels.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { byteSize, integer, millions, number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { writerOf } from "./player.js";

/**
 * @import { FetchedTrace, FloatTensor, ModelTrace } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { View } from "../view.js"
 * @import { Session } from "./session.js"
 */

/** @typedef {{positions: number, computed: number, bytes: number}} Cache */

/** The roles that are kept, and the ramp of each. */
const KEPT = /** @type {const} */ (["k", "v"]);

const elementsOf = perRoot((root) => {
  const said = h("p", { role: "status", dataset: { testid: "gen-cache" } });
  const bars = h("dl", { class: "cache-bars" });
  const layers = h("div", { class: "cache-layers", dataset: { testid: "cache-layers" } });
  const about = h("p", { class: "dim cache-about" });
  const title = h("h2", null, t("cache.title"), h("span", { class: "dim" }, t("cache.about")));
  const side = h("div", { class: "cache-side" }, said, bars, about);
  replace(root, title, h("div", { class: "cache-parts" }, layers, side));
  const now = { trace: /** @type {ModelTrace|null} */ (null), state: /** @type {State|null} */ (null) };
  return { said, bars, layers, about, now, session: /** @type {Session|null} */ (null) };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  Object.assign(parts.now, { trace, state });
  if (!parts.session) {
    const { session, onChange } = writerOf(actions);
    parts.session = session;
    onChange(() => show(root));
  }
  parts.session.follow(/** @type {ModelTrace} */ (trace));
  show(root);
}

/** @param {HTMLElement} root */
function show(root) {
  const { said, bars, layers, about, session, now } = elementsOf(root);
  const path = session?.path();
  const { trace, state } = now;
  if (!session || !path || !trace || !state) return; // while a new sentence is read, the old one stays
  /** @type {Cache|undefined} */
  const cache = session.drawn(path.ids.length - 1)?.cache;
  const attention = cachedAttention(trace.model);
  layers.hidden = about.hidden = !attention;
  if (attention) drawLayers(layers, attention, /** @type {FetchedTrace} */ (trace), state, cache);
  if (attention) {
    const { n_kv_head: shared, d_head: each } = attention;
    setText(about, t("cache.picture", { head: kvHeadOf(attention, state), d: each, all: shared * each }));
  }
  bars.hidden = !cache;
  if (!cache) return setText(said, t("cache.nothing"));
  const { positions, computed, bytes } = cache;
  setText(said, t("generation.cache", { n: positions, computed, size: byteSize(bytes) }));
  const counts = [computed, positions].map((rows) => multiplyAdds(trace.model, { tokens: positions, rows }));
  const counted = counts[0] !== null && counts[1] !== null;
  replace(
    bars,
    barOf(t("cache.with"), computed / positions, t("cache.computed", { n: computed }), "with"),
    barOf(t("cache.without"), 1, t("cache.computed", { n: integer(positions) }), "without"),
    counted && [
      h("div", { class: "cache-title" }, h("dt", null, t("cache.multiply_adds"))),
      barOf(t("cache.with"), Number(counts[0]) / Number(counts[1]), millions(Number(counts[0])), "with"),
      barOf(t("cache.without"), 1, millions(Number(counts[1])), "without"),
    ],
  );
}

/** The open head's keys and values; several heads may share them. @param {Attention} attention @param {State} state */
const kvHeadOf = ({ n_head: heads, n_kv_head: shared }, { head }) =>
  Math.floor((Math.min(head, heads - 1) * shared) / heads);

/**
 * @param {HTMLElement} place @param {Attention} attention @param {FetchedTrace} trace @param {State} state @param {Cache|undefined} cache
 */
function drawLayers(place, attention, trace, state, cache) {
  const tokens = tokensOf(attention, trace.sides);
  const head = kvHeadOf(attention, state);
  const here = Array.from({ length: attention.n_layer }, (_, layer) => layer).filter((layer) =>
    KEPT.every((role) => trace.tensor(tapOf(attention, layer, role))),
  );
  const content = JSON.stringify([trace.key, currentTheme(), head, here, cache]);
  if (place.dataset.drawn === content) return;
  place.dataset.drawn = content;
  const names = namesOf(tokens).map(nameText);
  const columns = { from: cache ? cache.positions - cache.computed : 0, to: cache?.positions ?? 0, names };
  replace(
    place,
    here.map((layer) =>
      h(
        "figure",
        { class: "cache-layer" },
        h("figcaption", null, t("place.layer", { n: layer })),
        KEPT.map((role) => picture(trace.tensor(tapOf(attention, layer, role)), { role, layer, head, columns })),
      ),
    ),
  );
}

/**
 * One layer's keys or values of a head: a column for each token, the stronger the larger.
 * @param {FloatTensor} tensor  [kv_head position d_head]
 * @param {{role: "k"|"v", layer: number, head: number, columns: {from: number, to: number, names: string[]}}} of
 */
function picture({ shape: [, n, d], data }, { role, layer, head, columns }) {
  const canvas = h("canvas", { width: n, height: d, role: "img" });
  const cells = data.subarray(head * n * d, (head + 1) * n * d);
  const most = cells.reduce((sum, one) => Math.max(sum, Math.abs(one)), Number.MIN_VALUE);
  const grey = pixelsBetween([cssColour("--panel"), cssColour("--ink-3")], 256);
  const own = pixelTable(role);
  const image = new ImageData(n, d);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < n; at++) {
    const fresh = at >= columns.from && at < columns.to;
    for (let i = 0; i < d; i++) {
      const share = cells[at * d + i] / most; // in [-1, 1]; a ramp of its own has 0 in the middle
      pixels[i * n + at] = fresh ? own[Math.round(127.5 + 127.5 * share)] : grey[Math.round(255 * Math.abs(share))];
    }
  }
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(image, 0, 0);
  const name = role.toUpperCase();
  canvas.setAttribute("aria-label", t("cache.picture_of", { role: name, layer, n, most: number(most, 2) }));
  const share = { "--from": columns.from / n, "--share": (columns.to - columns.from) / n };
  const mark = columns.to > columns.from && h("i", { "aria-hidden": true, style: share });
  const box = h(
    "div",
    { class: `cache-picture ${role}`, dataset: { role, layer } },
    h("b", { class: role }, name),
    canvas,
    mark,
  );
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const at = Math.min(n - 1, Math.max(0, Math.floor((offsetX / canvas.clientWidth) * n)));
    const i = Math.min(d - 1, Math.max(0, Math.floor((offsetY / canvas.clientHeight) * d)));
    canvas.title = t("cache.cell", {
      role: name,
      layer,
      token: columns.names[at],
      i,
      value: significant(cells[at * d + i]),
    });
  });
  return box;
}

/** @param {string} name @param {number} share @param {string} value @param {string} kind */
const barOf = (name, share, value, kind) =>
  h(
    "div",
    { class: kind },
    h("dt", null, name),
    h(
      "dd",
      null,
      h("u", { "aria-hidden": true }, h("s", { style: { width: `${share * 100}%` } })),
      h("span", null, value),
    ),
  );
