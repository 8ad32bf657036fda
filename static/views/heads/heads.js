/** All heads: layers × heads, one canvas each, a pixel for every (query, key); one group per attention. */

import { headTable, paintHead } from "../../chart/matrix/sheet.js";
import { currentTheme, widthOf } from "../../chart/theme.js";
import { rankState } from "../../data/explain.js";
import { keyOf } from "../../data/request.js";
import { headEffects } from "../../model/ablations.js";
import { headsChange } from "../../model/compare/compare.js";
import { isDifference } from "../../model/compare/runs.js";
import { attentionOf, can, showsMeans } from "../../model/description.js";
import { headKey } from "../../model/edits.js";
import { h, inOneColumn, measured, newId, replace, setText, update } from "../../ui/dom.js";
import { signed } from "../../ui/format.js";
import { attentionName, headWords, setHeadChips } from "../../ui/heads.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { placeOf } from "../places.js";
import { buildSwitch, createEyes } from "./eyes.js";
import { barsRow, drawHeadChanges, forgetLabels, markLabels, nameHead } from "./labels.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { HeadsChange } from "../../model/compare/compare.js"
 * @import { Attention, Model } from "../../model/description.js"
 * @import { Head } from "../../model/edits.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Labelled } from "./labels.js"
 */

// The heads over the open one: those of its layer, or all.

/** Their element: the heads of the open layer, a button that shows those of every layer, and one that ranks them. */
export function buildHeads() {
  const title = h("h2", { class: "sr-only", id: newId("heads-title") }, t("heads.title"));
  const grid = h("div", { dataset: { control: "heads" } });
  const all = h("button", {
    class: "btn",
    type: "button",
    "aria-expanded": false,
    dataset: { testid: "all-heads" },
  });
  all.append(h("span", { class: "long" }, t("heads.all")), h("span", { class: "brief" }, t("heads.all_brief")));
  all.setAttribute("aria-label", t("heads.all"));
  const eye = buildSwitch("head-eye");
  const rank = h("button", { class: "btn quiet rank-heads", type: "button", dataset: { testid: "rank-heads" } });
  rank.append(t("rank.title"));
  const [falls, rises] = ["falls", "rises"].map((name) => h("i", { class: name, "aria-hidden": true }));
  const legend = h("p", { class: "bars-legend dim", hidden: true }, phrase("heads.bars", { falls, rises }));
  const element = h("div", { class: "heads-row" }, title, grid, all, eye, rank, legend);
  all.addEventListener("click", () => {
    const shown = element.classList.toggle("all");
    update(all, { "aria-expanded": shown });
  });
  /** @param {boolean} shown */
  const showAll = (shown) => {
    if (element.classList.contains("all") !== shown) all.click();
  };
  return { element, title, grid, eye, all, rank, legend, showAll };
}

/**
 * @typedef {{attention: string, layer: number, heads: Head[], cells: HTMLCanvasElement[], bars: HTMLElement, painted: string}} Row  one layer of one
 * attention; `painted`: what its pictures show
 */

/** The width of a head in the line of the open layer, in pixels, and of what is around the words of a button. */
const [SMALL, AROUND] = [30, 32];

/** As many heads stand in one line with the steps. */
const FEW = 8;

/** The largest ratio of a picture's sides. */
const MOST = 2.5;

/**
 * @param {Actions} actions @param {ReturnType<typeof buildHeads>} parts  `all`: the button that shows the heads of every layer; `eye`: of the
 *   open head
 * @param {boolean} edits  whether heads can be switched off here
 * @returns {(trace: ModelTrace|null, state: State) => void}
 */
