/** Token counts of the same text under other tokenizers, and why Japanese needs more. */

import { h, replace, tableHead } from "../../ui/dom.js";
import { integer, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

const COLUMNS = ["name", "tokens", "bytes_per_token"];

/** The parts, empty. */
export function buildCounts() {
  const size = h("p", { class: "dim about" });
  const body = h("tbody");
  const head = tableHead(COLUMNS.map((name) => t(`counts.${name}`)));
  const table = h("table", { class: "token-table" }, head, body);
  const why = h("p", { class: "about" }, t("counts.why"));
  const title = h("h2", null, t("counts.title"));
  const element = h("section", { class: "token-counts", dataset: { testid: "token-counts" } }, title, size, table, why);
  return { element, size, body };
}

/** @param {ReturnType<typeof buildCounts>} parts @param {ModelTrace} trace */
export function drawCounts({ element, size, body }, { counts, model, text, sides, nCharacters }) {
  element.hidden = counts === null;
  if (counts === null) return;
  const bytes = new TextEncoder().encode(text).length;
  const characters = t("sentence.characters", { n: integer(nCharacters) });
  replace(size, t("counts.size", { characters, bytes: t("counts.bytes", { n: integer(bytes) }) }));
  const { real } = sides.source;
  const ours = { name: t("counts.ours", { model: model.name }), available: true, n_tokens: real.end - real.start };
  replace(
    body,
    [ours, ...counts].map((encoding) => row(encoding, bytes)),
  );
}

function row({ name, available, n_tokens: tokens, hint }, bytes) {
  const head = h("th", { scope: "row" }, name);
  if (!available)
    return h("tr", null, head, h("td", { class: "note", colspan: 2 }, t("counts.missing"), " ", h("code", null, hint)));
  return h("tr", null, head, h("td", null, integer(tokens)), h("td", null, tokens ? number(bytes / tokens, 2) : ""));
}
