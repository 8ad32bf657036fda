/**
 * Units that never fire and units that always do: over this sentence, and over the corpus sample on the model's card.
 */

import { h, keepingFocus, replace } from "../../ui/dom.js";
import { integer, percent } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { nameOfPart } from "../parts.js";
import { corpusOf, firingOf, isOf } from "./data.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { ModelDetail } from "../../model/description.js"
 * @import { Patch } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Shown } from "./draw.js"
 */

/**
 * @typedef {ReturnType<typeof firingOf>} Own  counted here, of this sentence
 * @typedef {{positions: number[], dead: number[], always_on: number[]}} Told  the same, as the server counts it
 */

/** @param {Part} place @param {ModelTrace} trace @param {Shown} shown @param {(patch: Patch) => void} choose */
export function drawUnitCounts(place, trace, { post, ffn, n, unit }, choose) {
  /** @type {Told} */
  const told = trace.explained.units.ffns.find(isOf(ffn));
  const own = firingOf(post, told.positions);
  const corpus = corpusOf(trace.model, ffn);
  nameOfPart(place, t("ffn.counts_title"), t(keyFor(trace.model, "ffn.counts_about")));
  const here = {
    name: "here",
    title: t(keyFor(trace.model, "ffn.counts_here"), { n: told.positions.length }),
    dead: own.dead,
    always: own.always,
    share: own.share,
  };
  const stored = corpus && {
    name: "corpus",
    title: t("ffn.counts_corpus", { n: trace.model.units.n_texts ?? 0, tokens: integer(corpus.n_tokens) }),
    dead: corpus.dead,
    always: corpus.always_on,
    share: corpus.mean_share_firing,
  };
  const open = openLists(place.place);
  const columns = [here, ...(stored ? [stored] : [])].map((one) => columnOf(one, n, unit, open, choose));
  const none =
    !stored &&
    h(
      "div",
      { class: "unit-counts" },
      h("h3", null, t("ffn.no_corpus")),
      h("p", { class: "dim", dataset: { testid: "ffn-not-stored" } }, t("ffn.not_stored")),
    );
  keepingFocus(place.place, () => replace(place.place, h("div", { class: "act-halves" }, columns, none)));
  replace(place.said, agreement(own, told), stored && sampleOf(trace.model, own, stored));
}

/** The lists that the reader has opened; they stay open. @param {HTMLElement} root @returns {Set<string>} */
function openLists(root) {
  /** @type {NodeListOf<HTMLElement>} */
  const open = root.querySelectorAll("details[open]");
  return new Set([...open].map(({ dataset }) => dataset.list ?? ""));
}

/**
 * @param {{name: string, title: string, dead: number[], always: number[], share: number}} counted @param {number} n @param {number} unit
 * @param {Set<string>} open @param {(patch: Patch) => void} choose
 */
function columnOf({ name, title, dead, always, share }, n, unit, open, choose) {
  const line = (/** @type {"dead"|"always"} */ kind, /** @type {number[]} */ ids) => {
    const id = `${name}-${kind}`;
    const summary = h(
      "summary",
      null,
      t(`ffn.${kind}`, { n: integer(ids.length), of: integer(n), share: percent(ids.length / n) }),
    );
    const list = h("div", { class: "unit-ids" });
    const fill = () =>
      list.childElementCount ||
      replace(
        list,
        ids.map((one) => chip(id, one, one === unit, choose)),
      );
    const details = h(
      "details",
      { dataset: { list: id, testid: `ffn-${id}`, count: ids.length }, on: { toggle: fill } },
      summary,
      list,
    );
    if (open.has(id)) fill();
    details.open = open.has(id);
    return details;
  };
  const firing = h("p", { class: "dim" }, t("ffn.share", { share: percent(share) }));
  return h(
    "div",
    { class: "unit-counts", dataset: { counts: name } },
    h("h3", null, title),
    line("dead", dead),
    line("always", always),
    firing,
  );
}

/** @param {string} list @param {number} id @param {boolean} chosen @param {(patch: Patch) => void} choose */
function chip(list, id, chosen, choose) {
  const attrs = { type: "button", class: "unit-id mono", "aria-pressed": chosen, dataset: { focus: `${list}-${id}` } };
  return h("button", { ...attrs, on: { click: () => choose({ ffnUnit: id }) } }, id);
}

/** Whether the counts made here, on the drawn tensor, equal the server's. @param {Own} own @param {Told} told */
function agreement(own, told) {
  const ok = own.dead.join() === told.dead.join() && own.always.join() === told.always_on.join();
  return h(
    "span",
    { class: ok ? "check" : "check bad", dataset: { testid: "ffn-agrees", agrees: ok } },
    t(ok ? "ffn.agrees" : "ffn.differs"),
  );
}

/**
 * The sample's description, and how many of the units that are silent here are silent in the sample too.
 * @param {ModelDetail} model @param {Own} own @param {{dead: number[]}} stored
 */
function sampleOf(model, own, stored) {
  const { units } = model;
  const everywhere = own.dead.filter((id) => stored.dead.includes(id)).length;
  return h(
    "span",
    { class: "dim sample-words" },
    t(keyFor(model, "ffn.sample"), { on: units.on ?? "", both: integer(everywhere), here: integer(own.dead.length) }),
  );
}