export function createHeads(actions, { grid: root, all, eye: ofOpen, rank, legend }, edits) {
  const eye = edits ? ofOpen : null;
  rank.addEventListener("click", () => actions.set({ drawer: "rank", ...rankState.patch({ shows: "heads" }) }));
  const drawEyes = createEyes(root, eye, actions);
  /** @type {Row[]} in the order of the forward pass */
  let rows = [];
  let every = /** @type {Head[]} */ ([]); // of all rows
  let built = "";
  let again = () => {}; // paints what is missing
  let labelled = ""; // the sentence that the labels belong to
  let marked = /** @type {Labelled[]|null} */ (null); // the labels that are shown
  const note = h("p", { class: "dim pooled", hidden: true, dataset: { testid: "heads-pooled" } });

  const step = (/** @type {KeyboardEvent} */ event) => {
    const canvas = /** @type {HTMLElement} */ (event.target);
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move || !canvas.dataset.layer || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const at = rows.findIndex((one) => one.cells.includes(/** @type {any} */ (canvas)));
    const row = rows[clamp(at + move[0], rows.length)];
    const head = clamp(Number(canvas.dataset.head) + move[1], row.cells.length);
    actions.set({ attention: row.attention, layer: row.layer, head });
    openRow(rows, row.attention, row.layer); // at once: what is hidden takes no focus
    row.cells[head].focus({ preventScroll: true });
  };
  root.addEventListener("keydown", step);
  root.addEventListener("click", ({ target }) => {
    const head = headOf(target);
    if (!head) return;
    if (inOneColumn() && row.classList.contains("all")) all.click(); // the picture of the chosen one is below them
    actions.set(head);
  });
  root.addEventListener("pointerdown", ({ target, button, pointerType }) => {
    const head = headOf(target);
    if (head && button === 0 && pointerType !== "touch") actions.soon([head]).catch(() => {}); // a finger may scroll
  });

  const row = /** @type {HTMLElement} */ (root.parentElement);
  row.addEventListener("click", () => again()); // all are shown, or those of one layer
  /** What lies over the page goes with a press beside it, with Escape, and with its place. */
  const liesOver = () => row.classList.contains("all") && getComputedStyle(row).position === "absolute";
  actions.page.addEventListener("pointerdown", ({ target }) => {
    if (!row.contains(/** @type {Node} */ (target)) && liesOver()) all.click();
  });
  const leave = (/** @type {Event} */ event) => {
    if (/** @type {KeyboardEvent} */ (event).key !== "Escape" || !liesOver()) return;
    event.preventDefault(); // it leaves nothing else
    all.click();
    all.focus({ preventScroll: true });
  };
  actions.page.addEventListener("keydown", leave, { capture: true });
  let stood = ""; // where the reader was

  /** Paints the heads that can be seen. @param {ModelTrace} trace @param {State} state */
  function paint(trace, state) {
    const all = row.classList.contains("all");
    const differs = isDifference(state) && trace.pictureBefore !== null;
    const open = all ? null : rows.find((one) => isOpen(one, trace.attention.id, state.layer));
    const change = differs ? headsChange(trace, open?.heads ?? every) : null;
    const content = `${trace.key} ${currentTheme()} ${all} ${change}`;
    const due = rows.filter((one) => one.painted !== content && (all || isOpen(one, trace.attention.id, state.layer)));
    if (!due.length) return;
    const paintDue = (/** @type {number} */ width) => {
      const fewer = paintRows(due, trace, width, change);
      for (const one of due) one.painted = content;
      note.hidden = !fewer && trace.pool === 1;
      const key = trace.pool > 1 ? "heads.pooled_cells" : "heads.pooled";
      setText(note, t(keyFor(trace.model, key), { n: trace.pool }));
    };
    if (all) measured(() => shownWidth(rows), paintDue);
    else paintDue(SMALL);
  }

  return (trace, state) => {
    if (!trace) return;
    const sizes = trace.attentions.map(({ id, n_layer, n_head, overview }) => [id, n_layer, n_head, overview]);
    const shape = JSON.stringify(sizes);
    if (shape !== built) {
      rows = build(root, trace);
      every = rows.flatMap(({ heads }) => heads);
      root.append(note);
      built = shape;
    }
    const at = `${placeOf(state).name} ${state.drawer} ${state.lesson}`;
    if (at !== stood && state.lesson === null && liesOver()) all.click();
    stood = at;
    again = () => paint(trace, state);
    again();
    const found = trace.explained.heads?.heads ?? null;
    if (trace.key !== labelled) {
      forgetLabels(rows);
      setHeadChips(actions.page, "");
      marked = null;
    }
    if (found && found !== marked) markLabels(rows, found);
    [labelled, marked] = [trace.key, found];
    const { n_head: heads } = trace.attention;
    row.classList.toggle("few", heads <= FEW);
    const place = /** @type {HTMLElement} */ (row.parentElement); // not the page, all of which would be styled again
    const buttonOf = (/** @type {string} */ words) => `${Math.ceil(AROUND + widthOf(words, 13, "--font"))}px`;
    place.style.setProperty("--heads", String(heads));
    place.style.setProperty("--heads-all", buttonOf(t("heads.all")));
    place.style.setProperty("--heads-all-brief", buttonOf(t("heads.all_brief")));
    rank.hidden = !edits || !can(trace.model, "ablations") || state.file !== null || state.lesson !== null;
    drawEyes(rows, trace, state);
    drawHeadChanges(rows, trace, state);
    drawEffects(rows, trace);
    legend.hidden = trace.ablations === null;
    light(rows, trace.attention.id, state);
    root.classList.toggle("stale", trace.key !== keyOf(state));
  };
}

