/** The dock: Back, Step and Play; what the model answers as chips; how the next token is drawn; and the drawers of generation. */

import { fillsMask, predictsTokens } from "../model/description.js";
import { namesIn, offeredAfter, tokenName } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { canHide, endsText, filled, taken } from "../model/written.js";
import { DEFAULTS } from "../state/store.js";
import { createPages, createPopover, segment } from "../ui/controls.js";
import { h, keepWidth, measured, perRoot, replace, replaceChanged, setText, svg, update } from "../ui/dom.js";
import { briefPercent, percent } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { className, kindOfToken, namedToken, offeredText } from "../ui/token_text.js";
import { createButtons, createProblem, createTyped } from "./generation/buttons.js";
import { createDraw, takenAfter } from "./generation/draw_bar.js";
import { writerOf } from "./generation/player.js";
import { createReach, createSampling } from "./generation/settings.js";
import { choosesWritten } from "./places.js";
import { dockState } from "./view_states.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Model } from "../model/description.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Session } from "./generation/session.js"
 * @import { Actions, View } from "./view.js"
 */

/** On a narrow page css/dock.css shows fewer. */
const SHOWN = 7;

const made = perRoot(() => ({ dock: /** @type {ReturnType<typeof createDock>|null} */ (null) }));

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const slot = made(root);
  slot.dock ??= createDock(root, actions);
  slot.dock.draw(trace, state);
}

/** @param {HTMLElement} root @param {Actions} actions */
function createDock(root, actions) {
  const { session, player, onChange } = writerOf(actions);
  const buttons = createButtons(session, player);
  const problem = createProblem(player);
  const candidates = createCandidates(actions, session);
  const typed = createTyped(session, player, actions);
  const settings = createSettings(actions, typed.node);
  const drawing = createDraw(session);
  player.land = drawing.land;
  candidates.onPoint = drawing.note;
  const drawers = ["generation", "cache"].map((id) => drawerButton(id, actions));
  const grow = h("span", { class: "grow" });
  const writing = [grow, drawing.node, settings.node, ...drawers.map(({ node }) => node), buttons.node];
  replace(root, candidates.node, candidates.pages, writing, problem.node);
  onChange(() => {
    buttons.draw();
    problem.draw();
  });
  return {
    /** @param {ModelTrace} trace @param {State} state */
    draw(trace, state) {
      const writes = predictsTokens(trace.model);
      for (const node of writing) node.hidden = !writes; // others answer, and write nothing
      candidates.draw(trace, state);
      problem.node.hidden ||= !writes;
      if (!writes) return;
      session.follow(trace);
      buttons.draw();
      problem.draw();
      typed.draw(trace, state);
      settings.draw(state);
      drawing.draw(trace, state);
      for (const one of drawers) one.draw(state);
    },
  };
}

/** @param {string} id @param {Actions} actions */
function drawerButton(id, actions) {
  const click = () => actions.set({ drawer: actions.get().drawer === id ? null : id });
  const [word, ...rest] = t(`dock.${id}`).split(" "); // on a phone the first word
  const node = h(
    "button",
    {
      class: "btn opens",
      type: "button",
      "aria-label": t(`dock.${id}`),
      dataset: { testid: `dock-${id}` },
      on: { click },
    },
    h(
      "span",
      { class: "word" },
      word,
      h(
        "span",
        { class: "rest" },
        rest.map((one) => ` ${one}`),
      ),
    ),
    h("span", { class: "sign-text" }, drawerSign(id)),
  );
  return { node, draw: (/** @type {State} */ { drawer }) => update(node, { "aria-pressed": drawer === id }) };
}

/** What forks; a table that has grown by a column. @param {string} id */
const drawerSign = (id) =>
  svg(
    "svg",
    { viewBox: "0 0 20 20", width: 20, height: 20, class: "sliders", "aria-hidden": true },
    svg("path", {
      d: id === "cache" ? "M2 4h16v12H2zM2 10h16M7 4v12M12 4v12" : "M2 10h4c4 0 3-6 7-6h5M6 10h12M6 10c4 0 3 6 7 6h5",
    }),
  );

