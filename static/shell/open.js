/** Opening a saved trace: the file chooser, dropping one onto the page, and the banner while one is shown. */

import { h, replace, setText } from "../ui/dom.js";
import { errorText } from "../ui/error_text.js";
import { integer } from "../ui/format.js";
import { hasString, phrase, t } from "../ui/i18n.js";

/** What needs the server, and so waits until the reader goes back. */
const LOCKED = ['[data-control="masks"]', '[data-panel="generation"]', '[data-part="model"]', '[data-part="share"]'];

/** @param {HTMLElement} root @param {import("../controls.js").Context} context @returns {import("../controls.js").Draw} */
export function createOpen(root, context) {
  const { files, status } = context;
  const input = h("input", { type: "file", accept: ".safetensors", hidden: true, dataset: { testid: "file-input" } });
  const about = h("p", { dataset: { testid: "file-banner" } });
  const back = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "back-to-live" }, on: { click: files.close } },
    t("open.back"),
  );
  const banner = h(
    "div",
    { class: "file-banner", role: "region", "aria-label": t("open.mode"), hidden: true },
    about,
    back,
  );
  const problem = problemBox();
  replace(root, input, banner, problem.node);
  context.chooseFile = () => input.click();

  async function open(list) {
    problem.show("");
    try {
      if (list.length !== 1) return problem.show(t("open.error.several"));
      await files.open(list[0]);
      banner.hidden = false;
      back.focus();
    } catch (error) {
      problem.show(problemText(list[0].name, error));
    }
  }
  input.addEventListener("change", async () => {
    await open([...input.files]);
    input.value = ""; // the same file may be chosen again
  });
  followDrops(open);

  let said = "";
  return (trace, state) => {
    const shown = state.file !== null && trace?.file ? trace : null;
    banner.hidden = state.file === null;
    lock(state.file !== null);
    if (shown && shown.key !== said) {
      replace(about, ...aboutOf(shown));
      status.say(about.textContent);
    }
    said = shown?.key ?? "";
  };
}

function aboutOf({ file, model, sides }) {
  const n = sides.source.tokens.length + (sides.target?.tokens.length ?? 0);
  const vars = { model: h("b", null, model.name), n: integer(n), layers: model.n_layer, heads: model.n_head };
  return phrase("open.banner", { ...vars, file: h("b", { class: "mono" }, file) });
}

/** What is wrong, and what to do. @param {string} file @param {any} error */
function problemText(file, error) {
  const key = `open.error.${error.code}`;
  const known = error.code && hasString(key);
  if (!known) console.error(error);
  return t("open.failed", { file, why: known ? t(key, error.vars) : errorText(error) });
}

function problemBox() {
  const text = h("p", { role: "alert", dataset: { testid: "file-problem" } });
  const close = h("button", { class: "btn", type: "button", on: { click: () => show("") } }, t("open.dismiss"));
  const node = h("div", { class: "file-banner bad", hidden: true }, text, close);
  const show = (words) => {
    node.hidden = words === "";
    setText(text, words);
  };
  return { node, show };
}

/** Parts of the page that cannot do anything for a file: they rest, and say why. @param {boolean} locked */
function lock(locked) {
  for (const selector of LOCKED) {
    const part = /** @type {HTMLElement} */ (document.querySelector(selector));
    if (part.inert === locked) continue;
    part.inert = locked;
    part.title = locked ? t("open.locked") : "";
    if (locked && part.matches("[data-control], [data-panel]"))
      part.before(h("p", { class: "locked-note" }, t("open.locked")));
    else if (part.previousElementSibling?.matches(".locked-note")) part.previousElementSibling.remove();
  }
  const sentence = /** @type {HTMLInputElement} */ (document.querySelector('[data-part="input"]'));
  sentence.readOnly = locked;
  sentence.title = locked ? t("open.locked_sentence") : "";
}

/** A file that is dragged over the page: anywhere will do. @param {(files: File[]) => void} open */
function followDrops(open) {
  const target = h(
    "div",
    { class: "drop-here", hidden: true, dataset: { testid: "drop" } },
    h("p", null, t("open.drop")),
  );
  document.body.append(target);
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    target.hidden = false;
  });
  document.addEventListener("dragleave", (event) => (target.hidden ||= event.relatedTarget === null));
  document.addEventListener("drop", (event) => {
    target.hidden = true;
    if (!isFile(event)) return;
    event.preventDefault(); // or the browser leaves the page for the file
    open([.../** @type {DataTransfer} */ (event.dataTransfer).files]);
  });
}
