/** The river of one page: draws the newest trace, and draws it again whenever more is measured. */

import { widthOf } from "../chart/theme.js";
import { rankState } from "../data/explain.js";
import { editing, sideShown } from "../model/compare/runs.js";
import { can, trainedCausal } from "../model/description.js";
import { headKey, headToggled, withoutHeadsOff } from "../model/edits.js";
import { partAt, partToggled } from "../model/formula_edits.js";
import { everyLayer, withoutKnockouts } from "../model/interventions.js";
import { isPart, nameText } from "../model/labels.js";
import { position, sourceKey } from "../model/selection.js";
import {
  coveredOf,
  h,
  keepingFocus,
  keepWidth,
  lowSheet,
  measured,
  perRoot,
  plainText,
  replace,
  setText,
  update,
} from "../ui/dom.js";
import { errorText } from "../ui/format.js";
import { keyFor, t } from "../ui/i18n.js";
import { nextOffered } from "../views/dock.js";
import { writerOf } from "../views/generation/player.js";
import { VIEWS } from "../views/index.js";
import { isModel, opensLow, placeOf } from "../views/places.js";
import { hasView } from "../views/view.js";
import { buildBoard, createRiverBoard, sceneOf } from "./board.js";
import { stageOf } from "./draw/animation.js";
import { edgesNamed, factsOf, isKnockedOut, rolledOnce, samePicture } from "./facts.js";
import { riverKey, sayKey, tellDrawn } from "./first_paint.js";
import { actionsOf, hiding } from "./input/actions.js";
import { createKnockoutMeasuring } from "./knockout_effects.js";
import { LOW, NONE, PHONE } from "./layout/frame.js";
import { choicesOf } from "./layout/heads.js";
import { createWatch, momentOf } from "./playing.js";
import { openLayer, riverState } from "./view_state.js";
import { wider } from "./words/changes.js";
import { barsOf } from "./words/names.js";
import { gathersWords, saysWords, sentenceOf, sourceOf } from "./words/sentence.js";
import { comesOf, edgeOf, spotOf, weightOf, writtenOf } from "./words/spots.js";
import { beadEntry, drawLegend, drawTable, entryOf } from "./words/table.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Attention, Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, View } from "../views/view.js"
 * @import { Facts } from "./facts.js"
 * @import { Band, Scene } from "./layout/layout.js"
 */

// The elements of the river's panel.

/** @param {HTMLElement} root @param {HTMLElement} say  where the page says what is seen */
function buildRiverParts(root, say) {
  const says = h("p", { class: "says", "aria-live": "polite", dataset: { testid: "river-says" } });
  const attrs = { class: "says previewed", hidden: true, "aria-hidden": "true" };
  const previewed = h("p", { ...attrs, dataset: { testid: "river-head" } });
  const choice = h("div", { class: "seg", role: "group", "aria-label": t("river.heads_choice"), hidden: true });
  const board = buildBoard();
  const key = riverKey();
  const legend = h("div", { class: "dim means", dataset: { testid: "river-legend" } }, key, h("span"));
  const restore = h("button", { class: "btn restore", type: "button", dataset: { testid: "river-restore" } });
  const table = h("div");
  const watch = h("button", { class: "btn watch", type: "button", dataset: { testid: "river-watch" } });
  keepWidth(watch, t("river.pause"));
  const scrub = h("input", { type: "range", min: 0, max: 1, dataset: { testid: "river-scrub" } });
  const bytes = h("p", { class: "dim", hidden: true, dataset: { testid: "river-bytes" } });
  const name = h("h1", { class: "sr-only river-name" }, t("river.title"));
  const measure = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "river-measure" } },
    t("river.measure"),
  );
  const moment = h("span", { class: "dim moment", "aria-hidden": true }, t("river.moment_short")); // it has a name that says more
  const which = h(
    "button",
    { class: "btn which opens-drawer", type: "button", dataset: { testid: "river-which" } },
    t("rank.title"),
  );
  const foot = h("div", { class: "foot" }, legend, watch, moment, scrub, choice, measure, which);
  replace(say, says, previewed, restore);
  const waits = h("p", { class: "lines-wait", role: "status", hidden: true, dataset: { testid: "river-waits" } });
  replace(root, name, bytes, board.box, waits, foot, table);
  return {
    root,
    waits,
    says,
    bytes,
    previewed,
    choice,
    table,
    key,
    legend,
    measure,
    which,
    restore,
    board,
    foot,
    watch,
    moment,
    scrub,
  };
}