/** A button that says how the next token is chosen; behind it greedy or drawn, a field for what is typed in its place, and the settings of drawing. @param {Actions} actions @param {HTMLElement} typed */
function createSettings(actions, typed) {
  const [sampling, reach] = [createSampling(actions), createReach(actions)];
  const name = h("span");
  const word = h("span", { class: "word" }, name, h("span", { class: "caret", "aria-hidden": true }, " ▾"));
  const button = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "sampling" } },
    word,
    h("span", { class: "sign-text" }, settingsSign()),
  );
  keepWidth(word, `${t("dock.is_greedy")}\n${t("dock.sampling")}`);
  const shows = segment(t("dock.shows"), /** @type {const} */ (["model", "sampled"]), "shows", (name) =>
    t(`candidates.of.${name === "model" ? "next" : name}`),
  );
  const shown = h("div", { class: "shows" }, h("span", { class: "name" }, t("dock.shows")), shows.box);
  const line = segment(t("surprise.line"), /** @type {const} */ (["off", "on"]), "surprise", (name) =>
    t(`surprise.${name}`),
  );
  const over = h("div", { class: "shows over", title: t("surprise.line_about") });
  over.append(h("span", { class: "name" }, t("surprise.line")), line.box);
  const how = segment(t("dock.how"), /** @type {const} */ (["greedy", "drawn"]), "dock", (name) => t(`dock.${name}`));
  const panel = h("div", { class: "ctl sampling-panel" }, how.box, typed, sampling.nodes, reach.nodes, shown, over);
  const node = h("div", { class: "sampling" }, button, panel);
  createPopover(node, /** @type {HTMLButtonElement} */ (button), panel, () => {});
  let warm = DEFAULTS.temperature; // what drawing returns to
  return {
    node,
    /** @param {State} state */
    draw(state) {
      if (state.temperature > 0) warm = state.temperature;
      setText(name, t(state.temperature === 0 ? "dock.is_greedy" : "dock.sampling"));
      how.show(state.temperature === 0 ? "greedy" : "drawn", (name) =>
        actions.set({ temperature: name === "greedy" ? 0 : warm }),
      );
      sampling.draw(state);
      reach.draw(state);
      shows.show(dockState.of(state).shows, (name) => actions.set(dockState.patch({ shows: name })));
      line.show(dockState.of(state).surprise ? "on" : "off", (name) =>
        actions.set(dockState.patch({ surprise: name === "on" })),
      );
    },
  };
}

/** Two sliders. */
const settingsSign = () =>
  svg(
    "svg",
    { viewBox: "0 0 20 20", width: 20, height: 20, class: "sliders", "aria-hidden": true },
    svg("path", { d: "M2 6h6m6 0h4M2 14h2m6 0h8" }),
    svg("circle", { cx: 11, cy: 6, r: 2.5 }),
    svg("circle", { cx: 7, cy: 14, r: 2.5 }),
  );

/** `cut`: what excludes it from the draw. @typedef {{text: (Node|string)[], share: number, words: string, cut: string|null, most: boolean, id: number|string, take: (() => void)|null}} Candidate */

/** What the model answers, as chips with bars: its most likely next tokens, the fillings of a gap, or its classes. @param {Actions} actions @param {Session} session */
function createCandidates(actions, session) {
  const after = h("span");
  const other = () => (isSampled(actions.get()) ? "model" : "sampled");
  const turn = () => actions.set(dockState.patch({ shows: other() }));
  const of = h("button", { class: "of", type: "button", dataset: { testid: "share-of" }, on: { click: turn } });
  const chips = Array.from({ length: SHOWN }, makeChip);
  const head = h("span", { class: "after" }, after, of);
  let drawn = "";
  const list = chips.map(({ button }) => button);
  const node = h("div", { class: "candidates", role: "group" }, head, list);
  /** What does not fit is in a second line, out of sight: not to be reached. */
  const fit = () => {
    measured(
      () => list.map((chip) => chip.offsetTop > node.offsetTop + node.clientHeight / 2),
      (out) => list.forEach((chip, i) => chip.classList.toggle("out", out[i])),
    );
    pages.say();
  };
  // A phone has a row of them: on by as many as are in sight, at its end back to the first.
  const pages = createPages(node, (to) => (to < 0 ? node.scrollWidth : node.clientWidth - head.offsetWidth));
  new ResizeObserver(fit).observe(node);
  const self = {
    node,
    pages: [pages.before, pages.after],
    /** Called with the reason why the candidate that is pointed at, or has the focus, is not drawn. @type {(why: string|null) => void} */
    onPoint: () => {},
    /** @param {ModelTrace} trace @param {State} state */
    draw(trace, state) {
      const kind = kindOf(trace.model);
      const { said, found } = CANDIDATES[kind](trace, state, actions);
      head.dataset.kind = kind;
      if (trace.key !== drawn) {
        measured(
          () => node.scrollLeft,
          (at) => at && node.scrollTo({ left: 0 }),
        );
        self.onPoint(null); // it said why another one is not drawn
      }
      drawn = trace.key;
      replace(after, said);
      after.hidden = said === null;
      const face = kind === "next" && isSampled(state) ? "sampled" : kind;
      const about = t(`candidates.of.${face}_about`);
      of.hidden = kind !== "next" || found.length === 0;
      setText(of, t(`candidates.of.${face}`));
      update(of, { title: `${about}. ${t(`candidates.of.to_${other()}`)}`, dataset: { face } });
      head.hidden = after.hidden && of.hidden;
      update(node, { "aria-label": `${t(`candidates.title.${kind}`)}. ${about}`, title: about });
      const falls = kind === "next" ? takenAfter(session, trace, state) : null;
      chips.forEach((chip, i) => show(chip, found[i], falls));
      fit();
    },
  };
  const point = (/** @type {Event} */ { target }) => {
    const chip = chips.find(({ button }) => button.contains(/** @type {Node} */ (target)));
    self.onPoint(chip?.cut ?? null);
  };
  node.addEventListener("pointerover", (event) => node.dataset.rests === undefined && point(event));
  node.addEventListener("focusin", point);
  for (const goes of ["pointerleave", "focusout"]) node.addEventListener(goes, () => self.onPoint(null));
  restingAfterClick(node, actions.page, point);
  return self;
}

