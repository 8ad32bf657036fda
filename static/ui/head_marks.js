/** A sign for each kind of head: its typical picture, drawn small. */

import { svg } from "./dom.js";

/** In the order of model/explain/head_labels.py, more specific kinds first. Paths in a 12 × 12 square. */
const PATHS = {
  previous: "M10 6H2.6M5.6 2.8 2.4 6l3.2 3.2",
  induction: "M2 9.6V6.4C2 1.6 9.4 1.6 9.4 6.2V8M6.8 6.4 9.4 9l2.2-2.6",
  same: "M2 4.2h8M2 7.8h8",
  self: "M9.6 4.4A4 4 0 1 0 10 6.6M9.9 1.6V4.6H6.9",
  alignment: "M1.6 1.6 10.4 10.4M1.6 6.2 5.8 10.4M6.2 1.6 10.4 5.8",
  spread: "M2.4 2.4h.1M6 2.4h.1M9.6 2.4h.1M2.4 6h.1M6 6h.1M9.6 6h.1M2.4 9.6h.1M6 9.6h.1M9.6 9.6h.1",
  first: "M2 1.6V10.4M10.6 6H4.8M7.4 3.4 4.8 6l2.6 2.6",
};

/** Every kind that has a sign. */
export const KINDS = Object.keys(PATHS);

/** @param {string} kind */
export function markOf(kind) {
  return svg(
    "svg",
    { viewBox: "0 0 12 12", class: `head-mark ${kind}`, "aria-hidden": "true" },
    svg("path", { d: PATHS[kind] ?? "" }),
  );
}
