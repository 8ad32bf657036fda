/** Text that XML can hold. */

/** Characters that it cannot: controls, halves of surrogate pairs, two that are no characters. */
const NO_XML = new RegExp(
  [
    String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]`,
    String.raw`[\ud800-\udbff](?![\udc00-\udfff])`,
    String.raw`(?<![\ud800-\udbff])[\udc00-\udfff]`,
  ].join("|"),
  "g",
);

/** @param {string} text */
export function xmlText(text) {
  return text.replace(NO_XML, "\ufffd");
}
