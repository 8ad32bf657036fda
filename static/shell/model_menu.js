/** The model menu: a button that opens a list box (the ARIA pattern: the list takes the focus). */

import { sameModel } from "../model/trainings.js";
import { h, newId, replace, replaceChanged, update } from "../ui/dom.js";
import { baselineOf, differenceOf, familyName, familyShape, shapeOf } from "../ui/family_shape.js";
import { integer, millions, number, percent } from "../ui/format.js";
import { sizeOf } from "../ui/heads.js";
import { hasString, keyFor, language, languageName, t } from "../ui/i18n.js";

/** @import { ApiError } from "../data/api.js" */

// How the model menu describes a family and a model: its shape, its size, its quality.

/** In the order in which they are easiest to learn, which is not historical. */
const FAMILIES = ["decoder-only", "encoder-only", "encoder-decoder"];

/**
 * Models in groups: one for each family, then one for each baseline and the models that were trained like it, the baseline first.
 * @param {any[]} models @returns {{family: string|null, like: string|null, models: any[]}[]}
 */
export function modelGroups(models) {
  const alone = models.filter((model) => !baselineOf(model));
  const families = [...new Set([...FAMILIES, ...alone.map((model) => model.family)])];
  const baselines = [...new Set(models.flatMap((model) => baselineOf(model)?.model ?? []))];
  const groups = [
    ...families.map((family) => ({ family, like: null, models: alone.filter((model) => model.family === family) })),
    ...baselines.map((like) => ({ family: null, like, models: trainedLike(models, like) })),
  ];
  return groups.filter((group) => group.models.length > 0);
}

/** @param {any[]} models @param {string} like */
function trainedLike(models, like) {
  const all = models.filter((model) => baselineOf(model)?.model === like);
  return [...all.filter((model) => model.name === like), ...all.filter((model) => model.name !== like)];
}

/** @param {{family: string|null, like: string|null}} group @param {string} id */
const groupHead = ({ family, like }, id) => (family === null ? likeHead(like, id) : familyHead(family, id));

/** @param {string|null} like @param {string} id */
function likeHead(like, id) {
  return h(
    "div",
    { class: "family", id },
    h("span", null, h("b", null, t("header.alike")), h("small", null, t("header.alike_about", { model: like ?? "" }))),
  );
}

/** @param {string} family @param {string} id */
function familyHead(family, id) {
  const about = hasString(`header.shape_of.${family}`) ? t(`header.shape_of.${family}`) : "";
  return h(
    "div",
    { class: "family", id },
    familyShape(family),
    h("span", null, h("b", null, familyName(family)), h("small", null, about)),
  );
}

/** @param {any} model @param {number} index */
function optionOf(model, index) {
  const good = qualityOf(model);
  const on = measuredOn(model);
  return h(
    "li",
    { role: "option", id: newId(`model-${index}`), dataset: { model: model.name } },
    h("span", { class: "name" }, model.name),
    good && h("span", { class: "role detail", title: on }, good),
    baselineOf(model)
      ? h("small", null, baselineOf(model)?.model === model.name ? doesOf(model) : differenceOf(model))
      : [
          h("small", { class: "does" }, doesOf(model)),
          h("small", { class: "detail" }, detailsOf(model)),
          h("small", { class: "measured" }, [languagesOf(model), on].filter(Boolean).join(" · ")), // of the chosen one
        ],
  );
}

/** Its size, and what it reads at most. @param {any} model */
function detailsOf(model) {
  const { n_parameters, vocab_size, max_seq_len, d_model, picture } = model;
  const reads = picture && { n: (picture.size / picture.patch) ** 2, side: picture.patch }; // its vocabulary is all patches
  return t(keyFor(model, "header.more"), {
    ...{ ...sizeOf(model), d_model, parameters: millions(n_parameters) },
    ...(reads ?? { vocab: integer(vocab_size), max: integer(max_seq_len) }),
  });
}

