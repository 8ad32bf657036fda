/**
 * The page's own player, in node: it plays 128 tokens from a server, and prints each as a line of JSON, then how many
 * requests it took. `node player.js URL MODEL IDS`
 */

import * as api from "../../static/data/api.js";
import { showingIds } from "../../static/model/written.js";
import { createGenerationPlayer } from "../../static/views/generation/player.js";
import { DEFAULTS } from "../../static/state/store.js";

const [base, name, ids] = process.argv.slice(2);
const N = 128;
let asked = 0;
const real = globalThis.fetch;
globalThis.fetch = (path, options) => {
  asked += path === "/api/generate" ? 1 : 0;
  return real(new URL(String(path), base), options);
};

const model = await api.model(name);
const path = { model: name, text: "", ids: JSON.parse(ids), nPrompt: JSON.parse(ids).length };
let state = {
  ...DEFAULTS,
  model: name,
  ids: path.ids,
  causal: false, // each step computes all rows again, so that there is time to break the stream
  viewState: { ...DEFAULTS.viewState, generation: { length: N, pace: "fast" } },
};
const session = {
  path: () => path,
  from: () => null, // nobody goes back
  model: () => model,
  blocked: () => null,
  advance(_, { token, u }) {
    path.ids = [...path.ids, token.id];
    state = { ...state, ...showingIds(state, model, path.ids, path.nPrompt) };
    console.log(JSON.stringify({ id: token.id, u }));
    return path.ids;
  },
};
const player = createGenerationPlayer(/** @type {any} */ (session), { get: () => state, onChange() {}, isDrawn: () => true });
await player.play();
console.log(JSON.stringify({ asked, error: player.error && String(player.error) }));
