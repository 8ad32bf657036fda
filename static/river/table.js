/** The river as a table: its lines, the widest first. Built when it is opened. */

import { h, perRoot, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { share } from "./answers.js";

/** The most lines that the table lists. */
const MOST = 64;

/** @typedef {{layer: string, query: string, key: string, share: number, after: string}} Entry */

const partsOf = perRoot((root) => {
  const body = h("tbody");
  const head = ["layer", "query", "key", "share", "after"].map((name) =>
    h("th", { scope: "col" }, t(`river.table.${name}`)),
  );
  const table = h(
    "table",
    null,
    h("caption", null, t("river.table.caption", { n: MOST })),
    h("thead", null, h("tr", null, head)),
    body,
  );
  const box = h("div", { class: "table-box", tabindex: 0, role: "region", "aria-label": t("river.table.open") }, table);
  const details = h("details", { class: "river-table" }, h("summary", null, t("river.table.open")), box);
  const parts = { details, body, entries: () => /** @type {Entry[]} */ ([]), built: /** @type {unknown} */ (null) };
  details.addEventListener("toggle", () => build(parts));
  root.append(details);
  return parts;
});

/** @param {HTMLElement} root @param {() => Entry[]} entries  called when the table is open */
export function drawTable(root, entries) {
  const parts = partsOf(root);
  parts.entries = entries;
  build(parts);
}

/** @param {ReturnType<typeof partsOf>} parts */
function build({ details, body, entries }) {
  if (!details.open) return replace(body);
  const widest = entries()
    .sort((a, b) => b.share - a.share)
    .slice(0, MOST);
  replace(
    body,
    widest.map((one) =>
      h(
        "tr",
        null,
        [one.layer, one.query, one.key, share(one.share), one.after].map((text) => h("td", null, text)),
      ),
    ),
  );
}
