/** The start page is the page without its tools: the first example, three pictures that open another, all examples, and the lesson. */

import { attentionOf, attentionsOf } from "../model/description.js";
import { indexOfMost } from "../model/matrix.js";
import { isEmpty } from "../model/selection.js";
import { riverKey, sayKey } from "../river/first_paint.js";
import { openingLayer, riverState } from "../river/view_state.js";
import { linkOf } from "../state/link.js";
import { DEFAULTS } from "../state/store.js";
import { h, replace, svg, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { pixelPicture } from "../ui/patch_picture.js";
import { examplePatch, loadedOf } from "./examples.js";

/**
 * @import { Context, Follow } from "../page.js"
 * @import { Patch } from "../state/store.js"
 * @import { Declared } from "../state/view_state.js"
 */

/**
 * @typedef {{text: string, layer: number, head: number, from: string[], to: string[], weights: number[][]}} Translation  in percent
 * @typedef {{text: string, layer: number, head: number, causal: number[][], without: number[][]}} Masked
 * @typedef {{layer: number, head: number, answer: string, weights: number[]}} Digit
 * @typedef {{translation: Translation, masks: Masked, digit: Digit}} Cards  static/start_cards.json: tests/start_cards.py makes it
 */

/**
 * The change that opens the page where nothing was asked for: the start page, or null where its example's model is not here. A server
 * that was given a model (`--model`) opens with that model: its own example, or the first example's sentence.
 * @param {{examples: any[]}} examples @param {any[]} models @param {string} own  the server's default @param {Declared[]} declared
 * @returns {Patch|null}
 */
export function startPatch(examples, models, own, declared) {
  const loaded = loadedOf(examples, models);
  const [first] = loaded;
  if (!first?.text) return null;
  if (first.model === own) return { ...examplePatch(first, declared), start: true };
  const text = models.find(({ name }) => name === own)?.picture ? "" : first.text;
  return examplePatch(loaded.find(({ model }) => model === own) ?? { model: own, text }, declared);
}

/** @param {Context} context @returns {Follow} */
export function createStart(context) {
  const { frame } = context;
  const { start: root } = frame;
  const writes = writesOf(frame.dock);
  followWrites(frame.root, frame.dock);
  const key = riverKey();
  frame.say.append(writes);
  const what = [writes, frame.header.model].map((before) => {
    const words = h("p", { class: "start-what" }, whatWords());
    before.after(words);
    return words;
  });
  const [lines, click] = ["lines", "click"].map((name) => h("p", { class: `start-${name}` }, t(`start.${name}`)));
  frame.panels.river?.append(h("div", { class: "start-key" }, lines, key, click));
  frame.header.brand.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    event.preventDefault();
    context.actions.set(isEmpty(context.actions.get()) ? firstOf(context) : HOME);
    scrollTo({ top: 0, behavior: "instant" });
  });
  const continued = context.kept ? continuedLine(context) : null;
  /** @type {any} */
  let before = null;
  let built = false;
  return (state) => {
    if (before !== null && before !== state) continued?.remove();
    before = state;
    const shown = state.start && state.lesson === null && !isEmpty(state);
    root.hidden = !shown;
    const held = writes.contains(document.activeElement) && /** @type {HTMLElement} */ (document.activeElement);
    for (const part of [writes, ...what]) part.hidden = !shown;
    frame.root.classList.toggle("at-start", shown);
    if (held && !shown) toolOf(frame.dock, held.dataset.act)?.focus({ preventScroll: true }); // another Enter writes on
    if (shown) sayKey(key);
    if (!shown || built) return;
    built = true;
    build(root, context).catch((error) => {
      built = false;
      console.error(error);
    });
  };
}

/** The change that shows the cards again, under the text that is there. */
const HOME = { start: true, view: "model", lesson: null, drawer: null, ...riverState.patch({ layer: null }) };

/** What the page opens with. @param {Context} context @returns {Patch} */
const firstOf = ({ declared, examples, models, firstModel }) =>
  startPatch(examples, models, firstModel, declared) ?? HOME;

/** Says that this is what the reader last had, and leads to the start page; until they change something. @param {Context} context */
function continuedLine({ actions, declared, examples, models, firstModel, frame }) {
  const patch = startPatch(examples, models, firstModel, declared);
  const click = () => patch && actions.set(patch);
  const attrs = { class: "btn quiet", type: "button", dataset: { testid: "to-start" }, on: { click } };
  const button = patch && h("button", attrs, t(patch.start ? "start.page" : "start.example"));
  const line = h("p", { class: "continued", dataset: { testid: "continued" } }, t("start.continued"), button);
  frame.header.model.after(line);
  return line;
}

/** What this page is: a low window has room for few words. */
const whatWords = () => ["what", "what_long"].map((name) => h("span", { class: name }, t(`start.${name}`)));

