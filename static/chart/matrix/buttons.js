/** The buttons over a matrix: save and zoom. */

import { h, svg } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { saveBlob, saveText } from "../../ui/save.js";
import { ICONS } from "../icons.js";
import { pngOf } from "../raster.js";
import { drawingOf } from "./nodes.js";
import { zoomed } from "./view.js";

/** @import { Parts } from "./matrix.js" */

/** @param {Parts} parts */
export function buttonsOf(parts) {
  const button = (name, act) =>
    h(
      "button",
      {
        type: "button",
        title: t(`matrix.button.${name}`),
        "aria-label": t(`matrix.button.${name}`),
        on: { click: act },
      },
      icon(name),
    );
  const closer = (factor) => () => zoom(parts, factor);
  return h(
    "div",
    { class: "matrix-buttons", role: "group" },
    [button("png", () => savePng(parts)), button("svg", () => saveSvg(parts))],
    [button("closer", closer(0.5)), button("back", closer(2)), button("all", () => parts.lookAt(null))],
  );
}

const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": true }, svg("path", { d: ICONS[name] }));

/** Zooms towards the chosen cell, or out. @param {Parts} parts @param {number} factor */
export function zoom({ matrix, size, lookAt }, factor) {
  if (matrix && size) lookAt(zoomed(size.view, factor, matrix.chosen, matrix.shape, true));
}

async function savePng({ drawn, size }) {
  if (drawn && size) saveBlob(await pngOf(drawingOf(drawn, size)), `${drawn.filename}.png`);
}

function saveSvg({ drawn, size }) {
  if (drawn && size) saveText(drawingOf(drawn, size).svg, "image/svg+xml", `${drawn.filename}.svg`);
}
