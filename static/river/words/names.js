/** How the river calls its tokens. @typedef {import("../../model/numbered_names.js").Name} Name */

import { t } from "../../ui/i18n.js";

export { isPart, namesOf, nameText } from "../../model/numbered_names.js";

/** What the line of the answers so far is called. @param {import("../../data/model_trace.js").ModelTrace} trace */
export const lensTitleOf = ({ classes }) => t(classes ? "river.so_far" : "river.next");
