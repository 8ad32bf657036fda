/**
 * The eye of a head switches it off, so that it writes nothing, and on again; with Shift only this head of its layer stays on. The open
 * head's is always in sight; that of a small picture comes under the pointer, and with the focus `o` is its key.
 */

import { widthOf } from "../../chart/theme.js";
import { editing, withChanges } from "../../model/compare/runs.js";
import { attentionsOf, showsMeans } from "../../model/description.js";
import { hasHeads, headKey, headsEdited, headsOff, headToggled, onlyHead } from "../../model/edits.js";
import { cutToWidth, tokenName } from "../../model/labels.js";
import { position } from "../../model/selection.js";
import { h, replaceChanged, update } from "../../ui/dom.js";
import { briefPercent } from "../../ui/format.js";
import { eyeSign, headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { className } from "../../ui/token_text.js";
import { attentionSteps, isPencilOn } from "../attention/steps.js";
import { placeOf } from "../places.js";
import { nameHead } from "./labels.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Ablation } from "../../data/streams.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Head } from "../../model/edits.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Row } from "./heads.js"
 */

/** Of an open head or FFN, at the end of the line of its steps: it says what it does and what becomes of the answer; on a phone, a word. @param {string} testid */
export function buildSwitch(testid) {
  const attrs = { class: "btn head-switch", type: "button", hidden: true, dataset: { testid } };
  return /** @type {HTMLButtonElement} */ (h("button", attrs, eyeSign(), h("span", { class: "word" })));
}

/** @param {Attention} attention  in which a group of features has no output that is switched off alone */
const offers = (attention) => hasHeads(attention) && !showsMeans(attention);

/**
 * @param {HTMLElement} root  holds the small pictures @param {HTMLButtonElement|null} eye  the open head's; null: they only show what is off @param {Actions} actions
 * @returns {(rows: Row[], trace: ModelTrace, state: State) => void}  to be called before the pictures are named
 */
export function createEyes(root, eye, actions) {
  let trace = /** @type {ModelTrace|null} */ (null);
  let drawn = "";
  let setOff = new Set(); // also while the run before is shown, as the switches stand as they are set
  // One for all small pictures: it moves to the one under the pointer. For the keyboard there is a key.
  const small = h("button", {
    ...{ class: "eye", type: "button", tabindex: -1, "aria-hidden": "true" },
    dataset: { testid: "eye" },
  });
  small.append(eyeSign());

  /** @param {Head} head @param {boolean} only  this head of its layer */
  const press = (head, only) => {
    const state = actions.get();
    if (!trace || !eye || state.file !== null || state.lesson !== null) return;
    const attentions = attentionsOf(trace.model);
    const { query, key } = position(state, trace);
    const chosen = placeOf(state).name === "head" ? { query, key } : {}; // the chosen cell stays chosen
    const change = (/** @type {State} */ now) => ({
      ...(only ? onlyHead : headToggled)(now, head, attentions),
      ...(now === state ? chosen : null),
    });
    actions.set(editing(state, trace.model, change));
  };
  /** The head of a small picture that can be switched off. @param {EventTarget|null} target */
  const headAt = (target) => {
    const cell = /** @type {Element|null} */ (target)?.closest?.(".cell");
    const { attention, layer, head } = /** @type {HTMLElement|null} */ (cell?.querySelector("canvas"))?.dataset ?? {};
    const of = trace?.attentions.find(({ id }) => id === attention);
    return cell && of && attention && offers(of) ? { cell, attention, layer: Number(layer), head: Number(head) } : null;
  };

  const come = (/** @type {Event} */ { target }) => {
    if (!eye || target === small || trace?.file !== null) return;
    const at = headAt(target);
    if (at && small.parentNode !== at.cell) at.cell.append(small);
    if (at) small.title = eyeTitle(at, setOff.has(headKey(at)));
  };
  root.addEventListener("pointerover", come);
  small.addEventListener("click", (event) => {
    event.stopPropagation(); // it does not open the head
    const at = headAt(small);
    if (at) press({ attention: at.attention, layer: at.layer, head: at.head }, event.shiftKey);
  });
  root.addEventListener("keydown", (event) => {
    const at = headAt(event.target);
    if (!eye || event.code !== "KeyO" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !at) return;
    event.preventDefault();
    press({ attention: at.attention, layer: at.layer, head: at.head }, event.shiftKey);
  });
  eye?.addEventListener("click", ({ shiftKey }) => {
    if (!trace) return;
    const { layer, head } = actions.get();
    press({ attention: trace.attention.id, layer, head }, shiftKey);
  });

  return (rows, now, state) => {
    trace = now;
    const { layer, head } = state;
    const offIn = (/** @type {State} */ of) => new Set(headsOff(of.interventions, now.attentions).map(headKey));
    const off = offIn(state);
    setOff = offIn(withChanges(state, now.model));
    const open = { attention: now.attention.id, layer, head };
    const isOff = off.has(headKey(open));
    if (eye)
      drawOpen(eye, open, now, {
        isOff: setOff.has(headKey(open)),
        hidden: !offers(now.attention) || state.lesson !== null || state.file !== null || state.view === "computation", // its player is there
        aside: state.view === "attention" && !state.compare && isPencilOn(state),
      });
    actions.page.classList.toggle("head-off", isOff);
    const edited = new Set(headsEdited(state.interventions, now.attentions).map(headKey));
    const content = JSON.stringify([[...off], [...edited], now.model.name, rows.length]);
    if (content === drawn) return;
    drawn = content;
    for (const { attention, layer, cells } of rows) {
      cells.forEach((canvas, n) => {
        const hidden = off.has(headKey({ attention, layer, head: n }));
        canvas.parentElement?.classList.toggle("off", hidden);
        canvas.parentElement?.classList.toggle("edited", edited.has(headKey({ attention, layer, head: n })));
        if (hidden === "off" in canvas.dataset) return;
        if (hidden) {
          canvas.dataset.off = "";
          canvas.parentElement?.append(h("span", { class: "struck", "aria-hidden": true }, eyeSign()));
        } else {
          delete canvas.dataset.off;
          canvas.parentElement?.querySelector(".struck")?.remove();
        }
        nameHead(canvas, canvas.dataset.name ?? headWords(now.model, { attention, layer, head: n }));
      });
    }
  };
}

