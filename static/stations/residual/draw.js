/** The residual stream: its length, what each sublayer writes to it, what LayerNorm does to it, and what it is for. */

import { attentionOf, placeOf, stackOf, stacksOf } from "../../model/description.js";
import { position } from "../../model/selection.js";
import { perRoot } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, row } from "../../ui/mathml.js";
import { buildLayerStation, drawStrip, part } from "../activation_parts.js";
import { drawGradients } from "./gradients.js";
import { drawNorms } from "./norms.js";
import { drawParameters } from "./parameters.js";
import { drawStream } from "./stream.js";

const PARTS = ["stream", "norms", "gradients", "parameters"];

const partsOf = perRoot((root) => {
  const station = buildLayerStation(root);
  const parts = Object.fromEntries(PARTS.map((name) => [name, part(name)]));
  station.body.append(...PARTS.map((name) => parts[name].element));
  return { ...station, parts };
});

export function draw(root, trace, state, actions) {
  const { parts, ...station } = partsOf(root);
  const stack = stackOf(trace.model, attentionOf(trace.model, state.attention));
  const isOpen = (one) => one.stack === stack.id;
  const stream = trace.explained.residual.streams.find(isOpen);
  const { query } = position(state, trace);
  const name = stacksOf(trace.model).length > 1 ? stack.id : null;
  const at = { stack, name, isOpen, stream, query, layer: state.layer };
  const [depths, tokens] = [stream.norm.length - 1, stream.norm[0].length];
  const note = t("residual.note", {
    layers: t("shape.layers", { n: depths }),
    n: tokens,
    d_model: trace.model.d_model,
  });
  drawStrip(station, t(name ? `residual.title.${name}` : "residual.title"), {
    formula: [formulaOf(placeOf(stack))],
    note,
  });
  drawStream(parts.stream, trace, state, at, actions);
  drawNorms(parts.norms, trace, at, actions);
  drawGradients(parts.gradients, trace, state, at, actions);
  drawParameters(parts.parameters, trace);
}

/** x ← x + f(LN(x)), or with the norm in another place. */
function formulaOf(place) {
  const of = (name, ...inside) => row(mi(name), mtext("("), ...inside, mtext(")"));
  const x = () => mi("x"); // a node can only be in one place
  const right = {
    pre: () => [x(), mo("+"), of("f", of("LN", x()))],
    post: () => [of("LN", x(), mo("+"), of("f", x()))],
    "res-post": () => [x(), mo("+"), of("LN", of("f", x()))],
    none: () => [x(), mo("+"), of("f", x())],
  }[place ?? "none"];
  return math(x(), mo("←"), ...right());
}
