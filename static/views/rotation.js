/** The pairs of the chosen query and key as arrows in their planes: thin before they are turned, thick after. */

import { announce } from "../chart/pictures.js";
import { headOf } from "../model/identities.js";
import { namesIn, tokenName } from "../model/labels.js";
import { rowIn } from "../model/matrix.js";
import { position } from "../model/selection.js";
import { h, keepingFocus, perRoot, replace, svg } from "../ui/dom.js";
import { checkOf, number, signed, significant } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { math, mi, mn, mo, row, sub, sup } from "../ui/mathml.js";
import { namedLabel } from "../ui/token_text.js";
import { drawLengths } from "./lengths.js";
import { buildStation, drawHead, foldedPart, nameOfPart, part } from "./parts.js";
import { rotationState } from "./view_states.js";

/**
 * @import { Drawn } from "../chart/pictures.js"
 * @import { HeadTrace } from "../data/model_trace.js"
 * @import { Attention } from "../model/description.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { HeadDraw } from "./view.js"
 */

// Rotary positions in float64 (Su et al. 2021, equation 15): pair i is dimensions (i, i + d/2), turned by p · 10000^(−2i/d) at
// position p, as in Llama.

/** Where a description says no other. */
export const BASE = 10_000;

/** The angle of a pair for each position. @param {number} i @param {number} d @param {number} [base] */
const baseAngle = (i, d, base = BASE) => base ** ((-2 * i) / d);

/** The angle of a pair for each position, as an attention has it. @param {Pick<Attention, "base"|"frequencies">} attention @param {number} i @param {number} d */
const anglePerPosition = ({ base = BASE, frequencies }, i, d) => frequencies?.[i] ?? baseAngle(i, d, base);

/** An attention with the base of one of its layers. @param {Attention} attention @param {number} layer @returns {Attention} */
export const inLayer = (attention, layer) =>
  attention.bases ? { ...attention, base: attention.bases[layer] } : attention;

/**
 * @typedef {[number, number]} Point
 * @typedef {{before: Point, after: Point, angle: number}} Turned
 * @typedef {{i: number, q: Turned, k: Turned}} Pair
 * @typedef {ReturnType<typeof sidesOf>} Sides
 */

/**
 * A vector's pair, before and after it is turned.
 * @param {ArrayLike<number>} x  [d] @param {number} i @param {number} place  the position id
 * @param {Pick<Attention, "base"|"frequencies">} [attention]
 * @returns {Turned}
 */
export function turned(x, i, place, attention = {}) {
  const half = x.length / 2;
  const angle = place * anglePerPosition(attention, i, x.length);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const before = /** @type {Point} */ ([x[i], x[i + half]]);
  return { before, after: [before[0] * cos - before[1] * sin, before[1] * cos + before[0] * sin], angle };
}

/** An angle between 0° and 360°, and how often it went all the way round. @param {number} angle */
function degreesOf(angle) {
  const all = (angle * 180) / Math.PI;
  return { rounds: Math.floor(all / 360), degrees: all % 360 };
}

const R = 40;

const elementsOf = perRoot((root) => {
  const parts = buildStation(root);
  const [planes, lengths] = [part("planes"), foldedPart("lengths")];
  const lines = {
    q: h("p", { class: "act-sum", dataset: { testid: "rotation-q" } }),
    k: h("p", { class: "act-sum", dataset: { testid: "rotation-k" } }),
  };
  parts.body.append(planes.element, lines.q, lines.k, lengths.element);
  return { ...parts, planes, lines, lengths };
});

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const sides = sidesOf(trace, state);
  const half = sides.q.x.length / 2;
  const rest = trace.detail.q.shape[1] - 2 * half;
  const pair = Math.min(rotationState.of(state).pair, half - 1);
  drawHead(parts, trace.model, state, {
    formula: formulas(sides.attention),
    note: [
      t("rotation.note", { half, d: 2 * half }),
      rest ? t("rotation.rest", { n: rest, d: 2 * half }) : "",
      trace.attention.frequencies ? t("rotation.scaled") : "",
    ].join(" "),
  });
  const tokens = { query: sides.q.name(), key: sides.k.name() };
  nameOfPart(parts.planes, phrase("rotation.title", tokens), t("rotation.about"));
  drawPlanes(parts.planes.place, sides, half, pair, (chosen) => actions.set(rotationState.patch({ pair: chosen })));
  for (const name of /** @type {const} */ (["q", "k"]))
    drawLine(parts.lines[name], name, sides[name], pair, sides.attention);
  drawLengths(parts.lengths, trace, actions);
}

/** The score of two turned vectors, and the angle. @param {Pick<Attention, "base"|"frequencies">} attention */
function formulas({ base = BASE, frequencies }) {
  const at = (/** @type {string} */ letter, /** @type {string} */ index, /** @type {"q"|"k"} */ role) =>
    sub(mi(letter, role), mi(index));
  const turn = row(sub(mi("R"), mi("i")), at("q", "i", "q"), mo("·"), sub(mi("R"), mi("j")), at("k", "j", "k"));
  const apart = sub(mi("R"), row(mi("j"), mo("−"), mi("i")));
  const exponent = row(mo("−"), mn(2), mi("i"), mo("/"), mi("d"));
  return [
    math(turn, mo("="), at("q", "i", "q"), mo("·"), apart, at("k", "j", "k")),
    frequencies
      ? math(mi("θ"), mo("="), mi("p"), mo("·"), sub(mi("f"), mi("i")))
      : math(mi("θ"), mo("="), mi("p"), mo("·"), sup(mn(String(base)), exponent)),
  ];
}

