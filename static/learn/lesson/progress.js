/** How far the reader of this browser has come in a lesson. No DOM. */

import { keepInMind, remembered } from "../../ui/remembered.js";

/** The step to go on with, from 1, and whether its end was reached once. @param {string} id  of a lesson */
export function progressIn(id) {
  const [step, done] = (remembered(`lesson.${id}`) ?? "").split(" ");
  return { step: Number(step) || 1, done: done === "done" };
}

/** After the last of `of` steps it begins again. @param {string} id @param {number} step @param {number} of */
export function keepProgress(id, step, of) {
  const ended = step > of;
  keepInMind(`lesson.${id}`, `${ended ? 1 : step}${ended || progressIn(id).done ? " done" : ""}`);
}
