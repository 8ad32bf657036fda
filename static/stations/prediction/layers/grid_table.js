/** The lens as an HTML table: its cells are words, in a colour for their probability. */

import { inkOn, rampColour, rgb } from "../../../chart/theme.js";
import { h } from "../../../ui/dom.js";
import { t } from "../../../ui/i18n.js";
import { tokenText } from "../../../ui/token_text.js";
import { depthLabels } from "../../depths.js";

/** A header of positions, a row for each depth, and the actual next tokens. */
export function tableOf(found, trace) {
  const { rows, next } = found;
  const { tokens } = trace.written;
  const head = rows.map((row, i) =>
    h(
      "th",
      { scope: "col", dataset: { at: i } },
      h("span", { class: "tokname" }, tokenText(tokens[row])),
      h("small", null, row),
    ),
  );
  const labels = depthLabels(found.top.length);
  const body = found.top.map((answers, depth) =>
    h(
      "tr",
      { dataset: { depth } },
      h("th", { scope: "row" }, labels[depth]),
      answers.map((ids, i) => cellOf(found, depth, i, ids[0])),
    ),
  );
  const goesOn = next.ids.map((id, i) =>
    h("td", { dataset: { at: i } }, id === null ? "" : tokenText(found.tokens[id])),
  );
  return h(
    "table",
    { class: "lens-table" },
    h("thead", null, h("tr", null, h("th", { scope: "row" }, t("lens.reads")), head)),
    h("tbody", null, body),
    h("tfoot", null, h("tr", null, h("th", { scope: "row" }, t("lens.goes_on")), goesOn)),
  );
}

function cellOf({ probability, tokens, final }, depth, at, id) {
  const p = probability[depth][at][0];
  const colour = rampColour("weights", p);
  const data = { testid: "lens-cell", depth, at, id, p };
  // Already the model's final answer: underlined, because colour has another meaning.
  const name = final.ids[at] === id ? "lens-cell final" : "lens-cell";
  return h(
    "td",
    { class: name, style: { background: rgb(colour), color: inkOn(colour) }, dataset: data },
    h("span", null, tokenText(tokens[id])),
  );
}
