/**
 * The room of a class, for its teacher or for a pupil: what is known of it, its bar at the top of the page, and the connection.
 * Both pages are the page itself; the room only adds to it.
 */

import { createPoster, isTooLongToSend, joinRoom, leaveRoom, openRoom, watchRoom } from "../../data/rooms.js";
import { button } from "../../ui/controls.js";
import { h, replace, setText } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { createJoining, createPupil } from "./pupil.js";
import { createTeacher } from "./teacher.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Message, Own } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Kept } from "../../shell/address.js"
 */

/**
 * What a teacher's or a pupil's part of the page is given.
 * @typedef {Kept["left"]} Left
 *
 * @typedef {Object} Seat
 * @property {string} key
 * @property {(message: Message) => void} say  to the room
 * @property {() => void} leave  ends the room of a teacher
 * @property {() => {left: Left}} kept  of the tab @property {(kept: {left: Left}) => void} keep
 * @property {(error: unknown) => void} problem  shown in the bar
 *
 * What it does with what comes.
 * @typedef {Object} Part
 * @property {HTMLElement} bar
 * @property {HTMLElement[]} others  beside the page
 * @property {(room: any) => void} show @property {(own: Own) => void} own
 * @property {(state: State) => void} follow @property {(trace: ModelTrace|null, state: State) => void} draw
 * @property {() => void} open @property {() => void} stop
 * @property {(message: Message) => void} [refused]
 */

/**
 * @param {Context} context
 * @param {{keptRoom: () => Kept, keepRoom: (kept: Kept) => void}} tab  what the tab keeps of it
 */
export function createRoom(context, { keptRoom, keepRoom }) {
  const { frame, actions } = context;
  const bar = frame.room;
  const problem = h("p", { class: "room-problem", hidden: true, dataset: { testid: "room-problem" } });
  /** @type {Part|null} */
  let part = null;
  let stop = () => {};
  /** @type {"teacher"|"pupil"|null} */
  let role = null;
  /** @type {[ModelTrace|null, State]|null} */
  let last = null;

  const words = h("span", { role: "alert" });
  replace(
    problem,
    words,
    button("room-problem-close", "quiet", t("room.close"), () => problems.close()),
  );
  const problems = createProblems((told) => {
    problem.hidden = told === "";
    setText(words, told);
  });

  /** @param {string} words */
  function notice(words) {
    replace(
      bar,
      h(
        "div",
        { class: "room-bar" },
        h("span", { role: "status", dataset: { testid: "room-notice" } }, words),
        closing(),
      ),
    );
    bar.hidden = false;
  }
  const closing = () => {
    return button("room-close", "quiet", t("room.close"), () => {
      bar.hidden = true;
    });
  };

  /** @param {"teacher"|"pupil"} as @param {string} key */
  function begin(as, key) {
    end();
    role = as;
    const poster = createPoster(key, as, (error, message) => {
      if (error.code === "room_over") return over("over");
      refuse(message, error);
    });
    /** @param {Message} message */
    function say(message) {
      problems.acted(message.kind);
      if (isTooLongToSend(message)) refuse(message, t(`room.too_long.${message.kind}`));
      else poster.say(message);
    }
    /** @param {Message} message @param {unknown} why */
    function refuse(message, why) {
      part?.refused?.(message);
      problems.refuse(why, message.kind);
    }
    /** @type {Seat} */
    const seat = {
      ...{ key, say, leave: () => leave(key), problem: (error) => problems.refuse(error) },
      kept: () => ({ left: keptRoom().left ?? null }),
      keep: (kept) => keepRoom({ ...keptRoom(), ...kept }),
    };
    part = as === "teacher" ? createTeacher(context, seat) : createPupil(context, seat);
    replace(bar, part.bar, problem);
    bar.hidden = false;
    frame.root.append(...part.others);
    frame.root.classList.add("in-room", `room-${as}`);
    const unwatch = watchRoom(key, {
      room: (room) => part?.show(room),
      own: (own) => part?.own(own),
      ended: over,
      lost: problems.lost,
    });
    stop = () => {
      unwatch();
      poster.stop();
    };
    part.follow(actions.get());
    if (last) part.draw(...last);
  }

  function end() {
    stop();
    problems.close();
    part?.stop();
    for (const one of part?.others ?? []) one.remove();
    frame.root.classList.remove("in-room", "room-teacher", "room-pupil");
    part = role = null;
  }

  /** @param {string} why */
  function over(why) {
    end();
    if (why !== "elsewhere") keepRoom({});
    notice(t(`room.ended.${why}`));
  }

  /** @param {string} key */
  async function leave(key) {
    const was = role;
    try {
      await leaveRoom(key);
    } catch (error) {
      if (/** @type {any} */ (error).code !== "room_over") return problems.refuse(error);
    }
    end();
    keepRoom({});
    notice(t(was === "teacher" ? "room.ended.by_me" : "room.ended.left"));
  }

  /** @param {string} code */
  function invite(code) {
    const joining = createJoining(code, {
      async join(typed, name) {
        const { key } = await joinRoom(typed, name);
        keepRoom({ key, role: "pupil", code: typed });
        begin("pupil", key);
      },
      refuse: () => keepRoom({}),
    });
    frame.root.append(joining);
    joining.showModal();
  }

  return {
    /** With what the tab knows: a key, or only a code. */
    enter() {
      const { key, role: as, code } = keptRoom();
      if (key && as) begin(as, key);
      else invite(code ?? "");
    },
    async teach() {
      if (part) return part.open();
      const { code, key } = await openRoom();
      keepRoom({ key, role: "teacher", code });
      begin("teacher", key);
      part = /** @type {Part|null} */ (part);
      part?.open();
    },
    isTeaching: () => role === "teacher",
    /** @param {State} state */
    follow: (state) => part?.follow(state),
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      last = [trace, state];
      part?.draw(trace, state);
    },
  };
}

/**
 * What the room's bar says is wrong: a lost connection until it is back; a refusal until the next act, or until it is closed.
 * What the page says by itself (where the teacher is) is no act, but a newer place stands for one that was refused.
 * @param {(words: string) => void} show  "": nothing is wrong
 */
export function createProblems(show) {
  const now = { lost: false, refused: "", kind: "" };
  const tell = () => show(now.lost ? t("room.lost") : now.refused);
  /** @param {Partial<typeof now>} change */
  const set = (change) => {
    Object.assign(now, change);
    tell();
  };
  return {
    /** @param {boolean} lost */
    lost: (lost) => set({ lost }),
    /** @param {unknown} error  or its words @param {string} [kind]  of the message */
    refuse: (error, kind = "") =>
      set({ refused: typeof error === "string" ? error : errorText(/** @type {Error} */ (error)), kind }),
    /** @param {string} kind  of the message that is sent now */
    acted: (kind) => (kind !== "lead" || now.kind === "lead") && set({ refused: "" }),
    close: () => set({ lost: false, refused: "" }),
  };
}
