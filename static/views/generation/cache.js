/** The KV cache of the newest step: how many positions it kept, how many it computed, and how many a step without it would compute. */

import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { byteSize, integer } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { writerOf } from "./player.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { View } from "../view.js"
 * @import { Session } from "./session.js"
 */

/** @typedef {{positions: number, computed: number, bytes: number}} Cache */

const elementsOf = perRoot((root) => {
  const said = h("p", { role: "status", dataset: { testid: "gen-cache" } });
  const bars = h("dl", { class: "cache-bars" });
  const title = h("h2", null, t("cache.title"), h("span", { class: "dim" }, t("cache.about")));
  replace(root, title, said, bars);
  return { said, bars, session: /** @type {Session|null} */ (null) };
});

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  if (!parts.session) {
    const { session, onChange } = writerOf(actions);
    parts.session = session;
    onChange(() => show(root));
  }
  parts.session.follow(/** @type {ModelTrace} */ (trace));
  show(root);
}

/** @param {HTMLElement} root */
function show(root) {
  const { said, bars, session } = elementsOf(root);
  const path = session?.path();
  if (!session || !path) return; // while a new sentence is read, the old one stays
  /** @type {Cache|undefined} */
  const cache = session.drawn(path.ids.length - 1)?.cache;
  bars.hidden = !cache;
  if (!cache) return setText(said, t("cache.nothing"));
  const { positions, computed, bytes } = cache;
  setText(said, t("generation.cache", { n: positions, computed, size: byteSize(bytes) }));
  replace(
    bars,
    barOf(t("cache.with"), computed / positions, t("cache.computed", { n: computed }), "with"),
    barOf(t("cache.without"), 1, t("cache.computed", { n: integer(positions) }), "without"),
  );
}

/** @param {string} name @param {number} share @param {string} value @param {string} kind */
const barOf = (name, share, value, kind) =>
  h(
    "div",
    { class: kind },
    h("dt", null, name),
    h(
      "dd",
      null,
      h("u", { "aria-hidden": true }, h("s", { style: { width: `${share * 100}%` } })),
      h("span", null, value),
    ),
  );
