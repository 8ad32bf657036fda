/** The controls of PADs: how many, on which side, masked or not, and whether positions count them. */

import { causalIn, keepingPlace } from "../../model/compare/runs.js";
import { offersPads, skipsPads, trainedCausal, writesTarget } from "../../model/description.js";
import { MOST_PADS } from "../../state/run.js";
import { switchRow } from "../../ui/controls.js";
import { h, setText, update } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../stations/index.js"
 */

/** @param {Actions} actions @param {() => any} model  of what is shown */
export function createPadding(actions, model) {
  const set = (patch) => actions.set(keepingPlace(actions.get(), patch, model()));
  const stepper = createStepper((padCount) => set({ padCount }), actions);
  const side = createSide((padSide) => set({ padSide }));
  const unseen = h("small", { class: "now", dataset: { testid: "right-unseen" } });
  const about = h("small");
  const words = h("div", { class: "t" }, t("masks.pads"), about, stepper.full, unseen);
  const row = h("div", { class: "sw pads" }, words, h("div", { class: "pad-tools" }, stepper.node, side.node));
  const mask = switchRow("padding", t("masks.padding"), (on) => actions.set({ padMask: on }));
  const positions = switchRow("positions", t("masks.positions"), (on) => actions.set({ padFollow: on }));

  return {
    rows: [row, mask.row, positions.row],
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state, leak) {
      const { padCount, padSide, padMask, padFollow, hidden } = state;
      stepper.draw(trace, state);
      side.draw(padSide);
      row.hidden = Boolean(model().picture);
      for (const node of [side.node, positions.row]) node.hidden = padCount === 0;
      mask.row.hidden = padCount === 0 && hidden.length === 0;
      const [translates, causal] = [writesTarget(model()), causalIn(state, model())];
      stepper.node.hidden = !offersPads(model()) && padCount === 0; // a link may bring some
      setText(about, t(aboutPads(model())));
      unseen.hidden = padCount === 0 || padSide === "left" || (causal !== trainedCausal(model()) && !translates);
      setText(unseen, t(translates || !causal ? "masks.right_seen" : "masks.right_unseen"));
      mask.set(
        padMask,
        t(hidden.length ? "picture.padding_about" : "masks.padding_about"),
        padCount ? maskNow(padMask, leak) : "",
      );
      const [skips, now] = [skipsPads(model()), padCount && trace ? positionsNow(trace, state) : ""];
      positions.set(padFollow && skips, t(`masks.positions${skips ? "" : "_always"}_about`), now, !skips);
    },
  };
}

/** What PADs are, or why a model has none to offer. */
function aboutPads(model) {
  if (offersPads(model)) return writesTarget(model) ? "masks.pads_about_source" : "masks.pads_about";
  return model.description.can.pads === false ? "masks.pads_ignored" : "masks.pads_none";
}

function maskNow(padMask, leak) {
  if (padMask) return t("masks.padding_on_now");
  return leak ? t("masks.padding_off_now", { share: percent(leak.pad) }) : t("masks.padding_off_now_short");
}

/** The sentence's positions, and what they would be with the switch flipped. */
function positionsNow(
  {
    model,
    sides: {
      source: { real },
    },
  },
  { padCount, padSide, padMask, padFollow },
) {
  const last = real.end - real.start - 1;
  const [plain, shifted] = [
    { from: 0, to: last },
    { from: padCount, to: padCount + last },
  ];
  if (padSide === "right") return t("masks.positions_same_now", plain);
  if (!skipsPads(model)) return t("masks.positions_always_now", shifted);
  if (!padMask) return t("masks.positions_no_mask_now", shifted);
  const [now, other] = padFollow ? [plain, shifted] : [shifted, plain];
  const key = padFollow ? "masks.positions_follow_now" : "masks.positions_count_now";
  return t(key, { ...now, other_from: other.from, other_to: other.to });
}

/** The buttons − and + with the count; the window limits it. */
function createStepper(change, actions) {
  const step = (by) => change(Math.min(MOST_PADS, Math.max(0, actions.get().padCount + by)));
  const button = (by, sign, name) => {
    const word = t(`masks.${name.replace("-", "_")}`);
    const on = { click: () => step(by) };
    return h("button", { type: "button", "aria-label": word, title: word, dataset: { testid: name }, on }, sign);
  };
  const [fewer, more] = [button(-1, "−", "pads-fewer"), button(1, "+", "pads-more")];
  const count = h("output", { class: "mono", "aria-live": "polite", dataset: { testid: "pads" } });
  const full = h("small", { class: "now", hidden: true });
  return {
    node: h("div", { class: "seg stepper", role: "group", "aria-label": t("masks.pads") }, fewer, count, more),
    full,
    draw(trace, { padCount }) {
      const free = trace
        ? trace.model.max_seq_len - (trace.sides.source.real.end - trace.sides.source.real.start)
        : MOST_PADS;
      setText(count, String(padCount));
      update(fewer, { disabled: padCount === 0 });
      update(more, { disabled: padCount >= Math.min(MOST_PADS, free) });
      full.hidden = free >= MOST_PADS || padCount < free;
      if (!full.hidden) setText(full, t("masks.pads_full", { n: trace.model.max_seq_len }));
    },
  };
}

function createSide(change) {
  const choice = (side) => {
    const attrs = { type: "button", dataset: { testid: `pads-${side}` }, on: { click: () => change(side) } };
    return h("button", attrs, t(`masks.side.${side}`));
  };
  const sides = { left: choice("left"), right: choice("right") };
  return {
    node: h("div", { class: "seg", role: "group", "aria-label": t("masks.side") }, Object.values(sides)),
    draw(padSide) {
      for (const [side, button] of Object.entries(sides)) update(button, { "aria-pressed": side === padSide });
    },
  };
}
