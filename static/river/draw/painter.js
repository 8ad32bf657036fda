/** Puts a scene on its canvas, as sharp as the screen is. */

import { currentTheme } from "../../chart/theme.js";
import { headEffects } from "../../model/ablations.js";
import { headsChange } from "../../model/compare/compare.js";
import { headKey } from "../../model/edits.js";
import { nameText } from "../../model/labels.js";
import { sideOf } from "../../model/sides.js";
import { briefPercent } from "../../ui/format.js";
import { layerTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { effectOf, nextSoFar } from "../facts.js";
import { mostOf } from "../layout/heads.js";
import { changeTone, currentStyle, toneOf } from "../style.js";
import {
  answerName,
  hasBars,
  headLegendOf,
  headWordsOf,
  lensTitleOf,
  shareBetween,
  writtenLabels,
  wroteOf,
} from "../words/names.js";
import { stageOf } from "./animation.js";
import { createPictures } from "./heads.js";
import { drawMoving, drawScene, drawStill } from "./scene.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Board, Shown } from "../board.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Square } from "../layout/heads.js"
 * @import { Link, Scene } from "../layout/layout.js"
 * @import { PictureStyle } from "./scene.js"
 * @import { Open } from "../view_state.js"
 */

// What does not move while Watch plays, kept as one picture until the streams reach another layer.

function createStill() {
  const canvas = document.createElement("canvas");
  let of = /** @type {Scene|null} */ (null);
  let reached = -1;

  /** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {PictureStyle} style @param {number} dpr */
  return (pen, scene, style, dpr) => {
    const now = reachedBy(scene, style);
    if (of !== scene || reached !== now) {
      Object.assign(canvas, { width: Math.round(scene.width * dpr), height: Math.round(scene.height * dpr) });
      const still = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      still.scale(dpr, dpr);
      drawStill(still, scene, style);
      [of, reached] = [scene, now];
    }
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, 0, 0, scene.width, scene.height);
  };
}

/** How many of the things that light up one after the other are lit. @param {Scene} scene @param {PictureStyle} style */
function reachedBy({ squares, bands: [{ columns, end }] }, { stage }) {
  const x = (stage?.flow ?? 1) * end;
  return squares.filter((one) => one.x + one.width <= x).length + columns.filter(({ x1 }) => x1 <= x + 1).length;
}

/** @param {HTMLCanvasElement} canvas */
const penOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** A painter, which keeps the pictures of heads. @param {HTMLCanvasElement} canvas */
export function createPainter(canvas) {
  const pictures = createPictures();
  const still = createStill();
  /** @param {Board} board @param {number} dpr @returns {PictureStyle|null} */
  const styleOf = ({ shown, scene, hovered, picked, lit, bead, cursor, pointed, over, preview, time, bars }, dpr) => {
    if (!shown) return null;
    const style = currentStyle(canvas);
    const { facts, trace } = shown;
    const theme = currentTheme();
    const stage = stageOf(time);
    const measured = (facts.measured?.effects.size ?? 0) > 0;
    return {
      ...style,
      ...headStyle(shown, preview, scene?.squares ?? []),
      mostOf: (square, n) => captionOf(shown, scene, square, n),
      place: shown.place,
      names: facts.names,
      source: shown.source,
      bars: bars(),
      hovered,
      picked,
      lit,
      bead: stage || scene?.isStrip ? null : bead,
      cursor,
      pointed,
      over,
      wrote: wroteOf(facts),
      writtenLabels: writtenLabels(facts),
      tone: (line) =>
        line.change !== undefined
          ? changeTone(style.signed, line.change)
          : toneOf(style.colours, measured, effectOf(facts, line)?.delta, stage?.dark),
      picture: (square) => pictures(trace, square, theme, dpr, changeOf(shown, scene?.squares ?? [])),
      lens: lensBars(shown),
      lensTitle: lensTitleOf(trace),
      lensHere: t("river.lens_here"),
      preview: preview?.lines ?? null,
      stage,
    };
  };
  return {
    /** @param {Board} board */
    paint(board) {
      const style = styleOf(board, devicePixelRatio);
      if (!style || !board.scene) return;
      const pen = sized(canvas, board.scene, devicePixelRatio);
      if (!style.stage) return drawScene(pen, board.scene, style);
      still(pen, board.scene, style, devicePixelRatio);
      drawMoving(pen, board.scene, style);
    },
    /** The same with another pen, without what only pointing at it shows. @param {Board} board @param {any} pen */
    draw(board, pen) {
      const style = styleOf(
        {
          ...board,
          time: 1,
          hovered: null,
          picked: null,
          lit: new Set(),
          bead: null,
          cursor: null,
          pointed: null,
          over: null,
        },
        2,
      );
      if (style && board.scene) drawScene(pen, board.scene, { ...style, path: () => pen.path() });
    },
  };
}

