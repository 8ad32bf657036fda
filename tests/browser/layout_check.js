/**
 * What is wrong with the page's layout as it is now: texts that are cut or lie on each other, targets and letters that are
 * too small. One function, evaluated in the page; `wrote` are the texts on its canvases (canvas_texts.js).
 *
 * @param {{least: number, wrote: (canvas: HTMLCanvasElement) => {text: string, left: number, right: number, top: number, bottom: number}[]}} page
 *   `least`: of what can be pressed, in pixels
 * @returns {string[]}
 */
({ least, wrote }) => {
  /** @typedef {{left: number, right: number, top: number, bottom: number}} Box */
  const found = new Set();
  const round = Math.round;
  const boxOf = (element) => element.getBoundingClientRect();
  const cutBy = (box, clip) => ({
    left: Math.max(box.left, clip.left),
    right: Math.min(box.right, clip.right),
    top: Math.max(box.top, clip.top),
    bottom: Math.min(box.bottom, clip.bottom),
  });
  const isEmpty = ({ left, right, top, bottom }) => right - left < 1 || bottom - top < 1;
  const nameOf = (element) => {
    const one = element.closest("[class], [data-testid], [id]") ?? element;
    const name = one.dataset?.testid ?? one.id ?? "";
    return `${one.tagName.toLowerCase()}${name ? `#${name}` : ""}.${[...one.classList].join(".")}`;
  };
  const short = (text) => text.trim().replace(/\s+/g, " ").slice(0, 40);

  // What an element shows of what is in it: null, all.
  const styles = new Map();
  const styleOf = (element) => styles.get(element) ?? styles.set(element, getComputedStyle(element)).get(element);
  const clips = ({ overflowX, overflowY }) => [overflowX, overflowY].map((one) => one !== "visible");
  const scrolls = ({ overflowX, overflowY }) => [overflowX, overflowY].map((one) => /auto|scroll/.test(one));

  /** The part of a box that can be seen, and whether some of it never can. @param {Box} box @param {Element} element */
  function seen(box, element) {
    let [rest, lost] = [box, false];
    for (let one = element; one && one !== document.documentElement; one = one.parentElement) {
      if (one === document.body) break;
      const style = styleOf(one);
      const isSvg = one.tagName === "svg" && style.overflow !== "visible";
      const [x, y] = isSvg ? [true, true] : clips(style);
      if (!x && !y && style.clipPath === "none") continue;
      const own = boxOf(one);
      const clip = { left: x ? own.left : -1e9, right: x ? own.right : 1e9, top: y ? own.top : -1e9, bottom: y ? own.bottom : 1e9 };
      const [scrollsX, scrollsY] = scrolls(style);
      const cutX = rest.left < clip.left - 1.5 || rest.right > clip.right + 1.5;
      const cutY = rest.top < clip.top - 3 || rest.bottom > clip.bottom + 3;
      const says = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
      if (!says && ((cutX && !scrollsX) || (cutY && !scrollsY && !scrollsX))) lost = true;
      rest = cutBy(rest, clip);
    }
    return { rest, lost };
  }

  // --- texts: of the document, of SVG, of canvases -------------------------------------------------------------------
  const hidden = (element) =>
    !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || element.closest(".sr-only, .skip:not(:focus), script, style, option, title, desc, [data-unseen]");
  /** The nearest thing that lies over the page: what it covers is meant. */
  const layers = new Map([[null, null], [document.body, null]]);
  const isLayer = (one) =>
    /fixed|sticky/.test(styleOf(one).position) || one.matches("dialog, [popover], .popover, .pop") || Number(styleOf(one).zIndex) > 0;
  const layerOf = (element) => {
    if (!layers.has(element)) layers.set(element, isLayer(element) ? element : layerOf(element.parentElement));
    return layers.get(element);
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || hidden(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const size = parseFloat(styleOf(parent).fontSize);
    const isLabel = parent.closest("svg, math, sub, sup") || !/\p{L}{3}|[\u3040-\u30ff\u4e00-\u9fff]{2}/u.test(node.data);
    if (size < 11.99 && !isLabel) found.add(`small text ${round(size * 10) / 10} px: ${nameOf(parent)}`);
    const drawn = parent.closest("svg") && parent.closest("text");
    const turned = drawn && Math.abs(drawn.getScreenCTM()?.b ?? 0) > 0.01 ? cornersOf(drawn) : null;
    for (const box of range.getClientRects()) {
      if (isEmpty(box)) continue;
      const { rest, lost } = seen(box, parent);
      const across = scrollX + box.left < -1 || box.right + scrollX > document.documentElement.clientWidth + 1;
      if (isEmpty(rest)) continue;
      if (lost || (across && rest.right > document.documentElement.clientWidth + 1)) found.add(`cut: ${nameOf(parent)} “${short(node.data)}”`);
      texts.push({ parent, text: node.data, box: rest, turned, layer: layerOf(parent) });
    }
  }

  /** Of a turned text, its corners on the page. @param {SVGTextElement} text */
  function cornersOf(text) {
    const [{ x, y, width, height }, matrix] = [text.getBBox(), text.getScreenCTM()];
    const [up, down] = [y + height / 4, y + (height * 3) / 4];
    return [[x, up], [x + width, up], [x + width, down], [x, down]].map(([px, py]) => new DOMPoint(px, py).matrixTransform(matrix));
  }
  for (const canvas of document.querySelectorAll("canvas")) {
    if (hidden(canvas)) continue;
    const { left, top, width, height } = boxOf(canvas);
    for (const one of wrote(canvas)) {
      const box = { left: left + one.left, right: left + one.right, top: top + one.top, bottom: top + one.bottom };
      const isCut = one.left < -1 || one.right > width + 1 || one.top < -2 || one.bottom > height + 2;
      if (isCut) found.add(`cut on a canvas: “${short(one.text)}” ${round(one.left)} to ${round(one.right)} of ${round(width)}`);
      const { rest } = seen(box, canvas);
      if (!isEmpty(rest)) texts.push({ parent: canvas, text: one.text, box: rest, layer: layerOf(canvas) });
    }
  }

  // --- no two texts overlap: ink is about the middle half of a line --------------------------------------------------
  const inked = texts.map(({ box, ...one }) => {
    const edge = (box.bottom - box.top) * 0.25;
    return { ...one, box: { left: box.left + 1, right: box.right - 1, top: box.top + edge, bottom: box.bottom - edge } };
  });
  inked.sort((a, b) => a.box.top - b.box.top);
  inked.forEach((a, i) => {
    for (let j = i + 1; j < inked.length && inked[j].box.top < a.box.bottom; j++) {
      const b = inked[j];
      if (a.layer !== b.layer) continue;
      const both = cutBy(a.box, b.box);
      if (covers(a, b) || covers(b, a)) continue;
      if (both.right - both.left > 1.5 && both.bottom - both.top > 1.5 && !apart(a, b))
        found.add(`overlap: ${nameOf(a.parent)} “${short(a.text)}” and ${nameOf(b.parent)} “${short(b.text)}”`);
    }
  });

  /** Whether a sign stands unseen behind the label that has room: it is shown where the label has none. */
  function covers({ parent }, sign) {
    if (!sign.parent.matches("[aria-hidden=true]") || !/^rgb\(/.test(styleOf(parent).backgroundColor)) return false;
    const [{ left, right, top, bottom }, { box }] = [boxOf(parent), sign];
    return left <= box.left && box.right <= right && top <= box.top && box.bottom <= bottom;
  }

  /** Whether two texts, of which one is turned, have a line between them. */
  function apart(a, b) {
    if (!a.turned && !b.turned) return false;
    const [one, other] = [a, b].map(({ turned, box: { left, right, top, bottom } }) =>
      turned ?? [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }]);
    return [one, other].some((corners) =>
      corners.some((from, i) => {
        const to = corners[(i + 1) % 4];
        const across = ({ x, y }) => (x - from.x) * (to.y - from.y) - (y - from.y) * (to.x - from.x);
        const [mine, theirs] = [one, other].map((all) => all.map(across));
        return Math.max(...mine) <= Math.min(...theirs) || Math.max(...theirs) <= Math.min(...mine);
      }));
  }

  // --- what can be pressed is large enough ---------------------------------------------------------------------------
  const PRESSED = "a[href], button, input, select, textarea, summary, [role=button], [role=tab], [role=option], [role=switch], [role=slider]";
  const inSentence = (element) =>
    element.matches("a, button.link, button.term") &&
    [...(element.parentElement?.childNodes ?? [])].some((one) => one.nodeType === 3 && /\p{L}/u.test(one.data));
  const isCell = (element) => element.closest("td, th, svg, .tok, [role=grid], [role=gridcell], [role=application]");
  /** A lesson's dots say how far it is; Back and Next do the same. */
  const isDot = (element) => least > 24 && element.closest(".lesson-dots");
  for (const element of document.querySelectorAll(PRESSED)) {
    if (isDot(element) || hidden(element) || element.disabled || inSentence(element) || isCell(element)) continue;
    const label = element.matches("input") ? element.closest("label") : null;
    const target = label ?? element;
    const own = boxOf(target);
    if (own.width < 2 || own.height < 2 || isEmpty(seen(own, target).rest)) continue;
    if (own.width >= least - 0.5 && own.height >= least - 0.5) continue;
    if (!isHit(target, own)) found.add(`target ${round(own.width)} × ${round(own.height)}: ${nameOf(element)} “${short(element.ariaLabel ?? element.textContent ?? "")}”`);
  }

  // --- a sign before a label stands before it, not over it -----------------------------------------------------------
  for (const element of document.querySelectorAll(PRESSED)) {
    const { content, width, fontSize } = getComputedStyle(element, "::before");
    if (hidden(element) || !/[^"\s]/.test(content) || content === "none") continue;
    if (parseFloat(width) > 2 * parseFloat(fontSize)) found.add(`sign ${content} over its label: ${nameOf(element)}`);
  }

  /** Whether it is hit as far around its middle as a large enough target would be: it may be larger than it looks. */
  function isHit(element, before) {
    const at = [scrollX, scrollY];
    const drawer = parseFloat(getComputedStyle(document.documentElement).scrollPaddingBottom) || 0;
    const toMiddle = () => element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    if (before.top < 60 || before.bottom > innerHeight - drawer - 60) toMiddle();
    const reach = least / 2 - 1;
    const hit = () => {
      const { left, top, width, height } = boxOf(element);
      const [x, y] = [left + width / 2, top + height / 2];
      const points = [[x - reach, y], [x + reach, y], [x, y - reach], [x, y + reach]];
      return points.every((point) => element.contains(document.elementFromPoint(...point)));
    };
    let isHit = hit();
    if (!isHit) {
      toMiddle(); // it may be at the edge of what scrolls
      isHit = hit();
    }
    scrollTo(...at);
    return isHit;
  }
  return [...found];
};
