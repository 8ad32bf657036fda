/** How far Play goes and how fast. */

import { h } from "../../ui/dom.js";
import { phrase, t } from "../../ui/i18n.js";
import { LONGEST, own } from "./own.js";
import { PACES } from "./pace.js";
import { numberField } from "./sampling.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../stations/index.js"
 */

/** @param {Actions} actions */
export function createReach(actions) {
  const set = (length) => actions.set(own.patch({ length }));
  const length = numberField({ low: 1, high: LONGEST, testid: "gen-length", set });
  const options = Object.keys(PACES).map((name) => h("option", { value: name }, t(`generation.${name}`)));
  const change = () => actions.set(own.patch({ pace: /** @type {keyof typeof PACES} */ (pace.value) }));
  const pace = h("select", { on: { change }, dataset: { testid: "gen-pace" } }, options);
  const nodes = [
    h("label", { title: t("generation.length_about") }, phrase("generation.length", { n: length.input })),
    h("label", null, t("generation.pace"), pace),
  ];
  /** @param {State} state */
  const draw = (state) => {
    const now = own.of(state);
    length.show(now.length);
    if (pace.value !== now.pace) pace.value = now.pace;
  };
  return { nodes, draw };
}