/** @param {Element} root @param {ModelTrace} trace @returns {Row[]} */
function build(root, { model, attentions }) {
  const numbers = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i);
  const groups = attentions.map(({ id: attention, n_layer, n_head, overview, d_head }, i) => ({
    attention,
    overview,
    n_head,
    d_head,
    means: showsMeans(attentions[i]),
    rows: numbers(n_layer).map((layer) => {
      const heads = numbers(n_head).map((head) => ({ attention, layer, head }));
      const cells = heads.map((head) => cell(model, head));
      return { attention, layer, heads, cells, bars: barsRow(n_head), painted: "" };
    }),
  }));
  const top = (/** @type {typeof groups[number]} */ { n_head, d_head, means }) =>
    numbers(n_head).map((n) => {
      const group = t("heads.group", { first: n * d_head, last: (n + 1) * d_head - 1 });
      return h(
        "small",
        { role: "columnheader", "aria-label": means ? group : t("heads.head", { n }) },
        means ? `${n * d_head}–` : n || t("heads.head", { n }),
      );
    });
  const side = (/** @type {number} */ n) =>
    h("small", { role: "rowheader", "aria-label": t("heads.layer", { n }) }, n || t("heads.layer", { n }));
  const grid = (/** @type {typeof groups[number]} */ group) => {
    const { attention, overview, n_head, means, rows } = group;
    const name = attentionName(model, attention);
    const label = name ? `${name}: ${t("heads.grid")}` : t("heads.grid");
    return [
      name &&
        h(
          "h3",
          { class: "group", dataset: { attention } },
          name,
          h("small", { class: "dim" }, t(`attention.about.${attention}`)),
        ),
      overview === null && h("p", { class: "dim", dataset: { testid: "no-overview" } }, t("heads.no_overview")),
      means &&
        h("p", { class: "dim pooled", dataset: { testid: "groups" } }, groupsWords(attentionOf(model, attention))),
      h(
        "div",
        { class: "grid", role: "grid", "aria-label": label, dataset: { attention }, style: { "--heads": n_head } },
        h("div", { role: "row" }, h("small", { role: "columnheader", "aria-hidden": true }), top(group)),
        rows.map(({ layer, cells, bars }) => [h("div", { role: "row" }, side(layer), cells.map(withMark)), bars]),
      ),
    ];
  };
  replace(root, groups.map(grid));
  return groups.flatMap((group) => group.rows);
}

/** What a group is; for RWKV, also that its tokens are mixed first. @param {Attention} attention */
function groupsWords({ d_head, parameters }) {
  const words = t("heads.groups", { n: d_head });
  return "mix_v" in parameters ? `${words} ${t("heads.shifted")}` : words;
}

