/**
 * The pictures: links, as a reader would share them. The first word of a name is what is drawn, and `from` the file of stored/
 * that answers. `only`: these pictures of the station, by number; `file`: the item of the export menu.
 *
 * @typedef {{name: string, from: string, link: string, file?: "svg"|"headsSvg"|"riverSvg", only?: number[],
 *   theme?: "light"|"dark", lang?: "en"|"ja"}} Picture
 */

const CAT = "text=The+cat+sat.";
const DIGIT = [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0, 0, 3, 15, 2, 0, 11, 8, 0, 0, 4, 12, 0, 0, 8, 8, 0];
const ROWS = Array.from({ length: 8 }, (_, row) => DIGIT.slice((row % 4) * 8, (row % 4) * 8 + 8));
const PIXELS = `run=${JSON.stringify({ model: "digits-vit", input: { pixels: ROWS } })}`;

/** What each model reads, where it is not the cat. @type {Record<string, string>} */
const READS = {
  "stories-gpt": "text=Tom+saw+a+red+car.",
  "sentiment-encoder": "text=A+dull+film.",
  "translate-enja": "text=She+sold+her+car.",
  "digits-vit": PIXELS,
};

/**
 * Pictures drawn from one model: of each its name, its query, and what differs.
 * @param {string} model @param {[string, string, (Partial<Picture> & {text?: string})?][]} pictures @returns {Picture[]}
 */
const of = (model, pictures) =>
  pictures.map(([name, query, { text = READS[model] ?? CAT, ...more } = {}]) => {
    const level = query.includes("level=") ? "" : "&level=everything&river.shown=off";
    return { name, from: model, link: `?model=${model}${level}&${query}#${text}`, ...more };
  });

/** @type {{file: "headsSvg"}} */
const HEADS = { file: "headsSvg" };
/** @type {{file: "riverSvg"}} */
const RIVER = { file: "riverSvg" };
const LOOK = "level=look&river.shown=on";
const head = "view=attention&layer=1&head=1";
const walk = (/** @type {string} */ step) => `view=computation&layer=1&head=1&computation.step=${step}`;