/** What it does, for readers who do not know the families; our own models have separate texts. @param {any} model */
function doesOf({ name, predicts, sides, directions = [], languages: [from, to = from] = [] }) {
  const own = `header.does.${name}`;
  if (hasString(own)) return t(own);
  const kind = directions.length > 1 ? "translates_both" : sides?.length > 1 ? "translates" : predicts;
  if (from === undefined) return hasString(`header.does.${kind}.any`) ? t(`header.does.${kind}.any`) : "";
  return hasString(`header.does.${kind}`)
    ? t(`header.does.${kind}`, { from: languageName(from), to: languageName(to) })
    : "";
}

/** What its quality was measured on; cards are written in English. @param {any} model */
const measuredOn = (model) =>
  card(model, "on") && (language() === "en" ? card(model, "on") : t(keyFor(model, "header.held_out")));

/** A model that is unavailable: greyed, with its reason. @param {{name: string, reason: string}} problem @param {number} index */
function optionAside({ name, reason }, index) {
  const option = h(
    "li",
    { role: "option", id: newId(`aside-${index}`), dataset: { aside: name } },
    h("span", { class: "name" }, name),
  );
  putAside(option, reason);
  return option;
}

/** @param {HTMLElement} option */
const isAside = (option) => option.getAttribute("aria-disabled") === "true";

/** Greys a model that cannot be used, and says why. @param {HTMLElement} option @param {string} reason */
function putAside(option, reason) {
  if (isAside(option)) return;
  update(option, { "aria-disabled": true });
  option.append(h("small", { class: "reason" }, reason));
}

/** @param {any} model @param {string} name */
const card = ({ card: said }, name) => said?.evaluation?.[name];

/** Its quality according to its card, in the measure of its family. @param {any} model */
function qualityOf(model) {
  const [bits, share, beam, back] = ["bits_per_byte", "accuracy", "beam_4", "back"].map((name) => card(model, name));
  if (Number.isFinite(bits)) return t("header.bits", { bits: number(bits, 2) });
  if (Number.isFinite(share)) return t("header.accuracy", { share: percent(share, 1) });
  if (!Number.isFinite(beam?.chrf)) return null;
  const chrf = number(beam.chrf, 1);
  if (!Number.isFinite(back?.beam_4?.chrf)) return t("header.chrf", { chrf });
  const [from, to] = model.languages.map(languageName);
  return t("header.chrf_to", { chrf, to, back: number(back.beam_4.chrf, 1), from });
}

/** "English → Japanese", "English ⇄ Japanese", or the languages that it reads. @param {{languages: string[], sides: string[], directions: unknown[]}} model */
function languagesOf(model) {
  const { languages, sides, directions } = model;
  const between = directions.length > 1 ? " ⇄ " : " → ";
  return languages.map(languageName).join(sides.length > 1 ? between : t("compare.comma"));
}

/**
 * @param {HTMLElement} root
 * @param {{models: any[], problems: {name: string, reason: string}[], choose: (name: string) => void,
 *   opener?: {allowed: () => Promise<{allowed: boolean, replicas?: boolean}>, show: () => unknown}}} options  `problems`: the models that are unavailable, greyed with
 *   their reason; `opener`: the last line opens more models, where that is allowed, or says that replicas cannot
 * @returns {(current: string|null, error: ApiError|null) => void} draw
 */
