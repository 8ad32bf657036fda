/** Tests that read texts: each file has its catalogue, and all files are run by one process. */

import { test } from "node:test";
import { useCatalogue } from "../../static/ui/i18n.js";

/**
 * `test` with a catalogue, which is away again afterwards.
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
