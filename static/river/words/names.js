/** How the river calls tokens, layers and answers. */

import { namesOf, nameText } from "../../model/numbered_names.js";
import { className } from "../../ui/class_name.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Name } from "../../model/numbered_names.js"
 * @import { Answer } from "../facts/chosen_token.js"
 * @import { Facts } from "../facts/facts.js"
 * @import { Line } from "../layout/lines.js"
 */

export { isPart, namesOf, nameText } from "../../model/numbered_names.js";

/** @param {Answer} answer */
export const answerName = ({ token, name }) => (token ? nameText(namesOf([token])[0]) : className(String(name)));

/** @param {{stack: string}} band @param {number} layer @param {boolean} narrow */
export function layerTitle({ stack }, layer, narrow) {
  return narrow ? String(layer) : t(`river.layer_${stack}`, { layer });
}

/** What the line of the answers so far is called. @param {ModelTrace} trace */
export const lensTitleOf = ({ classes }) => t(classes ? "river.so_far" : "river.next");

/** The tokens at both ends of a line. @param {Facts} facts @param {Line} line */
export function endsOf({ names }, { query, key, from, to }) {
  return { query: nameText(names[to][query]), key: nameText(names[from][key]) };
}