/** @typedef {{trace: ModelTrace, state: State, actions: Actions}} Now */

/** The questions of a quiz that the picture or its sentence would answer (learn/quiz/quiz.js). */
const TOLD = /\b(next|classes|attention)\b/;

/** Why there are no lines: they are computed, or this model has none. @param {Model} model */
const whyNoLines = (model) => t(can(model, "route") ? keyFor(model, "river.lines_wait") : "river.no_lines");

/** Whether a quiz asks for what it would tell: then it is a strip, with the streams alone. @param {State} state @param {HTMLElement|null} page */
const isCovered = ({ quiz }, page) => quiz && TOLD.test(page?.dataset.quiz ?? "next");

/** Where the answers begin higher, there is no room over them for what the lines are (css/start.css); what the name of the answers takes. */
const [KEY_ENDS, OVER_ANSWERS] = [130, 32];

/** How many answers have a bar: in the whole picture, and in the strip. */
const [BARS, FEW_BARS] = [5, 2];

/** A picture of 64 tokens takes some 10 ms: effects that arrive one after the other are gathered so long. Milliseconds. */
const GATHERING = 200;

/** @param {ReturnType<typeof buildRiverParts>} parts */
function createRiver(parts) {
  let now = /** @type {Now|null} */ (null);
  let last = /** @type {Facts|null} */ (null);
  const board = createRiverBoard(
    parts.board,
    ({ keyOver, foot, answers, table, said, bands, only, squares, lens, headsInLine }) => {
      parts.which.classList.toggle("in-heads", said?.beside === true && foot !== null);
      parts.which.classList.toggle("over-heads", only !== null && squares.length > 0);
      parts.root.style.setProperty("--heads-top", squares.length ? `${Math.min(...squares.map(({ y }) => y))}px` : "");
      parts.root.style.setProperty("--said", `${said?.y ?? 0}px`);
      parts.root.classList.toggle("with-heads", foot !== null);
      parts.root.style.setProperty("--foot", `${foot ?? 0}px`);
      parts.root.style.setProperty("--foot-width", `${answers.width}px`);
      parts.root.style.setProperty("--table", `${table ?? 0}px`);
      const room = roomBeside({ bands, said, squares, lens, headsInLine });
      parts.root.classList.toggle("two-stacks", room !== null);
      for (const side of /** @type {const} */ (["x", "y", "width"]))
        parts.root.style.setProperty(`--read-${side}`, `${room?.[side] ?? 0}px`);
      parts.root.style.setProperty("--answers-x", `${answers.x}px`);
      parts.root.classList.toggle("key-over", keyOver);
      parts.root.style.setProperty("--over-answers", `${(foot ?? 0) - answers.y + OVER_ANSWERS}px`);
      const panel = parts.root.parentElement;
      panel?.style.setProperty("--key-ends", `${answers.y - OVER_ANSWERS}px`);
      if (panel) panel.dataset.answers = answers.y < KEY_ENDS ? "high" : "low";
    },
  );
  const rolls = { rolled: rolledOnce(), before: rolledOnce(), compared: rolledOnce() };
  const measuring = createKnockoutMeasuring(soon);
  const watch = createWatch(parts, (time) => {
    board.watch(time);
    setText(parts.moment, momentOf(sceneOf(parts.board.canvas), time));
    if (now && last) playWords(parts.previewed, last, now.trace.model.description.predicts, time);
  });

  parts.says.addEventListener("click", (/** @type {MouseEvent} */ { target }) => {
    const button = /** @type {HTMLElement} */ (target).closest("button");
    if (!now || !button) return;
    if (button.dataset.focus === "compare-texts") return writerOf(now.actions).session.compareFork();
    if (button.dataset.focus === "other-text") return writerOf(now.actions).session.goToOther();
    const { hides, puts, off, turns } = button.dataset;
    const { trace, state, actions } = now;
    parts.board.canvas.focus({ preventScroll: true }); // the button goes
    if (off) {
      const turned = (/** @type {State} */ now) =>
        partToggled(now, partAt(state, trace.model, "ffn"), trace.attentions);
      return actions.set(editing(actions.get(), trace.model, turned));
    }
    const chosen = placeOf(state).name === "head" ? position(state, trace) : {};
    if (turns && last?.needed) {
      const { needed } = last;
      const turned = (/** @type {State} */ now) => ({ ...headToggled(now, needed, trace.attentions), ...chosen });
      return actions.set(editing(actions.get(), trace.model, turned));
    }
    if (puts) {
      const back = (/** @type {State} */ now) => {
        if (puts === "heads") return { interventions: withoutHeadsOff(now.interventions) };
        if (puts === "causal") return everyLayer(now, trainedCausal(trace.model), trace.model);
        if (puts === "padding") return { padMask: !now.padMask };
        return { interventions: withoutKnockouts(now.interventions) };
      };
      return actions.set(editing(actions.get(), trace.model, (now) => ({ ...back(now), ...chosen })));
    }
    const edges = hides ? edgesHidden(hides) : last?.measured?.deciding?.edges;
    if (!edges) return;
    // the newest knockouts are the page's, not those of the trace that is shown
    const hidden = hiding(actions.get(), trace, edges, hides === "wider" ? withoutKnockouts : undefined);
    // The cell stays chosen, though another has the most weight now.
    actions.set({ ...hidden, ...chosen });
  });
  const lights = (/** @type {Event} */ { type, target }) => {
    const button = /** @type {HTMLElement} */ (target).closest("[data-lights]");
    board.light(button && /over|focusin/.test(type) && last ? edgesNamed(last) : []);
  };
  for (const type of ["pointerover", "pointerout", "focusin", "focusout"]) parts.says.addEventListener(type, lights);
  // The button is below the picture, which may have left the screen.
  parts.watch.addEventListener("click", () => {
    const [{ box }, covered] = [parts.board, coveredOf(parts.says)];
    if (box.getBoundingClientRect().top >= covered) return;
    const above = parts.says.getBoundingClientRect().bottom < covered; // else it stays in sight
    (above ? parts.says : box).scrollIntoView({ block: "start" });
  });
  parts.measure.addEventListener("click", () => {
    measuring.begin();
    parts.board.canvas.focus({ preventScroll: true }); // the button goes
    render();
  });
  const page = /** @type {HTMLElement|null} */ (parts.root.closest(".page"));
  if (page) new MutationObserver(() => now?.state.quiz && render()).observe(page, { attributeFilter: ["data-quiz"] });
  parts.which.onclick = () => now?.actions.set({ drawer: "rank", ...rankState.patch({ shows: "heads", by: "delta" }) });
  const tellSource = createTelling(parts.root);
  let [timer, frame] = [0, 0];
  let drawnAt = -Infinity;

  /** What a button of the sentence hides. @param {string} hides */
  const edgesHidden = (hides) => {
    if (hides === "wider") return last && wider(last);
    return now && [edgeOf(now.trace, now.state, hides === "head")];
  };

  /** Effects come many at a time: the first is drawn at once, the others together, and what ends them at once again. */
  function soon() {
    const { deciding = null, error = null } = last?.measured ?? {};
    const ended = deciding !== null || error !== null;
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        frame = requestAnimationFrame(render);
      },
      ended ? 0 : Math.max(0, drawnAt + GATHERING - performance.now()),
    );
  }

  function render() {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    timer = 0;
    drawnAt = performance.now();
    if (!now) return;
    const { trace, state, actions } = now;
    const facts = factsOf(trace, state, rolls, measuring);
    if (last?.rolled !== facts.rolled) watch.end();
    last = facts;
    const source = isModel(state) && !state.quiz ? sourceOf(facts) : null;
    const side = source && facts.rolled[source.stack].river.side;
    tellSource(source && side && { of: sourceKey(trace, state), side, key: source.key });
    const covered = isCovered(state, page);
    const whole = isModel(state) && !state.quiz;
    const low = whole && !state.start && opensLow(state) && lowSheet(parts.root) !== null;
    update(parts.scrub, { "aria-label": t(keyFor(trace.model, "river.moment")) });
    sayKey(parts.key, facts.was !== null);
    drawLegend(parts.legend, facts, trace.pool);
    const part = facts.names.flat().find(isPart);
    parts.bytes.hidden = !part;
    if (part) setText(parts.bytes, t("river.bytes", { name: nameText(part) }));
    const chosen = placeOf(state).name === "head" && !covered ? edgeOf(trace, state) : null;
    const ofHead = chosen && { layer: state.layer, head: state.head, edge: chosen, ...weightOf(trace, state) };
    if (chosen && facts.canKnockOut && !facts.fall && !facts.masks && !ofHead?.masked)
      measuring.cell([edgeOf(trace, state, true), chosen]);
    const next = facts.canKnockOut && !facts.masks ? wider(facts) : [];
    if (next.length === 1) measuring.cell(next); // in this run: in the whole layer, what one head no longer attends to
    const struck = chosen !== null && [chosen, edgeOf(trace, state, true)].some((edge) => isKnockedOut(facts, edge));
    const at = { attention: trace.attention.id, layer: state.layer, head: state.head };
    const writesNothing = facts.masks?.heads.some((one) => headKey(one) === headKey(at)) ?? false;
    parts.says.hidden = covered;
    const { predicts } = trace.model.description;
    const before = sideShown(state) === "before";
    tell = () => {
      const spot = spotOf(trace, now?.state ?? state, facts);
      const told = { ...facts, comes: comesOf({ trace, state, actions }, facts.row) };
      const words = covered ? [] : sentenceOf(told, predicts, ofHead, writtenOf({ trace, actions }, facts.row), spot);
      say(parts.says, before && !covered ? [t("say.before"), ...words.filter(offersNothing)] : words);
    };
    tell();
    update(parts.measure, { hidden: !facts.measured?.idle });
    update(parts.restore, { hidden: !facts.knockouts.length || !(facts.isSaved || state.lesson) }); // else next to the masks
    setText(parts.restore, t("river.restore", { n: facts.knockouts.length }));
    parts.restore.onclick = () => now?.actions.set({ interventions: withoutKnockouts(now.state.interventions) });
    const { heads } = riverState.of(state);
    drawChoice(parts.choice, heads !== NONE ? choicesOf(trace, facts) : [], heads, actions);
    // Where the kinds of heads are chosen there is no room: it stays under Tools.
    const asks = can(trace.model, "ablations") && !facts.isSaved && state.lesson === null && parts.choice.hidden;
    update(parts.which, { hidden: !asks });
    for (const part of [parts.foot, parts.table]) part.hidden = !whole || low || facts.waits || state.start;
    parts.waits.hidden = !facts.waits || (!whole && !can(trace.model, "route")); // where a layer is open, the missing lines are no news
    const refused = trace.explained.route?.refused;
    if (facts.waits) setText(parts.waits, refused ? errorText(refused) : whyNoLines(trace.model));
    parts.root.classList.toggle("over", !whole);
    const open = openLayer(state, facts.rolled);
    const has = (/** @type {string} */ id) => VIEWS.some((view) => view.id === id && hasView(view, trace.model, state));
    const little = innerHeight < LOW;
    const most =
      low && little ? BARS - 2 : whole ? BARS : innerWidth < PHONE ? FEW_BARS - 1 : little ? FEW_BARS : FEW_BARS + 1;
    const show = (/** @type {number} */ width) => {
      board.show(
        {
          facts,
          trace,
          heads,
          open,
          whole,
          low,
          covered,
          ranks: Boolean(asks),
          chosen,
          struck,
          writesNothing,
          named: parts.says.querySelector("[data-lights]") ? edgesNamed(facts) : [],
          source,
          has,
          start: state.start,
          prompt: state.nPrompt,
          place: placeOf(state).name,
          bars: covered ? [] : barsOf(facts, most),
          offered: nextOffered(trace, state, actions),
        },
        actionsOf(() => /** @type {Now} */ (now), facts, { measuring }),
        width,
      );
      drawTable(parts.table, () => ({
        lines: board.lines().map((line) => entryOf(facts, line)),
        beads: board.beads().map((bead) => beadEntry(facts, bead)),
      }));
      tellDrawn(
        parts.root,
        facts.measured === null || facts.measured.deciding !== null || facts.measured.error !== null,
      );
    };
    // Pictures below it are measured after this: a strip takes the width that it has, so that it leaves them their room.
    const width = whole ? 0 : board.width();
    if (width) show(width);
    else measured(() => parts.board.box.clientWidth, show);
  }

  let follows = false;
  let tell = () => {}; // what is drawn, in a sentence: it also says how the last token was written

  return {
    /** @param {Now} newest */
    show(newest) {
      if (!follows) writerOf(newest.actions).onChange(() => now && tell());
      follows = true;
      const [was, same] = [now, now !== null && samePicture(now, newest)];
      now = newest;
      if (!same) render();
      else if (was?.state.view !== newest.state.view) tell(); // another view of the same place
    },

    /** It is not shown: nothing is measured. */
    rest() {
      now = null;
      measuring.stop();
      watch.end();
    },
  };
}

