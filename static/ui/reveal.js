/** Scrolls to what a tap has changed, where the page is one column and it is out of sight. */

const ONE_COLUMN = "(max-width: 900px)"; // as in css/layout.css

export const inOneColumn = () => matchMedia(ONE_COLUMN).matches;

/** @param {HTMLElement} element */
export function revealOnPhone(element) {
  if (!inOneColumn()) return;
  const { top, bottom } = element.getBoundingClientRect();
  if (top >= 0 && Math.min(bottom, innerHeight) - top > innerHeight / 2) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "start", behavior: calm ? "instant" : "smooth" });
}
