/** Which other model stands beside the page's: a ready pair, or any. */

import { own } from "../../model/compare/beside.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { openPair, pairsAmong } from "./pairs.js";

const partsOf = perRoot((root) => {
  const select = h("select", { class: "btn", "aria-label": t("beside.label"), dataset: { testid: "beside" } });
  root.append(select);
  return { select, built: "" };
});

/** The other model's own head goes with it. */
const ALONE = { beside: null, ...own.patch({ attention: null, layer: null, head: null }) };

/** @param {HTMLElement} root @param {import("../../data/model_trace.js").ModelTrace} _ @param {import("../../state/store.js").State} state @param {import("../../stations/index.js").Actions} actions */
export function draw(root, _, state, actions) {
  const parts = partsOf(root);
  const models = actions.models;
  const pairs = pairsAmong(models);
  const names = models.map(({ name }) => name).filter((name) => name !== state.model);
  const built = [state.model, ...names].join();
  if (built !== parts.built) replace(parts.select, optionsOf(pairs, names));
  parts.built = built;
  const pair = openPair(state);
  parts.select.value = !state.beside
    ? ""
    : pair && pairs.includes(pair)
      ? `pair ${pair.id}`
      : `model ${state.beside.model}`;
  parts.select.onchange = () => {
    const [kind, name] = parts.select.value.split(" ");
    const chosen = pairs.find(({ id }) => kind === "pair" && id === name);
    if (!name) actions.set(ALONE);
    else if (chosen)
      actions.set({
        ...(chosen.models[0] === state.model ? {} : { model: chosen.models[0] }),
        ...patchOf(chosen.models[1]),
        ...opened(chosen),
      });
    else actions.set(patchOf(name));
  };
}

/** @param {string} model */
const patchOf = (model) => ({ ...ALONE, beside: { model } });

/** Where the pair's difference is seen, with the other model's head reset. @param {import("./pairs.js").Pair} pair */
const opened = ({ opens }) => (opens ? { ...opens, own: { ...ALONE.own, ...opens.own } } : {});

/** @param {import("./pairs.js").Pair[]} pairs @param {string[]} names */
function optionsOf(pairs, names) {
  const ready = pairs.map(({ id }) => h("option", { value: `pair ${id}` }, t(`beside.name_${id}`)));
  const any = names.map((name) => h("option", { value: `model ${name}` }, name));
  return [
    h("option", { value: "" }, t("beside.none")),
    ready.length ? h("optgroup", { label: t("beside.pairs") }, ready) : null,
    h("optgroup", { label: t("beside.any") }, any),
  ];
}