/** What the picture does at this moment; at the end, its usual sentence. @param {HTMLElement} root @param {Facts} facts @param {string} predicts @param {number} time */
function playWords(root, facts, predicts, time) {
  const stage = stageOf(time);
  root.hidden = stage === null;
  if (stage) say(root, stage.answer > 0 ? saysWords(facts, predicts) : gathersWords(facts));
}

/** Which attention's heads are drawn, where a stack has several. @param {HTMLElement} root @param {Attention[]} choices @param {string|null} chosen @param {Now["actions"]} actions */
function drawChoice(root, choices, chosen, actions) {
  root.hidden = choices.length < 2;
  if (root.hidden) return;
  const open = choices.find(({ id }) => id === chosen) ?? choices[0];
  keepingFocus(root, () =>
    replace(
      root,
      choices.map(({ id }, i) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": id === open.id,
            dataset: { focus: id },
            on: { click: () => actions.set(riverState.patch({ heads: i ? id : null })) },
          },
          t(`attention.${id}`),
        ),
      ),
    ),
  );
}

/**
 * Of two stacks, where there is room for the key and Watch: below the rows of the one that is read, or below what is said of its heads; where a layer is open,
 * below the rows of the other stack. null: nowhere.
 * @param {Pick<Scene, "bands"|"said"|"squares"|"lens"|"headsInLine">} scene @returns {{x: number, y: number, width: number}|null}
 */
