/** The attentions of a model: who asks whom, and what their tensors are called. No DOM. */

/**
 * @typedef {"source"|"target"} SideName  the sentence that is typed, and what an encoder-decoder writes
 * @typedef {{id: string, path: string, queries: SideName, keys: SideName, causal: boolean}} Attention  as /api/models lists
 *   them: `path` holds `{layer}`, `causal` is as trained
 */

/** @type {Attention[]} what a server or a file that does not say has */
const DECODER = [{ id: "self", path: "layers.{layer}.attn", queries: "source", keys: "source", causal: true }];

/** In the order of the forward pass. @param {any} model  a line of /api/models, or a trace's metadata @returns {Attention[]} */
export const attentionsOf = (model) => (model?.attentions?.length ? model.attentions : DECODER);

/** The one called `id`; the model's last without it. @param {any} model @param {string|null} [id] @returns {Attention} */
export function attentionOf(model, id = null) {
  const all = attentionsOf(model);
  return all.find((one) => one.id === id) ?? all[all.length - 1];
}

/** A tensor's name: `tapOf(cross, 2, "pattern")` is "decoder.layers.2.cross_attn.pattern". @param {Attention} attention @param {number|string} layer @param {string} part */
export const tapOf = ({ path }, layer, part) => `${path.replace("{layer}", String(layer))}.${part}`;

/** The attention, layer and part that a tensor belongs to; null for any other. @param {any} model @param {string} name */
export function partOf(model, name) {
  for (const attention of attentionsOf(model)) {
    const [before, after] = attention.path.split("{layer}");
    if (!name.startsWith(before)) continue;
    const [, layer, part] = name.slice(before.length).match(/^(\d+)(.*)$/) ?? [];
    if (layer !== undefined && part.startsWith(`${after}.`) && !part.includes(".", after.length + 1)) {
      return { attention, layer: Number(layer), part: part.slice(after.length + 1) };
    }
  }
  return null;
}

/** Whether the model was trained under a causal mask. @param {any} model */
export const trainedCausal = (model) => attentionsOf(model).some(({ causal }) => causal);

/** Whether it writes a target beside the sentence. @param {any} model */
export const writesTarget = (model) => model?.family === "encoder-decoder";

/** Whether row t predicts token t+1: an encoder alone has classes instead. @param {any} model */
export const predictsTokens = (model) => model?.family !== "encoder-only";
