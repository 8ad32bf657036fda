/** The trainings that the weights went through, one after another, and those that are not in them. */

import { replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { nameOfPart } from "../activation_parts.js";
import { trainingsTable, whatOf } from "./trainings_table.js";

/** @import { Training } from "./trainings_table.js" */

/** @typedef {ReturnType<typeof import("../activation_parts.js").part>} Part */

/** @param {Part} place @param {{stages?: (Training & {model: string})[]}} card */
export function drawStages(place, { stages = [] }) {
  place.element.hidden = stages.length < 2;
  if (place.element.hidden) return;
  nameOfPart(place, t("training.stages"), t("training.stages_about"));
  const rows = stages.map((stage, i) => {
    const from = i ? t("training.stages_from", { model: stages[i - 1].model }) : t("training.stages_random");
    return { ...stage, name: `${stage.model}: ${whatOf(stage) ?? from}` };
  });
  replace(place.place, trainingsTable(t("training.stages"), rows));
}

/** Trainings that are not in these weights. @param {Part} place @param {{tried?: Training[]}} card */
export function drawTried(place, { tried = [] }) {
  place.element.hidden = tried.length === 0;
  if (place.element.hidden) return;
  nameOfPart(place, t("training.tried"), t("training.tried_about"));
  const rows = tried.map((one) => ({ ...one, name: whatOf(one) }));
  replace(place.place, trainingsTable(t("training.tried"), rows));
}
