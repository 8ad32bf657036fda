/** How the river calls tokens, layers and answers. @typedef {import("../../model/numbered_names.js").Name} Name */

import { namesOf, nameText } from "../../model/numbered_names.js";
import { className } from "../../ui/class_name.js";
import { t } from "../../ui/i18n.js";

export { isPart, namesOf, nameText } from "../../model/numbered_names.js";

/** @param {import("../facts/chosen_token.js").Answer} answer */
export const answerName = ({ token, name }) => (token ? nameText(namesOf([token])[0]) : className(String(name)));

/** @param {{stack: string}} band @param {number} layer @param {boolean} narrow */
export function layerTitle({ stack }, layer, narrow) {
  return narrow ? String(layer) : t(`river.layer_${stack}`, { layer });
}

/** What the line of the answers so far is called. @param {import("../../data/model_trace.js").ModelTrace} trace */
export const lensTitleOf = ({ classes }) => t(classes ? "river.so_far" : "river.next");

/** The tokens at both ends of a line. @param {import("../facts/facts.js").Facts} facts @param {import("../layout/lines.js").Line} line */
export function endsOf({ names }, { query, key, from, to }) {
  return { query: nameText(names[to][query]), key: nameText(names[from][key]) };
}
