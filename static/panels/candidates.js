/** The most likely tokens after the chosen one, with the model's probabilities. */

import { tokenName } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { taken } from "../model/written.js";
import { h, perRoot, replace, update } from "../ui/dom.js";
import { percent } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { namedToken, tokenText } from "../ui/token_text.js";

/**
 * @import { Side } from "../model/sides.js"
 * @import { View } from "../stations/view.js"
 */

/** On a narrow page css/sentence.css shows two or three of them. */
const SHOWN = 5;

const elementsOf = perRoot((root) => {
  const after = h("span", { class: "after" });
  const chips = Array.from({ length: SHOWN }, makeChip);
  replace(
    root,
    after,
    chips.map(({ button }) => button),
  );
  return { after, chips };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const { after, chips } = elementsOf(root);
  const row = rowOf(state, trace);
  const { candidates } = trace.predictions[row];
  const full = row + 1 >= trace.model.max_seq_len;
  const { tokens } = /** @type {Side} */ (trace.written);
  after.hidden = row === tokens.length - 1; // then they stand after it
  replace(after, phrase("candidates.after", { token: namedToken(tokens[row], "q") }));
  chips.forEach((chip, i) => {
    const take = full ? null : (/** @type {number} */ id) => actions.set(taken(trace, state, row, id));
    show(chip, candidates[i], take);
  });
}

function makeChip() {
  const [name, share] = [h("span", { class: "text" }), h("i")];
  const chip = { name, share, take: /** @type {(() => void)|null} */ (null) };
  const attrs = {
    class: "tok ghost",
    type: "button",
    dataset: { testid: "likely" },
    on: { click: () => chip.take?.() },
  };
  return Object.assign(chip, { button: h("button", attrs, name, share) });
}

/** @param {ReturnType<typeof makeChip>} chip @param {any} candidate @param {((id: number) => void)|null} take */
function show(chip, candidate, take) {
  const { button, name, share } = chip;
  button.hidden = !candidate;
  if (!candidate) return;
  const { id, before } = candidate;
  const words = t("candidates.take", { token: tokenName(candidate), share: percent(before, 1) });
  chip.take = take && (() => take(id));
  replace(name, tokenText(candidate));
  replace(share, percent(before, 0));
  update(button, { title: words, "aria-label": words, "aria-disabled": take ? null : "true", dataset: { id } });
}