/** The dock's own Back or Step. @param {HTMLElement} dock @param {string} [act] @returns {HTMLElement|null} */
const toolOf = (dock, act) => dock.querySelector(`.dock-tools [data-act=${act}]`);

/** The dock's Back and Step, where the dock will have them. @param {HTMLElement} dock */
function writesOf(dock) {
  /** @param {"back"|"step"} act @param {string} sign */
  const one = (act, sign) => {
    const click = () => toolOf(dock, act)?.dispatchEvent(new MouseEvent("click"));
    const attrs = { class: "btn", type: "button", title: t(`generation.${act}_about`), on: { click } };
    const word = h("span", { class: "word" }, t(`generation.${act}`));
    const shown = h("span", { class: "sign-text", "aria-hidden": true }, sign);
    return h("button", { ...attrs, dataset: { testid: `start-${act}`, act } }, word, shown);
  };
  return h("div", { class: "writes start-writes" }, one("back", "‹"), one("step", "›"));
}

/** @param {HTMLElement} root @param {Context} context */
async function build(root, context) {
  const { actions, declared, examples, models, frame } = context;
  const { translation, masks, digit } = /** @type {Cards} */ (await (await fetch("static/start_cards.json")).json());
  const shown = loadedOf(examples, models);
  const pictured = shown.find(({ pixels, model }) => pixels && model === "digits-vit");
  const levels = models.find(({ name }) => name === "digits-vit")?.picture?.levels;
  /** @param {string} model @param {string} text */
  const has = (model, text) => models.some(({ name }) => name === model) && text;
  const cards = [
    has("translate-enja", translation.text) &&
      card("translation", translationPicture(translation), {
        ...{ model: "translate-enja", text: translation.text, temperature: 0 },
        ...{ view: "model", attention: "cross", layer: translation.layer, head: translation.head, query: 2 },
      }),
    has("stories-gpt", masks.text) &&
      card("masks", masksPicture(masks), {
        ...{ model: "stories-gpt", text: masks.text, view: "attention", layer: masks.layer, head: masks.head },
        ...{ key: indexOfMost(masks.causal[masks.causal.length - 1]), causal: false },
      }),
    pictured && levels && card("digit", digitPicture(pictured.pixels ?? [], levels, digit), pictured),
  ];
  /** @param {string} name @param {Node} picture @param {any} example */
  function card(name, picture, example) {
    const patch = examplePatch(example, declared);
    const click = (/** @type {PointerEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      actions.set(patch);
      frame.main.focus({ preventScroll: true });
    };
    const href = linkOf(/** @type {any} */ ({ ...DEFAULTS, ...patch }), declared);
    const attrs = { class: "start-card", href, dataset: { testid: `start-${name}` }, on: { click } };
    const promise = h("span", { class: "promise" }, t(`start.${name}.promise`));
    const title = h("span", { class: "title" }, h("b", null, t(`start.${name}`)), promise);
    return h("a", attrs, h("span", { class: "figure" }, picture), title);
  }
  const asks = [h("b", null, t("start.lesson")), " ", h("span", null, t("start.lesson.time"))];
  const lesson = button("start-lesson", "lesson-button", asks, () =>
    actions.set({ lesson: "attention", lessonStep: 1 }),
  );
  const more = button("start-more", "", [t("start.more", { n: shown.length })], () =>
    actions.set({ drawer: "examples" }),
  );
  const aside = h("div", { class: "start-aside" }, lesson, more);
  replace(root, headsButton(context), cards.filter(Boolean), aside);
  update(root, { "aria-busy": "false" });
}

/** On a phone the picture is one layer: its heads are one tap away. @param {Context} context */
function headsButton({ actions, modelOf }) {
  const model = modelOf(actions.get());
  if (!attentionsOf(model).length) return null;
  const { stack, n_layer, n_head: n } = attentionOf(model);
  const layer = n_layer - 1;
  return button("start-heads", "", [t("start.heads", { n, layer })], () => actions.set(openingLayer({ stack, layer })));
}

/** @param {string} testid @param {string} kind @param {(Node|string)[]} words @param {() => void} click */
const button = (testid, kind, words, click) =>
  h("button", { class: `btn ${kind}`, type: "button", dataset: { testid }, on: { click } }, words);

/** Tells the page which of these the dock has: none, where nothing is written; Back while there is something to undo. @param {HTMLElement} page @param {HTMLElement} dock */
function followWrites(page, dock) {
  const tell = () => {
    const [writes, back] = [".writes", "[data-act=back]"].map((one) => dock.querySelector(`.dock-tools ${one}`));
    const none = writes?.hasAttribute("hidden");
    page.dataset.writes = none ? "none" : back && !back.hasAttribute("aria-disabled") ? "both" : "step";
  };
  const attributeFilter = ["aria-disabled", "hidden"];
  new MutationObserver(tell).observe(dock, { subtree: true, childList: true, attributeFilter });
}

