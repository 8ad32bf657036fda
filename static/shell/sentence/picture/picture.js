/** A picture in the sentence's place: drawn by hand or one that the model never saw; its patches can be hidden. */

import * as api from "../../../data/api.js";
import { across, blank, patchPlace, pixelsOf } from "../../../model/patches.js";
import { segment } from "../../../ui/controls.js";
import { h, replace, setText, update } from "../../../ui/dom.js";
import { t } from "../../../ui/i18n.js";
import { className } from "../../../ui/token_text.js";
import { createBoard, erased, inked, placeWords, toggledPatch, withPixel } from "./board.js";
import { glowOf, glowWords } from "./glow.js";

/**
 * @import { Example } from "../../../data/api.js"
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { Context } from "../../../page.js"
 * @import { Patch, State } from "../../../state/store.js"
 * @import { Pen, Place } from "./board.js"
 */

const TOOLS = /** @type {const} */ (["hide", "draw", "rub"]);

/** @param {HTMLElement} root @param {Context} context @param {HTMLElement} line  next to the tokens */
export function createPicture(root, { actions, modelOf }, line) {
  const tools = segment(t("picture.tools"), TOOLS, "picture", (name) => t(`picture.${name}`));
  const said = h("p", { class: "sr-only", role: "status", dataset: { testid: "picture-said" } });
  const about = h("p", { class: "dim about", dataset: { testid: "picture-about" } });
  /** @param {string} name @param {() => unknown} click */
  const button = (name, click) =>
    h(
      "button",
      { class: "btn", type: "button", dataset: { testid: `picture-${name}` }, on: { click } },
      t(`picture.${name}`),
    );
  const glows = h("p", { class: "dim about", dataset: { testid: "picture-glow" } });
  const another = button("another", () => take());
  const clear = button("clear", () => {
    chosen = "draw";
    set({ pixels: blank(picture().size), hidden: [] });
  });
  const show = button("show", () => set({ hidden: [] }));
  const row = h("div", { class: "picture-tools" }, tools.box, clear, show);
  line.append(another);
  /** What the reader chose; null: patches are hidden, and what is blank is drawn on. @type {typeof TOOLS[number]|null} */
  let chosen = null;
  const toolNow = () => chosen ?? (pixelsNow().flat().some(Boolean) ? "hide" : "draw");
  let board = /** @type {ReturnType<typeof createBoard>|null} */ (null);
  let [built, touched] = ["", -1];
  /** What is drawn but not in the state yet. @type {number[][]|null} */
  let wet = null;
  /** The pictures that the reader did not draw. @type {Example[]} */
  let given = [];
  const picture = () => modelOf(actions.get()).picture;
  const pixelsNow = () => wet ?? rowsIn(actions.get()) ?? blank(picture().size);
  const set = (/** @type {Patch} */ patch) => {
    wet = null;
    if (actions.get().file !== null) return; // a saved trace is as it is
    actions.set({ text: "", ids: null, nPrompt: null, ...patch });
  };

  /** The reader's own picture begins with all its patches: those hidden in another picture are not hidden here. */
  const begun = () => {
    const { pixels, hidden } = actions.get();
    return hidden.length && given.some((one) => isSame(one.pixels, pixels)) ? { hidden: [] } : {};
  };

  async function take() {
    const found = await fetchedOnce(actions.get().model ?? modelOf(actions.get()).name);
    const at = found.findIndex((one) => isSame(one.pixels, actions.get().pixels));
    chosen = null;
    if (found.length) set({ pixels: found[(at + 1) % found.length].pixels, hidden: [], query: null, key: null });
  }
  const patchAt = (/** @type {Place} */ { row, column }) => {
    const { patch } = picture();
    return 1 + Math.floor(row / patch) * across(picture()) + Math.floor(column / patch);
  };
  const toggle = (/** @type {number} */ position) => set({ hidden: toggledPatch(actions.get().hidden, position) });

  /** @type {Pen} */
  const pen = {
    step: () => (toolNow() === "hide" ? picture().patch : 1),
    look(place) {
      const n = patchAt(place) - 1;
      const level = pixelsNow()[place.row][place.column];
      const hidden = actions.get().hidden.includes(n + 1) ? `, ${t("picture.hidden")}` : "";
      const patch = t("picture.patch", patchPlace(n, picture()));
      setText(said, (toolNow() === "hide" ? patch : `${placeWords(place)}, ${t("picture.level", { level })}`) + hidden);
    },
    stroke(at, from) {
      const tool = toolNow();
      if (tool === "hide") {
        const place = { row: Math.floor(at.y), column: Math.floor(at.x) };
        const outside = [place.row, place.column].some((x) => x < 0 || x >= picture().size);
        if (outside || (from && touched === patchAt(place))) return;
        touched = patchAt(place);
        toggle(touched);
        return;
      }
      chosen = tool; // the picture is not blank from now on
      const dab = tool === "draw" ? inked : erased;
      const n = from ? Math.ceil(Math.hypot(at.x - from.x, at.y - from.y) / 0.4) || 1 : 1;
      const start = from ?? at;
      let next = pixelsNow();
      for (let i = 1; i <= n; i++) {
        const between = (/** @type {number} */ a, /** @type {number} */ b) => a + ((b - a) * i) / n;
        next = dab(next, { x: between(start.x, at.x), y: between(start.y, at.y) }, picture().levels - 1);
      }
      paint(next);
    },
    lift() {
      touched = -1;
      if (wet) set({ pixels: wet, ...begun() });
    },
    press(place, key) {
      const tool = toolNow();
      if (tool === "hide") return toggle(patchAt(place));
      chosen = tool;
      const most = picture().levels - 1;
      const full = key === "rub" || tool === "rub" || pixelsNow()[place.row][place.column] === most;
      set({ pixels: withPixel(pixelsNow(), place.row, place.column, full ? 0 : most), ...begun() });
      pen.look(place);
    },
  };

  let frame = 0;
  /** Ink is drawn immediately; the model reads it once per frame. @param {number[][]} next */
  function paint(next) {
    if (actions.get().file !== null || isSame(next, pixelsNow())) return;
    wet = next;
    board?.draw(next, actions.get().hidden, t("picture.board"));
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (wet) actions.set({ text: "", ids: null, nPrompt: null, pixels: wet, ...begun() });
    });
  }

  /** @param {ModelTrace|null} trace @param {State} state */
  function draw(trace, state) {
    const model = modelOf(state);
    const shape = JSON.stringify(model.picture);
    if (shape !== built) {
      built = shape;
      given = [];
      fetchedOnce(model.name).then(
        (found) => {
          given = found;
          another.hidden = found.length === 0;
        },
        () => {}, // asked again when the next one is wanted
      );
      board = createBoard(model.picture, pen);
      replace(root, board.box, h("div", { class: "picture-side" }, row, glows, about, said));
    }
    const tool = toolNow();
    tools.show(tool, (name) => {
      chosen = name;
      draw(trace, actions.get());
    });
    root.dataset.tool = tool;
    row.hidden = state.file !== null;
    line.hidden ||= row.hidden;
    const glow = trace && !state.quiz ? glowOf(trace, state) : null;
    board?.glow(glow);
    glows.hidden = glow === null;
    if (glow) setText(glows, glowWords(glow));
    update(show, { hidden: state.hidden.length === 0 });
    const saved = state.file !== null && trace ? pixelsOf(patchesOf(trace), model.picture) : null;
    board?.draw(saved ?? wet ?? state.pixels ?? blank(model.picture.size), state.hidden, t("picture.board"));
    if (saved) setText(about, "");
    else aboutOf(model, state).then((words) => actions.get() === state && setText(about, words));
  }
  return draw;
}

