/**
 * The metadata of a saved trace: every part that the page reads, with its type and bounds. `trace_file.js` checks it
 * before anything uses it.
 */

/**
 * What a value from outside must look like, as a function that returns the path to the first part that does not fit, or
 * null. A check visits only what it names, so it cannot be slowed down by a deep or a large value.
 * @typedef {(value: any, at: string) => string|null} Check
 */

/** Characters of a text, and items of a list, where nothing smaller is said. */
const LONGEST = 1e6;

/** @param {boolean} fits @param {string} at */
const unless = (fits, at) => (fits ? null : at);

/** @param {number} [most] @returns {Check} */
const text =
  (most = LONGEST) =>
  (value, at) =>
    unless(typeof value === "string" && value.length <= most, at);

/** @param {number} [low] @param {number} [high] @returns {Check} */
const whole =
  (low = 0, high = 2 ** 31) =>
  (value, at) =>
    unless(Number.isSafeInteger(value) && value >= low && value <= high, at);

/** Finite. @type {Check} */
const number = (value, at) => unless(Number.isFinite(value), at);

/** @type {Check} */
const flag = (value, at) => unless(typeof value === "boolean", at);

/** @param {...(string|number)} words @returns {Check} */
const oneOf =
  (...words) =>
  (value, at) =>
    unless(words.includes(value), at);

/** @param {Check} check @returns {Check} */
const orNull = (check) => (value, at) => (value === null ? null : check(value, at));

/** @param {Check} check @param {{least?: number, most?: number}} [bounds] @returns {Check} */
const list =
  (check, { least = 0, most = LONGEST } = {}) =>
  (value, at) => {
    if (!Array.isArray(value) || value.length < least || value.length > most) return at;
    return first(value, (item, i) => check(item, `${at}[${i}]`));
  };

/** Any names, each with a value that fits. @param {Check} check @param {number} [most] @returns {Check} */
const record =
  (check, most = LONGEST) =>
  (value, at) => {
    if (!isObject(value)) return at;
    const entries = Object.entries(value);
    if (entries.length > most) return at;
    return first(entries, ([name, own]) => (name === "__proto__" ? at : check(own, `${at}.${name.slice(0, 80)}`)));
  };

/**
 * Named values; those that are not named may be anything.
 * @param {Record<string, Check>} needed @param {Record<string, Check>} [optional] @returns {Check}
 */
const object =
  (needed, optional = {}) =>
  (value, at) => {
    if (!isObject(value)) return at;
    const there = Object.entries(optional).filter(([name]) => value[name] !== undefined);
    return first([...Object.entries(needed), ...there], ([name, check]) => {
      const own = Object.hasOwn(value, name) ? value[name] : undefined;
      return check(own, at ? `${at}.${name}` : name);
    });
  };

/** The named values of an object that fit; the others are left out. @param {Record<string, Check>} fields @param {unknown} value @returns {Record<string, any>} */
function fitting(fields, value) {
  const own = isObject(value) ? Object.entries(/** @type {object} */ (value)) : [];
  return Object.fromEntries(own.filter(([name, one]) => Object.hasOwn(fields, name) && fields[name](one, "") === null));
}

/** @template T @param {T[]} items @param {(item: T, i: number) => string|null} check */
function first(items, check) {
  for (let i = 0; i < items.length; i++) {
    const misfit = check(items[i], i);
    if (misfit !== null) return misfit;
  }
  return null;
}

/** @param {any} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Far above what a page can draw, and what 100 MB can hold. */
export const MOST = { layers: 512, heads: 4096, tokens: 8192, tensors: 20_000 };

/** A name is looked up: none may be what every object has ("constructor"). @type {Check} */
const NAME = (value, at) => text(300)(value, at) ?? unless(!(String(value) in {}), at);
const NAMES = list(NAME, { most: MOST.tensors });
/** 0: an old file does not say. */
const SIZE = whole(0, 2 ** 24);
const INDEX = orNull(whole());
const SIDE = oneOf("source", "target");

