/** The tokens as a picture: text, id and bytes of each. */

import { cssColour } from "../chart/colour.js";
import { svg } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { label, sceneOf, textWidth } from "./scene.js";

/** @import { Token } from "../model/labels.js" */

const ROW = 24;
const GAP = 26;
const COLUMNS = ["index", "text", "id", "bytes"];

/**
 * @param {Token[]} tokens
 * @param {string[]} labels
 * @param {{title: string, sentence: string, source: string}} caption
 */
export function tokenScene(tokens, labels, caption) {
  const rows = tokens.map(({ index, id, bytes, special }, i) => {
    return [String(index), labels[i], String(id), special ? "" : bytes.replace(/../g, "$& ").trim()];
  });
  const heads = COLUMNS.map((name) => t(`tokens.${name}`));
  const widths = heads.map((head, i) =>
    Math.max(textWidth(head, 12), ...rows.map((row) => textWidth(row[i], 13, "--mono"))),
  );
  const starts = widths.map((_, i) => widths.slice(0, i).reduce((sum, width) => sum + width + GAP, 0));
  const width = starts[3] + widths[3];
  const line = (y) => svg("path", { d: `M0 ${y}H${width}`, stroke: cssColour("--line") });
  const nodes = [
    heads.map((head, i) => label(head, { x: starts[i], y: 16, colour: "--ink-2" })),
    rows.map((row, y) => [
      line((y + 1) * ROW),
      row.map((text, i) => label(text, { x: starts[i], y: (y + 1) * ROW + 17, size: 13, face: "--mono" })),
    ]),
  ];
  return sceneOf(caption, { width, height: (rows.length + 1) * ROW, nodes: nodes.flat(3) });
}
