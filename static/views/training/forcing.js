/** Teacher forcing: every row predicts its next token at once; and why a mask stands for all the shorter inputs. */

import { prefixRow, trainingState } from "../../data/training.js";
import { rowOf } from "../../model/selection.js";
import { h, keepingFocus, perRoot, replace, scrolling, setText, tableHead, update } from "../../ui/dom.js";
import { errorText, number, percent, power } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, row, sub } from "../../ui/mathml.js";
import { listedToken, tokenText } from "../../ui/token_text.js";
import { drawFolded, nameOfPart, part } from "../parts.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Token, VocabularyToken } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Actions } from "../view.js"
 */

/**
 * @typedef {{rows: number[], labels: number[], nats: number[], spread: number[], first: number[], first_p: number[], n_bytes: number,
 *   sum: number, mean: number, bits_per_byte: number|null}} Losses  of the rows with a label
 * @typedef {Losses & {tokens: Object<number, VocabularyToken>}} Forcing  the answer to "forcing"
 * @typedef {{row: number, stream: number[], logits: number, top: number[], whole: number[], alone: number[],
 *   tokens: Object<number, VocabularyToken>}} Prefix  the answer to "prefix"
 */

// Why a mask and not a shorter input: row t of one pass beside the last row of the run on its prefix.

/** Two float32 runs of the same sums, in another order, stay below this. */
const SAME = 1e-3;

const prefixPartsOf = perRoot((root) => {
  const slider = h("input", {
    type: "range",
    min: 0,
    "aria-label": t("training.row"),
    dataset: { testid: "prefix-row" },
  });
  const [read, row, table] = [h("span", { class: "prefix-read" }), h("b", { class: "mono" }), h("div", null)];
  root.append(
    h("div", { class: "slider-row" }, h("label", null, t("training.row"), " ", row), slider),
    h("p", null, read),
    table,
  );
  return { slider, read, row, table };
});

/** @param {Part} place @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawPrefix(place, trace, state, actions) {
  const open = prefixRow(state, trace);
  const parts = prefixPartsOf(place.place);
  const side = /** @type {Side} */ (trace.written);
  nameOfPart(place, t("training.prefix"), t("training.prefix_about", { n: side.tokens.length }));
  update(parts.slider, { max: side.tokens.length - 1 });
  parts.slider.value = String(open);
  parts.slider.oninput = () => actions.set(trainingState.patch({ row: Number(parts.slider.value) }));
  setText(parts.row, String(open));
  const chip = (/** @type {Token} */ token, /** @type {number} */ i) =>
    h("span", { class: i > open ? "tok after" : "tok" }, tokenText(token));
  replace(parts.read, side.tokens.map(chip));
  const found = trace.explained.prefix;
  parts.table.hidden = !found || Boolean(found.refused) || found.row !== open;
  if (!found) return replace(place.said, t("training.comparing"));
  if (found.refused) return replace(place.said, errorText(found.refused));
  if (found.row !== open) return;
  replace(parts.table, scrolling(t("training.both"), prefixTable(found)));
  replace(place.said, prefixWords(found, trace));
}

/** @param {Prefix} found */
function prefixTable({ row, top, whole, alone, tokens }) {
  const head = tableHead(["", t("training.whole", { row }), t("training.alone", { n: row + 1 })]);
  const cells = (/** @type {number} */ id, /** @type {number} */ i) => [
    listedToken(tokens[id]),
    percent(whole[i], 4),
    percent(alone[i], 4),
  ];
  const body = top.map((id, i) =>
    h(
      "tr",
      { dataset: { testid: "prefix", id } },
      cells(id, i).map((cell) => h("td", null, cell)),
    ),
  );
  return h("table", { class: "token-table prefix" }, head, h("tbody", null, body));
}

/** @param {Prefix} found @param {ModelTrace} trace */
function prefixWords({ stream, logits, row }, { causal, model }) {
  const same = Math.max(...stream, logits) < SAME;
  const vars = { row, n: row + 1, stream: power(Math.max(...stream)), logits: power(logits), layers: model.n_layer };
  const key = same ? "same" : causal ? "differs" : "sees_ahead";
  const mark = h("span", { class: same ? "agrees" : "note", "aria-hidden": true }, same ? " ✓" : " ⚠");
  const said = h("span", { dataset: { testid: "prefix-said", same } }, t(`training.prefix_${key}`, vars));
  return [said, mark, same && causal ? ` ${t("training.prefix_type", { row })}` : ""];
}

const forcingPartsOf = perRoot((root) => {
  const [forcing, prefix] = [part("forcing"), part("prefix")];
  const [formula, strip, table] = [h("p", { class: "formula" }), h("div", null), h("div", null)];
  forcing.place.append(formula, strip, table);
  root.append(forcing.element, prefix.element);
  return { forcing, prefix, formula, strip, table };
});

