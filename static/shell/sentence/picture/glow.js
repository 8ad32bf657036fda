/** What glows over the large picture: the weights of one head, of the token that attends. No DOM. */

import { tokenName } from "../../../model/labels.js";
import { indexOfMost, rowIn } from "../../../model/matrix.js";
import { shareBetween } from "../../../river/words/names.js";
import { t } from "../../../ui/i18n.js";
import { clsIndex, lookerIn } from "../../../views/classes.js";
import { placeOf } from "../../../views/places.js";

/**
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { Token } from "../../../model/labels.js"
 * @import { State } from "../../../state/store.js"
 */

/**
 * @typedef {Object} Glow
 * @property {number} layer @property {number} head
 * @property {boolean} open  the reader opened this head; otherwise it is the strongest of the last layer
 * @property {Token} query @property {Token} key  what it attends to most
 * @property {number[]} weights  of the patches, row by row
 * @property {number|null} from  the patch that attends; null: it is [CLS]
 * @property {boolean} exact  they are the model's float32; otherwise to 1/255
 * @property {string} share  of the key
 */

/** The open head; everywhere else the one whose [CLS] attends most to a single patch, in the layer that the answer is read from. @param {ModelTrace} trace @param {State} state @returns {Glow|null} */
export function glowOf(trace, state) {
  const open = placeOf(state).name === "head";
  const query = open ? lookerIn(trace, state) : clsIndex(trace);
  const head = open ? { layer: state.layer, head: state.head } : strongest(trace, query);
  const known = exactRow(trace, head, query);
  const row = known ?? trace.row(head.layer, head.head, query);
  const { tokens } = trace.keys;
  if (!row || row.length !== tokens.length || trace.attention.queries !== trace.attention.keys) return null;
  const key = indexOfMost(row);
  const byte = Math.round(row[key] * 255);
  const [low, high] = known ? [row[key], row[key]] : [Math.max(0, byte - 0.5) / 255, Math.min(255, byte + 0.5) / 255];
  return {
    ...head,
    open,
    query: tokens[query],
    key: tokens[key],
    weights: tokens.flatMap(({ patch, index }) => (patch ? row[index] : [])),
    from: tokens[query].patch?.n ?? null,
    exact: known !== null,
    share: shareBetween({ low, high }),
  };
}

/** @param {ModelTrace} trace @param {number} query */
function strongest(trace, query) {
  const layer = trace.nLayer - 1;
  const most = Array.from({ length: trace.nHead }, (_, head) => {
    const row = trace.row(layer, head, query);
    return row ? Math.max(...trace.keys.tokens.map(({ patch, index }) => (patch ? row[index] : 0))) : 0;
  });
  return { layer, head: indexOfMost(most) };
}

/** The row of the open head as its matrix has it; null: it is not here. @param {ModelTrace} trace @param {{layer: number, head: number}} at @param {number} query */
function exactRow({ detail }, { layer, head }, query) {
  return detail?.overview && detail.layer === layer && detail.head === head ? rowIn(detail.overview, query) : null;
}

/** @param {Token} token */
const nameOf = (token) => (token.patch ? `${token.patch.row},${token.patch.column}` : tokenName(token));

/** In a sentence. @param {Glow} glow */
export const glowWords = ({ layer, head, open, share, query, key }) =>
  t(open ? "picture.glow" : "picture.glow_strongest", { layer, head, share, query: nameOf(query), key: nameOf(key) });