export function createModelMenu(root, { models: loaded, problems, choose, opener }) {
  const groups = modelGroups(loaded);
  const models = groups.flatMap((group) => group.models);
  const button = h("button", {
    class: "model-button",
    type: "button",
    "aria-haspopup": "listbox",
    "aria-expanded": false,
  });
  const list = h("ul", {
    class: "model-list",
    role: "listbox",
    tabindex: 0,
    "aria-label": t("header.model"),
    hidden: true,
  });
  replace(root, button, list);
  /** @type {HTMLElement[]} none before the list is first opened */
  let options = [];
  /** @type {Map<string, string>} why a model that is listed cannot be used */
  const broken = new Map();
  let current = 0;
  let active = 0;
  /** @type {HTMLElement|null} the line that opens more models, once it is known that this reader may */
  let more = null;

  function build() {
    const aside = problems.map(optionAside);
    options = [...models.map(optionOf), ...aside, ...(more ? [more] : [])];
    replace(list, groups.map(groupOf), aside.length > 0 && asideOf(aside), more && lastLine(more));
    options.forEach((option, i) => option.addEventListener("click", () => take(i)));
    mark();
  }
  /** @param {typeof groups[number]} group */
  function groupOf(group) {
    const id = newId(`models-${group.family ?? group.like}`);
    const items = group.models.map((model) => options[models.indexOf(model)]);
    return h(
      "li",
      { role: "presentation" },
      groupHead(group, id),
      h("ul", { role: "group", "aria-labelledby": id }, items),
    );
  }
  /** Which is chosen, and which cannot be. */
  const mark = () =>
    options.forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === current));
      const reason = broken.get(models[i]?.name);
      if (reason !== undefined) putAside(option, reason);
    });
  const activate = (/** @type {number} */ index) => {
    active = (index + options.length) % options.length;
    options.forEach((option, i) => option.classList.toggle("active", i === active));
    list.setAttribute("aria-activedescendant", options[active].id);
    if (active === 0)
      list.scrollTop = 0; // with the heading over it
    else options[active].scrollIntoView({ block: "nearest" });
  };
  const toggle = (/** @type {boolean} */ open) => {
    if (open && !options.length) {
      build();
      offer();
    }
    list.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) {
      list.scrollTop = 0;
      activate(current);
      list.focus();
    }
  };
  const offer = async () => {
    const { allowed = false, replicas = false } = (await opener?.allowed()) ?? {};
    if (!allowed && !replicas) return;
    const attrs = { role: "option", id: newId("model-more"), dataset: { testid: "open-model" } };
    more = h("li", attrs, h("span", { class: "name" }, t("opening.title")));
    if (!allowed) putAside(more, t("opening.replicas"));
    build();
    if (!list.hidden) activate(active);
  };
  const take = (/** @type {number} */ index) => {
    if (more && options[index] === more && !isAside(more)) {
      toggle(false);
      opener?.show();
      return;
    }
    if (index !== current && isAside(options[index])) return;
    toggle(false);
    button.focus();
    if (index !== current) choose(models[index].name);
  };
  /** @type {Object<string, () => void>} */
  const keys = {
    ArrowDown: () => activate(active + 1),
    ArrowUp: () => activate(active - 1),
    Home: () => activate(0),
    End: () => activate(options.length - 1),
    Enter: () => take(active),
    " ": () => take(active),
    Escape: () => take(current),
  };

  button.addEventListener("click", () => toggle(Boolean(list.hidden)));
  button.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    toggle(true);
  });
  list.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  list.addEventListener(
    "focusout",
    (event) => !root.contains(/** @type {Node|null} */ (event.relatedTarget)) && toggle(false),
  );

  return (name, error) => {
    current = Math.max(
      0,
      models.findIndex((model) => sameModel(model.name, name)),
    );
    const model = models[current];
    const shown = name ?? model.name; // a snapshot is not in the list
    if (error?.code === "broken_model" && model.name === name) broken.set(model.name, String(error.got ?? ""));
    mark();
    update(button, { "aria-label": `${t("header.model")}: ${shown}, ${shapeOf(model)}` });
    replaceChanged(
      button,
      h("span", { class: "name" }, shown),
      h("small", null, shapeOf(model)),
      h("span", { class: "caret", "aria-hidden": true }, "▾"),
    );
  };
}

/** Below the models. @param {HTMLElement} item */
const lastLine = (item) => h("li", { class: "more-models", role: "presentation" }, h("ul", { role: "group" }, item));

/** The group of unavailable models. @param {HTMLElement[]} items */
function asideOf(items) {
  const id = newId("models-aside");
  return h(
    "li",
    { role: "presentation" },
    h("div", { class: "family", id }, h("b", null, t("header.aside"))),
    h("ul", { role: "group", "aria-labelledby": id }, items),
  );
}
