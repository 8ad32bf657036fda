/**
 * The room of a class: what its teacher and pupils ask of the server. A room is one value, which comes whole whenever it
 * changes: as events, or, where none come, by asking again and again. No DOM.
 */

import * as api from "./api.js";
import { ApiError } from "./api.js";
import { events } from "./streams.js";

/**
 * @typedef {{at: string, by: number}} ScrollPlace  the part of the page at the top of the screen, and how much of its height is above it
 * @typedef {{link: string, scroll: ScrollPlace|null, author: string|null}} Lead  what the teacher shows
 * @typedef {{id: number, ask: string, options: string[], round: number, revealed: boolean, right: number|null, says: string|null,
 *   others: Partial<Record<"en"|"ja", {ask: string, options: string[], says: string|null}>>, counts: number[][]|null}} Question  `counts`: by round and option; null: not yet for pupils
 * @typedef {{id: number, ask: string}} Turn
 * @typedef {{id: number, name: string, explores: boolean, here: boolean}} Member
 * @typedef {{id: number, member: number, link: string, text: string, author: string|null}} Sentence
 * @typedef {{lead: Lead|null, recalls: number, locked: boolean, question: Question|null, turn: Turn|null}} Shared
 * @typedef {Shared & {code: string, expires: number, wall_shown: boolean, members: Member[], sentences: Sentence[]}} Taught  for the teacher
 * @typedef {{name: string, explores: boolean, votes: Record<string, Record<string, number>>, sentences: Record<string, string>}} Own
 * @typedef {{kind: string, [field: string]: any}} Message
 * @typedef {{opened: number, people: number,
 *   questions: {ask: string, options: string[], right: number|null, says: string|null, counts: number[][], withdrawn: boolean}[],
 *   turns: {ask: string, sentences: {text: string, link: string, name: string|null}[]}[]}} Results  `opened`: in seconds since 1970
 */

/** @param {string} key @param {AbortSignal} [signal] */
const keyed = (key, signal) => ({ headers: { "x-room-key": key }, signal });

/** @param {string} method @param {string} path @param {object|undefined} body @param {string} [key] */
const asked = (method, path, body, key) => {
  const options = key === undefined ? {} : keyed(key);
  return api.read("json", api.send(method, path, body, options), options);
};

/** @returns {Promise<{code: string, key: string}>} */
export const openRoom = () => asked("POST", "api/rooms", {});

/** @param {string} code @param {string} name  may be empty @returns {Promise<{key: string}>} */
export const joinRoom = (code, name) => asked("POST", "api/rooms/join", { code, name });

/**
 * @typedef {"only_this_machine"|"inside"|"no_network"|null} DoorProblem  why other devices may not open the address
 * @param {string} key @param {string} page  its own address: a proxy may have put it under a prefix
 * @returns {Promise<{address: string, link: string, qr: string[], problem: DoorProblem}>}
 */
export const roomLink = (key, page) => asked("GET", `api/room/link?page=${encodeURIComponent(page)}`, undefined, key);

/** @param {string} key @param {boolean} names @returns {Promise<Results>} */
export const roomResults = (key, names) => asked("GET", `api/room/results?names=${names}`, undefined, key);

/** @param {string} key @returns {Promise<unknown>} */
export const leaveRoom = (key) => asked("DELETE", "api/room", undefined, key);

/** @param {string} key @returns {Promise<{role: "teacher"|"pupil", room: any, own: Own|null}>} */
const showRoom = (key) => asked("GET", "api/room", undefined, key);

/** Without an event for so long, the connection is lost: the server sends a sign of life every 15 s. */
const SILENCE_MS = 40_000;
/** Without a first event for so long, the client asks by itself, this often. */
const FIRST_MS = 3000;
const POLL_MS = 2000;
/** Between two tries to connect: so many clients of a dead server do not come back in the same moment. */
const AGAIN_MS = [300, 700, 1500, 3000];

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @template T @param {Promise<T>} coming @returns {Promise<T>} */
const inTime = (coming) => {
  let timer = 0;
  const late = new Promise((_, reject) => {
    timer = /** @type {any} */ (setTimeout(() => reject(new ApiError({ code: "unreachable" })), SILENCE_MS));
  });
  return /** @type {Promise<T>} */ (Promise.race([coming, late]).finally(() => clearTimeout(timer)));
};

/** Whether the room itself is gone, and not the way to it. @param {unknown} error */
const isOver = (error) => error instanceof ApiError && error.code === "room_over";

