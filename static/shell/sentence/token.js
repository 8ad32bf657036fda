/** One token of a strip, and the text below all of them. */

import { bytesLabel, tokenName } from "../../model/labels.js";
import { h } from "../../ui/dom.js";
import { integer } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { patchWords } from "../../ui/patch_picture.js";
import { tokenText } from "../../ui/token_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 */

/**
 * @param {"source"|"target"} side @param {Token} token @param {{generated: boolean, hidden: boolean, pad: boolean}} is @param {number|null} place
 * @param {(index: number, asKey: boolean) => void} choose
 */
export function tokenButton(side, token, { generated, hidden, pad }, place, choose) {
  const called = token.patch ? patchWords(token.patch) : tokenName(token);
  const name = t("sentence.token", { index: token.index, label: called, id: token.id });
  const label = place === null ? name : `${name}, ${t("sentence.position_id", { position: place })}`;
  return h(
    "button",
    {
      class: `tok${token.partial ? " partial" : ""}${generated ? " gen" : ""}${token.special ? " special" : ""}${pad ? " pad" : ""}${hidden ? " unseen" : ""}`,
      type: "button",
      "aria-label": [label, generated && t("sentence.generated"), hidden && t("picture.hidden")]
        .filter(Boolean)
        .join(", "),
      title: token.special || token.patch ? label : `${label}\n${bytesLabel(token.bytes)}`,
      dataset: {
        testid: side === "target" ? "target-token" : "token",
        index: token.index,
        id: token.id,
        ...(token.partial && { partial: token.bytes }),
      },
      on: { click: (event) => choose(token.index, event.shiftKey || event.altKey) },
    },
    h("span", { class: "text" }, tokenText(token)),
    h("i", null, token.id),
    place !== null && placeNote(place),
  );
}

function placeNote(position) {
  return h("i", { class: "place", dataset: { position } }, t("sentence.place", { position }));
}

/**
 * "7 tokens · 26 characters · the dot marks a space".
 * @param {ModelTrace} trace @param {Side} side
 */
export function counts(trace, { side, tokens, real }) {
  const nPads = tokens.length - real.end + real.start;
  const isText = side === "source" && !trace.model.picture;
  const mark = (text) => h("span", { class: "token-mark" }, text);
  const parts = [
    [t("sentence.tokens", { n: integer(tokens.length) })],
    nPads > 0 && [t("sentence.pads", { n: nPads })],
    isText && [t("sentence.characters", { n: integer(trace.nCharacters) })],
    isText && phrase("sentence.space", { mark: mark("·") }),
    isText && trace.readText !== trace.text && phrase("sentence.read_as", { text: mark(trace.readText) }),
    tokens.some((token) => token.partial) &&
      phrase("sentence.bytes", { mark: h("span", { class: "token-byte" }, "⟨e3⟩") }),
  ].filter(Boolean);
  const joined = parts.flatMap((part, i) =>
    i ? [h("span", { class: "sep", "aria-hidden": true }, "·"), part] : [part],
  );
  return h("p", { class: "count", dataset: { testid: "counts" } }, joined);
}
