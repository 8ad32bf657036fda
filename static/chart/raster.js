/** An SVG as pixels. */

/** A canvas is no larger than this in any browser that we know. */
const MOST = 16_384;

/** @typedef {{svg: string, width: number, height: number}} Drawing  an SVG file and its size in CSS pixels */

/** @param {Drawing} drawing @returns {Promise<Blob>} a PNG, two pixels for one where that is possible */
export async function pngOf({ svg, width, height }) {
  const scale = Math.min(2, MOST / width, MOST / height);
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large for a PNG"))),
      "image/png",
    );
  });
}