/** @param {HTMLElement} place @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawForcing(place, trace, state, actions) {
  const parts = forcingPartsOf(place);
  /** @type {Forcing} */
  const found = trace.explained.forcing;
  const choose = (/** @type {number} */ row) => actions.set(trace.written === trace.queries ? { query: row } : { row });
  const greedy = trace.targetFrom === "greedy" ? t("training.greedy") : "";
  nameOfPart(parts.forcing, t("training.forcing"), `${t("training.forcing_about")} ${greedy}`);
  replace(parts.formula, formulaOf(found));
  const side = /** @type {Side} */ (trace.written);
  const open = rowOf(state, trace);
  keepingFocus(parts.strip, () => replace(parts.strip, stripOf(side, found, open, choose)));
  drawFolded(parts.table, scrolling(t("training.table"), lossTable(side, found, open)));
  replace(parts.forcing.said, lossWords(found));
  drawPrefix(parts.prefix, trace, state, actions);
}

/** L = −1/n Σ ln p(x_{t+1} | x_0 … x_t), with this sentence's numbers. @param {Losses} losses */
function formulaOf({ rows, sum, mean }) {
  const next = sub(mi("x"), row(mi("t"), mo("+"), mn(1)));
  const given = row(sub(mi("x"), mn(0)), mo("…"), sub(mi("x"), mi("t")));
  const n = rows.length;
  const filled = n ? math(mo("="), frac(mn(number(sum, 2)), mn(n)), mo("="), mn(number(mean, 3))) : null;
  const loss = math(
    mi("L"),
    mo("="),
    mo("−"),
    frac(mn(1), mi("n")),
    mo("∑"),
    mi("ln"),
    mi("p"),
    mo("("),
    next,
    mo("|"),
    given,
    mo(")"),
  );
  return [loss, " ", filled]; // on a phone, the numbers go into a second line
}

/**
 * The sentence, and under each token what it cost the row before it.
 * @param {Side} side @param {Losses} losses @param {number} open @param {(row: number) => void} choose
 */
function stripOf(side, { rows, labels, nats }, open, choose) {
  const { tokens } = side;
  const most = Math.max(...nats, 1);
  const items = rows.map((row, i) => {
    const label = tokens[rows[i + 1] ?? row + 1];
    const words = t("training.cost", { row, p: percent(Math.exp(-nats[i]), 2), nats: number(nats[i], 3) });
    const attrs = { type: "button", class: "tok", title: words, "aria-label": words, "aria-pressed": row === open };
    const bar = h(
      "span",
      { class: "cost", "aria-hidden": true },
      h("span", { style: { height: `${(100 * nats[i]) / most}%` } }),
    );
    const button = h(
      "button",
      { ...attrs, dataset: { focus: `cost-${row}` }, on: { click: () => choose(row) } },
      tokenText(label),
    );
    return h(
      "li",
      { dataset: { testid: "cost", row, label: labels[i], nats: nats[i] } },
      bar,
      button,
      h("span", { class: "mono" }, number(nats[i], 2)),
    );
  });
  const last = side.real.end - 1;
  const first = tokens[rows[0] ?? last];
  const given = h(
    "li",
    { class: "given" },
    h("span", { class: "cost" }),
    h("span", { class: "tok" }, tokenText(first)),
    h("span", { class: "dim" }, t("training.given")),
  );
  const next = h(
    "li",
    { class: "given" },
    h("span", { class: "cost" }),
    h("span", { class: "tok ghost" }, "?"),
    h("span", { class: "dim" }, t("training.last_row", { row: last })),
  );
  return h("ol", { class: "costs", "aria-label": t("training.strip") }, given, items, next);
}

/** @param {Side} side @param {Forcing} found @param {number} open */
function lossTable(side, { rows, nats, first, first_p, labels, tokens }, open) {
  const read = side.tokens;
  const head = tableHead(["row", "reads", "label", "nats", "p", "first"].map((name) => t(`training.column.${name}`)));
  const body = rows.map((row, i) =>
    h(
      "tr",
      { class: row === open ? "open" : null },
      [
        row,
        listedToken(read[row]),
        listedToken(tokens[labels[i]]),
        number(nats[i], 4),
        percent(Math.exp(-nats[i]), 2),
        [listedToken(tokens[first[i]]), ": ", percent(first_p[i], 1)],
      ].map((cell) => h("td", null, cell)),
    ),
  );
  return h("table", { class: "token-table forcing", dataset: { testid: "forcing" } }, head, h("tbody", null, body));
}

/** @param {Losses} losses */
function lossWords({ rows, sum, mean, bits_per_byte, n_bytes }) {
  if (!rows.length) return t("training.no_label");
  const vars = { n: rows.length, sum: number(sum, 2), mean: number(mean, 3) };
  const bits = bits_per_byte === null ? "" : t("training.bits", { bits: number(bits_per_byte, 3), bytes: n_bytes });
  return [t("training.loss", vars), bits, t("training.generation")].filter(Boolean).join(" ");
}
