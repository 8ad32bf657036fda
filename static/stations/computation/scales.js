/** The colours of a step's matrices. */

import { signedScale, weightScale } from "../../chart/matrix/scale.js";
import { currentTheme } from "../../chart/theme.js";
import { once } from "./matrices.js";

/** @import { Mat } from "./product.js" */

/**
 * The colours of a matrix: the same for each of its parts, from the extremes of its visible numbers.
 * @param {Mat} mat
 */
export function scaleOf({ matrix, ramp = "signed", forbidden }) {
  return once(matrix, [ramp, currentTheme(), forbidden ? "allowed" : "all"].join(" "), () => {
    const data = /** @type {Float32Array} */ (forbidden ? matrix.data.filter((_, i) => !forbidden[i]) : matrix.data);
    const signed = signedScale(data.length ? data : new Float32Array(1));
    return ramp === "weights" ? { ...weightScale(), seen: signed.seen } : signed;
  });
}
