/**
 * The most likely token after each layer at each position: a table that scrolls in its own box, coloured by
 * probability.
 */

import { inkOn, rampColour, rgb } from "../../../chart/theme.js";
import { tokenName } from "../../../model/labels.js";
import { h, newId, perRoot, plainText, replace, update } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { offeredText } from "../../../ui/token_text.js";
import { depthLabels, depthWords } from "../../parts.js";
import { predictionState } from "../../view_states.js";

/**
 * @import { VocabularyToken } from "../../../model/labels.js"
 * @import { State } from "../../../state/store.js"
 * @import { Actions } from "../../view.js"
 * @import { Lens, WritingTrace } from "./draw.js"
 */

// The lens as an HTML table: its cells are words, in a colour for their probability.

/**
 * A header of positions, a row for each depth, and the actual next tokens.
 * @param {Lens} found @param {WritingTrace} trace
 */
function gridTable(found, trace) {
  const { rows, next } = found;
  const { tokens } = trace.written;
  const head = rows.map((row, i) =>
    h(
      "th",
      { scope: "col", dataset: { at: i } },
      h("span", { class: "tokname" }, offeredText(tokens[row])),
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
    h("td", { dataset: { at: i } }, id === null ? "" : h("span", { class: "tokname" }, offeredText(found.tokens[id]))),
  );
  return h(
    "table",
    { class: "lens-table" },
    h("thead", null, h("tr", null, h("th", { scope: "row" }, t("lens.reads")), head)),
    h("tbody", null, body),
    h("tfoot", null, h("tr", null, h("th", { scope: "row" }, t("lens.goes_on")), goesOn)),
  );
}

/** @param {Lens} found @param {number} depth @param {number} at @param {number} id */
function cellOf({ probability, tokens, final }, depth, at, id) {
  const p = probability[depth][at][0];
  const colour = rampColour("share", p);
  const data = { testid: "lens-cell", depth, at, id, p };
  // Already the model's final answer: underlined, because colour has another meaning.
  const name = final.ids[at] === id ? "lens-cell final" : "lens-cell";
  return h(
    "td",
    { class: name, style: { background: rgb(colour), color: inkOn(colour) }, dataset: data },
    h("span", { class: "tokname" }, offeredText(tokens[id])),
  );
}

/** @type {Object<string, [depth: number, at: number]>} */
const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/** The gaps between columns, and before the first. */
const GAP = 4;

const elementsOf = perRoot((root) => {
  const id = newId("lens-readout");
  const box = h("div", {
    class: "lens-box",
    tabindex: 0,
    role: "region",
    "aria-describedby": id,
    dataset: { testid: "lens-grid" },
  });
  const readout = h("p", { class: "readout", id, "aria-live": "polite", dataset: { testid: "lens-readout" } });
  replace(root, box, readout);
  const parts = {
    box,
    readout,
    made: /** @type {any[]} */ ([]),
    depth: 0,
    at: 0,
    found: /** @type {Lens|null} */ (null),
    trace: /** @type {WritingTrace|null} */ (null),
    choose: /** @param {{depth: number, at: number}} _cell  `at`: of `found.rows` */ (_cell) => {},
  };
  listen(parts);
  return parts;
});

/**
 * @param {HTMLElement} root @param {Lens} found @param {WritingTrace} trace @param {number} at  the chosen row of `found.rows`
 * @param {State} state @param {Actions} actions
 */
export function drawGrid(root, found, trace, at, state, actions) {
  const parts = elementsOf(root);
  const theme = document.documentElement.dataset.theme;
  const made = [found, trace.key, theme];
  const last = found.top.length - 1;
  const depth = Math.min(predictionState.of(state).depth ?? last, last);
  const fresh = made.some((one, i) => one !== parts.made[i]);
  if (fresh) replace(parts.box, gridTable(found, trace));
  const moved = parts.at !== at;
  Object.assign(parts, { made, at, depth, found, trace });
  parts.choose = (cell) => {
    const deep = predictionState.patch({ depth: cell.depth === last ? null : cell.depth });
    const patch = cell.at === at ? deep : { ...deep, query: found.rows[cell.at] };
    // The positions are on the side that grows. If the open head's queries are not, its attention is closed.
    actions.set(cell.at === at || trace.written === trace.queries ? patch : { attention: null, ...patch });
  };
  update(parts.box, { "aria-label": t("lens.grid_label", { rows: last + 1 }) });
  light(parts);
  say(parts, { depth, at }, true);
  if (moved || fresh) bringIntoSight(parts);
}

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** @param {Parts} parts */
function light({ box, at, depth }) {
  for (const old of box.querySelectorAll(".on, .here")) old.classList.remove("on", "here");
  for (const cell of box.querySelectorAll(`[data-at="${at}"]`)) cell.classList.add("on");
  box.querySelector(`tr[data-depth="${depth}"] > [data-at="${at}"]`)?.classList.add("here");
}

/**
 * One cell in words: read aloud for a choice, not for a moving pointer.
 * @param {Parts} parts @param {{depth: number, at: number}} cell @param {boolean} aloud
 */
function say({ readout, found, trace }, { depth, at }, aloud) {
  if (!found || !trace) return;
  const row = found.rows[at];
  /** @param {VocabularyToken} one */
  const token = (one, role = "") => h("b", { class: `mono ${role}` }, tokenName(one));
  const { ids, probability, rank } = found.final;
  const isFinal = found.top[depth][at][0] === ids[at];
  const vars = {
    depth: depthWords(depth),
    token: token(trace.written.tokens[row], "q"),
    row,
    top: token(found.tokens[found.top[depth][at][0]]),
    p: percent(found.probability[depth][at][0], 2),
    final: token(found.tokens[ids[at]]),
    final_p: percent(probability[depth][at], 2),
    rank: rank[depth][at] + 1,
  };
  update(readout, { "aria-live": aloud ? "polite" : "off", dataset: { depth, at } });
  const words = phrase(isFinal ? "lens.cell_final" : "lens.cell", vars);
  if (readout.textContent !== plainText(words)) replace(readout, ...words);
}

/** @param {Parts} parts */
function listen(parts) {
  const { box } = parts;
  const cellAt = (/** @type {EventTarget|null} */ target) => {
    const cell = /** @type {HTMLElement} */ (target).closest?.("[data-at]");
    if (!(cell instanceof HTMLElement)) return null;
    return { at: Number(cell.dataset.at), depth: Number(cell.closest("tr")?.dataset.depth ?? parts.depth) };
  };
  box.addEventListener("click", ({ target }) => {
    const cell = cellAt(target);
    if (cell) parts.choose(cell);
  });
  box.addEventListener("mouseover", ({ target }) => say(parts, cellAt(target) ?? parts, false));
  box.addEventListener("mouseleave", () => say(parts, parts, false));
  box.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move || !parts.found || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const clamp = (/** @type {number} */ value, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, value));
    parts.choose({
      depth: clamp(parts.depth + move[0], parts.found.top.length),
      at: clamp(parts.at + move[1], parts.found.rows.length),
    });
  });
}

/** Scroll the box, never the page: the chosen column beside the names of the depths. @param {Parts} parts */
function bringIntoSight({ box, at }) {
  /** @type {[HTMLElement|null, HTMLElement|null]} */
  const [column, names] = [box.querySelector(`thead [data-at="${at}"]`), box.querySelector("thead th")];
  if (!column || !names) return;
  const [left, right] = [column.offsetLeft - names.offsetWidth - GAP, column.offsetLeft + column.offsetWidth];
  if (left < box.scrollLeft) box.scrollLeft = left;
  else if (right > box.scrollLeft + box.clientWidth) box.scrollLeft = right - box.clientWidth;
}
