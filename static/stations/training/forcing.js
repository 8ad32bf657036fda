/** Teacher forcing: every row predicts its next token at once; and why a mask stands for all the shorter inputs. */

import { rowOf } from "../../model/selection.js";
import { h, keepingFocus, perRoot, replace, scrolling, tableHead } from "../../ui/dom.js";
import { number, percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, row, sub } from "../../ui/mathml.js";
import { listedToken, tokenText } from "../../ui/token_text.js";
import { drawFolded, nameOfPart, part } from "../activation_parts.js";
import { drawPrefix } from "./prefix.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

const partsOf = perRoot((root) => {
  const [forcing, prefix] = [part("forcing"), part("prefix")];
  const [formula, strip, table] = [h("p", { class: "formula" }), h("div", null), h("div", null)];
  forcing.place.append(formula, strip, table);
  root.append(forcing.element, prefix.element);
  return { forcing, prefix, formula, strip, table };
});

/** @param {HTMLElement} place @param {ModelTrace} trace */
export function drawForcing(place, trace, state, actions) {
  const parts = partsOf(place);
  const found = trace.explained.forcing;
  const choose = (row) => actions.set(trace.written === trace.queries ? { query: row } : { row });
  const greedy = trace.targetFrom === "greedy" ? t("training.greedy") : "";
  nameOfPart(parts.forcing, t("training.forcing"), `${t("training.forcing_about")} ${greedy}`);
  replace(parts.formula, formulaOf(found));
  const open = rowOf(state, trace);
  keepingFocus(parts.strip, () => replace(parts.strip, stripOf(trace, found, open, choose)));
  drawFolded(parts.table, scrolling(t("training.table"), tableOf(trace, found, open)));
  replace(parts.forcing.said, saidOf(found));
  drawPrefix(parts.prefix, trace, state, actions);
}

/** L = −1/n Σ ln p(x_{t+1} | x_0 … x_t), with this sentence's numbers. */
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

/** The sentence, and under each token what it cost the row before it. */
function stripOf(trace, { rows, labels, nats }, open, choose) {
  const { tokens } = trace.written;
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
  const last = trace.written.real.end - 1;
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

function tableOf(trace, { rows, nats, first, first_p, labels, tokens }, open) {
  const read = trace.written.tokens;
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
        [listedToken(tokens[first[i]]), " ", percent(first_p[i], 1)],
      ].map((cell) => h("td", null, cell)),
    ),
  );
  return h("table", { class: "token-table forcing", dataset: { testid: "forcing" } }, head, h("tbody", null, body));
}

function saidOf({ rows, sum, mean, bits_per_byte, n_bytes }) {
  if (!rows.length) return t("training.no_label");
  const vars = { n: rows.length, sum: number(sum, 2), mean: number(mean, 3) };
  const bits = bits_per_byte === null ? "" : t("training.bits", { bits: number(bits_per_byte, 3), bytes: n_bytes });
  return [t("training.loss", vars), bits, t("training.generation")].filter(Boolean).join(" ");
}
