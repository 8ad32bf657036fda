// The script of a saved HTML file (see offline.js): it brings the matrices in it to life, and draws what plotly.js draws. A
// classic script, on purpose: it is copied into a saved file, where there is nothing to import.
(() => {
  /** The least distance, in pixels, between two labels. */
  const ROOM = 14;
  /** Between a label and the cells. */
  const AWAY = 7;
  /** If the pointer moved no further than this, in pixels, it was not a drag. */
  const STILL = 6;

  /**
   * @typedef {{row: number, col: number, rows: number, cols: number}} View
   * @typedef {{x: number, y: number}} Point
   * @typedef {Object} Figure  a matrix in this file
   * @property {HTMLElement} root
   * @property {any} picture  see figures.js
   * @property {View} view  the visible part
   * @property {HTMLElement} tip @property {HTMLElement} band
   * @property {Point|null} start  of a drag
   */

  /** @param {string} id */
  const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

  /** @param {HTMLElement} root @param {any} picture */
  function follow(root, picture) {
    const [tip, band] = ["hovertext", "band"].map((name) => root.appendChild(hidden(name)));
    /** @type {Figure} */
    const figure = { root, picture, view: picture.size.view, tip, band, start: null };
    root.style.width = `${picture.size.width}px`;
    root.addEventListener("pointermove", (event) => move(figure, pointOf(figure, event)));
    root.addEventListener("pointerleave", () => point(figure, null));
    root.addEventListener("pointerdown", (event) => press(figure, event));
    root.addEventListener("pointerup", (event) => release(figure, pointOf(figure, event)));
    root.addEventListener("dblclick", () => show(figure, picture.size.view));
  }

  /** @param {string} name */
  function hidden(name) {
    const element = document.createElement("div");
    element.className = name;
    element.hidden = true;
    return element;
  }

  /** The current size of a cell; square cells stay square. @param {Figure} figure */
  function cellOf({ picture, view }) {
    const { box } = picture.size;
    const [w, h] = [box.w / view.cols, box.h / view.rows];
    return picture.square ? { w: Math.min(w, h), h: Math.min(w, h) } : { w, h };
  }

  /**
   * The pointer's position, from the corner of the cells.
   * @param {Figure} figure @param {{clientX: number, clientY: number}} event @returns {Point}
   */
  function pointOf({ root, picture }, { clientX, clientY }) {
    const { left, top } = root.getBoundingClientRect();
    const { box } = picture.size;
    return { x: clientX - left - box.x, y: clientY - top - box.y };
  }

  /** The cell at a point, or the nearest one. @param {Figure} figure @param {Point} point */
  function nearest(figure, { x, y }) {
    const { w, h } = cellOf(figure);
    const { view } = figure;
    const inside = (/** @type {number} */ index, /** @type {number} */ count) =>
      Math.min(count - 1, Math.max(0, Math.floor(index)));
    return { row: view.row + inside(y / h, view.rows), col: view.col + inside(x / w, view.cols) };
  }

  /** The cell at a point, or null outside the cells. @param {Figure} figure @param {Point} point */
  function under(figure, { x, y }) {
    const { w, h } = cellOf(figure);
    const { view } = figure;
    return x >= 0 && y >= 0 && x < w * view.cols && y < h * view.rows ? nearest(figure, { x, y }) : null;
  }

  /** Show the text of a cell. @param {Figure} figure @param {{row: number, col: number}|null} at */
  function point(figure, at) {
    const { tip, picture, view } = figure;
    const { size, words, shape } = picture;
    tip.hidden = !at || words.length === 0; // without the numbers of a large matrix
    if (!at || tip.hidden) return;
    const { w, h } = cellOf(figure);
    const x = size.box.x + (at.col - view.col + 0.5) * w;
    const right = x < size.width / 2;
    tip.textContent = words[at.row * shape[1] + at.col];
    tip.style.top = `${size.box.y + (at.row - view.row + 0.5) * h}px`;
    tip.style.left = right ? `${x + w / 2 + 6}px` : "auto";
    tip.style.right = right ? "auto" : `${size.width - x + w / 2 + 6}px`;
  }

  /** @param {Figure} figure @param {Point} to */
  function move(figure, to) {
    point(figure, under(figure, to));
    const { start, band, picture } = figure;
    if (!start) return;
    const { box } = picture.size;
    band.hidden = Math.hypot(to.x - start.x, to.y - start.y) < STILL;
    band.style.left = `${box.x + Math.min(start.x, to.x)}px`;
    band.style.top = `${box.y + Math.min(start.y, to.y)}px`;
    band.style.width = `${Math.abs(to.x - start.x)}px`;
    band.style.height = `${Math.abs(to.y - start.y)}px`;
  }

  /** @param {Figure} figure @param {PointerEvent} event */
  function press(figure, event) {
    const at = pointOf(figure, event);
    if (event.button !== 0 || event.pointerType === "touch" || !under(figure, at)) return; // a finger scrolls the page
    figure.start = at;
    figure.root.setPointerCapture(event.pointerId);
  }

  /** @param {Figure} figure @param {Point} to */
  function release(figure, to) {
    const { start, band } = figure;
    const dragged = start && !band.hidden;
    figure.start = null;
    band.hidden = true;
    if (!dragged) return;
    const [a, b] = [nearest(figure, start), nearest(figure, to)];
    const [rows, cols] = [Math.abs(a.row - b.row) + 1, Math.abs(a.col - b.col) + 1];
    show(figure, { row: Math.min(a.row, b.row), col: Math.min(a.col, b.col), rows, cols });
  }

  /** Show a part of the matrix. @param {Figure} figure @param {View} view */
  function show(figure, view) {
    figure.view = view;
    point(figure, null);
    const { root, picture } = figure;
    const { box, cell: drawn, view: whole, font } = picture.size;
    const cell = cellOf(figure);
    const [x, y] = [box.x + (view.col - whole.col) * drawn.w, box.y + (view.row - whole.row) * drawn.h];
    const scale = `scale(${cell.w / drawn.w} ${cell.h / drawn.h})`;
    root
      .querySelector(".cells")
      ?.setAttribute("transform", `translate(${box.x} ${box.y}) ${scale} translate(${-x} ${-y})`);
    label(figure, "row", cell.h, (i) => ({ x: box.x - AWAY, y: box.y + (i + 0.5) * cell.h + font * 0.35 }));
    label(figure, "col", cell.w, (i) => ({ x: box.x + (i + 0.5) * cell.w, y: box.y - AWAY }));
    const sums = /** @type {NodeListOf<SVGElement>} */ (root.querySelectorAll(".sum-label"));
    for (const sum of sums) sum.style.display = view === whole ? "" : "none"; // aligned with the rows of the whole
  }

  /**
   * The indices of as many labels as fit.
   * @param {Figure} figure @param {"row"|"col"} axis @param {number} pixels  of a cell @param {(i: number) => Point} placeOf
   */
  function label({ root, picture, view }, axis, pixels, placeOf) {
    const [first, ...others] = root.querySelectorAll(`.${axis}-label`);
    if (!first) return;
    for (const one of others) one.remove();
    const { size, axes } = picture;
    const made = placesOf(axes[axis], view[axis], axis === "row" ? view.rows : view.cols, pixels, size.type).map(
      (i) => {
        const { text, fill, weight } = axes[axis].labels[i];
        const { x, y } = placeOf(i - view[axis]);
        const node = /** @type {Element} */ (first.cloneNode());
        for (const [name, value] of Object.entries({ x, y, fill, "font-weight": weight }))
          node.setAttribute(name, value);
        if (axis === "col" && size.angle) node.setAttribute("transform", `rotate(${size.angle} ${x} ${y})`);
        node.textContent = text;
        return node;
      },
    );
    first.replaceWith(...made);
  }

  /**
   * The labels that fit in the current view, and always the chosen one.
   * @param {{labels: unknown[], always: number[]}} axis @param {number} first @param {number} count @param {number} pixels  of a cell
   * @param {number} type
   */
  function placesOf({ labels, always }, first, count, pixels, type) {
    const step = Math.max(1, Math.ceil((ROOM * type) / pixels));
    const free = (/** @type {number} */ i) => i % step === 0 && always.every((one) => Math.abs(i - one) >= step);
    const seen = labels.map((_, i) => i).slice(first, first + count);
    return seen.filter((i) => always.includes(i) || free(i));
  }

  const { pictures } = JSON.parse(byId("data").textContent ?? "");
  pictures.forEach(async (/** @type {any} */ picture, /** @type {number} */ index) => {
    const root = byId(`picture-${index}`);
    const modeBarButtonsToRemove = ["select2d", "lasso2d", "autoScale2d"];
    const config = { displaylogo: false, responsive: false, modeBarButtonsToRemove };
    if (picture.kind === "matrix") follow(root, picture);
    else if (picture.data) await /** @type {any} */ (window).Plotly.newPlot(root, picture.data, picture.layout, config);
    root.dataset.drawn = "true";
  });
})();