/** @type {Picture[]} */
export const PICTURES = [
  ...of("mini-softmax", [
    ["weights", head],
    ["scores-scaled", `${head}&attention.step=scaled`],
    ["scores-masked", `${head}&attention.step=masked`],
    [
      "weights-not-causal",
      `${head}`,
      { text: `run={"model":"mini-softmax","input":{"text":"The cat sat."},"masks":{"causal":false}}` },
    ],
    [
      "weights-compared",
      `${head}&compare=on`,
      { text: `run={"model":"mini-softmax","input":{"text":"The cat sat."},"masks":{"causal":false}}` },
    ],
    [
      "weights-padded",
      head,
      { text: `run={"model":"mini-softmax","input":{"text":"The cat sat."},"pad":{"count":2,"side":"left"}}` },
    ],
    ["weights-dark", head, { theme: "dark" }],
    ["weights-japanese", head, { lang: "ja" }],
    ["heads", head, HEADS],
    ["heads-dark", head, { ...HEADS, theme: "dark" }],
    ["lines", `${head}&attention.as=lines`],
    ["lines-of-all-heads", `${head}&attention.as=lines&attention.heads=0,1,2,3`],
    ["lines-dark", `${head}&attention.as=lines`, { theme: "dark" }],
    ["queries", "view=qkv&layer=1", { only: [0] }],
    ["keys", "view=qkv&layer=1", { only: [1] }],
    ["values", "view=qkv&layer=1", { only: [2] }],
    ["queries-dark", "view=qkv&layer=1", { only: [0], theme: "dark" }],
    ["attended-values", "view=av&layer=1&head=1", { only: [0] }],
    ["attended-values-weighted", "view=av&layer=1&head=1&av.values=weighted", { only: [1] }],
    ["ffn", "view=ffn&layer=1", { only: [1] }],
    ["ffn-dark", "view=ffn&layer=1", { only: [1], theme: "dark" }],
    ["residual", "view=residual"],
    ["residual-dark", "view=residual", { theme: "dark" }],
    ["embedding", "view=embedding", { only: [2] }],
    ["swap", "view=embedding&embedding.tab=swap"],
    ["tokens", "view=tokens"],
    ["cost", "view=cost"],
    ["cost-space", "view=cost&cost.shown=space"],
    ["cost-dark", "view=cost", { theme: "dark" }],
    ["alike", "view=training&training.tab=alike"],
    ["river", LOOK, RIVER],
    ["river-dark", LOOK, { ...RIVER, theme: "dark" }],
    ["walk-norm", walk("attn.norm")],
    ["walk-queries", walk("attn.q"), { only: [2] }],
    ["walk-values", walk("attn.v"), { only: [2] }],
    ["walk-softmax", walk("attn.softmax")],
    ["walk-attended-values", walk("attn.av")],
    ["walk-heads", walk("attn.heads"), { only: [0] }],
  ]),
  ...of("stories-gpt", [
    ["heads-stories", "view=attention&layer=5&head=5", HEADS],
    ["river-stories", LOOK, RIVER],
    [
      "river-knockout",
      LOOK,
      {
        ...RIVER,
        text: `run={"model":"stories-gpt","input":{"text":"Tom saw a red car."},"interventions":[{"kind":"mask","where":{"layer":2,"head":1,"query":4,"key":1},"allow":false}]}`,
      },
    ],
    ["residual-stories", "view=residual"],
  ]),
  ...of("sentiment-encoder", [
    ["weights-classifier", head],
    ["heads-classifier", head, HEADS],
    ["river-classifier", LOOK, RIVER],
    ["residual-classifier", "view=residual"],
    ["river-classifier-dark", LOOK, { ...RIVER, theme: "dark" }],
  ]),
  ...of("translate-enja", [
    ["heads-translation", "view=attention", HEADS],
    ["weights-cross", "view=attention&layer=2&head=7"],
    ["weights-encoder", "view=attention&attention=encoder&layer=1&head=1"],
    ["lines-cross", "view=attention&layer=2&head=7&attention.as=lines"],
    ["river-translation", `${LOOK}&query=5`, RIVER],
    ["tokens-translation", "view=tokens"],
    ["weights-cross-dark", "view=attention&layer=2&head=7", { theme: "dark" }],
  ]),
  ...of("digits-vit", [
    ["heads-patches", head, HEADS],
    ["river-patches", LOOK, RIVER],
    ["tokens-patches", "view=tokens"],
  ]),
  ...of("mini-rotary", [
    ["rotation", "view=rotation&layer=1&head=1", { only: [1] }],
    ["rotation-dark", "view=rotation&layer=1&head=1", { only: [1], theme: "dark" }],
    ["weights-rotary", head],
  ]),
  ...of("mini-relative", [
    ["distance", "view=distance&layer=1&head=1", { only: [2] }],
    ["scores-distance", `${head}&attention.step=distance`],
    ["weights-relative", head],
  ]),
  ...of("mini-wkv", [
    ["decay", "view=decay&layer=1&head=1", { only: [0] }],
    ["weights-wkv", head],
    ["heads-wkv", head, HEADS],
    ["river-wkv", LOOK, RIVER],
  ]),
  ...of("mini-aft-full", [
    ["gate", "view=gate&layer=1&head=1", { only: [0] }],
    ["weights-aft", head],
    ["distance-aft", "view=distance&layer=1&head=1", { only: [1] }],
    ["heads-aft", head, HEADS],
  ]),
  ...of("mini-aft-conv", [["distance-aft-conv", "view=distance&layer=1&head=1"]]),
  ...of("mini-aft-local", [["distance-aft-local", "view=distance&layer=1&head=1", { only: [1] }]]),
  ...of("mini-sinusoidal", [["embedding-sinusoidal", "view=embedding", { only: [1] }]]),
  ...of("mini-no-mask", [["weights-no-mask", head]]),
];

/**
 * The stations without a picture here, each with the reason. What the export menu offers nothing of: the table of the lens
 * and the classes, neighbours, the training's losses and recipe, the bars of the next token, the inspector, the batch.
 *
 * @type {Record<string, string>}
 */
export const NOT_EXPORTED = {
  model: "its picture is the river's",
  prediction: "its bars are drawn by plotly.js, which measures text in a browser (tests/browser/test_export.py)",
};
