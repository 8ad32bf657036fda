/** For a finger: the keys of the chosen row as buttons below the matrix, whose cells are too small for it. */

import { namesOf, nameText } from "../../model/labels.js";
import { REASONS } from "../../model/mask_edits.js";
import { position } from "../../model/selection.js";
import { h, hoverless, keepingFocus, perRoot, replace } from "../../ui/dom.js";
import { cellWeight } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { Pen } from "../../chart/matrix/matrix.js"
 * @import { HeadTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/** More keys than this are not buttons: the matrix is zoomed then. */
const MOST = 256;

const rowOf = perRoot((place) => {
  const row = h("div", { class: "row-keys", role: "group", dataset: { testid: "row-keys" } });
  place.querySelector(".matrix")?.after(row);
  return row;
});

/**
 * @param {HTMLElement} place  with the matrix @param {HeadTrace} trace @param {State} state @param {Actions} actions
 * @param {Pen|null} pen  with one, the buttons hide keys and show them again
 */
export function drawRowKeys(place, trace, state, actions, pen) {
  if (!hoverless()) return;
  const { query, key } = position(state, trace);
  const { mask, overview } = trace.detail;
  const { tokens } = trace.keys;
  const row = rowOf(place);
  const names = namesOf(tokens).map(nameText);
  const reasonsOf = (/** @type {number} */ j) => mask?.data[query * names.length + j] ?? 0;
  const isHidden = (/** @type {number} */ j) => reasonsOf(j) === REASONS.edited;
  const allowed = names.map((_, j) => j).filter((j) => !reasonsOf(j) || (pen && isHidden(j)));
  row.hidden = allowed.length > MOST;
  row.setAttribute("aria-label", t("attention.row_keys", { query: nameText(namesOf(trace.queries.tokens)[query]) }));
  keepingFocus(row, () =>
    replace(
      row,
      (row.hidden ? [] : allowed).map((j) => {
        const pressed = pen ? !isHidden(j) : j === key;
        const attrs = { type: "button", "aria-pressed": pressed, dataset: { focus: `key-${j}`, key: j } };
        const weight = overview && cellWeight(overview.data[query * names.length + j]);
        return h(
          "button",
          { ...attrs, on: { click: () => (pen ? draws(pen, query, j) : actions.set({ query, key: j })) } },
          h(pen && isHidden(j) ? "s" : "b", { translate: "no" }, names[j]),
          h("span", { class: "mono" }, weight ?? ""),
        );
      }),
    ),
  );
  const keys = /** @type {HTMLElement[]} */ ([...row.querySelectorAll("button")]);
  const chosen = keys.find(({ ariaPressed }) => ariaPressed === "true");
  if (!chosen || pen) return;
  const middle = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
  const first = keys.find(({ offsetLeft }) => offsetLeft >= middle) ?? chosen; // at the edge a whole one
  row.scrollLeft = middle > 0 ? first.offsetLeft - 2 : 0;
}

/** @param {Pen} pen @param {number} row @param {number} col */
function draws(pen, row, col) {
  pen.over({ row, col });
  pen.end();
}
