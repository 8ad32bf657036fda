/** How the river calls its tokens. @typedef {import("../model/numbered_names.js").Name} Name */

export { namesOf, nameText } from "../model/numbered_names.js";
