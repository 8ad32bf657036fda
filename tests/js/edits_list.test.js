/** The list of edits, in a document of jsdom: what is chosen in a row, what its controls are called, and where the focus goes. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";
import { createStore, DEFAULTS } from "../../static/state/store.js";
import { createEdits } from "../../static/views/edits.js";
import { testWith } from "./words.js";

const read = (/** @type {string} */ file) => JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
const { decoder } = read("descriptions.json");
const MODEL = { ...decoder, name: "model", means: { n: 64, on: "tests" } };
const OFF = { kind: "ablate", where: { attention: "self", layer: 1, role: "z", head: 0 } };

/** A page with nothing but its edits, and a head that is off. @param {any[]} interventions */
async function page(interventions = [OFF]) {
  const { window } = new JSDOM("<!doctype html><html lang=en><body></body></html>");
  const { document, Node, HTMLElement } = window;
  const matchMedia = () => ({ matches: false });
  const CSS = { escape: (/** @type {string} */ text) => text.replace(/[^\w-]/g, "\\$&") };
  Object.assign(globalThis, { document, Node, HTMLElement, matchMedia, CSS });
  window.HTMLElement.prototype.checkVisibility = function checkVisibility() {
    return this.isConnected && !this.closest("[hidden]");
  };
  const store = createStore(/** @type {any} */ ({ ...DEFAULTS, model: "model", text: "hi" }));
  const set = (/** @type {any} */ change) => store.set(change(store.get()));
  const actions = { get: store.get, set: store.set, refusals: new Map(), page: document.body };
  const edits = createEdits(/** @type {any} */ (actions), () => MODEL, set, document.body);
  document.body.append(edits.row);
  const draw = () => edits.draw(null, store.get());
  draw(); // before the first change
  store.subscribe(draw);
  store.set({ interventions });
  /** @param {string} testid @returns {any} */
  const $ = (testid) => document.querySelector(`[data-testid=${testid}]`);
  for (let i = 0; i < 1000 && !$("edit-how"); i++) await new Promise((resolve) => setTimeout(resolve, 0)); // its code loads
  $("edits-list").click();
  /** @param {any} control @param {string} value */
  const choose = (control, value) => {
    control.value = value;
    control.dispatchEvent(new window.Event("change"));
  };
  return { document, store, draw, $, choose };
}

const testWithWords = testWith(read("../../static/i18n/en.json"));
const GLOBALS = ["document", "Node", "HTMLElement", "matchMedia", "CSS"];

/** With what others in this process have put there afterwards. @param {string} name @param {() => Promise<void>} run */
function test(name, run) {
  testWithWords(name, async () => {
    const others = GLOBALS.map((one) => [one, /** @type {any} */ (globalThis)[one]]);
    try {
      await run();
    } finally {
      Object.assign(globalThis, Object.fromEntries(others));
    }
  });
}

test("a row says what the run is set to; sentences of the reader's are asked for while their field has the focus", async () => {
  const { document, store, draw, $, choose } = await page();
  assert.equal($("edit-how").value, "zero");
  choose($("edit-how"), "own");
  assert.equal(document.activeElement, $("edit-over"));
  store.set({ interventions: [OFF, { kind: "no_positions", where: {} }] }); // drawn again meanwhile
  assert.deepEqual([$("edit-how").value, $("edit-over").hidden], ["own", false]);
  $("edit-over").blur();
  assert.equal($("edit-how").value, "zero", "nothing was typed");
  store.set({ interventions: [OFF] });
  assert.equal($("edit-over").hidden, true);

  choose($("edit-how"), "own");
  choose($("edit-over"), "The red ball.");
  assert.deepEqual(store.get().interventions[0].over, ["The red ball."]);
  $("edit-over").blur();
  assert.deepEqual([$("edit-how").value, $("edit-over").hidden], ["own", false]);
  $("edit-undo").click();
  draw();
  assert.equal(store.get().interventions[0].over, undefined);
  assert.deepEqual([$("edit-how").value, $("edit-over").hidden], ["zero", true]);
});

test("the controls of an edit are named by all of it, which its visible words leave to the choice", async () => {
  const { $, choose } = await page();
  const names = () => ["edit-switch", "edit-remove"].map((one) => $(one).getAttribute("aria-label"));
  assert.equal($("edit-chip").querySelector(".edit-words").textContent, "Head 1·0: output set to");
  assert.deepEqual(names(), ["head 1·0 off", "Remove: head 1·0 off"]);
  choose($("edit-how"), "mean");
  assert.deepEqual(names(), ["head 1·0 = mean", "Remove: head 1·0 = mean"]);
});

test("the focus of what goes is on the button that brings it back", async () => {
  const { document, store, $ } = await page();
  const press = (/** @type {string} */ one) => {
    $(one).focus();
    $(one).click();
    return /** @type {HTMLElement} */ (document.activeElement).dataset.testid;
  };
  assert.equal(press("edit-remove"), "edit-redo"); // the list goes with its last edit
  assert.equal(press("edit-redo"), "edit-undo");
  assert.equal(press("edit-undo"), "edit-redo");
  store.set({ interventions: [OFF, { kind: "no_positions", where: {} }] });
  assert.equal(press("note-masks"), "edit-redo");
  assert.deepEqual(store.get().interventions, []);
});

test("Redo alone goes when the reader goes on beside it, not while it has the focus; an edit set aside stays", async () => {
  const { document, store, $ } = await page();
  const row = $("edit-redo").closest(".edits");
  const looks = () => ["redo-alone", "passed"].map((one) => row.classList.contains(one));
  const goesOn = () => {
    for (const type of ["pointerdown", "click"])
      document.body.dispatchEvent(new /** @type {any} */ (document.defaultView).Event(type, { bubbles: true }));
  };
  goesOn();
  assert.deepEqual(looks(), [false, false], "an edit");
  $("edit-switch").click();
  assert.equal(store.get().paused.length, 1);
  goesOn();
  assert.deepEqual(looks(), [false, false], "it is set aside, and can be switched on here only");
  $("edit-undo").focus();
  $("edit-undo").click(); // it is on
  $("edit-undo").click(); // it is gone
  goesOn();
  assert.equal(document.activeElement, $("edit-redo"));
  assert.deepEqual(looks(), [true, false]);
  $("edit-redo").blur();
  row.dispatchEvent(new /** @type {any} */ (document.defaultView).Event("pointerdown", { bubbles: true }));
  assert.deepEqual(looks(), [true, false]);
  goesOn();
  assert.deepEqual(looks(), [true, true]);
  store.set({ interventions: [OFF] });
  assert.deepEqual(looks(), [false, false]);
});
