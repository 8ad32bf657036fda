/** What is attended to against what matters: each key of the open row is hidden once, in the open head or in all heads of its layer. */

import { rankingPicture, saveButtons } from "../../chart/figures.js";
import { answerRequest, RANK_AXES, RANK_SCOPES, rankState } from "../../data/explain.js";
import { namesIn } from "../../model/labels.js";
import { position } from "../../model/selection.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, replace, scrolling, setText, signedTrack, tableHead, update } from "../../ui/dom.js";
import { errorText, number, percent, signed } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";
import { queryNames } from "../query_key.js";
import { headName, measuredAnswer } from "./effects.js";

/**
 * @import { Picture } from "../../chart/pictures.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { AblationStart, KeyEffect } from "../../data/streams.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Measured } from "./effects.js"
 */

/** A change of ln p that is called small, in nats. */
const SMALL = 0.1;

/** How many keys a saved ranking has. */
const MANY = 12;

/** Within this share of the largest a point has no name of its own. */
const CROWD = 0.04;

/** About how wide a character of a point's name is, and how high the name, in pixels. */
const [WIDE, HIGH] = [7.2, 15];

export function buildKeys() {
  const scope = segment(t("rank.scope"), RANK_SCOPES, "rank-scope", () => ""); // they name the head and its layer
  const axis = segment(t("rank.axis"), RANK_AXES, "rank-axis", (name) => t(`rank.axis_${name}`));
  const [said, about] = [h("h2", { dataset: { testid: "rank-said" } }), h("p", { class: "rank-about dim" })];
  const save = h("span", { class: "save-buttons" });
  const plot = h("div", { class: "scatter-plot", role: "group", "aria-label": t("rank.scatter") });
  const [down, across] = [h("span", { class: "scatter-y" }), h("span", { class: "scatter-x" })];
  const [body, table] = [h("tbody"), h("table", { class: "token-table" })];
  const tools = h("div", { class: "rank-do" }, scope.box, axis.box, h("span", { class: "grow" }), save);
  const shown = h("div", { class: "rank-columns" }, h("div", null, h("div", { class: "scatter" }, down, plot, across)));
  shown.append(scrolling(t("rank.keys_table"), table));
  const parts = {
    element: h("section", null, tools, said, shown, about),
    read: () => /** @type {Picture|null} */ (null),
    save,
    scope,
    axis,
    said,
    about,
    plot,
    down,
    across,
    body,
    table,
    shown,
    whole: false, // what is drawn was measured to its end
    subject: "", // of which model, text and row
  };
  save.append(...saveButtons(() => parts.read()));
  return parts;
}

/** @typedef {ReturnType<typeof buildKeys>} KeyParts */

/** What is asked: every key of the open row; null: the row answers nothing. @param {ModelTrace} trace @param {State} state */
export function keysRequest(trace, state) {
  const request = answerRequest(state, trace);
  const { query } = position(state, trace);
  const head = rankState.of(state).scope === "head" ? state.head : null;
  return request && { ...request, keys_of: { attention: trace.attention.id, layer: state.layer, query, head } };
}

/**
 * Until the keys are measured, the last ones stand.
 * @param {KeyParts} parts @param {Measured|null} measured @param {ModelTrace} trace @param {State} state @param {Actions} actions @returns {boolean} whether they do
 */
export function drawKeys(parts, measured, trace, state, actions) {
  const { scope, axis } = rankState.of(state);
  const { start = null, done = true, error = null } = measured ?? {};
  const found = keysFound(measured);
  const has = (/** @type {string} */ name) => !found.length || found[0][/** @type {"weight"} */ (name)] !== null;
  const x = has(axis) ? axis : "length";
  parts.scope.show(scope, (name) => actions.set(rankState.patch({ scope: name })));
  parts.axis.show(x, (name) => actions.set(rankState.patch({ axis: name })), has);
  const names = namesIn(trace.keys.tokens);
  const query = h("b", { class: "q mono" }, nameNodes(queryNames(trace)[position(state, trace).query]));
  const where = {
    layer: state.layer,
    query,
    head: headName(trace.model, { ...state, attention: trace.attention.id }),
  };
  setText(parts.scope.buttons.head, where.head);
  setText(parts.scope.buttons.layer, t("rank.scope_layer", { layer: state.layer }));
  const whole = done && !error && start !== null;
  const { query: row } = position(state, trace);
  const subject = JSON.stringify([trace.model.name, trace.keys.tokens.map(({ id }) => id), row]);
  const waits = parts.whole && subject === parts.subject && !whole && measured !== null && !error;
  parts.element.classList.toggle("waits", waits);
  replace(parts.about, phrase(`rank.about_keys_${scope}`, where));
  if (waits) update(parts.save, { hidden: true });
  if (waits) return true;
  Object.assign(parts, { whole, subject });
  parts.shown.hidden = !found.length;
  if (error) setText(parts.said, errorText(/** @type {any} */ (error)));
  else if (!measured) setText(parts.said, t("rank.pad"));
  else if (!start || !done) setText(parts.said, t("rank.begins"));
  else if (!found.length) setText(parts.said, t("rank.only_key"));
  else replace(parts.said, h("span", null, sentences(found, names, measuredAnswer(start))));
  update(parts.save, { hidden: !found.length || !done });
  if (!found.length) return false;
  parts.read = () => start && rankingOf(found, names, start, { trace, state });
  const choose = (/** @type {number} */ key) => actions.set({ query: position(state, trace).query, key });
  const chosen = position(state, trace).key;
  drawScatter(parts, found, { x, names, chosen, choose });
  drawTable(parts, found, { names, chosen, choose });
  return false;
}

