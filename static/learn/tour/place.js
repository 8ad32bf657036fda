/** The place of the tour's card: beside its subject, on a phone below it; and the ring around the subject. */

/** Below this width, the card is at the bottom of the screen. */
const PHONE = 700;
const [GAP, EDGE, RING] = [14, 10, 5];

/** @param {HTMLElement} card @param {HTMLElement} ring @param {HTMLElement} target */
export function place(card, ring, target) {
  const { left, top, right, bottom } = target.getBoundingClientRect();
  const [from, to] = [Math.max(RING, left - RING), Math.min(document.documentElement.clientWidth - RING, right + RING)];
  const around = { left: from, top: top - RING, width: to - from, height: bottom - top + 2 * RING };
  for (const [side, size] of Object.entries(around)) ring.style[side] = `${size}px`;
  const size = { width: card.offsetWidth, height: card.offsetHeight };
  const spot = innerWidth < PHONE ? atFoot(size) : beside({ left, top, right, bottom }, size);
  card.style.left = `${spot.left}px`;
  card.style.top = `${spot.top}px`;
}

/** Scroll it into view, with space for a card below it. @param {HTMLElement} target @param {HTMLElement} card */
export function reveal(target, card) {
  const { top, height } = target.getBoundingClientRect();
  const room = innerHeight - (innerWidth < PHONE ? card.offsetHeight + 2 * EDGE : 0);
  const above = height + 4 * EDGE < room ? (room - height) / 2 : 2 * EDGE;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  scrollTo({ top: scrollY + top - above, behavior: still ? "instant" : "smooth" });
}

function atFoot({ width, height }) {
  return { left: (innerWidth - width) / 2, top: innerHeight - height - EDGE };
}

/** The first side with enough space, or else a corner of the screen, over the subject. */
function beside({ left, top, right, bottom }, { width, height }) {
  const across = clamp(left, innerWidth - width);
  const down = clamp(top, innerHeight - height);
  if (right + GAP + width + EDGE <= innerWidth) return { left: right + GAP, top: down };
  if (left - GAP - width >= EDGE) return { left: left - GAP - width, top: down };
  if (bottom + GAP + height + EDGE <= innerHeight) return { left: across, top: bottom + GAP };
  if (top - GAP - height >= EDGE) return { left: across, top: top - GAP - height };
  return { left: innerWidth - width - 2 * EDGE, top: innerHeight - height - 2 * EDGE };
}

const clamp = (at, most) => Math.max(EDGE, Math.min(at, most - EDGE));
