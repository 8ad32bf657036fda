/** The card that says what else a token could have been; it stays where one of those can be taken in its place. */

import { tokenName } from "../../model/labels.js";
import { h, newId, replace, update } from "../../ui/dom.js";
import { briefPercent, number } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken } from "../../ui/token_text.js";

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
 * What a token could have been. @param {HTMLElement} root @param {() => void} leave  it was left, by a click elsewhere or with Escape
 */
export function createCard(root, leave) {
  const id = newId("could-be");
  const node = h("div", { class: "could-be", id, dataset: { testid: "could-be" }, on: { keydown } });
  let of = /** @type {HTMLElement|null} */ (null);
  const isInside = (/** @type {EventTarget|null} */ target) => node.contains(/** @type {Node|null} */ (target));
  const hide = () => {
    node.remove();
    if (of) update(of, { "aria-describedby": null, "aria-expanded": null });
    of = null;
  };
  const place = () => {
    if (!of) return;
    const { left, bottom, width } = of.getBoundingClientRect();
    const room = document.documentElement.clientWidth - node.offsetWidth - 8;
    // Of a token that is only pointed at, the dock and the sentence stay in sight. What was asked for hangs at its token: lower
    // down it would be read as another list of what comes after it.
    const rows = isPinned() ? [] : (root.closest(".page")?.querySelectorAll(".dock, .say") ?? []);
    const top = Math.max(bottom + STEM, ...[...rows].map((row) => row.getBoundingClientRect().bottom + 4));
    const at = Math.max(8, Math.min(left, room));
    Object.assign(node.style, { left: `${at}px`, top: `${top}px` });
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
     * @param {HTMLElement} button @param {Token} token @param {Known} known @param {{offers: boolean, take: ((id: number) => void)|null}} more
     *   `offers`: whether a click on the token offers others; `take`: it was clicked
     */
    show(button, token, { p, bits, others }, { offers, take }) {
      hide();
      of = button;
      const nth = 1 + [...root.querySelectorAll(".tok.gen")].indexOf(button); // 0: it was typed
      const head = h(
        "p",
        null,
        phrase(nth ? "surprise.instead_nth" : "surprise.instead", {
          token: namedToken(token),
          p: briefPercent(p),
          n: nth,
        }),
      );
      const all = others.some((one) => one.id === token.id) ? others : [...others, { ...token, before: p }];
      const rows = all.map((one) => rowOf(one, one.before, one.id === token.id, take && (() => take(one.id))));
      const legend = h(
        "p",
        { class: "legend" },
        button.matches(".gen") && h("span", { class: "key written" }, t("sentence.generated")),
        h("span", { class: "key surprise" }, t("surprise.bits", { bits: number(surpriseBits(p), 1) })),
        h("span", { class: "key entropy" }, t("surprise.unsure", { bits: number(bits, 1) })),
      );
      replace(node, head, rows, legend, offers && !take && h("p", null, t("surprise.click")));
      node.classList.toggle("pinned", take !== null);
      update(node, { role: take ? "group" : "tooltip", "aria-label": take && head.textContent });
      root.append(node);
      place();
      update(button, take ? { "aria-expanded": "true" } : { "aria-describedby": id });
    },
  };
}

/** @param {Parameters<typeof tokenName>[0] & {id: number}} token @param {number} p @param {boolean} chosen @param {(() => void)|null} take */
function rowOf(token, p, chosen, take) {
  const content = [
    h("span", { class: "text" }, tokenName(token)),
    h("u", { "aria-hidden": true }, h("s", { style: { width: `${p * 100}%` } })),
    h("span", null, briefPercent(p)),
    chosen && h("span", { class: "sr-only" }, t("surprise.there")),
  ];
  if (chosen || !take) return h("div", { class: chosen ? "could is-there" : "could" }, content);
  const attrs = {
    class: "could",
    type: "button",
    title: t("surprise.take"),
    dataset: { testid: "could-take", id: token.id },
  };
  return h("button", { ...attrs, on: { click: take } }, content);
}