function roomBeside({ bands, said, squares, lens, headsInLine }) {
  if (bands.length < 2) return null;
  if (headsInLine && said) return { ...said, y: bands[1].bottom - 8 };
  const stacks = new Set(squares.map(({ stack }) => stack));
  if (stacks.size !== 1) return said;
  const other = /** @type {Band} */ (bands.find(({ stack }) => !stacks.has(stack)));
  const { columns, bottom } = other;
  const x = columns[0].x0 + 8;
  return { x, y: (other === bands[0] ? lens : bottom) - 14, width: columns[columns.length - 1].x1 - x };
}

/** Tells the page, once, which token a translated word comes from most: `of` says of which run and row. @param {HTMLElement} root */
export function createTelling(root) {
  let told = "null";
  return (/** @type {{of: string, side: string, key: number}|null} */ detail) => {
    if (told === JSON.stringify(detail)) return;
    told = JSON.stringify(detail);
    root.dispatchEvent(new CustomEvent("usedsource", { bubbles: true, detail }));
  };
}

/** How bold the text in an element is. @type {Record<string, number>} */
const WEIGHTS = { B: 700, BUTTON: 500 };

/** At 16 pixels. @param {Node} node @param {number} weight @returns {number} */
const textWidth = (node, weight) =>
  node.nodeType === Node.TEXT_NODE
    ? widthOf(node.textContent ?? "", 16, "--font", weight)
    : [...node.childNodes].reduce((sum, one) => sum + textWidth(one, WEIGHTS[one.nodeName] ?? weight), 0);

/** Say what differs from what was said last: it is read aloud. @param {HTMLElement} says @param {(Node|string)[]} words */
function say(says, words) {
  const text = plainText(words);
  if (text === says.textContent) return;
  keepingFocus(says, () => replace(says, ...words));
  // Its room in one line: css/layout.css. Letters are rounded to pixels, and each button has room around it.
  const buttons = says.getElementsByTagName("button").length;
  says.style.setProperty("--ems", (1.02 * (textWidth(says, 400) / 16 + 1.5 * buttons)).toFixed(1));
}

const made = perRoot(() => ({ river: /** @type {ReturnType<typeof createRiver>|null} */ (null) }));

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const slot = made(root);
  slot.river ??= createRiver(buildRiverParts(root, actions.say));
  if (root.hidden) slot.river.rest();
  else slot.river.show({ trace, state, actions });
}

/** In the run before there is nothing to change: its changes are set aside. @param {Node|string} word */
const offersNothing = (word) =>
  !(word instanceof Element && (word.matches(".tells, button") || word.querySelector("button")));
