/** How alike the first position ([CLS]) of several sentences is to that of the open one, layer by layer. */

import { signedScale } from "../../../chart/matrix/scale.js";
import { colourTable, paintCells } from "../../../chart/matrix/sheet.js";
import { stackOf } from "../../../model/description.js";
import { tokenLabel } from "../../../model/labels.js";
import { h, keepingFocus, replace, svg } from "../../../ui/dom.js";
import { errorText, number, power } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { cosine, pageRow } from "../live.js";
import { alikeByDepth, depthsOf, distancesMoved, STILL, streamSublayers } from "../measures/stream.js";

/**
 * @import { Token } from "../../../model/labels.js"
 * @import { Figure } from "./index.js"
 */

// Width and height of a chart in its own units: about CSS pixels, so that its letters are as large on a phone.

/** @param {HTMLElement} root  where it is drawn @returns {[number, number]} */
export const chartSize = ({ clientWidth }) => (clientWidth < 500 ? [360, 300] : [640, 365]);

// A vector as a strip: one number a pixel of a canvas that is as wide as there is room.

/** @param {ArrayLike<number>} values @param {number} most  further from 0 than this, a number has the last colour @param {string} [kind] */
export function strip(values, most, kind = "") {
  const canvas = h("canvas", { "aria-hidden": "true", class: kind || null });
  const within = Float32Array.from(values, (value) => Math.max(-most, Math.min(most, value)));
  const scale = { ...signedScale(within), min: -most, max: most };
  paintCells(
    /** @type {HTMLCanvasElement} */ (canvas),
    { values: within, shape: [1, values.length], forbidden: null },
    colourTable(scale),
  );
  return canvas;
}

// One word in two places: the vector that is looked up, that of the position, and their sum, number by number.

/** Values further from 0 than this have the last colour. */
const MOST = 0.2;

/** @type {Figure} */
export async function drawVectors(root, live, { a, b }) {
  const { embedding } = stackOf(live.model, live.model.description.stacks[0].id);
  const [looked, positional] = [embedding.roles.embedding, embedding.roles.positional].map((one) => one?.tap ?? "");
  const [sum] = depthsOf(live);
  const names = { looked, positional, sum };
  const { tensors, tokens } = await live.tensors(Object.values(names));
  const block = (/** @type {number} */ at) =>
    h(
      "div",
      { class: "vector-block" },
      h(
        "h3",
        null,
        h("b", { class: "mono" }, tokenLabel(tokens[at])),
        h("small", { class: "dim" }, t("lesson.vectors.at", { at })),
      ),
      Object.entries(names).map(([name, tap]) =>
        h(
          "div",
          { class: `vector ${name}` },
          h("span", null, t(`lesson.vectors.${name}`)),
          strip(pageRow(tensors[tap], at), MOST, name === "sum" ? "tells" : ""),
        ),
      ),
    );
  const alike = (/** @type {string} */ tap) => number(cosine(pageRow(tensors[tap], a), pageRow(tensors[tap], b)), 2);
  replace(
    root,
    h("h2", { class: "lesson-caption" }, t("lesson.vectors.title", { n: live.model.d_model })),
    [a, b].map(block),
    h("p", { class: "lesson-figure-text dim" }, t("lesson.vectors.legend")),
    h(
      "p",
      { class: "lesson-figure-text tells", dataset: { testid: "lesson-alike" } },
      t("lesson.vectors.alike", { looked: alike(looked), sum: alike(sum) }),
    ),
  );
}

// One token is another: every position of every sublayer that moves lights up, from two real traces.

/** @type {Figure} */
export async function drawSpread(root, live, { position, to }) {
  const rows = [
    { name: t("lesson.spread.in"), tap: depthsOf(live)[0], kind: "in" },
    ...streamSublayers(live).map(({ kind, layer, leaves }) => ({
      name: t(`lesson.spread.${kind}`, { layer }),
      tap: leaves,
      kind,
    })),
  ];
  const problem = h("p", { class: "panel-error", role: "alert" });
  let newest = 0;

  /** @param {number} at */
  async function show(at) {
    const thisTurn = ++newest;
    const found = await distancesMoved(
      live,
      at,
      to,
      rows.map(({ tap }) => tap),
    );
    if (thisTurn !== newest) return;
    const title = h("h2", { class: "lesson-caption" }, t("lesson.spread.title", { to: to.trim() }));
    const legend = h("p", { class: "dim" }, t("lesson.spread.legend"));
    replace(problem);
    keepingFocus(root, () => replace(root, title, spreadTable(found, at, rows, choose), legend, problem));
  }

  /** What is drawn stays if the model does not answer. @param {number} at */
  function choose(at) {
    const shown = show(at);
    const thisTurn = newest;
    shown.catch((error) => thisTurn === newest && replace(problem, errorText(error)));
  }
  await show(position);
}

