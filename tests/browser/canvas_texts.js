/**
 * Notes the texts that the page writes on its canvases, from now on: nothing else can find them. Sets `window.wrote`, which
 * returns those of a canvas, in CSS pixels from its corner.
 */
() => {
  if ("wrote" in window) return;
  const texts = new WeakMap(); // canvas → texts
  const of = (canvas) => texts.get(canvas) ?? texts.set(canvas, []).get(canvas);
  const proto = CanvasRenderingContext2D.prototype;
  const { fillText, clearRect, drawImage } = proto;
  proto.fillText = function (text, x, y, ...more) {
    const { width, fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = this.measureText(text);
    const align = { left: 0, start: 0, center: 0.5, right: 1, end: 1 }[this.textAlign] ?? 0;
    const matrix = this.getTransform();
    const from = matrix.transformPoint({ x: x - width * align, y: y - up });
    const to = matrix.transformPoint({ x: x + width * (1 - align), y: y + down });
    if (this.globalAlpha > 0.05)
      of(this.canvas).push({ text: String(text), left: from.x, right: to.x, top: from.y, bottom: to.y });
    return fillText.call(this, text, x, y, ...more);
  };
  proto.clearRect = function (...box) {
    if (box[2] >= this.canvas.clientWidth - 1 || box[2] >= this.canvas.width - 1) texts.set(this.canvas, []);
    return clearRect.call(this, ...box);
  };
  // One canvas as a part of another, at its corner.
  proto.drawImage = function (image, ...at) {
    if (image instanceof HTMLCanvasElement && texts.get(image)?.length && at[0] === 0 && at[1] === 0) of(this.canvas).push(...of(image));
    return drawImage.call(this, image, ...at);
  };
  for (const side of ["width", "height"]) {
    const own = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side);
    Object.defineProperty(HTMLCanvasElement.prototype, side, {
      ...own,
      set(value) {
        texts.set(this, []);
        own.set.call(this, value);
      },
    });
  }
  window.wrote = (canvas) => {
    const scale = canvas.width / (canvas.clientWidth || canvas.width);
    return of(canvas).map(({ text, ...box }) => ({ text, ...Object.fromEntries(Object.entries(box).map(([side, at]) => [side, at / scale])) }));
  };
}
