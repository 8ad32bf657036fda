/** What a reader can do with the picture, as changes of the page's state. */

import { toggled } from "../../model/cuts.js";
import { position } from "../../model/selection.js";
import { replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { choosing } from "../facts/chosen_token.js";
import { looksAt } from "../facts/deciding_look.js";
import { isCut } from "../facts/facts.js";
import { previewOf } from "../layout/head_preview.js";
import { isDeep, opening, openingHead, openLayer, outward } from "../own.js";
import { headWords } from "../words/sentence.js";
import { beadWords, inviteWords, lineWords, placeWords } from "./tip_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Edge } from "../../model/cuts.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../board.js"
 * @import { Facts } from "../facts/facts.js"
 * @import { Head } from "../layout/head_squares.js"
 * @import { Now } from "../river.js"
 */

/** @param {() => Now} newest  what the page shows when something is done @param {Facts} facts @param {{previewed: HTMLElement, measuring: ReturnType<typeof import("../facts/measuring.js").createMeasuring>}} page @returns {Actions} */
export function actionsOf(newest, facts, { previewed, measuring }) {
  const { trace, actions } = newest();
  const { cuttable } = facts;
  /** @param {Edge[]} edges */
  const toggle = (edges) =>
    edges.length && actions.set({ interventions: toggled(actions.get().interventions, edges, trace.attentions) });
  return {
    choose({ side }, token) {
      const patch = choosing(newest().trace, side, token);
      if (patch) actions.set(patch);
    },
    chooses: ({ side }) => choosing(trace, side, 0) !== null,
    invite: (band, token) => inviteWords(facts, band, token, trace.model.predicts),
    cut: cuttable ? (line) => toggle([line]) : null,
    cutAll: ({ side }, token) =>
      cuttable && toggle(looksAt(facts.before?.[0] ?? facts.rolled[0], facts.row, side, token)),
    preview(scene, head) {
      const { trace, state } = newest();
      const query = head && isOpen(state, trace, head) ? position(state, trace).query : undefined;
      const shown = head && previewOf(trace, facts, scene, head, query);
      const pooled = head && !shown && trace.pool > 1;
      previewed.hidden = !shown && !pooled;
      if (shown) replace(previewed, headWords(shown));
      else if (pooled) replace(previewed, t("river.head_pooled", { ...head, n: trace.pool }));
      return shown;
    },
    zoom: (layer) => actions.set(opening(layer, openLayer(actions.get(), facts.rolled))),
    openHead: (head) => actions.set(openingHead(head)),
    back() {
      const patch = outward(actions.get(), openLayer(actions.get(), facts.rolled));
      if (patch) actions.set(patch);
      return patch !== null;
    },
    tell: (what) => ("ratio" in what ? [beadWords(facts, what)] : lineWords(facts, what)),
    measure: (line) => cuttable && measuring.also(line && !line.many && !line.own && !isCut(facts, line) ? line : null),
    read: (scene, place) => placeWords(facts, scene, place),
  };
}

/** Whether this head is open in the picture. @param {State} state @param {ModelTrace} trace @param {Head} head */
const isOpen = (state, trace, { attention, layer, head }) =>
  isDeep(state) && trace.attention.id === attention && state.layer === layer && state.head === head;
