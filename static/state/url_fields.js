/** How each part of the state is written in the URL: what cannot be read is `undefined`. */

/** The most PADs that the page puts beside a sentence. */
export const MOST_PADS = 8;

/**
 * [its name there, from text, to text]
 * @type {Object<string, [string, (text: string) => any, (value: any) => string]>}
 */
export const FIELDS = {
  model: ["model", String, String],
  text: ["text", String, String],
  ids: ["ids", readIds, writeIds],
  nPrompt: ["prompt", readIndex, String],
  target: ["target", String, String],
  targetIds: ["target_ids", readIds, writeIds],
  attention: ["attention", String, String],
  layer: ["layer", readIndex, String],
  head: ["head", readIndex, String],
  query: ["query", readIndex, String],
  key: ["key", readIndex, String],
  view: ["view", String, String],
  causal: ["causal", readSwitch, writeSwitch],
  padCount: ["pad", readPads, String],
  padSide: ["pad_side", (text) => (["left", "right"].includes(text) ? text : undefined), String],
  padMask: ["padding", readSwitch, writeSwitch],
  padFollow: ["positions", (text) => ({ follow: true, count: false })[text], (on) => (on ? "follow" : "count")],
  drawAs: ["as", oneOf("matrix", "lines"), String],
  lineHeads: ["heads", readHeads, (heads) => (heads === "mean" ? heads : heads.join("."))],
  unit: ["unit", oneOf("tokens", "characters", "words"), String],
  text2: ["text2", String, String],
  step: ["step", String, String],
  cell: ["cell", readPair, writeIds],
  ffnUnit: ["unit_id", readIndex, String],
  answer: ["answer", readIndex, String],
  swap: ["swap", readPair, writeIds],
  quiz: ["quiz", readSwitch, writeSwitch],
  compare: ["compare", readSwitch, writeSwitch],
  temperature: ["temperature", readNumber(0, 10), String],
  topK: ["top_k", readIndex, String],
  topP: ["top_p", readNumber(0.01, 1), String],
  seed: ["seed", readIndex, String],
};

function writeIds(ids) {
  return ids.join(".");
}

function readIds(text) {
  const ids = text.split(/[.,]/).filter(Boolean).map(readIndex);
  return ids.length && !ids.includes(undefined) ? ids : undefined;
}

function readPair(text) {
  const pair = readIds(text);
  return pair?.length === 2 ? pair : undefined;
}

/** "mean", or some heads joined with "." in the order of the heads. */
function readHeads(text) {
  const heads = text === "mean" ? text : readIds(text);
  return Array.isArray(heads) ? [...new Set(heads)].sort((a, b) => a - b) : heads;
}

function oneOf(...words) {
  return (text) => (words.includes(text) ? text : undefined);
}

function readIndex(text) {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function readPads(text) {
  return readIndex(text) <= MOST_PADS ? readIndex(text) : undefined;
}

function readNumber(low, high) {
  return (text) => (text.trim() && Number(text) >= low && Number(text) <= high ? Number(text) : undefined);
}

function readSwitch(text) {
  return { on: true, off: false, 1: true, 0: false }[text];
}

function writeSwitch(on) {
  return on ? "on" : "off";
}
