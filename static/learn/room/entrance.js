/** The door of the room on the teacher's screen: the code, the address, the QR code, and who may come in. */

import { roomLink } from "../../data/rooms.js";
import { copy } from "../../shell/share.js";
import { buildFold, button } from "../../ui/controls.js";
import { h, keepingFocus, replace, setText, svg } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { Taught } from "../../data/rooms.js"
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

/** @param {Context} context @param {HTMLElement} door @param {Seat} seat */
export function createEntrance({ frame }, door, { key, say, problem }) {
  let linkOfCode = "";

  /** @param {Taught} room */
  async function draw({ code: newest, locked }) {
    const at = `${newest} ${locked}`;
    if (linkOfCode === at) return;
    linkOfCode = at;
    try {
      const { address: typed, link, qr, reachable } = await roomLink(key);
      const local =
        !reachable &&
        h(
          "p",
          { class: "room-warning", role: "alert", dataset: { testid: "room-unreachable" } },
          t("room.unreachable"),
        );
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
          local,
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
        shut,
      ),
    );
    dialog.addEventListener("close", () => dialog.remove());
    frame.root.append(dialog);
    dialog.showModal();
  }

  return { draw };
}
