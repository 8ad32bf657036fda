/** Bytes of the largest file that is opened. */
export const LARGEST = 100e6;

/** An error in a file: `code` is `open.error.<code>` in the catalogue, `vars` fill it in. */
export class FileError extends Error {
  /** @param {string} code @param {Object<string, string|number>} [vars] */
  constructor(code, vars = {}) {
    super(code);
    this.name = "FileError";
    this.code = code;
    this.vars = vars;
  }
}

/** A value from a file, short enough for a sentence. @param {unknown} value */
export const shortened = (value) => String(typeof value === "object" ? typeof value : value).slice(0, 80);
