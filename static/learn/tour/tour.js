/**
 * The guided tour over the real page. It never starts by itself: on a first visit, the header and the empty page
 * offer it.
 */

import { lazy } from "../../data/lazily.js";
import { retrying } from "../../data/retry.js";
import { isEmpty } from "../../model/selection.js";
import { patchOf } from "../../shell/examples.js";
import { h, replace, setText, svg, update } from "../../ui/dom.js";
import { errorText } from "../../ui/error_text.js";
import { t } from "../../ui/i18n.js";
import { keepInMind, remembered } from "../../ui/remembered.js";

/** @param {import("../../page.js").Context} context @returns {import("../../page.js").Draw} */
export function createTour(context) {
  const { actions, examples, frame, status, tour, declared } = context;
  const module = lazy(() => import("./guide.js"));
  const offers = createOffers(frame.header.tour, frame.offer, start);
  /** @type {ReturnType<typeof import("./guide.js").createGuide>|undefined} */
  let guide;
  /** @type {Parameters<import("../../page.js").Draw>} */
  let shown;

  async function start() {
    offers.seen();
    const from = document.activeElement;
    const state = actions.get();
    if (isEmpty(state))
      actions.set(
        patchOf(examples.examples.find(({ model }) => model === state.model) ?? examples.examples[0], declared),
      );
    try {
      await retrying(module.load, { onWait: status.waiting });
    } catch (error) {
      return status.notice(errorText(error));
    }
    guide ??= module.code?.createGuide(context);
    guide?.draw(...shown);
    guide?.start(from);
  }

  tour.start = start;
  return (...now) => {
    shown = now;
    guide?.draw(...now);
  };
}

/** The header's button, which is highlighted until the tour is taken or declined; and the offer on the empty page. */
/** @param {HTMLButtonElement} button @param {HTMLElement} offer  on the page without a sentence @param {() => void} start */
function createOffers(button, offer, start) {
  const words = h("span", { class: "word" });
  replace(button, icon(), words);
  const not = (testid) =>
    h(
      "button",
      { class: "btn quiet", type: "button", dataset: { testid }, on: { click: () => seen() } },
      t("tour.not_now"),
    );
  const decline = not("tour-not-now");
  button.after(decline);
  const take = h(
    "button",
    { class: "btn primary", type: "button", dataset: { testid: "tour-take" }, on: { click: start } },
    t("tour.take"),
  );
  replace(offer, h("p", null, t("tour.offer")), take, not("tour-decline"));
  button.addEventListener("click", start);

  function show() {
    const fresh = remembered("tour") === null;
    setText(words, t(fresh ? "tour.take" : "tour.button"));
    update(button, { title: t("tour.about"), class: fresh ? "btn with-icon primary" : "btn with-icon" });
    decline.hidden = !fresh;
    offer.hidden = !fresh;
  }
  const seen = () => {
    keepInMind("tour", "seen");
    show();
  };
  show();
  return { seen };
}

/** A signpost. */
const icon = () =>
  svg(
    "svg",
    { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" },
    svg("path", { d: "M8 1.5v13M8 3h5l1.5 1.8L13 6.6H8M8 7.6H3.4L1.9 9.4l1.5 1.8H8" }),
  );