/** Pairs of hexadecimal digits. @type {Check} */
const bytes = (value, at) =>
  typeof value === "string" && value.length % 2 === 0 && /^[0-9a-f]*$/.test(value) ? null : at;

const WORD = { id: whole(), text: text(), bytes };
const TOKEN = object(
  { index: whole(), ...WORD },
  {
    start: whole(),
    end: whole(),
    partial: flag,
    special: flag,
    covers: list(whole(), { least: 2, most: 2 }),
  },
);
const TOKENS = list(TOKEN, { least: 1, most: MOST.tokens });
const IDS = list(whole());

const WHERE = object(
  { layer: orNull(whole(0, MOST.layers)) },
  { role: NAME, attention: orNull(NAME), head: INDEX, query: INDEX, key: INDEX },
);
const EDIT = object(
  { kind: NAME, where: WHERE },
  { allow: flag, lifts: orNull(NAMES), temperature: number, size: number, to: orNull(NAME) },
);
/** Those of the whole model name no place. */
const EDIT_OF_MODEL = object({ kind: oneOf("no_positions", "freeze_norms"), where: object({}) });
const INTERVENTIONS = list(
  (value, at) => (["no_positions", "freeze_norms"].includes(value?.kind) ? EDIT_OF_MODEL : EDIT)(value, at),
  { most: MOST.tokens },
);

const TAP = object({ tap: NAME, dims: NAME });
const NORM = object({
  kind: NAME,
  eps: number,
  place: NAME,
  roles: object({ input: TAP, out: TAP }),
  parameters: object({ gain: NAME }, { bias: orNull(NAME) }),
});
const STREAM = { reads: TAP, writes: TAP, leaves: TAP, input: TAP, norm: orNull(NORM) };
const ATTENDS = object({ ...STREAM, attention: NAME, layer: whole() });
const FFN = object(
  {
    ...STREAM,
    roles: record(TAP, 100),
    parameters: record(NAME, 100),
    activation: NAME,
    gate: orNull(NAME),
    d_ff: whole(),
  },
  { beside: TAP },
);
/** @type {Check} */
const sublayer = (value, at) =>
  oneOf("attention", "ffn")(value?.kind, `${at}.kind`) ?? (value.kind === "ffn" ? FFN : ATTENDS)(value, at);

const STACK = object({
  id: NAME,
  side: SIDE,
  embedding: object(
    {
      roles: object({ embedding: TAP }, { positional: TAP, token_types: TAP }),
      scale: orNull(number),
      positions: NAME,
      parameters: record(orNull(NAME), 100),
    },
    { norm: NORM },
  ),
  layers: list(object({ sublayers: list(sublayer, { least: 1, most: 16 }) }, { scale: number }), {
    least: 1,
    most: MOST.layers,
  }),
  final_norm: orNull(NORM),
  leaves: TAP,
});
const ATTENTION = object(
  {
    id: NAME,
    kind: NAME,
    stack: NAME,
    queries: SIDE,
    keys: SIDE,
    causal: flag,
    n_layer: whole(1, MOST.layers),
    n_head: whole(1, MOST.heads),
    n_kv_head: whole(1, MOST.heads),
    d_head: SIZE,
    scale: orNull(number),
    overview: orNull(NAME),
    roles: record(object({ dims: NAME, taps: NAMES }, { rows: oneOf("query", "key") }), 100),
    parameters: record(list(orNull(NAME), { most: MOST.layers }), 100),
    parts: record(NAMES, 100),
    identities: list(object({ op: NAME, of: NAMES, gives: NAME }), { most: 100 }),
  },
  {
    hands_over: NAMES,
    base: number,
    bases: list(number, { most: MOST.layers }),
    frequencies: list(number, { most: MOST.heads }),
    rotary_dims: whole(),
    norm_eps: number,
    bias_reach: whole(1),
    softcap: number,
  },
);
const PICTURE = object(
  { size: whole(1, 1024), patch: whole(1, 1024), levels: whole(2, 256) },
  { channels: oneOf(1, 3), before: list(NAME, { least: 1, most: 64 }) },
);
export const DESCRIPTION = object(
  {
    id: NAME,
    family: NAME,
    predicts: oneOf("next", "same", "classes", "none"),
    writes: orNull(SIDE),
    sides: list(SIDE, { least: 1, most: 2 }),
    classes: list(NAME, { most: 10_000 }),
    d_model: SIZE,
    vocab_size: SIZE,
    max_seq_len: SIZE,
    can: record(flag, 1000),
    stacks: list(STACK, { least: 1, most: 16 }),
    logits: object(
      { tap: NAME, dims: NAME, stack: NAME, parameters: record(orNull(NAME), 100) },
      { labels: list(NAME, { most: 10_000 }) },
    ),
    attentions: list(ATTENTION, { least: 1, most: 16 }),
  },
  { picture: PICTURE },
);

