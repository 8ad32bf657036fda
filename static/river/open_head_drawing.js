/** A head in the place of all heads: its matrix, and the arithmetic of one of its cells. */

import { namesOf, nameText } from "../model/labels.js";
import { memo } from "../model/memo.js";
import inspector from "../panels/inspector/inspector.js";
import { drawWeights } from "../stations/query_key.js";
import { h, hide, perRoot } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { listenToZoom } from "./input/events.js";
import { PHONE } from "./layout/frame.js";
import { asOfWeights, riverState } from "./view_state.js";

/**
 * @import { Side } from "../model/sides.js"
 * @import { Patch } from "../state/store.js"
 * @import { Now } from "./river.js"
 */

const headParts = perRoot((root) => {
  const parts = {
    matrix: h("div", { class: "zoom-matrix" }),
    inspector: h("div", { class: "panel inspector zoom-inspector", dataset: { testid: "river-inspector" } }),
    now: /** @type {Now|null} */ (null),
    back: () => {},
  };
  root.append(parts.matrix, parts.inspector);
  listenToZoom(root, (inward) => (inward ? parts.now?.actions.set(riverState.patch({ depth: "cell" })) : parts.back()));
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    parts.back();
  });
  return parts;
});

/**
 * @param {HTMLElement} root @param {Now} now
 * @param {{back: () => void, picture: HTMLElement}} at  `back`: one step out; `picture`: gets the focus of what is hidden
 */
export function draw(root, now, { back, picture }) {
  const parts = headParts(root);
  Object.assign(parts, { now, back });
  const { trace, state, actions } = now;
  const { detail } = trace;
  hide(parts.inspector, riverState.of(state).depth !== "cell", picture);
  if (!detail?.overview) return;
  /** A chosen cell opens its arithmetic. @param {Patch} patch */
  const set = (patch) => actions.set({ ...patch, ...riverState.patch({ depth: "cell" }) });
  const [rowLabels, colLabels] = [writtenLabels(trace), namesIn(trace.keys)];
  const matrix = { id: "river", title: t("matrix.weights"), detail, rowLabels, colLabels };
  drawWeights(parts.matrix, trace, state, { ...actions, set }, matrix);
  if (!parts.inspector.hidden) inspector.draw(parts.inspector, trace, asOfWeights(state), actions);
}

/** What the picture calls these tokens; the same array for the same tokens. */
const namesIn = memo(
  (/** @type {Side} */ { tokens }) => namesOf(tokens).map(nameText),
  ({ tokens }) => [tokens],
);

/** Rows of a translation by what they write: "車 ⇒ を買った"; on a phone by that alone. @param {Now["trace"]} trace */
function writtenLabels({ queries }) {
  const labels = namesIn(queries);
  if (queries.side !== "target") return labels;
  const own = innerWidth >= PHONE;
  return labels.map((label, row) =>
    row + 1 < labels.length ? `${own ? `${label} ` : ""}⇒ ${labels[row + 1]}` : label,
  );
}
