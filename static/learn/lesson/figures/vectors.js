/** One word in two places: the vector that is looked up, that of the position, and their sum, number by number. */

import { rampColour } from "../../../chart/colour.js";
import { stackOf } from "../../../model/description.js";
import { tokenLabel } from "../../../model/labels.js";
import { h, replace } from "../../../ui/dom.js";
import { number } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { cosine, rowOf } from "../live.js";
import { depthsOf } from "../measures/stream.js";

/** Values further from 0 than this have the last colour. */
const MOST = 0.2;

/** @type {import("./index.js").Figure} */
export async function draw(root, live, { a, b }) {
  const { embedding } = stackOf(live.model, live.model.description.stacks[0].id);
  const [looked, positional] = [embedding.roles.embedding, embedding.roles.positional].map((one) => one?.tap ?? "");
  const [sum] = depthsOf(live);
  const names = { looked, positional, sum };
  const { tensors, tokens } = await live.tensors(Object.values(names));
  const block = (/** @type {number} */ at) =>
    h(
      "div",
      { class: "vector-block" },
      h(
        "h3",
        null,
        h("b", { class: "mono" }, tokenLabel(tokens[at])),
        h("small", { class: "dim" }, t("lesson.vectors.at", { at })),
      ),
      Object.entries(names).map(([name, tap]) =>
        h(
          "div",
          { class: `vector ${name}` },
          h("span", null, t(`lesson.vectors.${name}`)),
          strip(rowOf(tensors[tap], at)),
        ),
      ),
    );
  const alike = (/** @type {string} */ tap) => number(cosine(rowOf(tensors[tap], a), rowOf(tensors[tap], b)), 2);
  replace(
    root,
    h("h2", { class: "lesson-caption" }, t("lesson.vectors.title", { n: live.model.d_model })),
    [a, b].map(block),
    h(
      "p",
      { class: "lesson-figure-text", dataset: { testid: "lesson-alike" } },
      t("lesson.vectors.alike", { looked: alike(looked), sum: alike(sum) }),
    ),
  );
}

/** A number is a pixel wide, and the canvas as wide as there is room. @param {Float32Array} values */
function strip(values) {
  const canvas = h("canvas", { width: values.length, height: 1, "aria-hidden": "true" });
  const pen = /** @type {HTMLCanvasElement} */ (canvas).getContext("2d");
  const pixels = /** @type {CanvasRenderingContext2D} */ (pen).createImageData(values.length, 1);
  values.forEach((value, i) => {
    const share = 0.5 + Math.max(-1, Math.min(1, value / MOST)) / 2;
    pixels.data.set([...rampColour("signed", share), 255], 4 * i);
  });
  pen?.putImageData(pixels, 0, 0);
  return canvas;
}
