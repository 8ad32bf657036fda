/**
 * Your turn: what the class handed in, each as a small river with its answer. It is covered until the teacher shows it: the
 * teacher's screen is often the projector's.
 */

import { readLink } from "../../state/link.js";
import { DEFAULTS } from "../../state/store.js";
import { buildFold, button } from "../../ui/controls.js";
import { h, keepingFocus, newId, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { OWN_TASK, taskInWords } from "./vote.js";

/**
 * @import { Message, Sentence, Taught } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 */

/** The state of a sentence that was handed in: the whole model, without what was open beside it. @param {Context} context @param {string} link @returns {State} */
export function stateOfSentence({ actions, declared }, link) {
  const { model, theme, type, lang } = actions.get();
  const asked = readLink(link, declared);
  const whole = { view: "model", drawer: null, lesson: null, quiz: false, compare: false, against: null, beside: null };
  return /** @type {State} */ ({
    ...DEFAULTS,
    model,
    theme,
    type,
    lang,
    ...asked,
    ...whole,
    viewState: { river: { heads: "none" } },
  });
}

/** How many are there. @param {Taught["members"]} members */
export const countHere = (members) => members.filter((one) => one.here).length;

/** @param {Pick<Taught, "sentences"|"members">} room */
export const handedInWords = ({ sentences, members }) =>
  t("room.handed_in", { n: sentences.length, of: countHere(members) });

/** What a card shows: a name that is withdrawn goes from it. @param {Sentence} sentence */
export const cardContent = ({ link, text, author }) => JSON.stringify([link, text, author]);

/** What the wall shows: without a change in it, nothing is drawn anew. @param {Pick<Taught, "turn"|"sentences"|"wall_shown"|"members">} room */
export const wallContent = ({ turn, sentences, wall_shown, members }) =>
  JSON.stringify([turn, sentences.map((one) => [one.id, cardContent(one)]), wall_shown, countHere(members)]);

/**
 * @param {Context} context
 * @param {{say: (message: Message) => void, show: (sentence: Sentence) => void}} on  `show`: on every screen
 */
export function createWall(context, { say, show }) {
  /** @type {Map<number, {content: string, element: HTMLElement}>} by sentence */
  const cards = new Map();
  const list = h("ul", { class: "room-wall", dataset: { testid: "room-wall" } });
  const watch = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        watch.unobserve(target);
        fill(/** @type {HTMLElement} */ (target));
      }
    },
    { rootMargin: "200px" },
  );
  /** @type {WeakMap<HTMLElement, string>} */
  const links = new WeakMap();

  /** Draws a river once its card is in sight: a class hands in three hundred. @param {HTMLElement} place */
  function fill(place) {
    const root = h("div", { class: "page alone room-river", inert: true });
    replace(place, root);
    context.miniature(root, stateOfSentence(context, links.get(place) ?? ""));
  }

  /** @param {Sentence} sentence */
  function cardOf(sentence) {
    const known = cards.get(sentence.id);
    if (known?.content === cardContent(sentence)) return known.element;
    const place = h("div", { class: "room-river-place" });
    links.set(place, sentence.link);
    watch.observe(place);
    const click = () => show(sentence);
    const words = h("span", { translate: "no" }, sentence.text);
    const data = { testid: "room-sentence", focus: `sentence-${sentence.id}` };
    const by = sentence.author ? h("span", { class: "dim" }, t("room.by", { name: sentence.author })) : null;
    const open = h("button", { class: "btn room-sentence", type: "button", dataset: data, on: { click } }, words, by);
    update(open, { title: t("room.show_all") });
    const element = h("li", null, open, place);
    cards.set(sentence.id, { content: cardContent(sentence), element });
    return element;
  }

  let drawn = "";
  /** The field of the next turn's task, once it is there. */
  let asked = /** @type {HTMLElement|null} */ (null);
  /** @param {HTMLElement} root @param {Taught} room */
  function draw(root, room) {
    const content = wallContent(room);
    if (content === drawn) return;
    const { turn, sentences, wall_shown: shown } = room;
    drawn = content;
    if (!turn) {
      cards.clear();
      if (!asked?.isConnected) keepingFocus(root, () => drawStart(root)); // what is being typed stays
      return;
    }
    const ids = new Set(sentences.map(({ id }) => id));
    for (const id of cards.keys()) if (!ids.has(id)) cards.delete(id);
    update(list, { class: shown ? "room-wall" : "room-wall covered", inert: !shown });
    const elements = sentences.map(cardOf);
    if (elements.some((one, i) => list.children[i] !== one) || list.children.length !== elements.length)
      list.replaceChildren(...elements);
    keepingFocus(root, () => drawTurn(root, turn.ask, shown, room));
  }

  /** @param {HTMLElement} root @param {string} ask @param {boolean} shown @param {Taught} room */
  function drawTurn(root, ask, shown, room) {
    const n = room.sentences.length;
    const status = h("p", { class: "dim", role: "status", dataset: { testid: "room-handed-in" } });
    setText(status, handedInWords(room));
    const cover = button("room-wall-shown", "", t(shown ? "room.cover" : "room.uncover"), () =>
      say({ kind: "wall", shown: !shown }),
    );
    const end = button("room-turn-end", "quiet", t("room.turn_end"), () => {
      say({ kind: "turn", ask: null });
      say({ kind: "recall" }); // all were on a page of their own
    });
    replace(
      root,
      h("h3", null, t("room.turn_is", { ask: taskInWords(ask) })),
      status,
      h("p", { class: "room-buttons" }, n > 0 && cover, end),
      n > 0 && shown && h("p", { class: "dim" }, t("room.wall_how")),
      list,
    );
  }

  /** @param {HTMLElement} root */
  function drawStart(root) {
    const words = t("room.turn_proposal");
    const field = h("input", {
      type: "text",
      maxlength: 600,
      id: newId("room-turn"),
      value: words,
      dataset: { testid: "room-turn-ask" },
    });
    asked = field;
    const start = button("room-turn-start", "", t("room.turn_start"), () => {
      const ask = field.value.trim();
      if (ask) say({ kind: "turn", ask: ask === words ? OWN_TASK : ask });
    });
    const label = h("label", { for: field.id }, t("room.turn_about"));
    replace(
      root,
      h("h3", null, t("room.turn")),
      buildFold("room-turn", t("room.turn_open"), h("p", { class: "room-field" }, label, field), start),
    );
  }
  return { draw };
}
