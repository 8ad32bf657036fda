/** The names of saved files, and the text in them about where they come from. No DOM. */

import { trainedCausal } from "../model/description.js";
import { headTitle, sizeOf } from "../ui/head_names.js";
import { t } from "../ui/i18n.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 */

/** "chumoku-stories-gpt-layer2-head5-weights.csv": plain letters, so that it is the same on every disk. */
export function fileName(parts, ending) {
  const plain = parts.map((part) =>
    String(part)
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, ""),
  );
  return `${["chumoku", ...plain.filter(Boolean)].join("-")}.${ending}`;
}

/**
 * The caption of a picture.
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {string} title  what is shown
 * @returns {{title: string, sentence: string, source: string}}
 */
export function captionOf(trace, state, title) {
  const { name, d_model } = trace.model;
  const model = t("export.model", { name, d_model, ...sizeOf(trace.model) });
  const sentence = trace.targetText === null ? trace.text : `${trace.text} → ${trace.targetText}`;
  return { title, sentence, source: [model, ...unusual(trace, state), "chumoku"].join(" · ") };
}

/** The settings that differ from the model's training. */
function unusual(
  {
    causal,
    model,
    sides: {
      source: { real, tokens },
    },
  },
  { padMask },
) {
  const n = tokens.length - (real.end - real.start);
  const words = [
    causal !== trainedCausal(model) && t(causal ? "export.causal" : "export.not_causal"),
    n > 0 && t(real.start > 0 ? "export.padded_left" : "export.padded_right", { n }),
    n > 0 && !padMask && t("export.padding_off"),
  ];
  return words.filter(Boolean);
}

/** @param {any} model @param {State} state @param {string} what */
export function titleOf(model, state, what) {
  return `${headTitle(model, state)} · ${what}`;
}
