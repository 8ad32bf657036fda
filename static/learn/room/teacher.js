/** The teacher's part of the room: the bar, and a drawer with the door, the people, the question and everybody's turn. */

import { roomResults } from "../../data/rooms.js";
import { buildFold, button } from "../../ui/controls.js";
import { h, keepingFocus, newId, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { createAsking } from "./asking.js";
import { createEntrance, spaced } from "./entrance.js";
import { createLeading } from "./following.js";
import { saveResults } from "./results.js";
import { createWall, handedInWords } from "./wall.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Taught } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { Left, Part, Seat } from "./room.js"
 */

/** @param {Context} context @param {Seat} seat @returns {Part} */
export function createTeacher(context, seat) {
  const { key, say, leave, problem } = seat;
  const { actions, frame, address } = context;
  const leading = createLeading(context, say);
  /** @type {Taught|null} */
  let room = null;
  /** The step of the lesson that a pupil's sentence took the place of. */
  let { left } = seat.kept();

  // The bar.
  const code = h("b", { class: "room-code", translate: "no", dataset: { testid: "room-code" } });
  const people = h("span", { class: "room-here", role: "status", dataset: { testid: "room-people" } });
  const recall = button("room-recall", "", t("room.recall"), () => say({ kind: "recall" }));
  const more = button("room-open", "", t("room.open"), () => toggle());
  const acts = h("span", { class: "room-acts" });
  const toLesson = button("room-to-lesson", "primary", "", () => {
    const step = left;
    leaveLesson(null);
    actions.set(step ?? {});
  });
  const seen = button("room-see-turn", "", "", () => toggle(true, turn));
  const wide = button("room-project", "quiet", t("room.project"), () => project());
  const bar = h(
    "div",
    { class: "room-bar" },
    h("span", { class: "room-name" }, t("room.code_is"), " ", code),
    people,
    recall,
    acts,
    toLesson,
    seen,
    h("span", { class: "grow" }),
    wide,
    more,
  );

  /** Kept by the tab: the page may be loaded again meanwhile. @param {Left} step */
  function leaveLesson(step) {
    left = step;
    seat.keep({ left });
  }

  // The drawer.
  const names = ["door", "lead", "said", "people", "question", "turn", "end"];
  const [door, lead, notes, crowd, question, turn, end] = names.map((name) =>
    h("section", { class: `room-${name}`, dataset: { part: name } }),
  );
  const wayIn = buildFold("room-door", t("room.way_in"), door);
  wayIn.open = true;
  let begun = false;
  const close = h(
    "button",
    {
      class: "btn icon",
      type: "button",
      "aria-label": t("room.close_side"),
      title: t("room.close_side"),
      on: { click: () => toggle(false) },
    },
    "×",
  );
  const title = h("h2", { id: newId("room-title") }, t("room.title"));
  const side = h(
    "aside",
    { class: "room-side", "aria-labelledby": title.id, hidden: true, dataset: { testid: "room-side" } },
    h("div", { class: "bar" }, title, h("span", { class: "grow" }), close),
    wayIn,
    lead,
    notes,
    question,
    turn,
    crowd,
    end,
  );
  side.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    toggle(false);
  });
  const entrance = createEntrance(context, door, seat);
  const screen = h("section", { class: "room-card room-screen", dataset: { testid: "room-screen" } });
  const asking = createAsking(
    context,
    { acts, notes, question, screen },
    { ...seat, open: () => toggle(true, question) },
  );
  const wall = createWall(context, { say, show: showSentence });

  /** @param {boolean} [on] @param {HTMLElement} [part]  that is brought into sight */
  function toggle(on = Boolean(side.hidden), part) {
    side.hidden = !on;
    update(more, { "aria-expanded": on });
    (on ? title : more).focus?.({ preventScroll: true });
    if (on) part?.scrollIntoView({ block: "nearest" });
  }

  const lesson = button("room-lesson", "primary", t("room.lead_lesson"), () => {
    toggle(false);
    actions.set({ lesson: "attention", lessonStep: 1 });
  });
  replace(lead, h("p", null, t("room.lead_how")), lesson);

  /** Once it has begun, the way in is one line of the drawer. @param {boolean} now */
  function begin(now) {
    if (now && !begun) wayIn.open = false;
    begun ||= now;
  }

  let typeBefore = actions.get().type;
  /** The view for a projector: css/room.css hides all but the picture. */
  function project(on = !frame.root.classList.contains("room-projects")) {
    if (on === frame.root.classList.contains("room-projects")) return;
    if (on && !side.hidden) toggle(false);
    frame.root.classList.toggle("room-projects", on);
    setText(wide, t(on ? "room.project_end" : "room.project"));
    const { dataset } = document.documentElement;
    const type = actions.get().type;
    if (on) Object.assign(dataset, { type: "large", projector: "" });
    else delete dataset.projector;
    if (!on && typeBefore !== "large") delete dataset.type;
    if (on) typeBefore = type;
    actions.set({ type: on ? "large" : typeBefore }); // what is drawn has larger letters: it is drawn anew
  }

  /** A presenter's remote, outside a lesson: to the next place inside the open head. @param {KeyboardEvent} event */
  function onKey(event) {
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (!by || event.defaultPrevented || !frame.root.classList.contains("room-projects")) return;
    if (actions.get().lesson !== null) return; // its own keys
    event.preventDefault();
    const tabs = /** @type {HTMLElement[]} */ ([...frame.path.inside.querySelectorAll('[role="tab"]:not([hidden])')]);
    const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    tabs[at + by]?.click();
  }
  document.addEventListener("keydown", onKey);

  /** @param {{id: number, link: string}} sentence */
  function showSentence({ id, link }) {
    say({ kind: "recall" }); // in a turn, all are exploring
    const { lesson, lessonStep } = actions.get();
    if (lesson !== null) leaveLesson({ lesson, lessonStep });
    address.open(link);
    leading.show(actions.get(), id);
    toggle(false);
  }

  // Who is there.

  function drawPeople() {
    const { members } = /** @type {Taught} */ (room);
    const here = members.filter((one) => one.here);
    const exploring = here.filter((one) => one.explores).length;
    setText(
      people,
      [t("room.here", { n: here.length }), exploring > 0 && t("room.explore", { n: exploring })]
        .filter(Boolean)
        .join(" · "),
    );
    update(recall, { hidden: exploring === 0 });
    const list = members.map((one) => {
      const name = one.name || t("room.nameless", { id: one.id });
      const out = button(`room-remove-${one.id}`, "quiet", t("room.remove"), () =>
        say({ kind: "remove", member: one.id }),
      );
      update(out, { "aria-label": t("room.remove_whom", { name }) });
      const about = !one.here ? t("room.away") : one.explores ? t("room.explores") : "";
      return h("li", null, h("span", { translate: "no" }, name), " ", h("span", { class: "dim" }, about), out);
    });
    const open = crowd.querySelector("details")?.open ?? false;
    keepingFocus(crowd, () => {
      const fold = buildFold(
        "room-members",
        t("room.members", { n: members.length }),
        h("ul", { class: "room-list" }, list),
      );
      fold.open = open;
      replace(crowd, members.length > 0 && fold);
    });
  }

  // The end.

  function drawEnd() {
    const names = h("input", {
      type: "checkbox",
      id: newId("room-with-names"),
      dataset: { testid: "room-with-names" },
    });
    let sure = false;
    /** It is pressed twice: nothing of the room is left then. @param {boolean} now */
    const ask = (now) => {
      sure = now;
      setText(ends, t(sure ? "room.end_sure" : "room.end_save"));
    };
    const ends = button("room-end", "", t("room.end_save"), () =>
      sure ? void save().then(leave, problem) : ask(true),
    );
    ends.addEventListener("blur", () => ask(false));
    const save = async () => {
      saveResults(await roomResults(key, names.checked));
    };
    replace(
      end,
      h("h3", null, t("room.end")),
      h("p", null, names, " ", h("label", { for: names.id }, t("room.with_names"))),
      h(
        "p",
        { class: "room-buttons" },
        button("room-save", "", t("room.save"), () => save().catch(problem)),
        ends,
      ),
      h("p", { class: "dim" }, t("room.end_about")),
    );
  }
  drawEnd();

  return {
    bar,
    others: [side, screen],
    show(/** @type {Taught} */ now) {
      room = now;
      setText(code, spaced(now.code));
      entrance.draw(now);
      begin(now.question !== null || now.turn !== null);
      drawPeople();
      asking.show(now);
      wall.draw(turn, now);
      update(seen, { hidden: now.turn === null });
      setText(seen, handedInWords(now));
    },
    own() {},
    follow(state) {
      leading.follow(state);
      asking.follow(state);
      begin(state.lesson !== null);
      update(lead, { hidden: state.lesson !== null });
      update(toLesson, { hidden: !left || state.lesson !== null });
      if (left) setText(toLesson, t("room.to_lesson", { i: left.lessonStep }));
    },
    draw(now, state) {
      asking.draw(now);
      leading.draw(now, state);
    },
    open: () => toggle(true),
    stop() {
      leading.stop();
      asking.stop();
      document.removeEventListener("keydown", onKey);
      project(false);
    },
  };
}
