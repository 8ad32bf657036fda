/** The results of a class as one HTML file, which needs no server: votes before and after, and what was handed in. */

import { percent } from "../../ui/format.js";
import { language, t } from "../../ui/i18n.js";
import { saveText } from "../../ui/save.js";
import { tallies, taskInWords, total } from "./vote.js";

/** @import { Results } from "../../data/rooms.js" */

/** Text in HTML. @param {string} text */
const escaped = (text) =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\u202a-\u202e\u2066-\u2069]/g, "");

/** @param {string} tag @param {...string} content  HTML @returns {string} */
const tag = (tag, ...content) => `<${tag}>${content.join("")}</${tag}>`;

const STYLE = `body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:#1b1d2a}
table{border-collapse:collapse;width:100%}th,td{padding:.3rem .6rem;border-bottom:1px solid lightgray;text-align:left}
td.bar{width:30%}td.bar+td{white-space:nowrap}td.bar span{display:block;height:.8rem;background:royalblue;border-radius:3px}
.right{font-weight:700}section{margin:2rem 0;break-inside:avoid}`;

/** @param {Results} results @param {{date: Date, origin: string}} at @returns {string} a whole document */
export function resultsPage({ opened, people, questions, turns }, { date, origin }) {
  const day = date.toLocaleDateString(language(), { dateStyle: "long" });
  const [from, to] = [new Date(1000 * opened), date].map((one) =>
    one.toLocaleString(language(), { dateStyle: "long", timeStyle: "short" }),
  );
  const title = `${t("room.results")} · ${day}`;
  return [
    `<!doctype html><html lang="${language()}"><head><meta charset="utf-8"><title>${escaped(title)}</title>`,
    `<style>${STYLE}</style></head><body>`,
    tag("h1", escaped(title)),
    tag("p", escaped(t("room.results_about", { people, questions: questions.length, turns: turns.length }))),
    tag("p", escaped(t("room.results_time", { from, to }))),
    ...questions.map(questionOf),
    ...turns.map((turn) => turnOf(turn, origin)),
    "</body></html>",
  ].join("\n");
}

/** @param {Results["questions"][number]} question */
function questionOf(question) {
  const rounds = question.counts.map((counts, i) => ({ i, n: total(counts) }));
  const names = ["room.first_vote", "room.second_vote"];
  const heads = rounds.map(({ i, n }) => `<th colspan="2">${escaped(`${t(names[i])} (${n})`)}</th>`);
  const rows = tallies(question).map(({ option, right, rounds: votes }) => {
    const cells = votes.map(
      ({ n, share }) =>
        `<td class="bar"><span style="width:${(100 * share).toFixed(1)}%"></span></td><td>${n} (${escaped(percent(share, 0))})</td>`,
    );
    return `<tr><td${right ? ' class="right"' : ""}>${escaped(option)}${right ? " ✓" : ""}</td>${cells.join("")}</tr>`;
  });
  const says = question.says ? tag("p", escaped(question.says)) : "";
  const withdrawn = question.withdrawn ? tag("p", escaped(t("room.results_withdrawn"))) : "";
  return tag(
    "section",
    tag("h2", escaped(question.ask)),
    withdrawn,
    tag("table", tag("thead", tag("tr", "<th></th>", ...heads)), tag("tbody", ...rows)),
    says,
  );
}

/** @param {Results["turns"][number]} turn @param {string} origin  of the links, while the server runs */
function turnOf({ ask, sentences }, origin) {
  const items = sentences.map(({ text, link, name }) => {
    const href = new URL(link, origin).href;
    const by = name ? ` — ${escaped(name)}` : "";
    return tag("li", `<a href="${escaped(href)}">${escaped(text)}</a>${by}`);
  });
  return tag("section", tag("h2", escaped(taskInWords(ask))), tag("ul", ...items));
}

/** @param {Results} results */
export function saveResults(results) {
  const date = new Date();
  const html = resultsPage(results, { date, origin: new URL("./", location.href).href });
  saveText(html, "text/html", `chumoku-${date.toISOString().slice(0, 10)}.html`);
}
