/** The button that folds the river away and brings it back. */

import { can } from "../../model/description.js";
import { h, perRoot, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { own } from "../own.js";

/** @import { Panel } from "../../stations/index.js" */

const buttonOf = perRoot((root) => {
  const button = h("button", { class: "btn quiet", type: "button", dataset: { testid: "river-fold" } });
  root.append(button);
  return button;
});

/** @type {Panel} */
export default {
  id: "fold",
  level: "everything",
  frame: { place: "home", className: "river-fold" },
  has: (model) => can(model, "route"),
  shown: ({ quiz }) => !quiz,
  needs: [],
  draw(root, trace, state, actions) {
    const button = buttonOf(root);
    const { shown } = own.of(state);
    setText(button, t(shown ? "river.fold" : "river.unfold"));
    update(button, { "aria-expanded": String(shown) });
    button.onclick = () => actions.set(own.patch({ shown: !shown }));
  },
};
