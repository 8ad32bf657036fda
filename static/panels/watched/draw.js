/** The slider, and what there is to see at its place beside the page's own pictures. */

import { inOtherOrder } from "../../model/alike.js";
import { nameAt, placeOf, snapshotsOf } from "../../model/snapshots.js";
import { h, newId, perRoot, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { drawCurves } from "./curves.js";
import { drawFigures } from "./figures.js";
import { createPlay } from "./play.js";
import { whereOf } from "./words.js";

/** @import { View } from "../../stations/index.js" */

const partsOf = perRoot((root) => {
  const ticks = h("datalist", { id: newId("watched-steps") });
  const attrs = { type: "range", min: 0, step: 1, list: ticks.id, "aria-label": t("watched.slider") };
  const slider = h("input", { ...attrs, dataset: { testid: "watched-slider" } });
  const button = h("button", { class: "btn", type: "button", dataset: { testid: "watched-play" } });
  const where = h("p", { class: "where", role: "status", dataset: { testid: "watched-where" } });
  const body = h("div", { class: "watched-parts" });
  const [untrained, ships] = [
    h("span", { class: "dim" }, t("watched.untrained")),
    h("span", { class: "dim" }, t("watched.ships")),
  ];
  replace(
    root,
    h("h2", null, t("watched.title")),
    h("div", { class: "watched-slider" }, button, untrained, slider, ships),
    ticks,
    where,
    body,
  );
  return { slider, ticks, where, body, play: createPlay(button) };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const { model } = trace;
  const snapshots = snapshotsOf(model);
  const open = (place) => actions.set({ model: nameAt(model, place) });
  if (parts.ticks.childElementCount !== snapshots.length + 1)
    replace(parts.ticks, [
      ...snapshots.map(({ step }, i) => h("option", { value: i, label: step })),
      h("option", { value: snapshots.length }),
    ]);
  const place = placeOf(model);
  const words = whereOf(model);
  update(parts.slider, { max: snapshots.length, "aria-valuetext": words });
  parts.slider.value = String(place);
  parts.slider.oninput = () => {
    parts.play.stop();
    open(Number(parts.slider.value));
  };
  parts.play.drawn({ place, last: snapshots.length, open });
  setText(parts.where, words);
  const choose = (layer) => actions.set({ layer });
  const beside = snapshots[place]?.step === 0 ? inOtherOrder(actions.models, model) : null;
  drawCurves(parts.body, model, { place, open, layer: state.layer, choose, beside });
  drawFigures(parts.body, trace, state, choose);
}
