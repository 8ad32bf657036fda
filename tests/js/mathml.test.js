/** Formulas as plain text, for the names of pictures in files (static/ui/mathml.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { asText } from "../../static/ui/mathml.js";

/** A node as a browser has it. @param {string} nodeName @param {...any} children @returns {any} */
const node = (nodeName, ...children) => ({
  nodeName,
  childNodes: children.map((one) => (typeof one === "string" ? text(one) : one)),
});
/** @param {string} textContent */
const text = (textContent) => ({ nodeName: "#text", childNodes: [], textContent });

const [Q, K, five, flipped] = [node("mi", "Q"), node("mi", "K"), node("mn", "5"), node("mo", "⊤")];

for (const [name, formula] of /** @type {[string, any][]} */ ([
  ["Q_5", node("msub", Q, five)],
  ["K_5ᵀ", node("msubsup", K, five, flipped)],
  ["Kᵀ", node("msup", K, flipped)],
  ["x^2", node("msup", node("mi", "x"), node("mn", "2"))],
  ["√d_k", node("msqrt", node("msub", node("mi", "d"), node("mi", "k")))],
  ["X\u0303_k", node("msub", node("mover", node("mi", "X"), node("mo", "˜")), node("mi", "k"))],
  [
    "LN(X′)",
    node("mrow", node("mi", "LN"), node("mtext", "("), node("mi", "X"), node("mtext", "′"), node("mtext", ")")),
  ],
]))
  test(`${name} is written in a line`, () => assert.equal(asText(formula), name));
