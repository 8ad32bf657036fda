/**
 * Numbers for other programs: six lines of Python that load a saved trace, and tables in the format of RFC 4180: commas, CRLF, doubled quotes. They begin with a byte order mark, because
 * spreadsheets would not read them as UTF-8 otherwise. No DOM.
 */

/**
 * @import { Bars } from "../chart/bars/bar_picture.js"
 * @import { Axis, Matrix } from "../chart/matrix/matrix.js"
 * @import { Token } from "../model/labels.js"
 */

// Six lines of Python that load a saved trace. No DOM; a test runs them.

/** @param {{format: "safetensors"|"npz", file: string, name: string, head: number, what: string}} options @returns {string} */
export function snippet({ format, file, name, head, what }) {
  const end = [
    `weights = tensors[${JSON.stringify(name)}][${head}]  # ${what}: query × key`,
    'print([token["text"] for token in about["tokens"]], weights, sep="\\n")',
  ];
  return [...(format === "npz" ? npz(file) : safetensors(file)), ...end].join("\n");
}

/** @param {string} file */
function safetensors(file) {
  return [
    "import json, safetensors",
    `with safetensors.safe_open(${JSON.stringify(file)}, "np") as trace:`,
    '    about = json.loads(trace.metadata()["chumoku"])',
    "    tensors = {name: trace.get_tensor(name) for name in trace.keys()}",
  ];
}

/** @param {string} file */
function npz(file) {
  return [
    "import json, numpy",
    `tensors = numpy.load(${JSON.stringify(file)})`,
    'about = json.loads(str(tensors["__metadata__"]))',
    "print(tensors.files)",
  ];
}

const MARK = "\ufeff";

/** What a spreadsheet would run as a formula (OWASP, CSV injection; the wide forms count in Japanese ones). */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;

/** @param {(string|number)[][]} rows  numbers unchanged, text made harmless @returns {string} */
export function csv(rows) {
  return MARK + rows.map((cells) => `${cells.map(field).join(",")}\r\n`).join("");
}

/** @param {string|number} cell */
function field(cell) {
  if (typeof cell === "number") return Object.is(cell, -0) ? "-0" : String(cell);
  const harmless = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]|^\s|\s$|^'/.test(harmless) ? `"${harmless.replace(/"/g, '""')}"` : harmless;
}

/**
 * The shortest decimal that reads back as this float32, as a number.
 * @param {number} value @returns {number}
 */
function shortest32(value) {
  if (value === 0) return value; // -0 stays -0
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/**
 * Token labels in the first row and the first column, the numbers between them.
 * @param {Pick<Matrix, "values"|"shape"|"rows"|"cols"|"corner">} matrix
 */
export function matrixCsv({ values, shape: [nRows, nCols], rows, cols, corner = cornerOf(cols) }) {
  const exact = values instanceof Float32Array ? shortest32 : Number;
  const line = (/** @type {number} */ row) => Array.from(values.subarray(row * nCols, (row + 1) * nCols), exact);
  const body = Array.from({ length: nRows }, (_, row) => [rows.labels[row], ...line(row)]);
  return csv([[corner, ...cols.labels], ...body]);
}

/** @param {Axis} cols */
const cornerOf = ({ role }) => (role === "k" ? "query \\ key" : "position \\ dimension");

/** A line for each token, a column for each series. @param {Bars} bars */
export function barsCsv({ rows, series }) {
  return csv([["token", ...series.map(({ name }) => name)], ...rows.map(({ label, values }) => [label, ...values])]);
}

/** @param {Token[]} tokens @param {string[]} labels */
export function tokensCsv(tokens, labels) {
  /** @param {Token} token @param {number} i @returns {(string|number)[]} */
  const line = ({ index, id, bytes, start, end }, i) => [index, labels[i], id, bytes, start, end];
  return csv([["position", "token", "id", "bytes", "start", "end"], ...tokens.map(line)]);
}
