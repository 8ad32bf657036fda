/** The states that lessons and the glossary open (static/learn/glossary/glossary.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { STATION_STATES } from "../../static/learn/glossary/glossary.js";
import { VIEWS } from "../../static/views/index.js";

for (const [name, { view, viewState }] of Object.entries(STATION_STATES)) {
  test(`"${name}" opens a station there is, in a state that it has`, () => {
    const station = VIEWS.find(({ id }) => id === view);
    assert.ok(station, `no station ${view}`);
    assert.ok(Object.keys(viewState ?? {}).every((one) => one === view));
    for (const [field, value] of Object.entries(viewState?.[view ?? ""] ?? {}))
      assert.equal(station.viewState?.fields[field]?.read(value), value, `${view}.${field}`);
  });
}