/** @param {State} state @returns {number[][]|null} */
const rowsIn = ({ pixels }) => (Array.isArray(pixels) ? pixels : null);

/** @param {ModelTrace} trace */
const patchesOf = ({ sides }) => sides.source.tokens.flatMap(({ patch }) => patch ?? []);

/** Where the picture is from, and how much of it is hidden. @param {any} model @param {State} state */
async function aboutOf(model, { pixels, hidden }) {
  const found = await fetchedOnce(model.name).catch(() => []);
  const at = found.findIndex((one) => isSame(one.pixels, pixels));
  const label = at < 0 ? "" : className(model.classes[found[at].label]);
  const from = at < 0 ? t("picture.own") : t("picture.held_out", { at: at + 1, n: found.length, label });
  return hidden.length ? `${from} ${t("picture.n_hidden", { n: hidden.length })}` : from;
}

// The pictures that a model never saw, asked for once.

/** @type {Map<string, Promise<Example[]>>} */
const known = new Map();

/** @param {string} model @returns {Promise<Example[]>} */
function fetchedOnce(model) {
  const asked = known.get(model) ?? api.pictures(model).then((answer) => answer.pictures);
  known.set(model, asked);
  asked.catch(() => known.delete(model)); // the next call tries again
  return asked;
}

/** Whether two pictures have the same pixels. @param {unknown} a @param {unknown} b */
const isSame = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
