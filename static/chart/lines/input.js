/** Pointer and keys on a picture of lines: pointing or focusing highlights, a click or Enter chooses. */

/** @param {HTMLElement} box @param {any} parts  of lines_picture.js */
export function followTokens(box, parts) {
  const at = (event) => {
    const node = /** @type {SVGElement|null} */ (/** @type {Element} */ (event.target).closest("[data-role]"));
    return node && { role: node.dataset.role, index: Number(node.dataset.index), node };
  };
  box.addEventListener("pointerover", (event) => event.pointerType !== "touch" && show(at(event), false));
  box.addEventListener("pointerleave", () => show(focused(), false));
  box.addEventListener("focusin", (event) => show(at(event), true));
  box.addEventListener("focusout", () => show(null, false));
  box.addEventListener("click", (event) => {
    const token = at(event);
    if (token) return choose(token);
    const line = /** @type {SVGElement|null} */ (/** @type {Element} */ (event.target).closest(".lit > [data-key]"));
    if (line) parts.picture.onPair(Number(line.dataset.query), Number(line.dataset.key));
  });
  box.addEventListener("keydown", (event) => {
    const token = at(event);
    if (!token || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(token);
      return;
    }
    const next = neighbour(token, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus({ preventScroll: true });
    bringIntoSight(box, next);
  });

  const focused = () => at({ target: box.contains(document.activeElement) ? document.activeElement : box });
  const show = (token, spoken) => {
    const { active } = parts;
    if (!parts.layout || (active?.role === token?.role && active?.index === token?.index)) return;
    parts.light(token && { role: token.role, index: token.index }, spoken);
  };
  const choose = ({ role, index }) => parts.picture.onChoose(role, index);

  /** Left and right in a row; up and down to what lies opposite. */
  function neighbour({ role, index, node }, key) {
    const rowOf = (one) => /** @type {SVGElement[]} */ ([...box.querySelectorAll(`[data-role="${one}"]`)]);
    const own = rowOf(role);
    const step = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: own.length - 1 }[key];
    if (step !== undefined) return own[Math.min(own.length - 1, Math.max(0, step))];
    const opposite = { ArrowUp: parts.picture.above, ArrowDown: parts.picture.above === "q" ? "k" : "q" }[key];
    if (!opposite || opposite === role) return null;
    const distance = (other) => Math.abs(middle(other) - middle(node));
    return rowOf(opposite).reduce((best, other) => (distance(other) < distance(best) ? other : best));
  }
}

function middle(node) {
  const { left, width } = node.getBoundingClientRect();
  return left + width / 2;
}

/** Scrolls the picture sideways, never the page. @param {HTMLElement} box @param {Element} node */
export function bringIntoSight(box, node) {
  const [inside, outside] = [node.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inside.left < outside.left) box.scrollLeft -= outside.left - inside.left + 24;
  else if (inside.right > outside.right) box.scrollLeft += inside.right - outside.right + 24;
}

/** Keeps the names of the rows in view. @param {HTMLElement} box */
export function keepTitles(box) {
  for (const title of box.querySelectorAll(".title")) title.setAttribute("x", String(8 + box.scrollLeft));
}