/** The chosen query and key: before, after, and where they are. @param {HeadTrace} trace @param {State} state */
function sidesOf(trace, state) {
  const { query, key } = position(state, trace);
  const { detail, attention, queries, keys } = trace;
  const turnedDims = attention.rotary_dims ?? detail.q.shape[1];
  /** @param {"q"|"k"} role @param {Side} side @param {number} at */
  const one = (role, side, at) => ({
    x: rowIn(detail[role], at).slice(0, turnedDims),
    model: rowIn(headOf(trace.role(`${role}_rotated`, detail.layer), detail.head, attention.n_head), at),
    place: side.positionIds[at],
    name: () => namedLabel(namesIn(side.tokens)[at], role),
    text: `${tokenName(side.tokens[at])} ${at}`,
  });
  return { q: one("q", queries, query), k: one("k", keys, key), attention: inLayer(attention, detail.layer) };
}

/**
 * A plane for each pair; all have one scale.
 * @param {HTMLElement} root @param {Sides} sides @param {number} half @param {number} chosen @param {(pair: number) => void} choose
 */
function drawPlanes(root, sides, half, chosen, choose) {
  const all = Array.from({ length: half }, (_, i) => ({
    i,
    q: turned(sides.q.x, i, sides.q.place, sides.attention),
    k: turned(sides.k.x, i, sides.k.place, sides.attention),
  }));
  const reach = Math.max(...all.flatMap(({ q, k }) => [Math.hypot(...q.before), Math.hypot(...k.before)])) || 1;
  const plane = (/** @type {Pair} */ { i, q, k }) => {
    const label = t("rotation.plane", { i, j: i + half, q: inDegrees(q.angle), k: inDegrees(k.angle) });
    const data = { testid: "plane", focus: String(i) };
    const picture = svg(
      "svg",
      { viewBox: `${-R - 4} ${-R - 4} ${2 * R + 8} ${2 * R + 8}`, "aria-hidden": "true" },
      svg("circle", { r: R, class: "plane-edge" }),
      svg("path", { d: `M${-R} 0H${R}M0 ${-R}V${R}`, class: "plane-axes" }),
      Object.entries({ q, k }).map(([name, { before, after }]) => [
        arrow(before, reach, `${name} before`),
        arrow(after, reach, `${name} after`),
      ]),
    );
    const attrs = {
      type: "button",
      class: "plane",
      "aria-pressed": i === chosen,
      "aria-label": label,
      title: label,
      dataset: data,
    };
    return h(
      "button",
      { ...attrs, on: { click: () => choose(i) } },
      picture,
      h("small", { class: "mono" }, `${i}, ${i + half}`),
    );
  };
  const planes = h("div", { class: "planes" }, all.map(plane));
  announce(planes, () => ({ kind: "drawn", content: contentOf(sides, all, half), plot: planes }));
  keepingFocus(root, () => replace(root, planes));
}

/** What a file of the planes says. @param {Sides} sides @param {Pair[]} all @param {number} half @returns {Drawn} */
function contentOf(sides, all, half) {
  const names = { query: sides.q.text, key: sides.k.text };
  const columns = ["angle (rad)", "before x", "before y", "after x", "after y"];
  const head = ["dimensions", ...["q", "k"].flatMap((name) => columns.map((column) => `${name} ${column}`))];
  const of = (/** @type {Turned} */ { angle, before, after }) => [angle, ...before, ...after];
  const rows = all.map(({ i, q, k }) => [`${i}, ${i + half}`, ...of(q), ...of(k)]);
  const title = t("rotation.title", names);
  return { id: "rotation", title, label: title, legend: t("rotation.legend"), table: [head, ...rows] };
}

/** From the middle, y upwards. @param {Point} end @param {number} reach @param {string} name */
function arrow([x, y], reach, name) {
  const [dx, dy] = [(x / reach) * R, (-y / reach) * R];
  return svg(
    "g",
    { class: `arrow ${name}` },
    svg("line", { x1: 0, y1: 0, x2: dx, y2: dy }),
    svg("circle", { cx: dx, cy: dy, r: 2.5 }),
  );
}

/** "57.3°", or "2 × 360° + 57.3°". @param {number} angle */
function inDegrees(angle) {
  const { rounds, degrees } = degreesOf(angle);
  return rounds ? t("rotation.rounds", { n: rounds, degrees: number(degrees, 1) }) : `${number(degrees, 1)}°`;
}

/**
 * The first number of a turned pair, and both beside the model's.
 * @param {HTMLElement} root @param {"q"|"k"} name @param {Sides["q"]} side @param {number} pair @param {Attention} attention
 */
function drawLine(root, name, { x, model, place, name: token }, pair, attention) {
  const half = x.length / 2;
  const { before, after, angle } = turned(x, pair, place, attention);
  const point = (/** @type {Point} */ [a, b]) => `(${signed(a, 3)}, ${signed(b, 3)})`;
  const words = phrase("rotation.line", {
    token: token(),
    place,
    i: pair,
    j: pair + half,
    angle: inDegrees(angle),
    before: h("span", { class: `mono ${name}` }, point(before)),
    after: h("b", { class: `mono ${name}` }, point(after)),
  });
  const worst = Math.abs(after[0] - model[pair]) > Math.abs(after[1] - model[pair + half]) ? 0 : 1;
  replace(
    root,
    words,
    " ",
    checkOf(after[worst], model[pair + worst * half], (value) => significant(value, 4)),
  );
}