/** @param {Awaited<ReturnType<typeof distancesMoved>>} found @param {number} at @param {{name: string, kind: string}[]} names @param {(at: number) => void} choose */
function spreadTable({ rows, tokens }, at, names, choose) {
  const head = tokens.map((/** @type {Token} */ token, /** @type {number} */ i) =>
    h(
      "th",
      { scope: "col" },
      h(
        "button",
        {
          type: "button",
          class: i === at ? "mono on" : "mono",
          "aria-pressed": i === at,
          dataset: { focus: i },
          on: { click: () => choose(i) },
        },
        tokenLabel(token),
      ),
    ),
  );
  const body = rows.map((moved, i) =>
    h(
      "tr",
      { class: names[i].kind },
      h("th", { scope: "row" }, names[i].name),
      moved.map((/** @type {number} */ by) => spreadCell(by, names[i].kind !== "in")),
    ),
  );
  return h(
    "div",
    { class: "spread-scroll", tabindex: 0, role: "region", "aria-label": t("lesson.spread.label") },
    h("table", { class: "spread" }, h("thead", null, h("tr", null, h("td"), head)), h("tbody", null, body.reverse())),
  );
}

/** Lit by how far it moved; √, so that a little is seen. @param {number} by @param {boolean} tells */
const spreadCell = (by, tells) =>
  h("td", {
    class: [by > STILL && "lit", tells && "tells"].filter(Boolean).join(" ") || null,
    style: { "--lit": by > STILL ? Math.min(1, 0.18 + Math.sqrt(by)).toFixed(2) : "0" },
    title: by > STILL ? power(by) : t("lesson.spread.still"),
    "aria-label": by > STILL ? power(by) : t("lesson.spread.still"),
  });

const [TOP, FOOT, LEFT] = [20, 50, 70];

/** @type {Figure} */
export async function drawDepth(root, live, { others }) {
  const lines = await alikeByDepth(live, others);
  const depth = lines[0].length - 1;
  const [wide, high] = chartSize(root);
  const x = (/** @type {number} */ layer) => LEFT + (layer / depth) * (wide - LEFT - 40);
  const y = (/** @type {number} */ alike) => TOP + ((1 - alike) / 2) * (high - TOP - FOOT);
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, class: "lesson-chart", role: "img", "aria-label": t("lesson.depth.label") },
    [1, 0, -1].map((alike) => [
      svg("line", { class: "rule", x1: LEFT, x2: wide - 40, y1: y(alike), y2: y(alike) }),
      svg("text", { x: LEFT - 10, y: y(alike) + 5, "text-anchor": "end" }, number(alike, 0)),
    ]),
    svg(
      "text",
      { x: -y(0), y: 18, transform: "rotate(-90)", "text-anchor": "middle", class: "dim" },
      t("lesson.depth.y"),
    ),
    lines[0].map((_, layer) =>
      svg(
        "text",
        { x: x(layer), y: high - FOOT + 26, "text-anchor": "middle", class: "dim" },
        layer ? t("lesson.depth.after", { layer: layer - 1 }) : t("lesson.depth.in"),
      ),
    ),
    lines.map((line, i) => [
      svg("polyline", { class: `line-${i} tells`, points: line.map((alike, at) => `${x(at)},${y(alike)}`).join(" ") }),
      line.map((alike, at) =>
        svg("circle", { class: at ? `line-${i} tells` : `line-${i}`, cx: x(at), cy: y(alike), r: 6 }),
      ),
    ]),
  );
  const legend = others.map((/** @type {string} */ text, /** @type {number} */ i) =>
    h(
      "li",
      null,
      h("i", { class: `line-${i}` }),
      h("span", { lang: "en" }, text),
      h("b", { class: "mono tells" }, number(lines[i][depth], 2)),
    ),
  );
  const open = h(
    "p",
    { class: "lesson-figure-text" },
    t("lesson.depth.open"),
    " ",
    h("b", { lang: "en" }, "text" in live.run.input ? live.run.input.text : ""),
  );
  replace(
    root,
    h("h2", { class: "lesson-caption" }, t("lesson.depth.title")),
    open,
    chart,
    h("ul", { class: "lesson-legend" }, legend),
  );
}
