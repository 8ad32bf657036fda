/** Why a mask and not a shorter input: row t of one pass beside the last row of the run on its prefix. */

import { own, prefixRow } from "../../data/training.js";
import { h, perRoot, replace, scrolling, setText, tableHead, update } from "../../ui/dom.js";
import { errorText, percent, power } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { listedToken, tokenText } from "../../ui/token_text.js";
import { nameOfPart } from "../activation_parts.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Side } from "../../model/sides.js"
 */

/** Two float32 runs of the same sums, in another order, stay below this. */
const SAME = 1e-3;

const partsOf = perRoot((root) => {
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

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place @param {ModelTrace} trace */
export function drawPrefix(place, trace, state, actions) {
  const open = prefixRow(state, trace);
  const parts = partsOf(place.place);
  const side = /** @type {Side} */ (trace.written);
  nameOfPart(place, t("training.prefix"), t("training.prefix_about", { n: side.tokens.length }));
  update(parts.slider, { max: side.tokens.length - 1 });
  parts.slider.value = String(open);
  parts.slider.oninput = () => actions.set(own.patch({ row: Number(parts.slider.value) }));
  setText(parts.row, String(open));
  const chip = (token, i) => h("span", { class: i > open ? "tok after" : "tok" }, tokenText(token));
  replace(parts.read, side.tokens.map(chip));
  const found = trace.explained.prefix;
  parts.table.hidden = !found || Boolean(found.refused) || found.row !== open;
  if (!found) return replace(place.said, t("training.comparing"));
  if (found.refused) return replace(place.said, errorText(found.refused));
  if (found.row !== open) return;
  replace(parts.table, scrolling(t("training.both"), tableOf(found)));
  replace(place.said, saidOf(found, trace));
}

function tableOf({ row, top, whole, alone, tokens }) {
  const head = tableHead(["", t("training.whole", { row }), t("training.alone", { n: row + 1 })]);
  const cells = (id, i) => [listedToken(tokens[id]), percent(whole[i], 4), percent(alone[i], 4)];
  const body = top.map((id, i) =>
    h(
      "tr",
      { dataset: { testid: "prefix", id } },
      cells(id, i).map((cell) => h("td", null, cell)),
    ),
  );
  return h("table", { class: "token-table prefix" }, head, h("tbody", null, body));
}

function saidOf({ stream, logits, row }, { causal, model }) {
  const same = Math.max(...stream, logits) < SAME;
  const vars = { row, n: row + 1, stream: power(Math.max(...stream)), logits: power(logits), layers: model.n_layer };
  const key = same ? "same" : causal ? "differs" : "sees_ahead";
  const mark = h("span", { class: same ? "agrees" : "note", "aria-hidden": true }, same ? " ✓" : " ⚠");
  const said = h("span", { dataset: { testid: "prefix-said", same } }, t(`training.prefix_${key}`, vars));
  return [said, mark, same && causal ? ` ${t("training.prefix_type", { row })}` : ""];
}