/** @param {HTMLCanvasElement} canvas @param {Scene} scene @param {number} dpr */
function sized(canvas, scene, dpr) {
  const [width, height] = [Math.round(scene.width * dpr), Math.round(scene.height * dpr)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  canvas.style.height = `${scene.height}px`;
  const pen = penOf(canvas);
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.clearRect(0, 0, scene.width, scene.height);
  return pen;
}

/** What has changed, if squares show that, as the lines do. @param {Pick<Shown, "facts"|"trace">} shown @param {Square[]} squares */
const changeOf = ({ facts, trace }, squares) =>
  facts.was !== null && trace.pictureBefore !== null ? headsChange(trace, squares) : null;

/** @param {Shown} shown @param {Board["preview"]} preview @param {Square[]} squares */
function headStyle({ facts, trace }, preview, squares) {
  const [{ river }] = facts.rolled;
  const change = changeOf({ facts, trace }, squares);
  /** @param {string} id */
  const isOfAnswer = (id) => trace.attentions.find((one) => one.id === id)?.stack === river.stack;
  return {
    isOfAnswer,
    rowOf: (/** @type {Square} */ { attention }) =>
      isOfAnswer(attention) ? { row: facts.row, of: sideOf(trace.sides, river.side).tokens.length } : null,
    effectOf: effectsIn(trace),
    isFree: (/** @type {Square} */ square, /** @type {{keys: number, queries: number}} */ part) =>
      isFree(trace, square, part),
    isOff: (/** @type {Square} */ square) =>
      facts.masks?.heads.some((one) => headKey(one) === headKey(square)) ?? false,
    isEdited: (/** @type {Square} */ square) => facts.edited.some((one) => headKey(one) === headKey(square)),
    headsOff: (/** @type {string} */ stack, /** @type {number} */ layer) => {
      const isIn = (/** @type {{attention: string, layer: number}} */ one) =>
        one.layer === layer && trace.attentions.find(({ id }) => id === one.attention)?.stack === stack;
      const off = facts.masks?.heads.filter(isIn) ?? [];
      return off.length ? t("changed.brief_heads", { n: off.length, head: facts.nameOf(off[0]) }) : "";
    },
    isPartOff: (/** @type {Link} */ link) => isLinkOff(link, facts, trace.attentions),
    isHead: (/** @type {Square} */ { attention, layer, head }) =>
      preview?.head.attention === attention && preview.head.layer === layer && preview.head.head === head,
    headsTitle: (/** @type {Open} */ open) => {
      const layer = layerTitle(open, open.layer);
      // On a phone the key of the colours is below the heads: its few words stand over them.
      if (change) return t(`river.heads_${change}_of`, { layer });
      const bars = hasBars(trace) ? t("river.head_bars_short") : "";
      return t(trace.pool > 1 ? "river.heads_of_pooled" : "river.heads_of", { layer, n: trace.pool }) + bars;
    },
    headWords: (/** @type {string} */ attention, /** @type {Open|null} */ open) => {
      const heads = headWordsOf(trace, attention);
      return open ? t("river.heads_in", { heads, layer: layerTitle(open, open.layer) }) : heads;
    },
    headsSaid: headLegendOf(trace, facts, squares, change),
  };
}

/** Whether its first queries have no weight on the last keys, nor had in the run before: these parts of all. @param {ModelTrace} trace @param {Square} square @param {{keys: number, queries: number}} part */
function isFree({ picture, pictureBefore }, { layer, head, attention }, { keys, queries }) {
  return [picture, pictureBefore].every((of) => {
    const found = of?.(layer, head, attention);
    if (!found) return of !== picture;
    const { data, n_key: n } = found;
    const first = Math.floor(n * (1 - keys));
    const rows = Math.ceil((data.length / n) * queries);
    return keys < 1 && data.subarray(0, rows * n).every((weight, i) => weight === 0 || i % n < first);
  });
}

/** @param {ModelTrace} trace */
function effectsIn({ ablations }) {
  const effects = ablations && headEffects(ablations.found);
  return (/** @type {Square} */ square) => effects?.get(headKey(square)) ?? null;
}

/** Whether an attention or the FFN of its layer is off. @param {Link} link @param {Shown["facts"]} facts @param {Attention[]} attentions */
const isLinkOff = ({ to, stack, layer }, { masks }, attentions) =>
  (masks?.parts ?? []).some(
    (off) =>
      off.layer === layer &&
      (off.part === "ffn") === (to === "ffn") &&
      attentions.find(({ id }) => id === off.attention)?.stack === stack,
  );

/** What a head's row attends to most, in words. @param {Shown} shown @param {Board["scene"]} scene @param {Square} square @param {number} n  how many keys */
function captionOf({ trace, facts }, scene, square, n) {
  const most = scene && mostOf(trace, facts, scene, square);
  return (most?.ranked(n) ?? []).map(({ key, weight }) => ({ key: nameText(key), share: shareBetween(weight) }));
}

/** @param {Shown} shown */
function lensBars({ trace, facts }) {
  const next = nextSoFar(trace, facts.row);
  return next.map(({ answer, ...of }) => ({ ...of, name: answerName(answer), text: briefPercent(answer.p) }));
}
