/**
 * The pictures: links, as a reader would share them, and from which file of stored/ the page is answered. `only`: these
 * pictures of the station, by number; `file`: the item of the export menu.
 *
 * @typedef {{name: string, from: string, link: string, file?: "svg"|"headsSvg"|"riverSvg", only?: number[],
 *   theme?: "light"|"dark", lang?: "en"|"ja"}} Picture
 */

const TEXTS = {
  "mini-softmax": "text=The+cat+sat+on+the+mat.",
};

/** @param {keyof typeof TEXTS} model @param {string} query @param {string} [hash] */
const link = (model, query, hash = TEXTS[model]) => `?model=${model}&level=everything&river.shown=off&${query}#${hash}`;

/** What is drawn from a model: names of pictures, and the rest of each. @param {keyof typeof TEXTS} model @param {Record<string, [string, Partial<Picture>?]>} pictures */
const of = (model, pictures) =>
  Object.entries(pictures).map(([name, [query, more]]) => ({ name, from: model, link: link(model, query), ...more }));

/** @type {Picture[]} */
export const PICTURES = [
  ...of("mini-softmax", {
    weights: ["view=attention&layer=1&head=1"],
    heads: ["view=attention&layer=1", { file: "headsSvg" }],
    lines: ["view=attention&layer=1&attention.as=lines"],
    queries: ["view=qkv&layer=1", { only: [0] }],
    keys: ["view=qkv&layer=1", { only: [1] }],
    values: ["view=qkv&layer=1", { only: [2] }],
    residual: ["view=residual"],
    cost: ["view=cost"],
    tokens: ["view=tokens"],
    "weights-dark": ["view=attention&layer=1&head=1", { theme: "dark" }],
  }),
];

/** The stations of whose pictures none can be saved, each with the reason. @type {Record<string, string>} */
export const NOT_EXPORTED = {};
