/** How the chosen token was drawn, where it looks in the open head, and what the KV cache did for it. */

import { chosenOf } from "../generation/paths.js";
import { sharesOf } from "../generation/shares.js";
import { h, replace, setText } from "../lib/dom.js";
import { byteSize, number, percent } from "../lib/format.js";
import { phrase, t } from "../lib/i18n.js";
import { tokenText } from "../lib/token_text.js";

/** Pixels of a character in a share, about. */
const CHARACTER = 7.5;

/** @param {ReturnType<typeof import("../generation/session.js").createSession>} session */
export function createDrawn(session) {
  const how = h("p", { class: "how", role: "status", dataset: { testid: "gen-drawn" } });
  const line = h("div", { class: "shares", "aria-hidden": true, title: t("generation.shares_about") });
  const looks = h("p", { class: "dim", dataset: { testid: "gen-looks" } });
  const cache = h("p", { class: "dim", dataset: { testid: "gen-cache" } });
  const node = h("div", { class: "drawn" }, how, line, looks, cache);

  return {
    node,
    draw(trace, state) {
      const path = session.path();
      if (!path) return;
      const index = chosenOf(state, path);
      const step = session.drawn(index);
      const word = nameOf(session.word(path.ids[index]));
      const [blocked, greedy] = [session.blocked(), step?.settings.temperature === 0];
      replace(how, howOf({ step, index, word, path, greedy, blocked }));
      line.hidden = !step;
      if (step) replace(line, sharesLine(session, step, line.clientWidth));
      const place = placeOf(trace, state, path, index);
      if (place) replace(looks, looksOf(place, session.word(path.ids[index]), session.word(path.ids[place.key])));
      looks.hidden = index < path.nPrompt;
      looks.classList.toggle("stale", place === null); // it keeps its place until the new row is here
      setText(cache, cacheOf(session.drawn(path.ids.length - 1)));
    },
  };
}

function howOf({ step, index, word, path, greedy, blocked }) {
  if (index < path.nPrompt) return blocked ? "" : t("generation.hint");
  if (!step) return phrase("generation.by_hand", { token: word });
  const vars = { u: h("b", { class: "mono" }, number(step.u, 4)), token: word, index };
  const [before, after] = [percent(step.before), percent(step.after)];
  return phrase(greedy ? "generation.fell_greedy" : "generation.fell", { ...vars, before, after });
}

/** What the newest token's step kept and computed. */
function cacheOf(step) {
  if (!step) return "";
  const { positions, computed, bytes } = step.cache;
  return t("generation.cache", { positions, computed, size: byteSize(bytes) });
}

/** All shares of [0, 1) in a row, and u on it. */
function sharesLine(session, { from, token, u }, width) {
  const place = ({ from: low, to }) => ({ left: `${low * 100}%`, width: `${(to - low) * 100}%` });
  const shares = sharesOf(from).map((share) => {
    const hit = share.id === token.id || (share.id === null && u >= share.from);
    const text = share.id === null ? [t("generation.others")] : tokenText(session.word(share.id));
    const length = text.reduce((sum, part) => sum + (part.textContent ?? part).length, 0);
    const fits = length * CHARACTER + 6 < (share.to - share.from) * width;
    return h("span", { class: hit ? "share hit" : "share", style: place(share) }, fits ? text : null);
  });
  return [...shares, h("i", { class: "u", style: { left: `${u * 100}%` } })];
}

/** The strongest key of a row, out of the float32 of the open head. null while that is on its way. */
function placeOf(trace, { layer, head }, { ids }, query) {
  const detail = trace?.detail;
  if (!detail || detail.layer !== layer || detail.head !== head) return null;
  const { start, end } = trace.real;
  if (end - start !== ids.length || ids.some((id, i) => id !== trace.tokens[start + i].id)) return null;
  const from = (start + query) * detail.pattern.shape[1] + start;
  const row = detail.pattern.data.subarray(from, from + ids.length);
  const key = row.reduce((best, value, i) => (value > row[best] ? i : best), 0);
  return { layer, head, key, weight: row[key] };
}

function looksOf({ layer, head, key, weight }, query, target) {
  const value = h("b", { class: "mono" }, number(weight));
  const parts = { query: nameOf(query, "q"), key: nameOf(target, "k"), at: key, weight: value };
  return phrase("generation.looks", { ...parts, layer, head });
}

function nameOf(word, role = "") {
  return h("b", { class: `mono token-name ${role}` }, tokenText(word));
}
