/** Lines, places and models in words. */

import { currentTheme } from "../../chart/colour.js";
import { fillsGaps, predictsTokens, writesTarget } from "../../model/description.js";
import { number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { effectOf, isCut } from "../facts/facts.js";
import { layerTitle } from "../style.js";
import { answerName, share } from "../words/answers.js";
import { nameText } from "../words/names.js";
import { layerAt, widestAt } from "./hits.js";

/** @typedef {import("../facts/facts.js").Told} Told  @typedef {import("../layout/lines.js").Line} Line */

/** What this model does, in a sentence. @param {any} model */
export function aboutOf(model) {
  if (writesTarget(model)) return t("river.about_translates");
  if (predictsTokens(model)) return t("river.about");
  const first = model.special.first?.text; // a newcomer meets it as the token whose answer the picture shows
  if (!first || fillsGaps(model)) return t("river.about_reads");
  return t(model.picture ? "river.about_picture" : "river.about_gathers", { first });
}

/** What the picture means; of darkness, once it is measured. @param {Told} told */
export function legendOf({ names, row, measured, cuttable, isSaved }) {
  const token = nameText(names[0][row]);
  if (names[0].length === 1) return t("river.legend_alone");
  if (!measured) return `${t("river.legend_widths", { token })}${isSaved ? "" : t("river.legend_uncuttable")}`;
  if (measured?.error) return `${t("river.legend_widths", { token })}${t("river.legend_unmeasured")}`;
  if (!measured?.effects.size) return `${t("river.legend_widths", { token })}${t("river.legend_measuring")}`;
  const isLast = row === names[0].length - 1;
  const means = t(`river.legend${isLast ? "" : "_token"}${currentTheme() === "dark" ? "_dark" : ""}`, { token });
  return cuttable ? `${means}${t("river.legend_click")}` : means;
}

/** @param {Told} told @param {Line} line */
function endsOf({ names }, { query, key, from, to }) {
  return { query: nameText(names[to][query]), key: nameText(names[from][key]) };
}

/** A line in words. @param {Told} told @param {Line} line @returns {string[]} */
export function lineWords(told, line) {
  const { names, row, rolled } = told;
  const writes = line.to === 0 && rolled[0].river.side === "target";
  const looks = t(writes ? "river.looks_writes" : "river.looks", { layer: line.layer, ...endsOf(told, line) });
  if (isCut(told, line)) return [looks, t("river.is_cut")];
  const part = t("river.share", { share: share(line.share), token: nameText(names[0][row]) });
  return [looks, part, ...effectWords(told, line)];
}

/** What a cut does, if it was measured. @param {Told} told @param {Line} line @returns {string[]} */
function effectWords(told, line) {
  const { measured, answers, fall } = told;
  const effect = effectOf(told, line);
  const answer = fall?.answer ?? answers[0];
  if (!measured || !answer) return [];
  if (!effect) return measured.done && !measured.error ? [t("river.measuring_line")] : [];
  const before = share(measured.start?.p ?? answer.p);
  return [t("river.effect", { answer: answerName(answer), before, after: share(effect.p) })];
}

/** How long what an FFN adds is, as a multiple of what was there. @param {import("../layout/layout.js").Bead} bead */
const times = ({ ratio }) => number(ratio, 2);

/** An FFN in words. @param {Told} told @param {import("../layout/layout.js").Bead} bead */
export function beadWords({ rolled: [{ river }], names, row }, bead) {
  const layer = layerTitle(river, bead.layer, false);
  return t("river.ffn", { layer, token: nameText(names[0][row]), times: times(bead) });
}

/** As a row of the table. @param {Told} told @param {import("../layout/layout.js").Bead} bead @returns {[string, string]} */
export const beadEntry = ({ rolled: [{ river }] }, bead) => [layerTitle(river, bead.layer, false), times(bead)];

/** A place of the keyboard in words. @param {Told} told @param {import("../layout/layout.js").Scene} scene @param {import("./hits.js").Place} place */
export function placeWords(told, scene, place) {
  const { from, to } = scene.bands[place.band].rows[place.row];
  const line = widestAt(scene, place);
  const at = layerAt(scene, place);
  const token = to - from > 1 ? t("river.folded", { n: to - from }) : nameText(told.names[place.band][from]);
  const where = t("river.at", { token, layer: layerTitle(at, at.layer, false) });
  const own = scene.bands[place.band].chosen === from && to - from === 1;
  const bead = own ? scene.beads.find(({ layer }) => layer === place.layer) : undefined;
  const words = [where, ...(line ? lineWords(told, line) : [t("river.no_line")])];
  return [...words, ...(bead ? [beadWords(told, bead)] : [])].join(". ");
}

/** What a click on a token shows; null for the chosen one. @param {Told} told @param {number} band @param {number} at @param {string} predicts */
export function inviteWords({ names, row }, band, at, predicts) {
  if (band === 0 && at === row) return null;
  return t(predicts === "same" ? "river.choose_same" : "river.choose", { token: nameText(names[band][at]) });
}

/** A line as a row of the table. @param {Told} told @param {Line} line @returns {import("../words/table.js").Entry} */
export function entryOf(told, line) {
  const after = effectOf(told, line)?.p;
  return {
    ...endsOf(told, line),
    layer: layerTitle(told.rolled[line.to].river, line.layer, false),
    share: line.share,
    after: after === undefined ? t("river.table.unknown") : share(after),
  };
}
