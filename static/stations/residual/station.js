/** The residual stream: how long it is, what each sublayer writes into it, what LayerNorm makes of it, why it is there. */

import { prefixOf } from "../../model/anatomy.js";
import { attentionOf, predictsTokens } from "../../model/attentions.js";
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

export default {
  id: "residual",
  why: "norm",
  needs: (state, model) => [
    "explain:residual",
    "explain:gradients",
    "explain:parameters",
    ...(predictsTokens(model) ? ["prediction"] : []),
  ],
  draw(root, trace, state, actions) {
    const { parts, ...station } = partsOf(root);
    const prefix = prefixOf(attentionOf(trace.model, state.attention));
    const stream = trace.explained.residual.streams.find((one) => one.prefix === prefix);
    const { query } = position(state, trace);
    const at = { prefix, stream, query, layer: state.layer };
    const [depths, tokens] = [stream.norm.length - 1, stream.norm[0].length];
    const note = t("residual.note", { n_layer: depths, n: tokens, d_model: trace.model.d_model });
    drawStrip(station, t(prefix ? `residual.title.${prefix.replace(".", "")}` : "residual.title"), {
      formula: [formulaOf(trace.model)],
      note,
    });
    drawStream(parts.stream, trace, at, actions);
    drawNorms(parts.norms, trace, at, actions);
    drawGradients(parts.gradients, trace, state, at, actions);
    drawParameters(parts.parameters, trace);
  },
};

/** x ← x + f(LN(x)), or where the norm stands otherwise. */
function formulaOf({ norm_order: order }) {
  const of = (name, ...inside) => row(mi(name), mtext("("), ...inside, mtext(")"));
  const x = () => mi("x"); // an element has one place
  const right = {
    pre: () => [x(), mo("+"), of("f", of("LN", x()))],
    post: () => [of("LN", x(), mo("+"), of("f", x()))],
    "res-post": () => [x(), mo("+"), of("LN", of("f", x()))],
  }[order];
  return math(x(), mo("←"), ...right());
}