// The pictures: weights in percent, drawn in the colours of the theme.

/** A picture and what becomes of it: the side of each, and the arrow's room between them. Pixels. */
const [SIDE, ARROW] = [84, 32];

/** The width of the digit that is answered. Pixels. */
const DIGIT = 16;

/** The arrow between the two. */
const arrow = () => svg("text", { x: SIDE + ARROW / 2, y: SIDE / 2 + 5, class: "arrow" }, "→");

/** The box of a picture, which begins at the left of its card. @param {number} width @param {number} height */
const box = (width, height) => {
  const at = { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMinYMid", width, height };
  return { ...at, "aria-hidden": true };
};

/** A line between two words is drawn from this weight on. Percent. */
const LEAST = 5;

/** About as wide as a word is drawn: Japanese letters are twice as wide as others. Pixels. @param {string} word */
const widthOf = (word) => [...word].reduce((sum, letter) => sum + (letter > "\u3000" ? 13 : 7.5), 7);

/** @param {string[]} words */
const wide = (words) => words.reduce((sum, word) => sum + widthOf(word), 0);

/** Where the middle of each word is, in a line of this width. @param {string[]} words @param {number} width */
function middles(words, width) {
  let x = (width - wide(words)) / 2;
  return words.map((word) => {
    x += widthOf(word);
    return x - widthOf(word) / 2;
  });
}

/** Source words over target words, and a line for each weight. @param {Translation} of */
function translationPicture({ from, to, weights }) {
  const width = Math.max(wide(from), wide(to));
  const [above, below] = [middles(from, width), middles(to, width)];
  const lines = weights.flatMap((row, t) =>
    row.map((weight, s) => {
      if (weight < LEAST) return null;
      const [x0, x1] = [above[s], below[t]];
      const d = `M${x0.toFixed(1)} 20C${x0.toFixed(1)} 45 ${x1.toFixed(1)} 45 ${x1.toFixed(1)} 70`;
      return svg("path", {
        d,
        class: "line",
        "stroke-width": Math.max(0.6, (5 * weight) / 100),
        opacity: 0.25 + (0.75 * weight) / 100,
      });
    }),
  );
  /** @param {string[]} words @param {number[]} xs @param {string} role @param {number} y */
  const texts = (words, xs, role, y) =>
    words.map((word, i) => svg("text", { x: xs[i].toFixed(1), y, class: role }, word));
  return svg("svg", box(width, 92), lines, texts(from, above, "k", 13), texts(to, below, "q", 86));
}

/** The weights with the mask, an arrow, and without it. @param {Masked} of */
function masksPicture({ causal, without }) {
  /** @param {number[][]} weights @param {number} left @param {boolean} masked */
  const matrix = (weights, left, masked) => {
    const cell = SIDE / weights.length;
    return weights.flatMap((row, q) =>
      row.map((weight, k) => {
        const place = {
          x: (left + k * cell).toFixed(2),
          y: (q * cell).toFixed(2),
          width: (cell - 0.6).toFixed(2),
          height: (cell - 0.6).toFixed(2),
        };
        if (masked && k > q) return svg("rect", { ...place, class: "forbidden" });
        return svg("rect", { ...place, class: "weight", "fill-opacity": Math.min(1, 0.04 + weight / 60) });
      }),
    );
  };
  return svg(
    "svg",
    box(2 * SIDE + ARROW, SIDE),
    matrix(causal, 0, true),
    arrow(),
    matrix(without, SIDE + ARROW, false),
  );
}

/** The digit, with [CLS]'s weight on each patch, and the answer. @param {number[][]} pixels @param {number} levels @param {Digit} digit */
function digitPicture(pixels, levels, { weights, answer }) {
  const n = Math.sqrt(weights.length);
  const most = Math.max(...weights);
  const patches = weights.map((weight, i) => {
    const cell = SIDE / n;
    const place = { x: (i % n) * cell + 1, y: Math.floor(i / n) * cell + 1, width: cell - 2, height: cell - 2, rx: 3 };
    return svg("rect", {
      ...place,
      class: "patch-weight",
      "stroke-opacity": weight / most,
      "fill-opacity": (0.35 * weight) / most,
    });
  });
  const picture = pixelPicture(pixels, levels);
  for (const [name, value] of Object.entries({ x: 0, y: 0, width: SIDE, height: SIDE }))
    picture.setAttribute(name, String(value));
  const said = svg("text", { x: SIDE + ARROW + 10, y: SIDE / 2 + 9, class: "answer" }, answer);
  return svg("svg", box(SIDE + ARROW + 10 + DIGIT, SIDE), picture, patches, arrow(), said);
}