/**
 * The keys whose absence changes the answer most, as a picture that can be saved.
 * @param {KeyEffect[]} found @param {string[]} names @param {AblationStart} start @param {{trace: ModelTrace, state: State}} of
 */
function rankingOf(found, names, start, { trace, state }) {
  const { scope } = rankState.of(state);
  const query = queryNames(trace)[position(state, trace).query];
  const where = { layer: state.layer, query, head: headName(trace.model, { ...state, attention: trace.attention.id }) };
  const most = [...found].sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta)).slice(0, MANY);
  const rows = most.map((one) => ({ name: names[one.key], value: one.delta, text: signed(one.delta, 3) }));
  const title = [t("rank.figure_keys", { query }), scope === "head" ? where.head : t("rank.figure_layer", where)];
  const about = [t(`rank.about_keys_${scope}`, where), t("rank.figure_scale", { answer: measuredAnswer(start) })];
  const columns = { of: t("rank.key"), what: t("rank.figure_by_delta") };
  return rankingPicture({ id: "rank-keys", title: title.join(" · "), about: about.join(" "), ...columns, rows });
}

/** @param {KeyEffect[]} found @param {string[]} names @param {string} answer @returns {(Node|string)[]} */
function sentences(found, names, answer) {
  return saidOf(found).flatMap(({ key, of, vars }) => {
    const named = { key: h("b", { class: "k mono" }, nameNodes(names[of])), answer: h("b", null, answer) };
    return [...phrase(key, { ...vars, ...named }), " "];
  });
}

/** The keys that the row may attend to. @param {Measured|null} measured @returns {KeyEffect[]} */
export const keysFound = (measured) =>
  (measured?.found ?? []).flatMap((one) => (one.kind === "edge" && (one.length > 0 || one.kl > 0) ? [one] : []));

/**
 * Whether what gets most attention also matters most: one or two sentences, by their keys in the catalogue.
 * @param {KeyEffect[]} found
 */
export function saidOf(found) {
  const by = (/** @type {(one: KeyEffect) => number} */ size) => found.reduce((a, b) => (size(b) > size(a) ? b : a));
  const [most, needed] = [by(({ weight }) => weight ?? 0), by(({ delta }) => Math.abs(delta))];
  const vars = (/** @type {KeyEffect} */ { weight, delta }) => ({
    ...{ weight: weight === null ? "" : percent(weight, 0), delta: signed(delta, 2) },
  });
  const second = { key: "rank.matters_most", of: needed.key, vars: vars(needed) };
  if (most.weight === null) return [{ ...second, key: "rank.matters" }];
  const key = Math.abs(most.delta) < SMALL ? "rank.attended_little" : "rank.attended";
  return [{ key, of: most.key, vars: vars(most) }, ...(most === needed ? [] : [second])];
}

/**
 * A point for each key: across, what it gets or brings; down, how far the answer falls without it.
 * @param {KeyParts} parts @param {KeyEffect[]} found
 * @param {{x: "weight"|"length"|"logit", names: string[], chosen: number, choose: (key: number) => void}} of
 */
function drawScatter({ plot, down, across }, found, { x, names, chosen, choose }) {
  setText(down, t("rank.axis_delta"));
  const [xs, ys] = [found.map((one) => one[x] ?? 0), found.map(({ delta }) => delta)];
  const [right, top] = [rangeOf(xs), rangeOf(ys)];
  const size = { w: plot.clientWidth || 480, h: plot.clientHeight || 300 };
  const at = found.map((_, i) => ({ left: right.share(xs[i]), top: 1 - top.share(ys[i]) }));
  const named = labelled(found, at, names, size, (i) =>
    Math.max(Math.abs(xs[i]) / right.most, Math.abs(ys[i]) / top.most),
  );
  const points = found.map((one, i) =>
    h(
      "button",
      {
        class: one.key === chosen ? "scatter-point on" : "scatter-point",
        type: "button",
        title: pointWords(one, names),
        "aria-label": pointWords(one, names),
        style: { left: `${at[i].left * 100}%`, top: `${at[i].top * 100}%` },
        dataset: { testid: "rank-point", key: one.key, delta: one.delta, focus: `point ${one.key}` },
        on: { click: () => choose(one.key) },
      },
      named[i] && h("span", { class: `scatter-name at-${named[i]}`, "aria-hidden": true }, nameNodes(names[one.key])),
    ),
  );
  const zero = (/** @type {string} */ name, /** @type {number} */ share) =>
    h("span", { class: `scatter-zero ${name}`, style: { "--at": `${share * 100}%` } });
  const ends = (/** @type {string} */ name, /** @type {string} */ text) =>
    h("span", { class: `scatter-end ${name}`, "aria-hidden": true }, text);
  const lines = [zero("down", right.share(0)), zero("across", 1 - top.share(0))];
  const most = x === "weight" ? percent(right.high, 0) : number(right.high, 2);
  replace(
    across,
    h("span", null, t(`rank.axis_${x}_long`)),
    h("span", { class: "scatter-far", "aria-hidden": true }, most),
  );
  const marks = [ends("high", signed(top.high, 2)), ends("low", signed(top.low, 2))];
  keepingFocus(plot, () => replace(plot, ...lines, ...marks, ...points));
}

