/** The elements of the river's panel. */

import { h, keepWidth, newId, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/** @typedef {ReturnType<typeof buildBoard>} BoardParts */

/** @param {HTMLElement} root */
export function buildRiverParts(root) {
  const about = h("p", { class: "river-about dim" });
  const says = h("p", { class: "says", "aria-live": "polite", dataset: { testid: "river-says" } });
  const previewed = h("p", {
    class: "says previewed",
    hidden: true,
    "aria-hidden": "true",
    dataset: { testid: "river-head" },
  });
  const choice = h("div", { class: "seg", role: "group", "aria-label": t("river.heads_choice"), hidden: true });
  const board = buildBoard();
  const legend = h("span", { class: "dim means", dataset: { testid: "river-legend" } });
  const restore = h("button", {
    class: "btn restore",
    type: "button",
    hidden: true,
    dataset: { testid: "river-restore" },
  });
  const table = h("div");
  const button = (/** @type {string} */ name, /** @type {string} */ kind) =>
    h("button", { class: `btn ${kind}`, type: "button", dataset: { testid: `river-${name}` } });
  const next = button("next", "primary");
  next.append(t("river.next_word"));
  const write = button("write", "");
  write.append(t("river.write_on"));
  keepWidth(write, t("river.write_stop"));
  const writing = h("div", { class: "writing" }, next, write);
  const watch = button("watch", "");
  keepWidth(watch, t("river.pause"));
  const scrub = h("input", {
    type: "range",
    min: 0,
    max: 1,
    dataset: { testid: "river-scrub" },
  });
  const sentence = h("div", { class: "sentences" }, says, previewed);
  const zoom = h("div", { class: "river-zoom", hidden: true, dataset: { testid: "river-zoom" } });
  const steps = h("nav", { class: "river-steps", "aria-label": t("river.steps"), hidden: true });
  const top = h("div", { class: "river-top" }, sentence, writing);
  const bytes = h("p", { class: "dim", hidden: true, dataset: { testid: "river-bytes" } });
  const name = h("h1", { class: "sr-only river-name" }, t("river.title")); // at Look the page has no other
  replace(
    root,
    name,
    about,
    top,
    bytes,
    steps,
    board.box,
    zoom,
    h("div", { class: "foot" }, watch, scrub, restore, choice, legend),
    table,
  );
  return {
    about,
    says,
    bytes,
    steps,
    zoom,
    previewed,
    choice,
    table,
    legend,
    restore,
    board,
    next,
    write,
    writing,
    watch,
    scrub,
  };
}

function buildBoard() {
  const attrs = { class: "sr-only", id: newId("river-readout"), "aria-live": "polite" };
  const readout = h("p", { ...attrs, dataset: { testid: "river-readout" } });
  const canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": t("river.picture"),
    "aria-describedby": readout.id,
    dataset: { testid: "river" },
  });
  const tip = h("div", { class: "river-tip", hidden: true, "aria-hidden": "true" });
  // Keys do the same (Shift + Delete): this is for pointers.
  const scissors = h(
    "button",
    {
      class: "scissors",
      type: "button",
      tabindex: -1,
      hidden: true,
      "aria-hidden": "true",
      title: t("river.scissors"),
    },
    "✂",
  );
  return { box: h("div", { class: "board" }, canvas, tip, scissors, readout), canvas, tip, scissors, readout };
}