/** The next tokens, with what takes each: as the chips do, the prediction of the river does. None for models without Step. @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export const nextOffered = (trace, state, actions) =>
  predictsTokens(trace.model) && trace.file === null ? CANDIDATES.next(trace, state, actions).found : [];

/** Whether the chips show what the sampling settings make of the model's probabilities. @param {State} state */
const isSampled = (state) => dockState.of(state).shows === "sampled";

/** @param {Model} model */
const kindOf = (model) => (predictsTokens(model) ? "next" : fillsMask(model) ? "gap" : "classes");

/** By what a model predicts: before the chips, and the chips. @satisfies {Object<string, (trace: ModelTrace, state: State, actions: Actions) => {said: any, found: Candidate[]}>} */
const CANDIDATES = {
  next(trace, state, actions) {
    const row = rowOf(state, trace);
    const { tokens } = /** @type {Side} */ (trace.written);
    if (endsText(trace, row)) return { said: null, found: [] };
    const full = row + 1 >= trace.model.max_seq_len;
    const last = row === tokens.length - 1; // then they stand after it
    const all = trace.predictions[row].candidates.map((/** @type {any} */ candidate, /** @type {number} */ i) =>
      candidateOf(
        offeredAfter(candidate, tokens[row]),
        wordsOf(candidate, state),
        kindOfToken(candidate, tokens[row]),
        {
          share: isSampled(state) ? candidate.after : candidate.before,
          cut: candidate.after > 0 ? null : filterOf(candidate, state),
          most: i === 0,
          take: full ? null : () => actions.set(taken(trace, state, row, candidate.id)),
        },
      ),
    );
    const found = [...all.filter(isDrawn), ...all.filter((/** @type {Candidate} */ one) => !isDrawn(one))];
    const written = choosesWritten(state, trace.model);
    const name = namesIn(tokens)[written ? row + 1 : row];
    const token = h("b", { class: "q", translate: "no" }, name);
    const said = last ? null : phrase(`candidates.${written ? "here" : "after"}`, { token });
    return { said, found };
  },
  gap(trace, state, actions) {
    const row = rowOf(state, trace);
    if (!canHide(trace, row)) return { said: t("candidates.no_gap"), found: [] };
    const found = trace.predictions[row].candidates.map((/** @type {any} */ candidate, /** @type {number} */ i) =>
      candidateOf(candidate, "candidates.put", null, {
        share: candidate.before,
        cut: null,
        most: i === 0,
        take: () => actions.set(filled(trace, row, candidate.id)),
      }),
    );
    return { said: phrase("candidates.at", { token: namedToken(trace.queries.tokens[row], "q") }), found };
  },
  classes(trace) {
    const ranked = [...(trace.classes ?? [])].sort((a, b) => b.probability - a.probability);
    const found = ranked.map(({ name, probability }, i) => ({
      ...{ text: [className(name)], share: probability, id: name, cut: null, most: i === 0, take: null },
      words: t("candidates.class", { name: className(name), share: percent(probability, 1) }),
    }));
    return { said: null, found };
  },
};

