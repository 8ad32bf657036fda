/**
 * The card of the tour: a non-modal dialog, so that the reader can try what it describes. Its keys are those of a
 * slide show; Escape works from anywhere on the page.
 */

import { h, newId, replace, setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { place, reveal } from "./place.js";

/** @param {HTMLElement} root  of the page @param {{go: (by: number) => void, close: () => void}} on */
export function createCard(root, on) {
  const button = (name, attrs, click) =>
    h("button", { class: "btn", type: "button", dataset: { testid: `tour-${name}` }, ...attrs, on: { click } });
  const title = h("h2", { id: newId("tour-title") });
  const text = h("p", { id: newId("tour-text") });
  const dots = h("span", { class: "dots", "aria-hidden": "true" });
  const count = h("span", { class: "sr-only" });
  const back = button("back", {}, () => on.go(-1));
  const next = button("next", { class: "btn primary" }, () => on.go(1));
  const close = button("close", { class: "tour-x", "aria-label": t("tour.close"), title: t("tour.close") }, on.close);
  const body = h(
    "div",
    { class: "tour-body" },
    h("div", { "aria-live": "polite" }, count, title, text),
    h("div", { class: "tour-foot" }, dots, h("span", { class: "grow" }), back, next),
    close,
  );
  const card = h(
    "dialog",
    { class: "tour", "aria-labelledby": title.id, "aria-describedby": text.id, dataset: { testid: "tour" } },
    body,
  );
  const ring = h("div", { class: "tour-ring", hidden: true, "aria-hidden": "true" });
  root.append(ring, card);
  setText(back, t("tour.back"));

  card.addEventListener("keydown", (event) => onKey(event, on));
  let target = /** @type {HTMLElement|null} */ (null);
  const follow = () => target?.isConnected && card.open && place(card, ring, target);
  addEventListener("scroll", follow, { passive: true, capture: true });
  addEventListener("resize", follow);
  const watch = new ResizeObserver(follow); // an arriving picture moves what is below it

  return {
    card,
    /** @param {{id: string}} step @param {HTMLElement} at @param {number} i @param {number} n @param {Object<string, any>} vars */
    show({ id }, at, i, n, vars) {
      target = at;
      setText(count, t("tour.count", { i: i + 1, n }));
      setText(title, t(`tour.${id}.title`, vars));
      setText(text, t(`tour.${id}.text`, vars));
      replace(
        dots,
        Array.from({ length: n }, (_, at) => h("i", { class: at === i ? "on" : null })),
      );
      back.disabled = i === 0;
      setText(next, t(i === n - 1 ? "tour.done" : i === 0 ? "tour.start" : "tour.next"));
      ring.hidden = false;
      card.dataset.step = id;
      if (!card.open) card.show();
      next.focus({ preventScroll: true });
      watch.disconnect();
      for (const one of [at, root]) watch.observe(one);
      reveal(at, card);
      follow();
    },
    hide() {
      target = null;
      watch.disconnect();
      ring.hidden = true;
      if (card.open) card.close();
    },
  };
}

/** @param {KeyboardEvent} event @param {{go: (by: number) => void}} on */
function onKey(event, { go }) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by === undefined) return; // Enter belongs to the focused button
  event.preventDefault();
  event.stopPropagation();
  go(by);
}
