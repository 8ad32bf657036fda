/** A classifier's answer: its classes, what they are computed from, and where [CLS] looks in every head. */

import { tokenName } from "../../model/labels.js";
import { h, keepingFocus, perRoot, replace, setText } from "../../ui/dom.js";
import { integer, percent, signed, significant } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { patchWords } from "../../ui/patch_picture.js";
import { className } from "../../ui/token_text.js";
import { drawClsRows, lookerIn } from "./cls_rows.js";
import { drawRolled } from "./rolled.js";

const partsOf = perRoot((root) => {
  const about = h("span", { class: "dim" });
  const list = h("ol", { class: "class-bars" });
  const rows = h("div", null);
  const open = h("p", { class: "dim hint cls-open", "aria-live": "polite", dataset: { testid: "cls-open" } });
  const read = h("p", { class: "dim rest", dataset: { testid: "class-read" } });
  const title = h("h2", null, h("span", { class: "nowrap" }, t("classes.title")), about);
  const heading = h("h3", null, t("classes.rows"));
  const rolled = h("div", { dataset: { testid: "rolled" } });
  const looks = h("div", null, heading, rows, open, rolled);
  replace(root, title, list, read, looks);
  return { about, heading, list, looks, rows, open, read, rolled };
});

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const first = trace.model.special.first?.text ?? "[CLS]";
  drawBars(parts.list, trace.classes);
  setText(parts.read, t("classes.read", { first }));
  parts.looks.hidden = trace.attention.overview === null;
  if (parts.looks.hidden) return;
  keepingFocus(parts.rows, () => drawClsRows(parts.rows, trace, state, actions));
  replace(parts.open, openHead(trace, state));
  setText(parts.about, t(keyFor(trace.model, "classes.about")));
  setText(parts.heading, t("classes.rows"));
  parts.rolled.hidden = !trace.model.picture;
  if (trace.model.picture) drawForPicture(parts, trace, state);
}

/** In a picture any token can be the one that looks. */
function drawForPicture({ heading, rolled }, trace, state) {
  const { tokens } = trace.queries;
  const looker = tokens[lookerIn(trace, state)];
  setText(heading, t("picture.rows", { query: looker.patch ? patchWords(looker.patch) : tokenName(looker) }));
  drawRolled(rolled, trace, looker.index);
}

/** More classes than these are not all listed: the likeliest come first, and the others together. */
const [ALL, FIRST] = [20, 6];

/** One bar per class, with the most likely marked. */
function drawBars(list, all) {
  const most = Math.max(...all.map(({ probability }) => probability));
  const ranked = all.length > ALL ? [...all].sort((a, b) => b.probability - a.probability) : all;
  const classes = all.length > ALL ? ranked.slice(0, FIRST) : all;
  const rest = 1 - classes.reduce((sum, { probability }) => sum + probability, 0);
  const others = h(
    "li",
    { class: "rest dim", dataset: { testid: "classes-rest" } },
    t("classes.others", { n: all.length - classes.length, share: percent(Math.max(0, rest), 1) }),
  );
  replace(
    list,
    all.length > ALL && h("li", { class: "dim" }, t("classes.first", { n: FIRST, all: integer(all.length) })),
    classes.map(({ name, logit, probability }) =>
      h(
        "li",
        { class: probability === most ? "most" : null, dataset: { testid: "class", name, logit, probability } },
        h("span", { class: "name" }, className(name)),
        h("b", { class: "mono" }, percent(probability, 1)),
        h("span", { class: "track", "aria-hidden": true }, h("span", { style: { width: `${probability * 100}%` } })),
        h("small", { class: "mono dim" }, t("classes.logit", { value: signed(logit, 3) })),
      ),
    ),
    all.length > ALL && others,
  );
}

/** The strongest key of the token that looks, in the open head, from its float32 numbers. */
function openHead(trace, state) {
  const { layer, head } = state;
  const { data, shape } = trace.detail.overview;
  const at = lookerIn(trace, state);
  const row = data.subarray(at * shape[1], (at + 1) * shape[1]);
  const key = row.reduce((best, weight, i) => (weight > row[best] ? i : best), 0);
  const name = (index) => h("b", { class: "mono" }, tokenName(trace.keys.tokens[index]));
  return phrase("classes.looks", {
    layer,
    head,
    first: name(at),
    key: name(key),
    at: key,
    weight: h("b", { class: "mono" }, significant(row[key])),
  });
}
