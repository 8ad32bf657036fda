/** Each channel's half-life, and what the state of the chosen group holds before each token. */

import { partsOf as weightParts } from "../../model/feature_parts.js";
import { featureOf } from "../../model/selection.js";
import { h, perRoot } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { frac, math, mi, mn, mo, row, sub, sup } from "../../ui/mathml.js";
import { part } from "../activation_parts.js";
import { drawLengths } from "../lengths.js";
import { buildStation, drawHead } from "../opened_head.js";
import { drawHeld } from "./held.js";
import { drawLives } from "./lives.js";
import { channels, drawLine, drawStates } from "./states.js";

const partsOf = perRoot((root) => {
  const parts = buildStation(root);
  const [lives, states, held, lengths] = ["half_lives", "states", "held", "lengths"].map(part);
  const line = h("p", { class: "act-sum", dataset: { testid: "decay-sum" } });
  parts.body.append(lives.element, states.element, line, held.element, lengths.element);
  return { ...parts, lives, states, line, held, lengths };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const feature = featureOf(state, trace.attention);
  const made = /** @type {any} */ (weightParts(trace));
  drawHead(parts, trace.model, state, { formula: formulas(), note: t("decay.note") });
  drawLives(parts.lives, trace, state, actions, feature);
  const all = channels(trace, made);
  drawStates(parts.states, trace, state, actions, all, feature);
  drawLine(parts.line, trace, state, made, all[feature], feature);
  drawHeld(parts.held, trace, state, actions, made, feature);
  drawLengths(parts.lengths, trace, actions);
}

/** How the state grows, and what it gives (Peng et al. 2023, equations 16 and 17). */
function formulas() {
  const at = (name, ...index) => sub(mi(name), row(...index));
  const before = () => [mi("t"), mo("−"), mn(1)];
  const power = (...exponent) => sup(mi("e"), row(...exponent));
  const fallen = (name) => row(power(mo("−"), mi("w")), at(name, ...before()));
  const key = () => sub(mi("k", "k"), mi("t"));
  const own = () => power(mi("u"), mo("+"), key());
  return [
    math(at("a", mi("t")), mo("="), fallen("a"), mo("+"), power(key()), sub(mi("v", "v"), mi("t"))),
    math(at("b", mi("t")), mo("="), fallen("b"), mo("+"), power(key())),
    math(
      at("y", mi("t")),
      mo("="),
      frac(
        row(at("a", ...before()), mo("+"), own(), sub(mi("v", "v"), mi("t"))),
        row(at("b", ...before()), mo("+"), own()),
      ),
    ),
  ];
}
