/** What a reader can do with the picture, as changes of the page's state. */

import { editing } from "../../model/compare/runs.js";
import { showsMeans } from "../../model/description.js";
import { hasHeads, headKey, headsOff, headToggled } from "../../model/edits.js";
import { isPartOff, partToggled } from "../../model/formula_edits.js";
import { edgeKey, knockedOut, plainEdge, toggled } from "../../model/interventions.js";
import { nameText } from "../../model/labels.js";
import { sameValue } from "../../state/view_state.js";
import { plainText } from "../../ui/dom.js";
import { briefPercent } from "../../ui/format.js";
import { headShort, headWords, layerTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { nextOffered } from "../../views/dock.js";
import { isModel, outward, placeOf } from "../../views/places.js";
import { predictionState } from "../../views/view_states.js";
import { choosing, effectOf, isKnockedOut } from "../facts.js";
import { carriersIn, edgesTo } from "../knockout_effects.js";
import { previewOf } from "../layout/heads.js";
import { openingHead, openingLayer, openLayer } from "../view_state.js";
import { answerName, endsOf, ffnRatio, lossOf, rowName } from "../words/names.js";
import { previewWords } from "../words/sentence.js";
import { layerAt, widestAt } from "./places.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Part } from "../../model/formula_edits.js"
 * @import { Edge } from "../../model/interventions.js"
 * @import { Patch, State } from "../../state/store.js"
 * @import { Actions } from "../board.js"
 * @import { Facts } from "../facts.js"
 * @import { Head } from "../layout/heads.js"
 * @import { Bead, Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { Now } from "../river.js"
 * @import { PlaceName } from "../../views/places.js"
 * @import { Open } from "../view_state.js"
 * @import { Place } from "./places.js"
 */

// A line, an FFN, a token or a place of the keyboard in words: shown next to the pointer, and read aloud.

/** A line in words. @param {ModelTrace} trace @param {Facts} facts @param {Line} line @returns {string[]} */
function lineWords(trace, facts, line) {
  const { row, rolled } = facts;
  const writes = line.to === 0 && rolled[0].river.side === "target";
  const layer = layerTitle(rolled[line.to].river, line.layer);
  const attends = t(writes ? "river.looks_writes" : "river.looks", { layer, ...endsOf(facts, line) });
  if (isKnockedOut(facts, line)) return [attends, t("river.is_cut")];
  const part = t("river.share", { share: briefPercent(line.share), token: nameText(rowName(facts, row)) });
  return [attends, part, ...effectWords(facts, line, inHeads(trace, line).length > 1)];
}

/** The effect of knocking out a line, if it was measured. @param {Facts} facts @param {Line} line @param {boolean} several  heads have it @returns {string[]} */
function effectWords(facts, line, several) {
  const { measured, answers, fall } = facts;
  const effect = effectOf(facts, line);
  const answer = fall?.answer ?? answers[0];
  if (!measured || !answer) return [];
  if (!effect) return measured.done && !measured.error ? [t("river.measuring_line")] : [];
  const before = briefPercent(measured.start?.p ?? answer.p);
  return [
    t(several ? "river.effect_heads" : "river.effect", {
      answer: answerName(answer),
      before,
      after: briefPercent(effect.p),
    }),
  ];
}

/** What the answer loses without a head, if it was measured. @param {ModelTrace} trace @param {Facts} facts @param {Head} head @returns {string[]} */
function lossWords(trace, facts, head) {
  const loss = lossOf(trace, facts, head);
  return loss ? [t("river.head_off", loss)] : [];
}

/** An FFN in words. @param {Facts} facts @param {Bead} bead */
function beadWords(facts, bead) {
  const [{ river }] = facts.rolled;
  const layer = layerTitle(river, bead.layer);
  return t("river.ffn", { layer, token: nameText(rowName(facts, facts.row)), times: ffnRatio(bead) });
}

/** A place of the keyboard in words. @param {ModelTrace} trace @param {Facts} facts @param {Scene} scene @param {Place} place */
function wordsAtPlace(trace, facts, scene, place) {
  const { from, to } = scene.bands[place.band].rows[place.row];
  const line = widestAt(scene, place);
  const at = layerAt(scene, place);
  const token = to - from > 1 ? t("river.folded", { n: to - from }) : nameText(rowName(facts, from, place.band));
  const where = t("river.at", { token, layer: layerTitle(at, at.layer) });
  const own = scene.bands[place.band].chosen === from && to - from === 1;
  const bead = own ? scene.beads.find(({ layer }) => layer === place.layer) : undefined;
  const words = [where, ...(line ? lineWords(trace, facts, line) : [t("river.no_line")])];
  return [...words, ...(bead ? [beadWords(facts, bead)] : [])].join(". ");
}

/** What a click on a token shows; null for the chosen one. @param {Facts} facts @param {number} band @param {number} at @param {string} predicts */
function inviteWords(facts, band, at, predicts) {
  if (band === 0 && at === facts.row) return null;
  const key = facts.written ? "choose_written" : predicts === "same" ? "choose_same" : "choose";
  return t(`river.${key}`, { token: nameText(rowName(facts, at, band)) });
}

/**
 * The change that knocks these edges out, or restores them. In the run before, where the changes are set aside, it only knocks out.
 * @param {State} state @param {ModelTrace} trace @param {Edge[]} edges
 * @param {(interventions: State["interventions"]) => State["interventions"]} [others]  the interventions that stay @returns {Patch}
 */
export function hiding(state, { model, attentions }, edges, others = (all) => all) {
  return editing(state, model, (now) => {
    const kept = others(now.interventions);
    return { interventions: now === state ? toggled(kept, edges, attentions) : knockedOut(kept, edges, attentions) };
  });
}

/** The same edge in each head of its layer; []: there are none that can be hidden alone. @param {ModelTrace} trace @param {Edge} line @returns {Edge[]} */
function inHeads({ attentions }, { attention: id, layer, query, key }) {
  const attention = attentions.find((one) => one.id === id);
  const n = attention && hasHeads(attention) && !showsMeans(attention) ? attention.n_head : 0;
  return Array.from({ length: n }, (_, head) => ({ attention: id, layer, query, key, head }));
}

/** The heads that carry a line, most first; []: they are not measured. @param {ModelTrace} trace @param {Facts} facts @param {Edge} line */
function carriersOf(trace, facts, line) {
  const heads = inHeads(trace, line).map((edge) => ({
    ...edge,
    ...{ head: Number(edge.head), p: effectOf(facts, edge)?.p ?? Number.NaN },
  }));
  return carriersIn(heads, facts.measured?.start?.p ?? Number.NaN);
}

/** "Hide in all three". @param {number} n */
const manyWords = (n) => t(n <= 3 ? `river.hide_in_${n}` : "river.hide_in_many", { n });

/**
 * Which heads carry a line, if several do; and why less is lost without it in all heads than in one.
 * @param {ModelTrace} trace @param {Facts} facts @param {Line} line @param {(Edge & {head: number, p: number})[]} heads
 */
function carriedWords({ model }, facts, line, [head, ...others]) {
  const layer = effectOf(facts, line);
  const answer = facts.fall?.answer ?? facts.answers[0];
  const names = others.map((one) => headShort(model, one)).join(t("compare.comma"));
  return [
    ...(others.length ? [t("river.carried", { head: headShort(model, head), others: names })] : []),
    ...(layer && answer && briefPercent(head.p) !== briefPercent(layer.p) && head.p < layer.p
      ? [t("river.others_against", { answer: answerName(answer) })]
      : []),
  ];
}

/** @param {() => Now} newest  what the page shows when something is done @param {Facts} facts @param {{measuring: ReturnType<typeof import("../knockout_effects.js").createKnockoutMeasuring>}} page @returns {Actions} */
export function actionsOf(newest, facts, { measuring }) {
  const { trace, actions } = newest();
  const { canKnockOut } = facts;
  const { attentions } = trace;
  /** @param {State} state @param {Open} at @param {Part["part"]} part @returns {Part} */
  const partIn = (state, at, part) => ({
    attention: attentionOf(state, facts.rolled, at) ?? "",
    layer: at.layer,
    part,
  });
  let found = { of: "", heads: /** @type {ReturnType<typeof carriersOf>} */ ([]) };
  /** The heads that carry a line, looked for once for what is measured. @param {Line} line */
  const carriers = (line) => {
    const of = `${edgeKey(line)} ${facts.measured?.effects.size}`;
    if (of !== found.of) found = { of, heads: carriersOf(trace, facts, line) };
    return found.heads;
  };
  /** @param {Edge[]} edges */
  const toggle = (edges) => edges.length && actions.set(hiding(actions.get(), trace, edges));
  return {
    choose({ side }, token) {
      const patch = choosing(newest().trace, side, token);
      if (patch) actions.set(patch);
    },
    chooses: ({ side }) => choosing(trace, side, 0) !== null,
    invite: (band, token) => inviteWords(facts, band, token, trace.model.predicts),
    knockOut: canKnockOut ? (line) => toggle([line]) : null,
    offers(line) {
      const [{ river }, cut] = [facts.rolled[line.to], isKnockedOut(facts, line)];
      const heads = carriers(line);
      const [head, ...others] = heads;
      const all = canKnockOut && others.length ? measuring.together(heads.map(plainEdge)) : null;
      const p = effectOf(facts, line)?.p;
      const where = t("river.hide_in", { layer: layerTitle(river, line.layer) });
      const hide = p === undefined ? where : `${where} → ${briefPercent(p)}`;
      const name = head ? headWords(trace.model, head) : "";
      return {
        hide: canKnockOut ? (cut ? t("river.restore", { n: 1 }) : hide) : "",
        hideInHead:
          canKnockOut && head && inHeads(trace, line).length > 1 // else it is the same as in its layer
            ? `${t("river.hide_in", { layer: name })} → ${briefPercent(head.p)}`
            : "",
        hideInHeads: all === null ? "" : `${manyWords(heads.length)} → ${briefPercent(all)}`,
        carried: head ? carriedWords(trace, facts, line, heads) : [],
        open: name && t("river.open_head", { head: name }),
      };
    },
    hideInHeads: (line, n = Infinity) => toggle(carriers(line).slice(0, n).map(plainEdge)),
    openHeadOf(line) {
      const [head] = carriers(line);
      if (head) actions.set({ ...openingHead(head), query: head.query, key: head.key });
    },
    knockOutAll: ({ side }, token) =>
      canKnockOut && toggle(edgesTo(facts.before?.[0] ?? facts.rolled[0], facts.row, side, token)),
    preview(scene, head) {
      const { trace } = newest();
      const shown = head && previewOf(trace, facts, scene, head);
      if (shown)
        return { ...shown, words: [plainText(previewWords(shown)), ...lossWords(trace, facts, head)].join("\n") };
      const words = head && trace.pool > 1 && t("river.head_pooled", { ...head, n: trace.pool });
      return words ? { head, lines: null, words } : null;
    },
    switchPart:
      facts.isSaved || actions.get().lesson !== null
        ? null
        : (at, part) =>
            actions.set(
              editing(actions.get(), trace.model, (now) => partToggled(now, partIn(now, at, part), attentions)),
            ),
    tellOff: (head) => lossWords(trace, facts, head),
    switchesHead: ({ attention: id }) => {
      const attention = attentions.find((one) => one.id === id);
      const edits = !facts.isSaved && actions.get().lesson === null;
      return edits && attention !== undefined && hasHeads(attention) && !showsMeans(attention);
    },
    switchHead: (head) => actions.set(editing(actions.get(), trace.model, (now) => headToggled(now, head, attentions))),
    isHeadOff: (head) =>
      headsOff(actions.get().interventions, attentions).some((one) => headKey(one) === headKey(head)),
    isPartOff: (at, part) => isPartOff(actions.get(), partIn(actions.get(), at, part), attentions),
    zoom: (layer) => actions.set(zoomed(actions.get(), facts, layer)),
    openHead: (head) => actions.set(openingHead(head)),
    pressHead: (head) => void actions.soon([openingHead(head)]).catch(() => {}),
    go: ({ to, stack, layer }) => actions.set(going(actions.get(), facts, { to, stack, layer })),
    take(id) {
      const { trace, state, actions } = newest();
      const offer = nextOffered(trace, state, actions).find((one) => one.id === id);
      offer?.take?.();
    },
    back() {
      const state = actions.get();
      const patch = state.drawer === null ? outward(state, trace.model) : { drawer: null }; // what lies over the page goes first
      if (patch) actions.set(patch);
      return patch !== null;
    },
    tell: (what) => ("ratio" in what ? [beadWords(facts, what)] : lineWords(trace, facts, what)),
    measure(line, picked = false) {
      const asks = canKnockOut && line && !line.many && !line.own && !isKnockedOut(facts, line);
      if (canKnockOut) measuring.also(asks ? [line, ...(picked ? inHeads(trace, line) : [])] : []);
    },
    read: (scene, place) => wordsAtPlace(trace, facts, scene, place),
  };
}

/** The change that a click on a layer makes: the same place in that layer, or the layer itself; it closes again. @param {State} state @param {Facts} facts @param {Open|null} layer */
function zoomed(state, { rolled }, layer) {
  if (layer && placeOf(state).layer) return { layer: layer.layer, attention: attentionOf(state, rolled, layer) };
  const now = openLayer(state, rolled);
  return openingLayer(sameValue(now, layer) && isModel(state) ? null : layer);
}

/** The change that opens a place. @param {State} state @param {Facts} facts @param {{to: PlaceName|"lens", stack: string, layer: number}} place */
function going(state, { rolled }, { to, stack, layer }) {
  if (to === "lens") return { view: "prediction", ...predictionState.patch({ tab: "layers" }) };
  if (to !== "head" && to !== "ffn") return { view: to };
  return { view: to === "ffn" ? "ffn" : "attention", layer, attention: attentionOf(state, rolled, { stack, layer }) };
}

/** The open attention, or the last one of another stack. @param {State} state @param {Facts["rolled"]} rolled @param {Open} layer */
function attentionOf({ attention }, rolled, { stack }) {
  const ids = rolled.find(({ river }) => river.stack === stack)?.flows.map(({ flow }) => flow.attention) ?? [];
  return attention !== null && ids.includes(attention) ? attention : (ids.at(-1) ?? null);
}