/**
 * @param {HTMLButtonElement} eye @param {Head} open @param {ModelTrace} trace
 * @param {{isOff: boolean, hidden: boolean, aside: boolean}} about  `aside`: the pencil's choices need its place
 */
function drawOpen(eye, open, trace, { isOff, hidden, aside }) {
  eye.hidden = hidden;
  eye.classList.toggle("aside", aside);
  eye.classList.toggle("many", attentionSteps(trace.attention).length > FEW_STEPS);
  eye.parentElement?.parentElement?.classList.toggle("with-switch", !hidden && !aside);
  if (hidden) return;
  update(eye, { title: eyeTitle(open, isOff) });
  saySwitch(eye, isOff, trace, (found) => found.kind === "head" && headKey(found) === headKey(open));
}

/** With more steps than these there is no room for its words in a narrow window. */
const FEW_STEPS = 4;

/** So wide may the answer with its percentage be in the words of the switch, in pixels. */
const ANSWER = 67;

/** Its words say what a press does, so that no state is needed beside them. @param {HTMLButtonElement} eye @param {boolean} isOff @param {ModelTrace} trace @param {(found: Ablation) => boolean} isIt */
export function saySwitch(eye, isOff, trace, isIt) {
  replaceChanged(/** @type {Element} */ (eye.lastChild), isOff ? t("eye.on_brief") : offWords(trace, isIt));
  update(eye, { dataset: { off: isOff, brief: t(isOff ? "eye.on_brief" : "eye.off_do") } }); // a phone's word: css/heads.css
}

/** What switching it off makes of the answer, if that is measured: "Switch off: car 93 %". @param {ModelTrace} trace @param {(found: Ablation) => boolean} isIt */
function offWords({ ablations }, isIt) {
  const one = ablations?.found.find(isIt);
  const start = ablations?.start;
  if (!one || !start) return t("eye.off_do");
  const { answer: id, tokens, classes } = start;
  const name = classes.length ? className(classes[id]) : tokenName(tokens[id]);
  const wide = (/** @type {string} */ text) => widthOf(text, 13, "--font");
  const short = cutToWidth(name, ANSWER - wide(` ${briefPercent(one.p)}`), wide);
  return h(
    "span",
    null,
    phrase("eye.off_to", { answer: h("b", { translate: "no" }, short) }),
    " ",
    briefPercent(one.p),
  );
}

/** What the eye does. @param {{layer: number, head: number}} at @param {boolean} isOff */
const eyeTitle = ({ layer, head }, isOff) => t(isOff ? "eye.switch_on" : "eye.switch_off", { layer, head });
