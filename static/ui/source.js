/** The lines of the model's own code for a formula: fetched from the server that runs them, when they are opened. */

import * as api from "../data/api.js";
import { retrying } from "../data/ask.js";
import { once } from "../data/lazily.js";
import { h, replace } from "./dom.js";
import { errorText } from "./format.js";
import { t } from "./i18n.js";

/**
 * Draws them anew only if they are others; what is open stays open.
 * @param {HTMLElement} root @param {string[]} names  functions of `/api/source`
 */
export function drawSources(root, names) {
  if (root.dataset.names === names.join(" ")) return;
  const open = root.querySelector("details")?.open ?? false;
  root.dataset.names = names.join(" ");
  const body = h("div", { class: "source-body" });
  const filled = once(() => fill(body, names));
  const fillOpen = () => details.open && filled().catch((error) => replace(body, errorText(error)));
  const details = h(
    "details",
    { class: "source", open, dataset: { testid: "source" }, on: { toggle: fillOpen } },
    h("summary", null, t("source.title")),
    h("p", { class: "source-shapes mono", dataset: { testid: "source-shapes" } }),
    body,
  );
  replace(root, names.length ? details : null);
}

/**
 * What the lines work on in this run: "Q [12 tokens × 32]".
 * @param {HTMLElement} root  of `drawSources` @param {{name: () => Node, matrix: {shape: number[]}, rows?: string[]|null}[]} mats
 */
export function drawShapes(root, mats) {
  const line = /** @type {HTMLElement|null} */ (root.querySelector(".source-shapes"));
  if (!line) return;
  line.hidden = mats.length === 0;
  /** @param {typeof mats[number]} mat */
  const shapeOf = ({ matrix: { shape }, rows }) =>
    ` [${[rows ? t("sentence.tokens", { n: shape[0] }) : shape[0], ...shape.slice(1)].join(" × ")}]`;
  replace(
    line,
    h("span", { class: "dim" }, t("source.shapes")),
    mats.map((mat) => h("span", { class: "source-shape" }, mat.name(), shapeOf(mat))),
  );
}

/** @param {HTMLElement} body @param {string[]} names */
async function fill(body, names) {
  replace(
    body,
    await Promise.all(names.map(async (name) => figureOf(await retrying(() => api.source(name), { tries: 3 })))),
  );
}

/** @param {Awaited<ReturnType<typeof api.source>>} source */
const figureOf = ({ object, file, line, code }) =>
  h(
    "figure",
    null,
    h("figcaption", { class: "mono dim" }, `${file}:${line} · ${object}`),
    h("pre", { tabindex: 0, lang: "en" }, h("code", null, code.trimEnd())),
  );