/** @param {Model} model @param {{attention: string, layer: number, head: number}} of */
function cell(model, { attention, layer, head }) {
  const label = headWords(model, { attention, layer, head });
  const data = { testid: "head", attention, layer, head };
  return h("canvas", {
    role: "gridcell",
    tabindex: -1,
    "aria-label": label,
    title: label,
    dataset: data,
    "aria-keyshortcuts": "O",
  });
}

/** A picture with its number and a place for its head's label. @param {HTMLCanvasElement} canvas */
function withMark(canvas) {
  const attrs = { class: "cell", role: "presentation", dataset: { n: canvas.dataset.head } };
  return h("span", attrs, canvas, h("i", { "aria-hidden": "true" }));
}

/** The head whose picture this is. @param {EventTarget|null} target */
function headOf(target) {
  const { attention, layer, head } = /** @type {HTMLElement} */ (target).dataset;
  return layer === undefined ? null : { attention, layer: Number(layer), head: Number(head) };
}

/** The width of a picture. @param {Row[]} rows */
function shownWidth(rows) {
  const seen = rows.flatMap(({ cells }) => cells).find((canvas) => canvas.clientWidth > 0);
  return seen?.clientWidth ?? SMALL;
}

/**
 * @param {Row[]} rows
 * @param {ModelTrace} trace
 * @param {number} width  of a picture
 * @param {HeadsChange|null} change  where the difference is shown
 * @returns {boolean} whether a picture has more cells than pixels
 */
function paintRows(rows, trace, width, change) {
  const table = headTable(change);
  const shown = Math.floor(width * devicePixelRatio);
  let pooled = false;
  for (const { attention, layer, cells } of rows) {
    cells.forEach((canvas, head) => {
      const picture = trace.picture(layer, head, attention);
      canvas.classList.toggle("blank", picture === null);
      if (!picture) return;
      const ratio = Math.min(MOST, Math.max(1 / MOST, picture.n_key / picture.n_query));
      canvas.style.aspectRatio = ratio === 1 ? "" : String(ratio);
      const before = change === "changed" ? trace.pictureBefore?.(layer, head, attention) : null;
      const mask = trace.mask(layer, head, attention);
      pooled = paintHead(canvas, picture, mask, table, [shown, shown / ratio], before) || pooled;
    });
  }
  return pooled;
}

/** What the answer loses without each head, as a bar over the foot of its picture. @param {Row[]} rows @param {ModelTrace} trace */
function drawEffects(rows, { ablations }) {
  const effects = ablations && headEffects(ablations.found);
  for (const { attention, layer, cells } of rows) {
    cells.forEach((canvas, head) => {
      const cell = /** @type {HTMLElement} */ (canvas.parentElement);
      const effect = effects?.get(headKey({ attention, layer, head }));
      cell.classList.toggle("measured", Boolean(effect));
      cell.classList.toggle("gains", (effect?.delta ?? 0) > 0);
      cell.style.setProperty("--share", String(effect?.share ?? 0));
      if (effect) canvas.dataset.effect = t("rank.delta_off", { delta: signed(effect.delta, 3) });
      else delete canvas.dataset.effect;
      nameHead(canvas, canvas.dataset.name ?? canvas.title);
    });
  }
}

/** @param {Row[]} rows @param {string} attention  the open one @param {State} state */
function light(rows, attention, state) {
  openRow(rows, attention, state.layer);
  for (const row of rows) {
    row.cells.forEach((canvas, head) => {
      const open = row.attention === attention && row.layer === state.layer && head === state.head;
      canvas.classList.toggle("on", open);
      update(canvas, { tabindex: open ? 0 : -1, "aria-selected": open });
    });
  }
}

/** Shows the heads of one layer. @param {Row[]} rows @param {string} attention @param {number} layer */
function openRow(rows, attention, layer) {
  for (const row of rows) row.cells[0].closest("[role=row]")?.classList.toggle("open", isOpen(row, attention, layer));
}

/** @param {Row} row @param {string} attention @param {number} layer */
const isOpen = (row, attention, layer) => row.attention === attention && row.layer === layer;

/** @param {number} value @param {number} length */
function clamp(value, length) {
  return Math.min(length - 1, Math.max(0, value));
}
