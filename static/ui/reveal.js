/** Scrolls to what has changed, where it is out of sight. */

const ONE_COLUMN = "(max-width: 900px)"; // as in css/layout.css

export const inOneColumn = () => matchMedia(ONE_COLUMN).matches;

/** Where the page is one column. @param {HTMLElement} element */
export function revealOnPhone(element) {
  const { top, bottom } = element.getBoundingClientRect();
  if (inOneColumn() && (top < 0 || Math.min(bottom, innerHeight) - top <= innerHeight / 2)) toTop(element);
}

/** Where it is not whole in sight. @param {HTMLElement} element */
export function revealWhole(element) {
  const { top, bottom } = element.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) toTop(element);
}

/** @param {HTMLElement} element */
function toTop(element) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "start", behavior: calm ? "instant" : "smooth" });
}
