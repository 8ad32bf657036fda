/**
 * The room of a class, for its teacher or for a pupil: what is known of it, its bar at the top of the page, and the connection.
 * Both pages are the page itself; the room only adds to it.
 */

import { createPoster, joinRoom, leaveRoom, openRoom, watchRoom } from "../../data/rooms.js";
import { h, replace } from "../../ui/dom.js";
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
 * @typedef {Object} Seat
 * @property {string} key
 * @property {(message: Message) => void} say  to the room
 * @property {() => void} leave  ends the room of a teacher
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
  const problem = h("span", {
    class: "room-problem",
    role: "alert",
    hidden: true,
    dataset: { testid: "room-problem" },
  });
  /** @type {Part|null} */
  let part = null;
  let stop = () => {};
  /** @type {"teacher"|"pupil"|null} */
  let role = null;
  let timer = 0;
  /** @type {[ModelTrace|null, State]|null} */
  let last = null;

  /** @param {unknown} error  null: it is over */
  function tellProblem(error) {
    clearTimeout(timer);
    problem.hidden = error === null;
    problem.textContent =
      error === null ? "" : typeof error === "string" ? error : errorText(/** @type {Error} */ (error));
  }

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
    const click = () => {
      bar.hidden = true;
    };
    return h(
      "button",
      { class: "btn quiet", type: "button", dataset: { testid: "room-close" }, on: { click } },
      t("room.close"),
    );
  };

  /** @param {"teacher"|"pupil"} as @param {string} key */
  function begin(as, key) {
    end();
    role = as;
    const poster = createPoster(key, as, (error, message) => {
      part?.refused?.(message);
      if (error.code === "room_over") return over("over");
      tellProblem(error);
      timer = setTimeout(() => tellProblem(null), SHOWN_MS);
    });
    /** @type {Seat} */
    const seat = { key, say: poster.say, leave: () => leave(key), problem: tellProblem };
    part = as === "teacher" ? createTeacher(context, seat) : createPupil(context, seat);
    replace(bar, part.bar, problem);
    bar.hidden = false;
    frame.root.append(...part.others);
    frame.root.classList.add("in-room", `room-${as}`);
    stop = watchRoom(key, {
      room: (room) => part?.show(room),
      own: (own) => part?.own(own),
      ended: over,
      lost: (lost) => tellProblem(lost ? t("room.lost") : null),
    });
    part.follow(actions.get());
    if (last) part.draw(...last);
  }

  function end() {
    stop();
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
      if (/** @type {any} */ (error).code !== "room_over") return tellProblem(error);
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

/** How long a refusal is shown. */
const SHOWN_MS = 6000;
