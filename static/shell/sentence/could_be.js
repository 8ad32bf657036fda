/** The card that says what else a token could have been; it stays where one of those can be taken in its place. */

import { offeredAfter } from "../../model/labels.js";
import { h, newId, replace, update } from "../../ui/dom.js";
import { briefPercent, number } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { offeredText } from "../../ui/token_text.js";

/**
 * @import { Prediction } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 */

/** @typedef {{p: number, bits: number, others: Prediction["candidates"]}} Known  of a token: its probability, the entropy before it, and the most likely there */

/** From a token to its card, in pixels. */
const STEM = 8;

/** −log₂ p. @param {number} p */
export const surpriseBits = (p) => (p > 0 ? -Math.log2(p) : Infinity);

/**
 * What a token could have been. `leave`: it was left, by a click elsewhere or with Escape; `tell`: whether its figures are open.
 * @param {HTMLElement} root @param {{leave: () => void, tell: (open: boolean) => void}} on
 */
export function createCard(root, { leave, tell }) {
  const id = newId("could-be");
  const node = h("div", { class: "could-be", id, dataset: { testid: "could-be" }, on: { keydown } });
  let of = /** @type {HTMLElement|null} */ (null);
  const isInside = (/** @type {EventTarget|null} */ target) => node.contains(/** @type {Node|null} */ (target));
  const hide = () => {
    node.remove();
    root.closest(".page")?.classList.remove("replacing");
    if (of) update(of, { "aria-describedby": null, "aria-expanded": null });
    of = null;
  };
  const place = () => {
    if (!of) return;
    const { left, bottom, width } = of.getBoundingClientRect();
    const room = document.documentElement.clientWidth - node.offsetWidth - 8;
    const at = Math.max(8, Math.min(left, room));
    Object.assign(node.style, { left: `${at}px`, top: `${bottom + STEM}px` });
    node.style.setProperty("--stem", `${left + width / 2 - at}px`);
  };
  /** @param {KeyboardEvent} event */
  function keydown(event) {
    const rows = [...node.querySelectorAll("button")];
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key !== "Tab") event.stopPropagation(); // the keys of the text and of the page are not these
    if (event.key === "Escape") {
      const back = of;
      leave();
      back?.focus();
    }
    if (step) rows[rows.indexOf(/** @type {any} */ (event.target)) + step]?.focus();
    if (step) event.preventDefault();
  }
  const isPinned = () => of !== null && node.matches(".pinned");
  document.addEventListener("scroll", place, { capture: true, passive: true });
  document.addEventListener("pointerdown", ({ target }) => {
    const isToken =
      /** @type {Element|null} */ (target)?.closest?.(".tok") && root.contains(/** @type {Node} */ (target));
    if (isPinned() && !isInside(target) && !isToken) leave();
  });
  root.addEventListener("keydown", (event) => {
    if (!isPinned() || isInside(event.target)) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      leave();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      node.querySelector("button")?.focus();
    }
  });
  return {
    hide,
    isShown: () => of !== null,
    /**
     * @param {HTMLElement} button @param {{id: number, name: string, before: Token}} token  `before`: the token before it
     * @param {Known} known
     * @param {{offers: boolean, take: ((id: number) => void)|null, told: boolean}} more
     *   `offers`: whether a click on the token offers others; `take`: it was clicked; `told`: whether its figures are open
     */
    show(button, { id: own, name, before }, known, { offers, take, told }) {
      hide();
      of = button;
      const token = h("b", { translate: "no" }, name);
      const head = h("p", null, phrase("surprise.instead", { token, p: briefPercent(known.p) }));
      const rows = known.others
        .filter((one) => one.id !== own)
        .map((one) => rowOf(offeredAfter(one, before), take && (() => take(one.id))));
      const figures = figuresOf(known, button.matches(".gen"));
      const toggle = (/** @type {Event} */ { target }) => tell(/** @type {HTMLDetailsElement} */ (target).open);
      const more = h("details", { open: told, on: { toggle } }, h("summary", null, t("surprise.more")), figures);
      replace(node, head, rows, take ? more : [told && figures, offers && h("p", null, t("surprise.click"))]);
      node.classList.toggle("pinned", take !== null);
      root.closest(".page")?.classList.toggle("replacing", take !== null);
      update(node, { role: take ? "group" : "tooltip", "aria-label": take && head.textContent });
      root.append(node);
      place();
      update(button, take ? { "aria-expanded": "true" } : { "aria-describedby": id });
    },
  };
}

/** How surprising it was and how unsure the model, with the colours of the line over the text. @param {Known} known @param {boolean} written  by the model */
const figuresOf = ({ p, bits }, written) =>
  h(
    "p",
    { class: "legend" },
    h("span", { class: "key surprise" }, t("surprise.bits", { bits: number(surpriseBits(p), 1) })),
    h("span", { class: "key entropy" }, t("surprise.unsure", { bits: number(bits, 1) })),
    written && h("span", { class: "key written" }, t("sentence.generated")),
  );

/** @param {Known["others"][number] & {piece?: boolean}} token @param {(() => void)|null} take */
function rowOf(token, take) {
  const content = [
    h("span", { class: "text" }, offeredText(token)),
    h("u", { "aria-hidden": true }, h("s", { style: { width: `${token.before * 100}%` } })),
    h("span", null, briefPercent(token.before)),
  ];
  if (!take) return h("div", { class: "could" }, content);
  const attrs = {
    class: "could",
    type: "button",
    title: t("surprise.take"),
    dataset: { testid: "could-take", id: token.id },
  };
  return h("button", { ...attrs, on: { click: take } }, content);
}