/**
 * Watches a room until it ends, whatever happens to the connection.
 * @param {string} key
 * @param {{room: (room: any) => void, own: (own: Own) => void, ended: (why: string) => void, lost: (lost: boolean) => void}} on
 * @returns {() => void} stops it
 */
export function watchRoom(key, on) {
  const stop = new AbortController();
  let heard = false;
  let tries = 0;
  /** @param {string} why */
  function end(why) {
    if (stop.signal.aborted) return;
    stop.abort();
    on.ended(why);
  }

  async function listen() {
    const answer = await api.send("GET", "api/room/events", undefined, keyed(key, stop.signal));
    for await (const { event, data } of events(/** @type {ReadableStream<Uint8Array>} */ (answer.body), inTime)) {
      if (stop.signal.aborted) return;
      const content = JSON.parse(data);
      if (event === "ended") return end(content.why);
      if (event === "error") throw new ApiError(content.error);
      heard = true;
      tries = 0;
      on.lost(false);
      if (event === "own") on.own(content);
      if (event === "room") on.room(content);
    }
  }

  async function poll() {
    await pause(FIRST_MS);
    while (!stop.signal.aborted) {
      if (!heard) {
        try {
          const { room, own } = await showRoom(key);
          if (heard || stop.signal.aborted) continue;
          if (own) on.own(own);
          on.room(room);
          on.lost(false);
        } catch (error) {
          if (isOver(error)) end("over");
        }
      }
      await pause(POLL_MS);
    }
  }

  async function keep() {
    while (!stop.signal.aborted) {
      try {
        await listen();
      } catch (error) {
        if (isOver(error)) return end("over");
      }
      if (stop.signal.aborted) return;
      heard = false;
      if (tries > 0) on.lost(true);
      await pause(AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)] * (0.5 + Math.random()));
    }
  }
  keep();
  poll();
  return () => stop.abort();
}

/** What the server takes: bytes of the teacher's link, and of a message with a pupil's sentence (app/services/rooms/limits.py). */
export const LONGEST_SENT = { lead: 16_384, sentence: 2048 };

/** Whether the server would refuse it for its length: said before it is sent. @param {Message} message */
export function isTooLongToSend(message) {
  const sent = { lead: message.link, sentence: JSON.stringify(message) }[message.kind] ?? "";
  return new TextEncoder().encode(sent).length > (LONGEST_SENT[/** @type {"lead"|"sentence"} */ (message.kind)] ?? 0);
}

/** The first of a text, without half a character: as Python counts. @param {string} text @param {number} n */
export const firstOf = (text, n) => [...text].slice(0, n).join("");

/** Between two messages: the server takes one a second of a pupil, and ten of a teacher. */
const EVERY_MS = { pupil: 1050, teacher: 120 };

const REPLACED = ["lead", "explore", "vote", "sentence"];

/** Whether a newer message stands for an older one: where the page is, or the vote on the same question. @param {Message} newer @param {Message} older */
const replaces = (newer, older) =>
  REPLACED.includes(newer.kind) &&
  ["kind", "question", "round", "turn"].every((field) => newer[field] === older[field]);

/**
 * Sends messages one after the other, no faster than the server takes them, and again while it cannot be reached.
 * @param {string} key @param {"teacher"|"pupil"} role
 * @param {(error: ApiError, message: Message) => void} refused
 */
export function createPoster(key, role, refused, post = asked, every = EVERY_MS[role]) {
  /** @type {Message[]} */
  let waiting = [];
  let busy = false;
  let stopped = false;

  async function work() {
    if (busy) return;
    busy = true;
    for (let message = waiting.shift(); message; message = waiting.shift()) {
      const again = await sent(message);
      const last = message;
      if (again && !stopped && !waiting.some((one) => replaces(one, last))) waiting.unshift(last);
      await pause(again || every);
    }
    busy = false;
  }

  /** After how long to send it again; 0: it arrived, or was refused for itself. @param {Message} message */
  async function sent(message) {
    try {
      await post("POST", "api/room", { message }, key);
      return 0;
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError({ code: "unreachable" });
      if (known.code === "too_fast") return every;
      if (known.code === "unreachable" || known.status >= 500) return AGAIN_MS[2];
      if (!stopped) refused(known, message);
      return 0;
    }
  }

  return {
    /** @param {Message} message */
    say(message) {
      if (stopped) return;
      waiting = [...waiting.filter((one) => !replaces(message, one)), message];
      work();
    },
    /** The room is over, or left: nothing more is sent, and a late answer says nothing. */
    stop() {
      stopped = true;
      waiting = [];
    },
  };
}
