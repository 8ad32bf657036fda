/**
 * A photo in the sentence's place: chosen, dropped or pasted. The server turns it into the pixels that the model reads.
 */

import { pixels as readFile } from "../../../data/api.js";
import { firstPatch, fits, patchPlace, positionAt, readsPhotos } from "../../../model/patches.js";
import { isTooLong, linkOf } from "../../../state/link.js";
import { h, replace, setText, update } from "../../../ui/dom.js";
import { errorText, megapixels, number } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { createBoard, toggledPatch } from "./board.js";
import { glowOf, glowWords } from "./glow.js";

/**
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { Context } from "../../../page.js"
 * @import { Patch, State } from "../../../state/store.js"
 * @import { Declared } from "../../../state/view_state.js"
 * @import { Pen, Place } from "./board.js"
 */

/** What people paste and drop. */
const KINDS = ["image/png", "image/jpeg"];

/** @param {HTMLElement} root @param {Context} context @param {HTMLElement} line  next to the tokens */
export function createPhoto(root, context, line) {
  const { actions, modelOf } = context;
  const input = h("input", { type: "file", accept: KINDS.join(), hidden: true, dataset: { testid: "photo-input" } });
  const choose = button("choose", t("photo.choose"), () => input.click());
  const show = button("show", t("picture.show"), () => set({ hidden: [] }));
  const how = h("p", { class: "how" });
  const about = h("p", { class: "dim about", dataset: { testid: "picture-about" } });
  const said = h("p", { class: "sr-only", role: "status", dataset: { testid: "picture-said" } });
  const problem = h("p", { class: "problem", role: "alert", hidden: true, dataset: { testid: "photo-problem" } });
  const row = h("div", { class: "picture-tools" }, choose, show);
  const glows = h("p", { class: "dim about", dataset: { testid: "picture-glow" } });
  const side = h("div", { class: "picture-side" }, how, row, glows, about, problem, said, input);
  let board = /** @type {ReturnType<typeof createBoard>|null} */ (null);
  let [built, touched, turn] = ["", -1, 0];
  const model = () => modelOf(actions.get());
  const picture = () => model().picture;
  /** @param {Patch} patch */
  const set = (patch) => {
    if (actions.get().file === null) actions.set({ text: "", ids: null, nPrompt: null, ...patch }); // a saved trace is as it is
  };
  /** @param {string} words */
  const complain = (words) => {
    problem.hidden = words === "";
    setText(problem, words);
    setText(said, "");
  };

  /** The newest file wins. @param {File} file */
  async function take(file) {
    const most = model().uploads?.bytes ?? Infinity;
    if (file.size > most)
      return complain(t("error.upload_too_large", { limit_mb: megabytes(most), got_mb: megabytes(file.size) }));
    const [thisTurn, of] = [++turn, model().name];
    complain("");
    root.classList.add("busy");
    setText(said, t("photo.reading"));
    try {
      const found = await readFile(of, file);
      if (thisTurn !== turn || model().name !== of) return;
      set({ pixels: found.pixels, hidden: [], query: null, key: null });
      setText(said, t("photo.read", { width: number(found.width, 0), height: number(found.height, 0) }));
    } catch (error) {
      if (thisTurn === turn) complain(errorText(error));
    } finally {
      if (thisTurn === turn) root.classList.remove("busy");
    }
  }
  input.addEventListener("change", () => {
    if (input.files?.[0]) take(input.files[0]);
    input.value = ""; // the same file may be chosen again
  });
  const isOpen = () => readsPhotos(model()) && actions.get().file === null;
  context.takers.add((file) => {
    if (!isOpen() || /safetensors$/.test(file.name)) return false;
    take(file);
    return true;
  });
  context.ground.addEventListener("paste", (event) => {
    const pasted = /** @type {ClipboardEvent} */ (event).clipboardData?.files[0];
    if (!pasted || event.defaultPrevented || !isOpen()) return; // prevented: a page within this one has it
    event.preventDefault();
    take(pasted);
  });

  const patchAt = (/** @type {Place} */ place) => positionAt(place, picture());
  const toggle = (/** @type {number} */ position) => set({ hidden: toggledPatch(actions.get().hidden, position) });
  /** @type {Pen} */
  const pen = {
    step: () => picture().patch,
    look(place) {
      const n = patchAt(place) - firstPatch(picture());
      const hidden = actions.get().hidden.includes(patchAt(place)) ? `, ${t("picture.hidden")}` : "";
      setText(said, t("picture.patch", patchPlace(n, picture())) + hidden);
    },
    stroke({ x, y }, from) {
      const place = { row: Math.floor(y), column: Math.floor(x) };
      const outside = [place.row, place.column].some((at) => at < 0 || at >= picture().size);
      if (outside || (from && touched === patchAt(place))) return;
      touched = patchAt(place);
      toggle(touched);
    },
    lift() {
      touched = -1;
    },
    press(place) {
      toggle(patchAt(place));
      pen.look(place);
    },
  };

  /** @param {ModelTrace|null} trace @param {State} state */
  return function draw(trace, state) {
    const own = modelOf(state).picture;
    const shape = JSON.stringify(own);
    if (shape !== built) {
      built = shape;
      board = createBoard(own, pen);
      replace(root, board.box, side);
      complain("");
    }
    const saved = state.file !== null ? trace?.sides.source.tokens[1]?.patch?.photo?.pixels : null;
    const pixels = saved ?? state.pixels;
    const empty = !fits(pixels, own); // a link may say anything
    root.classList.toggle("empty", empty);
    root.dataset.tool = "hide";
    row.hidden = state.file !== null;
    line.hidden ||= row.hidden;
    const place = empty ? row : line;
    if (choose.parentElement !== place) place.prepend(choose);
    const glow = trace && !empty && !state.quiz ? glowOf(trace, state) : null;
    board?.glow(glow);
    glows.hidden = glow === null;
    if (glow) setText(glows, glowWords(glow));
    update(show, { hidden: empty || state.hidden.length === 0 });
    choose.classList.toggle("primary", empty);
    setText(choose, t(empty ? "photo.choose" : "photo.another"));
    how.hidden = !empty;
    setText(how, t("photo.how"));
    setText(about, aboutOf(modelOf(state), state, empty, context.declared));
    if (board) {
      board.box.hidden = empty;
      if (!empty) board.draw(/** @type {string} */ (pixels), state.hidden, t("photo.board"));
    }
  };
}

/** @param {string} name @param {string} words @param {() => void} click */
const button = (name, words, click) =>
  h("button", { class: "btn", type: "button", dataset: { testid: `picture-${name}` }, on: { click } }, words);

/** @param {number} bytes */
const megabytes = (bytes) => number(bytes / 2 ** 20, bytes % 2 ** 20 ? 1 : 0);

/**
 * The text next to the photo, or where a photo can be dropped.
 * @param {any} model @param {State} state @param {boolean} empty
 * @param {Declared[]} [declared]  by the views
 */
export function aboutOf({ picture: { size }, uploads }, state, empty, declared = []) {
  const { file, hidden } = state;
  const limits = uploads && t("photo.limits", { mb: megabytes(uploads.bytes), mega: megapixels(uploads.pixels / 1e6) });
  const shown = t("photo.shown", { size });
  const large = !empty && isTooLong(linkOf(state, declared));
  const words = empty
    ? [limits, t("photo.private", { size })]
    : [shown, hidden.length && t("picture.n_hidden", { n: hidden.length }), large && t("photo.large")];
  return file !== null && !empty ? shown : words.filter(Boolean).join(" ");
}
