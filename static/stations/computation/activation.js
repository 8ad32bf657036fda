/** post = activation(pre), and times the gate where the FFN has one: every unit separately. */

import { activationOf } from "../../model/activations.js";
import { ACTIVATION_STEPS } from "../../model/description.js";
import { cellIn } from "../../model/matrix.js";
import { mi } from "../../ui/mathml.js";
import { activationFormula } from "../activation_formula.js";
import { stacked } from "./product.js";

/**
 * @import { Kind } from "./kinds.js"
 * @import { Arithmetic } from "./product.js"
 */

/** @param {any} sublayer @returns {string|null} the tap that act(pre) is multiplied by */
const gateOf = ({ gate, roles }) => (gate === null ? null : roles[gate].tap);

/** @type {Kind} */
const activation = {
  formula: ({ sublayer }) => activationFormula(sublayer),
  picture({ trace, step: { sublayer }, queries }) {
    const one = (id, op, name, tap) => ({
      id,
      op,
      name: () => mi(name),
      matrix: trace.tensor(tap),
      whose: "query",
      rows: queries,
      lit: (row, col) => ({ row, col }),
    });
    const gate = gateOf(sublayer);
    const gates = gate === null ? [] : [one("gate", "⊙", sublayer.gate, gate)];
    return stacked([
      one("a", "", "pre", sublayer.roles.pre.tap),
      ...gates,
      one("c", "=", "post", sublayer.roles.post.tap),
    ]);
  },
  explain({ step: { sublayer } }, { mats }, at, col) {
    const [pre, own] = [cellIn(mats[0].matrix, at, col), cellIn(mats[mats.length - 1].matrix, at, col)];
    const { of, silences, squares } = activationOf(sublayer.activation);
    /** @type {Arithmetic["lines"]} */
    const lines = [["computation.line.pre", {}, pre]];
    if (of === null) return { terms: null, lines, total: own, own: null, tap: null, note: "computation.no_formula" };
    const fires = squares ? "computation.line.squared" : "computation.line.fires";
    if (silences) lines.push([pre > 0 ? fires : "computation.line.silent", {}, null]);
    else lines.push(["computation.line.activated", { activation: activationOf(sublayer.activation).name }, of(pre)]);
    const gate = mats.length === 3 ? cellIn(mats[1].matrix, at, col) : 1;
    if (mats.length === 3) lines.push(["computation.line.gate", {}, gate]);
    return { terms: null, lines, total: of(pre) * gate, own, tap: sublayer.roles.post.tap };
  },
};

/** One for each activation: the step is called by its name. @type {Object<string, Kind>} */
export const ACTIVATIONS = Object.fromEntries(ACTIVATION_STEPS.map((name) => [name, activation]));