/** @param {Candidate} candidate */
const isDrawn = ({ cut }) => cut === null;

/** What leaves out the unlikely: its name in an answer, and in the state. @type {Record<string, "topK"|"topP"|"minP">} */
const FILTERS = { top_k: "topK", top_p: "topP", min_p: "minP" };

/** Why a token is not drawn: "too unlikely (top-p 0.95)". @param {{cut?: string|null}} candidate @param {State} state */
function filterOf({ cut }, state) {
  if (state.temperature === 0) return t("candidates.cut.greedy");
  if (cut === "banned") return t("candidates.cut.banned");
  const setting = FILTERS[cut ?? ""];
  const filter = setting ? `${t(`generation.${setting}`)} ${state[setting]}` : t("candidates.settings");
  return t("candidates.cut.unlikely", { filter });
}

/** @param {{after: number}} candidate @param {State} state */
function wordsOf({ after }, state) {
  if (after === 0) return "candidates.take_cut";
  return isSampled(state) ? "candidates.take_sampled" : "candidates.take";
}

/** @param {any} token @param {string} words @param {string|null} kind @param {Pick<Candidate, "share"|"cut"|"most"|"take">} more @returns {Candidate} */
function candidateOf(token, words, kind, more) {
  const said = t(words, {
    token: tokenName(token),
    share: percent(more.cut === null ? more.share : token.before, 1),
    why: more.cut ?? "",
  });
  return { text: offeredText(token), id: token.id, words: kind ? `${said} · ${kind}` : said, ...more };
}

/** After a click, here or elsewhere, other chips and buttons of the dock come under the pointer, which has pointed at none of them until it moves. @param {HTMLElement} node @param {EventTarget} page @param {(event: Event) => void} moved */
function restingAfterClick(node, page, moved) {
  let [at, own, did] = ["", true, /** @type {string|undefined} */ (undefined)];
  // Of a click the browser drops the fraction.
  const placeOf = (/** @type {MouseEvent} */ { clientX, clientY }) => `${Math.floor(clientX)} ${Math.floor(clientY)}`;
  const pressed = (/** @type {any} */ event) => {
    if (event.detail === 0) return; // a key, which has no place
    const here = (node.closest(".dock") ?? node).contains(event.target);
    const act = event.target.closest("[data-act]")?.dataset.act;
    const rests = node.dataset.rests !== undefined && placeOf(event) === at;
    const other = act === undefined || act !== did; // the start page's Write stands where the dock's does
    if (here && !own && rests && other) return event.stopPropagation(); // it was meant for what stood there
    [at, own, did, node.dataset.rests] = [placeOf(event), here, act, ""];
  };
  page.addEventListener("click", pressed, true);
  page.addEventListener("pointermove", (/** @type {any} */ event) => {
    if (node.dataset.rests === undefined || placeOf(event) === at) return;
    delete node.dataset.rests;
    if (node.contains(event.target)) moved(event);
  });
}

function makeChip() {
  const [name, share, bar] = [h("span", { class: "text" }), h("i"), h("s")];
  const chip = {
    ...{ name, share, bar },
    take: /** @type {(() => void)|null} */ (null),
    cut: /** @type {string|null} */ (null),
  };
  const attrs = { class: "likely", type: "button", dataset: { testid: "likely" }, on: { click: () => chip.take?.() } };
  return Object.assign(chip, { button: h("button", attrs, name, share, h("u", null, bar)) });
}

/** @param {ReturnType<typeof makeChip>} chip @param {Candidate|undefined} candidate @param {number|null} falls  what the draw takes */
function show(chip, candidate, falls) {
  const { button, name, share, bar } = chip;
  button.hidden = !candidate;
  if (!candidate) return;
  const { id, text, cut, most, words, take } = candidate;
  Object.assign(chip, { take, cut });
  replaceChanged(name, text);
  replaceChanged(share, briefPercent(candidate.share));
  bar.style.width = `${candidate.share * 100}%`;
  button.classList.toggle("cut", cut !== null);
  button.classList.toggle("most", most && falls === null);
  button.classList.toggle("falls", id === falls);
  const said = id === falls ? `${words} · ${t("candidates.falls")}` : words;
  update(button, { title: said, "aria-label": words, "aria-disabled": take ? null : "true", dataset: { id } });
}
