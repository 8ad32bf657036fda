/** A line, an FFN, a token or a place of the keyboard in words: beside the pointer, and read aloud. */

import { t } from "../../ui/i18n.js";
import { effectOf, isCut } from "../facts/facts.js";
import { answerName, endsOf, layerTitle, nameText } from "../words/names.js";
import { share, times } from "../words/numbers.js";
import { layerAt, widestAt } from "./places.js";

/**
 * @import { Facts } from "../facts/facts.js"
 * @import { Bead, Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { Place } from "./places.js"
 */

/** A line in words. @param {Facts} facts @param {Line} line @returns {string[]} */
export function lineWords(facts, line) {
  const { names, row, rolled } = facts;
  const writes = line.to === 0 && rolled[0].river.side === "target";
  const looks = t(writes ? "river.looks_writes" : "river.looks", { layer: line.layer, ...endsOf(facts, line) });
  if (isCut(facts, line)) return [looks, t("river.is_cut")];
  const part = t("river.share", { share: share(line.share), token: nameText(names[0][row]) });
  return [looks, part, ...effectWords(facts, line)];
}

/** What a cut does, if it was measured. @param {Facts} facts @param {Line} line @returns {string[]} */
function effectWords(facts, line) {
  const { measured, answers, fall } = facts;
  const effect = effectOf(facts, line);
  const answer = fall?.answer ?? answers[0];
  if (!measured || !answer) return [];
  if (!effect) return measured.done && !measured.error ? [t("river.measuring_line")] : [];
  const before = share(measured.start?.p ?? answer.p);
  return [t("river.effect", { answer: answerName(answer), before, after: share(effect.p) })];
}

/** An FFN in words. @param {Facts} facts @param {Bead} bead */
export function beadWords({ rolled: [{ river }], names, row }, bead) {
  const layer = layerTitle(river, bead.layer, false);
  return t("river.ffn", { layer, token: nameText(names[0][row]), times: times(bead) });
}

/** A place of the keyboard in words. @param {Facts} facts @param {Scene} scene @param {Place} place */
export function placeWords(facts, scene, place) {
  const { from, to } = scene.bands[place.band].rows[place.row];
  const line = widestAt(scene, place);
  const at = layerAt(scene, place);
  const token = to - from > 1 ? t("river.folded", { n: to - from }) : nameText(facts.names[place.band][from]);
  const where = t("river.at", { token, layer: layerTitle(at, at.layer, false) });
  const own = scene.bands[place.band].chosen === from && to - from === 1;
  const bead = own ? scene.beads.find(({ layer }) => layer === place.layer) : undefined;
  const words = [where, ...(line ? lineWords(facts, line) : [t("river.no_line")])];
  return [...words, ...(bead ? [beadWords(facts, bead)] : [])].join(". ");
}

/** What a click on a token shows; null for the chosen one. @param {Facts} facts @param {number} band @param {number} at @param {string} predicts */
export function inviteWords({ names, row }, band, at, predicts) {
  if (band === 0 && at === row) return null;
  return t(predicts === "same" ? "river.choose_same" : "river.choose", { token: nameText(names[band][at]) });
}
