/** The buttons over a matrix: save it, look closer. Few, and in the page's language. */

import { t } from "../../ui/i18n.js";
import * as plotly from "../plotly.js";
import { zoomed } from "./view.js";

const LENS = "M10 3a7 7 0 1 0 4.2 12.6l5 5 1.4-1.4-5-5A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z";

/** Outlines on a 24 × 24 grid. */
export const ICONS = {
  png: "M12 3v10.2l3.6-3.6 1.4 1.4-6 6-6-6 1.4-1.4 3.6 3.6V3zM4 19h14v2H4z",
  svg: "M3 5h5v2H5v10h3v2H3zm10 0h5v14h-5v-2h3V7h-3zM8 11h5v2H8z",
  closer: `${LENS}M9 7h2v2h2v2h-2v2H9v-2H7V9h2z`,
  back: `${LENS}M7 9h6v2H7z`,
  all: "M4 4h6v2H6v4H4zm10 0h6v6h-2V6h-4zM4 14h2v4h4v2H4zm14 0h2v6h-6v-2h4z",
};

/** @param {any} parts  of the picture: see heatmap.js */
export function configOf(parts) {
  parts.config ??= {
    displaylogo: false,
    displayModeBar: matchMedia("(hover: none)").matches ? true : "hover",
    responsive: false, // heatmap.js watches the size itself
    doubleClick: false, // a double click shows the whole: heatmap_input.js
    modeBarButtons: [
      [button(parts, "png", save("png")), button(parts, "svg", save("svg"))],
      [button(parts, "closer", zoom(0.5)), button(parts, "back", zoom(2)), button(parts, "all", whole)],
    ],
  };
  return parts.config;
}

function button(parts, name, act) {
  const icon = { width: 24, height: 24, path: ICONS[name] };
  return { name, title: t(`matrix.button.${name}`), icon, click: () => act(parts) };
}

function save(format) {
  const scale = format === "png" ? 2 : 1; // as sharp as a good screen
  return ({ plot, matrix }) => plotly.download(plot, { format, filename: matrix.filename, scale });
}

function zoom(factor) {
  return ({ matrix, size, lookAt }) => lookAt(zoomed(size.view, factor, matrix.chosen, matrix.shape));
}

function whole({ lookAt }) {
  lookAt(null);
}
