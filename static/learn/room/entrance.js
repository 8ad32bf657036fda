/** The door of the room on the teacher's screen: the code, the address, the QR code, and who may come in. */

import { roomLink } from "../../data/rooms.js";
import { copy } from "../../shell/share.js";
import { buildFold, button } from "../../ui/controls.js";
import { h, keepingFocus, replace, setText, svg, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { countHere } from "./wall.js";

/**
 * @import { DoorProblem, Taught } from "../../data/rooms.js"
 * @import { Context } from "../../page.js"
 * @import { Seat } from "./room.js"
 */

/** A code in two groups, as it is read aloud. @param {string} code */
export const spaced = (code) => `${code.slice(0, 3)} ${code.slice(3)}`;

/** A QR code, dark on light in both themes: scanners want it so. @param {string[]} rows */
function qrPicture(rows) {
  const size = rows.length;
  const d = rows.flatMap((row, y) => [...row].map((one, x) => (one === "1" ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  const box = { viewBox: `-2 -2 ${size + 4} ${size + 4}`, class: "room-qr", role: "img", "aria-label": t("room.qr") };
  return svg(
    "svg",
    box,
    svg("rect", { x: -2, y: -2, width: size + 4, height: size + 4, class: "ground" }),
    svg("path", { d }),
  );
}

/** After so long without a pupil, something is wrong. */
const NOBODY_MS = 60_000;

/**
 * What the self-test of the door says: that the server answers, why it cannot be reached, or that nobody came. That a Wi-Fi keeps
 * devices apart is seen only by those who do not come.
 * @param {{problem: DoorProblem, came: boolean, locked: boolean, waited: number}} found  `waited`: since the code was shown, in ms
 * @returns {string|null} a text's key
 */
export function doorSays({ problem, came, locked, waited }) {
  if (problem && !(came && problem === "inside")) return `room.problem.${problem}`;
  if (came || locked) return null;
  return waited < NOBODY_MS ? "room.door_works" : "room.door_nobody";
}

/** Which element is the poster's: the class sees it, so it says only what is wrong. */
const POSTER = 1;

/** The self-test of the door, beside the code and on the poster. */
function createSelfTest() {
  const shown = [0, 1].map(() => h("p", { hidden: true, role: "status", dataset: { testid: "room-door-says" } }));
  const found = { problem: /** @type {DoorProblem} */ (null), came: false, locked: false, address: "" };
  let since = 0;
  function tell() {
    const says = found.address && doorSays({ ...found, waited: performance.now() - since });
    const { port, protocol } = new URL(found.address || "http://localhost");
    const words = says ? t(says, { port: port || (protocol === "https:" ? "443" : "80") }) : "";
    const works = says === "room.door_works";
    for (const [at, one] of shown.entries()) {
      update(one, { hidden: !says || (works && at === POSTER), class: works ? "dim" : "room-warning" });
      setText(one, words);
    }
  }
  return {
    shown,
    /** @param {{problem?: DoorProblem, came?: boolean, locked?: boolean, address?: string}} more */
    learn(more) {
      if (since === 0) {
        since = performance.now();
        setTimeout(tell, NOBODY_MS);
      }
      Object.assign(found, more, { came: found.came || Boolean(more.came) });
      tell();
    },
  };
}

/** @param {Context} context @param {HTMLElement} door @param {Seat} seat */
export function createEntrance({ frame }, door, { key, say, problem }) {
  let linkOfCode = "";
  const selfTest = createSelfTest();
  /** On the poster: those who came see that they are counted. */
  const arrived = h("p", { role: "status" });

  /** @param {Taught} room */
  async function draw({ code: newest, locked, members }) {
    selfTest.learn({ locked, came: members.length > 0 });
    setText(arrived, t("room.here", { n: countHere(members) }));
    const at = `${newest} ${locked}`;
    if (linkOfCode === at) return;
    linkOfCode = at;
    try {
      const found = await roomLink(key, new URL("./", location.href).href);
      const { address: typed, link, qr } = found;
      selfTest.learn(found);
      const large = button("room-large", "", t("room.large"), () => poster(typed, newest, qr));
      const copied = button("room-copy", "quiet", t("room.copy"), async () =>
        setText(copied, t((await copy(link)) ? "room.copied" : "header.share_failed")),
      );
      const lock = button("room-lock", "quiet", t(locked ? "room.unlock" : "room.lock"), () =>
        say({ kind: "lock", locked: !locked }),
      );
      const renew = button("room-renew", "quiet", t("room.renew"), () => say({ kind: "renew" }));
      keepingFocus(door, () =>
        replace(
          door,
          h(
            "div",
            { class: "room-door-row" },
            qrPicture(qr),
            h(
              "div",
              null,
              h("p", null, t("room.door", { address: typed })),
              h("p", { class: "room-code-large", translate: "no" }, spaced(newest)),
              locked && h("p", { class: "room-warning" }, t("room.is_locked")),
            ),
          ),
          selfTest.shown[0],
          h("p", { class: "room-buttons" }, large, copied, lock, renew),
          buildFold(
            "room-help",
            t("room.door_help"),
            h("p", null, t("room.isolated")),
            h("p", null, t("room.other_device")),
            h("p", null, teacherLink()),
          ),
        ),
      );
    } catch (error) {
      linkOfCode = "";
      problem(error);
    }
  }

  /** The link that lets the teacher go on in another browser. Only copied: it is never shown. */
  function teacherLink() {
    const one = button("room-teacher-link", "quiet", t("room.teacher_link"), async () => {
      const link = new URL(`./#room_key=${encodeURIComponent(key)}`, location.href).href;
      setText(one, t((await copy(link)) ? "room.teacher_link_copied" : "header.share_failed"));
    });
    return one;
  }

  /** Large enough for the last row. @param {string} typed @param {string} newest @param {string[]} qr */
  function poster(typed, newest, qr) {
    const shut = h("button", { class: "btn", type: "button", on: { click: () => dialog.close() } }, t("room.close"));
    const dialog = h(
      "dialog",
      { class: "room-poster", "aria-label": t("room.large") },
      qrPicture(qr),
      h(
        "div",
        null,
        h("p", null, t("room.door", { address: typed })),
        h("p", { class: "room-code-large", translate: "no" }, spaced(newest)),
        selfTest.shown[POSTER],
        arrived,
        shut,
      ),
    );
    dialog.addEventListener("close", () => dialog.remove());
    frame.root.append(dialog);
    dialog.showModal();
  }

  return { draw };
}