/** An axis that includes 0, with some room at its ends. @param {number[]} values */
function rangeOf(values) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const reach = high - low || 1;
  const room = 0.1 * reach;
  const share = (/** @type {number} */ value) => (value - low + room) / (reach + 2 * room);
  return { low, high, share, most: Math.max(-low, high) || 1 };
}

/**
 * Which points have a name, and on which side: those far from the crowd at 0, the farthest first, where it covers no other.
 * @param {KeyEffect[]} found @param {{left: number, top: number}[]} at @param {string[]} names @param {{w: number, h: number}} size
 * @param {(i: number) => number} far
 */
function labelled(found, at, names, size, far) {
  /** @type {("right"|"left"|null)[]} */
  const sides = found.map(() => null);
  /** @type {{x: number, y: number, w: number}[]} */
  const taken = at.map(({ left, top }) => ({ x: left * size.w - 5, y: top * size.h, w: 10 }));
  const order = found.map((_, i) => i).sort((a, b) => far(b) - far(a));
  for (const i of order.filter((one) => far(one) > CROWD)) {
    const [x, y, w] = [at[i].left * size.w, at[i].top * size.h, names[found[i].key].length * WIDE + 6];
    const places = /** @type {const} */ ([
      ["right", { x: x + 8, y, w }],
      ["left", { x: x - 8 - w, y, w }],
    ]);
    const free = places.find(
      ([, box]) =>
        box.x > 0 &&
        box.x + w < size.w &&
        !taken.some((o) => Math.abs(o.y - y) < HIGH && o.x < box.x + w && box.x < o.x + o.w),
    );
    if (!free) continue;
    sides[i] = free[0];
    taken.push(free[1]);
  }
  return sides;
}

/** One key in words. @param {KeyEffect} one @param {string[]} names */
function pointWords({ key, weight, length, logit, delta }, names) {
  const parts = [
    weight === null ? null : t("rank.point_weight", { weight: percent(weight, 1) }),
    t("rank.point_length", { length: number(length, 2) }),
    logit === null ? null : t("rank.point_logit", { logit: signed(logit, 2) }),
    t("rank.delta", { delta: signed(delta, 3) }),
  ];
  return `${names[key]}: ${parts.filter(Boolean).join(" · ")}`;
}

/** The same numbers as a table. @param {KeyParts} parts @param {KeyEffect[]} found @param {{names: string[], chosen: number, choose: (key: number) => void}} of */
function drawTable({ table, body }, found, { names, chosen, choose }) {
  const columns = /** @type {const} */ (["weight", "length", "logit", "delta"]);
  const shown = columns.filter((name) => found[0][name] !== null);
  const text = (/** @type {KeyEffect} */ one, /** @type {typeof columns[number]} */ name) =>
    name === "weight"
      ? percent(one.weight ?? 0, 1)
      : (name === "length" ? number : signed)(one[name] ?? 0, name === "delta" ? 3 : 2);
  const order = [...found].sort((a, b) => (b.weight ?? b.length) - (a.weight ?? a.length));
  const deltas = found.map(({ delta }) => delta);
  const scope = found[0].head === undefined ? "layer" : "head";
  const rows = order.map((one) => {
    const name = h(
      "button",
      { class: "link mono", type: "button", dataset: { focus: `key ${one.key}` } },
      nameNodes(names[one.key]),
    );
    const row = h(
      "tr",
      {
        class: one.key === chosen ? "k" : null,
        dataset: { testid: "rank-key", key: one.key, delta: one.delta, scope },
      },
      h("td", { class: "text" }, name),
      shown.map((column) => h("td", null, text(one, column))),
      h("td", { class: "rank-bar" }, signedTrack(one.delta, deltas)),
    );
    row.onclick = () => choose(one.key);
    return row;
  });
  const titles = shown.map((name) => (name === "delta" ? t("rank.axis_delta") : t(`rank.axis_${name}_long`)));
  keepingFocus(body, () => {
    replace(table, tableHead([t("rank.key"), ...titles, ""]), body);
    replace(body, ...rows);
  });
  update(table, { "aria-label": t("rank.keys_table") });
}
