/** The river as a table of its lines, the widest first, built when it is opened; and what its widths and darkness mean. */

import { nameText } from "../../model/labels.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { briefPercent } from "../../ui/format.js";
import { layerTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { effectOf } from "../facts.js";
import { endsOf, ffnRatio, rowName } from "./names.js";

/**
 * @import { Facts } from "../facts.js"
 * @import { Bead } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 */

/** The most lines that the table lists. */
const MOST = 64;

/** @typedef {{layer: string, query: string, key: string, share: number, after: string}} Entry  @typedef {{lines: Entry[], beads: [string, string][]}} Entries */

const tableParts = perRoot((root) => {
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
  const beads = h("tbody");
  const ffn = h(
    "table",
    null,
    h("caption", null, t("river.table.ffn")),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["layer", "times"].map((name) => h("th", { scope: "col" }, t(`river.table.${name}`))),
      ),
    ),
    beads,
  );
  const box = h(
    "div",
    { class: "table-box", tabindex: 0, role: "region", "aria-label": t("river.table.open") },
    table,
    ffn,
  );
  const details = h("details", { class: "river-table" }, h("summary", null, t("river.table.open")), box);
  const parts = { details, body, beads, ffn, entries: () => /** @type {Entries} */ ({ lines: [], beads: [] }) };
  details.addEventListener("toggle", () => build(parts));
  root.append(details);
  return parts;
});

/** @param {HTMLElement} root @param {() => Entries} entries  called when the table is open */
export function drawTable(root, entries) {
  const parts = tableParts(root);
  parts.entries = entries;
  build(parts);
}

/** @param {ReturnType<typeof tableParts>} parts */
function build({ details, body, beads, ffn, entries }) {
  if (!details.open) return replace(body);
  const all = entries();
  const widest = all.lines.sort((a, b) => b.share - a.share).slice(0, MOST);
  replace(
    body,
    widest.map((one) => row([one.layer, one.query, one.key, briefPercent(one.share), one.after])),
  );
  ffn.hidden = all.beads.length === 0;
  replace(beads, all.beads.map(row));
}

/** @param {string[]} cells */
const row = (cells) =>
  h(
    "tr",
    null,
    cells.map((text) => h("td", null, text)),
  );

/** A line as a row of the table. @param {Facts} facts @param {Line} line @returns {Entry} */
export function entryOf(facts, line) {
  const after = effectOf(facts, line)?.p;
  return {
    ...endsOf(facts, line),
    layer: layerTitle(facts.rolled[line.to].river, line.layer),
    share: line.share,
    after: after === undefined ? t("river.table.unknown") : briefPercent(after),
  };
}

/** As a row of the table. @param {Facts} facts @param {Bead} bead @returns {[string, string]} */
export const beadEntry = ({ rolled: [{ river }] }, bead) => [layerTitle(river, bead.layer), ffnRatio(bead)];

/** What the picture means: its key, or where that is not all, in words. @param {HTMLElement} legend  a key and a place for words @param {Facts} facts @param {number} pool */
export function drawLegend(legend, facts, pool) {
  const [key, words] = /** @type {HTMLElement[]} */ ([...legend.children]);
  const apart = legendOf(facts);
  key.hidden = apart !== "";
  const pooled = pool > 1 ? t("river.legend_pooled", { n: pool }) : "";
  setText(words, `${apart}${isShaded(facts) && facts.canKnockOut ? t("river.legend_click") : ""}${pooled}`.trim());
}

/** Whether the darkness of its lines is an effect. @param {Facts} facts */
const isShaded = ({ names, measured, was }) =>
  names[0].length > 1 && !was && Boolean(measured && !measured.error && !measured.idle && measured.effects.size);

/** What is meant, where the key is not all: in a difference, before effects are measured. @param {Facts} facts */
function legendOf(facts) {
  const { names, row, measured, isSaved, was } = facts;
  const token = nameText(rowName(facts, row));
  if (names[0].length === 1) return t("river.legend_alone");
  if (was || isShaded(facts)) return "";
  const widths = t("river.legend_widths", { token });
  if (!measured) return isSaved ? widths : `${widths}${t("river.legend_uncuttable")}`;
  if (measured.error) return `${widths}${t("river.legend_unmeasured")}`;
  return measured.idle || measured.done ? widths : `${widths}${t("river.legend_measuring")}`;
}
