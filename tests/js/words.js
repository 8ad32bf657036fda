/** Tests that read texts: each file has a catalogue of its own, because all files run in one process. */

import { test } from "node:test";
import { useCatalogue } from "../../static/ui/i18n.js";

/**
 * `test` with a catalogue, which is removed again afterwards.
 * @param {Object<string, string>} words
 * @returns {(name: string, run: () => void|Promise<void>) => void}
 */
export const testWith = (words) => (name, run) => {
  test(name, async () => {
    useCatalogue(words);
    try {
      await run();
    } finally {
      useCatalogue({});
    }
  });
};
