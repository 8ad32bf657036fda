/** The trainings that the weights went through, one after another, and what each brought on held-out text. */

import { h, replace } from "../../ui/dom.js";
import { integer, number } from "../../ui/format.js";
import { hasString, t } from "../../ui/i18n.js";
import { measureName } from "../../ui/measure.js";
import { scrolling, tableHead } from "../../ui/table.js";
import { nameOfPart } from "../activation_parts.js";

/** @typedef {{model: string, minutes?: number, tokens: number, held_out: Record<string, number>}} Stage */

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place @param {{stages?: Stage[]}} card */
export function drawStages(place, { stages = [] }) {
  place.element.hidden = stages.length < 2;
  if (place.element.hidden) return;
  nameOfPart(place, t("training.stages"), t("training.stages_about"));
  const names = stages.flatMap((stage) => Object.keys(stage.held_out));
  const measured = [...new Set(names)].filter((name) => hasString(`watched.measure.${name}`));
  const columns = ["stage", "tokens", "minutes"].map((name) => t(`training.stages_${name}`));
  const rows = stages.map((stage, i) => {
    const from = i ? t("training.stages_from", { model: stages[i - 1].model }) : t("training.stages_random");
    const minutes = stage.minutes === undefined ? "–" : number(stage.minutes, 1);
    const figures = measured.map((name) => (name in stage.held_out ? figure(name, stage.held_out[name]) : "–"));
    return h(
      "tr",
      null,
      h("th", { scope: "row" }, `${stage.model}: ${from}`),
      [integer(stage.tokens), minutes, ...figures].map((cell) => h("td", { class: "mono" }, cell)),
    );
  });
  const table = h(
    "table",
    { class: "token-table costs" },
    tableHead([...columns, ...measured.map(measureName)]),
    h("tbody", null, rows),
  );
  replace(place.place, scrolling(t("training.stages"), table));
}

/** chrF is out of 100. @param {string} name @param {number} value */
const figure = (name, value) => number(value, name === "chrf" ? 1 : 4);
