/** Text without the characters that XML forbids. */

/** The forbidden characters: controls, lone surrogates and two noncharacters. */
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