const UNTRAINED = object({ code: NAME, language: NAME, trained: NAMES, models: NAMES }, { writers: NAMES });
const UNREAD = object({ n_tokens: whole(), n_read: whole() });
/** @type {Object<string, Check>} */
const NOTES = {
  windowed: UNREAD,
  lacking: object({ n_tokens: whole(1) }),
  special: object({ names: NAMES, read: flag }),
  token_types: object({ second: whole() }),
  language_codes: object({ source: orNull(NAME), target: orNull(NAME) }),
};
/** @type {Check} */
const note = (value, at) => (NOTES[value?.code] ?? UNTRAINED)(value, at);

export const META = object(
  {
    model: NAME,
    text: text(),
    tokens: TOKENS,
    seconds: number,
    dims: record(NAME, MOST.tensors),
    masks: object({ causal: flag }, { padding: flag }),
  },
  {
    produced_by: NAME,
    read_text: text(),
    family: NAME,
    n_characters: whole(),
    description_id: NAME,
    target_tokens: orNull(TOKENS),
    target_text: orNull(text()),
    target_from: orNull(oneOf("request", "greedy")),
    position_ids: IDS,
    second: orNull(whole(1, MOST.tokens)),
    token_type_ids: orNull(IDS),
    target_position_ids: orNull(IDS),
    never_sampled: IDS,
    max_seq_len: SIZE,
    heads: orNull(IDS),
    pad: orNull(object({ count: whole(0, MOST.tokens), side: oneOf("left", "right") }, { follow: flag, hidden: IDS })),
    interventions: INTERVENTIONS,
    run: object(
      {},
      {
        input: object({}, { pair: text() }),
        interventions: INTERVENTIONS,
        pad: object({ count: whole(0, MOST.tokens) }),
      },
    ),
    scale: record(number, MOST.tensors),
    pool: whole(1, MOST.tokens),
    predictions: orNull(list(object({ candidates: list(object(WORD)) }), { most: MOST.tokens })),
    classes: orNull(list(object({ name: NAME, logit: number, probability: number }), { most: 10_000 })),
    notes: list(note, { most: 100 }),
    special: object({}, { pad: INDEX, end: INDEX, first: INDEX, mask: INDEX }),
  },
);

/** What the page reads of a model's config. Its author may write more there, and of any type. */
const CONFIG = {
  vocab_size: SIZE,
  n_layer: whole(1, MOST.layers),
  n_head: whole(1, MOST.heads),
  d_head: SIZE,
  d_model: SIZE,
  d_ff: SIZE,
  max_seq_len: SIZE,
  family: NAME,
  position: NAME,
  norm_order: NAME,
  layer_norm_eps: number,
  text_form: NAME,
  mechanism: NAME,
  picture: PICTURE,
  tie_embeddings: flag,
  scale_embeddings: flag,
};

/** The part of a config that the page reads. @param {unknown} config */
export const configOf = (config) => fitting(CONFIG, config);
