/** One token is another: every position of every sublayer that moves lights up, from two real traces. */

import { tokenLabel } from "../../../model/labels.js";
import { h, keepingFocus, replace } from "../../../ui/dom.js";
import { errorText, power } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { depthsOf, movedBy, STILL, sublayersOf } from "../measures/stream.js";

/** @import { Figure } from "./index.js" */

/** @type {Figure} */
export async function draw(root, live, { position, to }) {
  const rows = [
    { name: t("lesson.spread.in"), tap: depthsOf(live)[0], kind: "in" },
    ...sublayersOf(live).map(({ kind, layer, leaves }) => ({
      name: t(`lesson.spread.${kind}`, { layer }),
      tap: leaves,
      kind,
    })),
  ];
  const problem = h("p", { class: "panel-error", role: "alert" });
  let newest = 0;

  /** @param {number} at */
  async function show(at) {
    const mine = ++newest;
    const found = await movedBy(
      live,
      at,
      to,
      rows.map(({ tap }) => tap),
    );
    if (mine !== newest) return;
    const title = h("h2", { class: "lesson-caption" }, t("lesson.spread.title", { to: to.trim() }));
    const legend = h("p", { class: "dim" }, t("lesson.spread.legend"));
    replace(problem);
    keepingFocus(root, () => replace(root, title, table(found, at, rows, choose), legend, problem));
  }

  /** What is drawn stays if the model does not answer. @param {number} at */
  function choose(at) {
    const shown = show(at);
    const mine = newest;
    shown.catch((error) => mine === newest && replace(problem, errorText(error)));
  }
  await show(position);
}

/** @param {Awaited<ReturnType<typeof movedBy>>} found @param {number} at @param {{name: string, kind: string}[]} names @param {(at: number) => void} choose */
function table({ rows, tokens }, at, names, choose) {
  const head = tokens.map((token, i) =>
    h(
      "th",
      { scope: "col" },
      h(
        "button",
        {
          type: "button",
          class: i === at ? "mono on" : "mono",
          "aria-pressed": i === at,
          dataset: { focus: i },
          on: { click: () => choose(i) },
        },
        tokenLabel(token),
      ),
    ),
  );
  const body = rows.map((moved, i) =>
    h(
      "tr",
      { class: names[i].kind },
      h("th", { scope: "row" }, names[i].name),
      moved.map((by) => cell(by, names[i].kind !== "in")),
    ),
  );
  return h(
    "div",
    { class: "spread-scroll", tabindex: 0, role: "region", "aria-label": t("lesson.spread.label") },
    h("table", { class: "spread" }, h("thead", null, h("tr", null, h("td"), head)), h("tbody", null, body.reverse())),
  );
}

/** Lit by how far it moved; √, so that a little is seen. @param {number} by @param {boolean} tells */
const cell = (by, tells) =>
  h("td", {
    class: [by > STILL && "lit", tells && "tells"].filter(Boolean).join(" ") || null,
    style: { "--lit": by > STILL ? Math.min(1, 0.18 + Math.sqrt(by)).toFixed(2) : "0" },
    title: by > STILL ? power(by) : t("lesson.spread.still"),
    "aria-label": by > STILL ? power(by) : t("lesson.spread.still"),
  });
