/** Asks a server (its address is the argument) everything that the pictures need, and writes stored/: see record.py. */

import { readdirSync, rmSync } from "node:fs";
import { templates } from "./first_paint.js";
import { PICTURES } from "./list.js";
import { svgOf } from "./page.js";
import { createServer } from "./server.js";

const STORED = new URL("stored/", import.meta.url);
const [upstream] = process.argv.slice(2);
const ready = await fetch(`${upstream}/readyz`).catch(() => null);
if (!ready?.ok) {
  console.error(`Nothing was recorded: no Chumoku answers at ${upstream}.`);
  process.exit(1);
}
for (const old of readdirSync(STORED)) rmSync(new URL(old, STORED));
const servers = new Map(PICTURES.map(({ from }) => [from, createServer(from, upstream)]));
for (const { from, name, ...picture } of PICTURES) {
  try {
    const svg = await svgOf(picture, /** @type {any} */ (servers.get(from)));
    console.warn(`${name}: ${svg.length} characters`);
  } catch (error) {
    console.warn(`${name}: ${/** @type {Error} */ (error).message}`);
  }
}
for (const server of servers.values()) server.save();
await templates(upstream);
process.exit(0); // the document's timers go on
