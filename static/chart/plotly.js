/**
 * plotly.js, and the only file that uses it. The script (4.8 MB, from the pip package) is loaded once, when the first
 * picture needs it; everything here waits for it.
 */

const SOURCE = "static/vendor/plotly.min.js";

/** @type {Promise<any>|null} */
let loading = null;

/**
 * The library, loaded at the first call. A failed load is forgotten, so that the next call tries again.
 * @returns {Promise<any>}
 */
export function load() {
  loading ??= fetchScript().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

function fetchScript() {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = SOURCE;
    script.onload = () => {
      const { Plotly } = /** @type {any} */ (window);
      if (Plotly) resolve(Plotly);
      else reject(new Error(`${SOURCE} was loaded, but holds no plotly.js`));
    };
    script.onerror = () => {
      script.remove();
      reject(new Error(`plotly.js could not be loaded from ${SOURCE}: is the pip package "plotly" installed?`));
    };
    document.head.append(script);
  });
}

/**
 * Draw a plot, or change the one that is drawn to this one.
 * @param {HTMLElement} root @param {object[]} data @param {object} layout @param {object} config
 */
export async function react(root, data, layout, config) {
  return (await load()).react(root, data, layout, config);
}

/**
 * Listen to `plotly_click`, `plotly_hover`, `plotly_unhover`, `plotly_relayout` …; only after the first `react`.
 * @param {any} root @param {string} event @param {(detail: any) => void} listener
 */
export function on(root, event, listener) {
  root.on(event, listener);
}

/** The picture as a data URL. @param {HTMLElement} root @param {{format: "png"|"svg", scale?: number}} options */
export async function toImage(root, options) {
  return (await load()).toImage(root, options);
}

/** What is drawn now, as the library describes it. @param {any} root @returns {{data: any[], layout: any}} */
export function plotlyFigure(root) {
  return { data: root.data, layout: root.layout };
}

/** The source of the library, for a file that works without a server. @returns {Promise<string>} */
export async function plotlySource() {
  const answer = await fetch(SOURCE);
  if (!answer.ok) throw new Error(`${SOURCE}: HTTP ${answer.status}`);
  return answer.text();
}

/**
 * Save the picture as a file.
 * @param {HTMLElement} root
 * @param {{format: "png"|"svg", filename: string, scale?: number}} options
 */
export async function downloadPlot(root, options) {
  return (await load()).downloadImage(root, options);
}

/**
 * A string that the library shows as it is: it reads labels as a small HTML, with entities, and `$…$` as TeX.
 * @param {string} text
 */
export function escapeText(text) {
  return text.replace(/[&<>$]/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\r\n]+/g, " ");
}

/** `text`, escaped, in a colour. @param {string} text @param {string} colour */
export function coloured(text, colour) {
  return `<span style="color:${colour}">${escapeText(text)}</span>`;
}
