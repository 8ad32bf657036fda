/** The model menu: a button that opens a list box (the ARIA pattern: the list takes the focus). */

import { sameModel } from "../model/snapshots.js";
import { h, newId, replace, update } from "../ui/dom.js";
import { shapeOf } from "../ui/family_shape.js";
import { t } from "../ui/i18n.js";
import { groupHead, groupsOf, isAside, optionAside, optionOf, putAside } from "./model_option.js";

/** @import { ApiError } from "../data/api.js" */

/**
 * @param {HTMLElement} root
 * @param {{models: any[], problems: {name: string, reason: string}[], choose: (name: string) => void}} options  `problems`: the
 *   models that are set aside, greyed with their reason
 * @returns {(current: string|null, error: ApiError|null) => void} draw
 */
export function createModelMenu(root, { models: loaded, problems, choose }) {
  const groups = groupsOf(loaded);
  const models = groups.flatMap((group) => group.models);
  const button = h("button", {
    class: "model-button",
    type: "button",
    "aria-haspopup": "listbox",
    "aria-expanded": false,
  });
  const options = [...models.map(optionOf), ...problems.map(optionAside)];
  const list = h(
    "ul",
    { class: "model-list", role: "listbox", tabindex: 0, "aria-label": t("header.model"), hidden: true },
    groups.map(groupOf),
    problems.length > 0 && asideOf(options.slice(models.length)),
  );
  replace(root, button, list);
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
  let current = 0;
  let active = 0;

  const activate = (index) => {
    active = (index + options.length) % options.length;
    options.forEach((option, i) => option.classList.toggle("active", i === active));
    list.setAttribute("aria-activedescendant", options[active].id);
    if (active === 0)
      list.scrollTop = 0; // with the heading over it
    else options[active].scrollIntoView({ block: "nearest" });
  };
  const toggle = (open) => {
    list.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) {
      list.scrollTop = 0;
      activate(current);
      list.focus();
    }
  };
  const take = (index) => {
    if (index !== current && isAside(options[index])) return;
    toggle(false);
    button.focus();
    if (index !== current) choose(models[index].name);
  };
  const keys = {
    ArrowDown: () => activate(active + 1),
    ArrowUp: () => activate(active - 1),
    Home: () => activate(0),
    End: () => activate(options.length - 1),
    Enter: () => take(active),
    " ": () => take(active),
    Escape: () => take(current),
  };

  button.addEventListener("click", () => toggle(list.hidden));
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
  list.addEventListener("focusout", (event) => !root.contains(event.relatedTarget) && toggle(false));
  options.forEach((option, i) => option.addEventListener("click", () => take(i)));

  return (name, error) => {
    current = Math.max(
      0,
      models.findIndex((model) => sameModel(model.name, name)),
    );
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === current)));
    const model = models[current];
    const shown = name ?? model.name; // a snapshot is not in the list
    if (error?.code === "broken_model" && model.name === name) putAside(options[current], String(error.got ?? ""));
    update(button, { "aria-label": `${t("header.model")}: ${shown}, ${shapeOf(model)}` });
    replace(
      button,
      h("span", { class: "name" }, shown),
      h("small", null, shapeOf(model)),
      h("span", { class: "caret", "aria-hidden": true }, "▾"),
    );
  };
}

/** The group of what is set aside. @param {HTMLElement[]} items */
function asideOf(items) {
  const id = newId("models-aside");
  return h(
    "li",
    { role: "presentation" },
    h("div", { class: "family", id }, h("b", null, t("header.aside"))),
    h("ul", { role: "group", "aria-labelledby": id }, items),
  );
}
