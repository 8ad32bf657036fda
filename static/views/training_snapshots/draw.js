/** The slider, and what is shown for its place in addition to the page's pictures. */

import { heldOutOf, inOtherOrder, nameAt, snapshotPlace, snapshotsOf } from "../../model/trainings.js";
import { h, newId, perRoot, replace, setText, update } from "../../ui/dom.js";
import { integer, measureName, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { drawCurves, drawSnapshotFigures } from "./figures.js";

/**
 * @import { Snapshot } from "../../model/trainings.js"
 * @import { View } from "../view.js"
 */

// Where on the slider the page is, in words.

/** @param {any} model */
function snapshotWords(model) {
  const snapshot = snapshotsOf(model)[snapshotPlace(model)];
  if (!snapshot) return t("watched.at_end");
  const { step, tokens } = snapshot;
  const at =
    step === 0 ? t("watched.at_start") : t("watched.at_step", { step: integer(step), tokens: integer(tokens ?? 0) });
  return [at, heldOutText(snapshot)].filter(Boolean).join(" ");
}

/** @param {Snapshot} snapshot */
function heldOutText(snapshot) {
  const [name, value] = heldOutOf(snapshot) ?? [];
  if (!name || value === undefined) return "";
  return t("watched.held_out", { measure: measureName(name), value: number(value, 3) });
}

// Plays the snapshots from step 0 on, each for a moment after it is drawn.

/** How long each snapshot is shown. Milliseconds. */
const PAUSE_MS = 1200;

/** @param {HTMLButtonElement} button */
function createPlay(button) {
  let timer = 0;
  let playing = false;
  /** @type {{place: number, last: number, open: (place: number) => void}} */
  let now = { place: 0, last: 0, open() {} };

  /** @param {boolean} on */
  function show(on) {
    playing = on;
    clearTimeout(timer);
    setText(button, t(on ? "watched.pause" : "watched.play"));
    update(button, { "aria-pressed": on });
  }
  const onward = () => now.open(now.place === now.last ? 0 : now.place + 1);
  button.addEventListener("click", () => {
    show(!playing);
    if (playing) onward();
  });
  show(false);
  return {
    stop: () => show(false),
    /** The model at this place of the slider is drawn. @param {typeof now} at */
    drawn(at) {
      now = at;
      if (!playing) return;
      if (at.place === at.last) return show(false);
      clearTimeout(timer);
      timer = setTimeout(onward, PAUSE_MS);
    },
  };
}

const elementsOf = perRoot((root) => {
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
  const parts = elementsOf(root);
  const { model } = trace;
  const snapshots = snapshotsOf(model);
  const open = (/** @type {number} */ place) => actions.set({ model: nameAt(model, place) });
  if (parts.ticks.childElementCount !== snapshots.length + 1)
    replace(parts.ticks, [
      ...snapshots.map(({ step }, i) => h("option", { value: i, label: step })),
      h("option", { value: snapshots.length }),
    ]);
  const place = snapshotPlace(model);
  const words = snapshotWords(model);
  update(parts.slider, { max: snapshots.length, "aria-valuetext": words });
  parts.slider.value = String(place);
  parts.slider.oninput = () => {
    parts.play.stop();
    open(Number(parts.slider.value));
  };
  parts.play.drawn({ place, last: snapshots.length, open });
  setText(parts.where, words);
  const choose = (/** @type {number} */ layer) => actions.set({ layer });
  const beside = snapshots[place]?.step === 0 ? inOtherOrder(actions.models, model) : null;
  drawCurves(parts.body, model, { place, open, layer: state.layer, choose, beside });
  drawSnapshotFigures(parts.body, trace, state, choose);
}
