/**
 * The dialog that opens a model while the server runs: a folder of its models directory, or an id of Hugging Face's hub, with the
 * progress of its download. The page is loaded anew with the model, so that the list and everything else know it.
 */

import * as api from "../data/api.js";
import { openModel } from "../data/streams.js";
import { linkOf } from "../state/link.js";
import { DEFAULTS } from "../state/store.js";
import { h, newId, replace, setText, update } from "../ui/dom.js";
import { errorText, sizeText } from "../ui/format.js";
import { t } from "../ui/i18n.js";

/**
 * @import { Context } from "../page.js"
 * @import { Progress } from "../data/streams.js"
 */

/** Longer texts stay behind: the link to the new model has the text. */
const LONGEST = 2000;

/** "40 s", "3 min". @param {number} seconds */
export const timeText = (seconds) =>
  seconds < 90
    ? t("opening.seconds", { n: Math.max(1, Math.round(seconds)) })
    : t("opening.minutes", { n: Math.round(seconds / 60) });

/** What has come, and how long the rest takes. @param {Progress} progress */
export function progressText({ bytes, of, seconds_left: left }) {
  const come = t("opening.progress", { bytes: sizeText(bytes), of: sizeText(of) });
  return left === null || bytes >= of ? come : `${come} · ${t("opening.left", { time: timeText(left) })}`;
}

/** Why a model is not open, in the words of this dialog. @param {unknown} error  an ApiError, or any other */
export function problemText(error) {
  const { code, got } = /** @type {{code?: string, got?: unknown}} */ (error);
  return code === "broken_model" ? t("opening.cannot", { got: String(got ?? "") }) : errorText(error);
}

/** The address of a model, with the sentence of now. @param {string} model @param {string} text @param {Context["declared"]} declared */
export const addressOf = (model, text, declared) =>
  linkOf({ ...DEFAULTS, model, text: text.length > LONGEST ? "" : text }, declared);

/**
 * @param {Pick<Context, "actions"|"frame"|"declared">} context @param {(address: string) => void} [go]
 * @returns {() => void} what opens the dialog
 */
export function createOpenModel({ actions, frame, declared }, go = (address) => location.assign(address)) {
  /** @type {AbortController|null} while a model is being opened */
  let opening = null;
  const title = h("h2", { id: newId("open-title") }, t("opening.heading"));
  const close = h("button", { class: "btn", type: "button" }, t("help.close"));
  const known = h("datalist", { id: newId("open-folders") });
  const field = /** @type {HTMLInputElement} */ (
    h("input", {
      ...{ type: "text", list: known.id, autocomplete: "off", spellcheck: "false", "aria-label": t("opening.field") },
      ...{ placeholder: "openai-community/gpt2", translate: "no", dataset: { testid: "open-name" } },
    })
  );
  const start = /** @type {HTMLButtonElement} */ (
    h("button", { class: "btn primary", type: "submit", dataset: { testid: "open-start" } }, t("opening.start"))
  );
  const cancel = h("button", { class: "btn", type: "button", dataset: { testid: "open-cancel" } }, t("opening.cancel"));
  const bar = h("progress", { max: 1, "aria-label": t("opening.heading") });
  const said = h("span", { class: "dim", dataset: { testid: "open-progress" } });
  const under = h("div", { class: "open-progress", role: "status" }, bar, said, cancel);
  const problem = h("p", { class: "problem", role: "alert", dataset: { testid: "open-problem" } });
  const form = h("form", { class: "open-row" }, field, known, start);
  const dialog = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      { class: "help open-model", "aria-labelledby": title.id, dataset: { testid: "open-dialog" } },
      h("div", { class: "bar" }, title, h("span", { class: "grow" }), close),
      h("p", { class: "dim" }, t("opening.about")),
      ...[form, under, problem],
    )
  );
  frame.root.append(dialog);

  /** @param {string} text */
  const fail = (text) => {
    setText(problem, text);
    problem.hidden = text === "";
  };
  const draw = () => {
    under.hidden = opening === null;
    update(start, { disabled: opening !== null || field.value.trim() === "" });
    update(field, { disabled: opening !== null });
  };
  /** @param {Progress} progress */
  const show = (progress) => {
    update(bar, { value: progress.of ? progress.bytes / progress.of : null });
    setText(said, progressText(progress));
  };
  const open = async () => {
    opening = new AbortController();
    const { signal } = opening;
    fail("");
    bar.removeAttribute("value");
    setText(said, t("opening.looking"));
    draw();
    try {
      const name = await openModel(field.value.trim(), { signal, onProgress: show });
      setText(said, t("opening.opened", { name }));
      go(addressOf(name, actions.get().text, declared));
    } catch (error) {
      if (!signal.aborted) fail(problemText(error));
    } finally {
      opening = null;
      draw();
      field.focus();
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!start.disabled) open();
  });
  field.addEventListener("input", draw);
  cancel.addEventListener("click", () => opening?.abort());
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => opening?.abort());
  return () => {
    fail("");
    draw();
    dialog.showModal();
    api.openable().then(
      ({ folders }) =>
        replace(
          known,
          folders.map((/** @type {string} */ name) => h("option", { value: name })),
        ),
      () => {}, // the field works without suggestions
    );
  };
}
