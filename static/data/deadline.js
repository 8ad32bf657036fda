/**
 * A server that accepts a request and then hangs sends no error, so the page would wait for ever. After a while without an
 * answer, the page asks whether the server is there at all: one that works on something long says so at once.
 */

const PATIENCE_MS = 5000;
const PROBE_MS = 3000;

/**
 * The answer; rejects when the server does not even say that it is there.
 * @template T
 * @param {Promise<T>} answer
 * @param {{isThere?: () => Promise<boolean>, patience?: number}} [options]
 * @returns {Promise<T>}
 */
export function answered(answer, { isThere = probe, patience = PATIENCE_MS } = {}) {
  return new Promise((resolve, reject) => {
    let open = true;
    const look = async () => {
      const there = await isThere();
      if (!open) return;
      if (there) timer = setTimeout(look, patience);
      else reject(new Error(`no answer for ${patience / 1000} s`));
    };
    let timer = setTimeout(look, patience);
    answer.then(resolve, reject).finally(() => {
      open = false;
      clearTimeout(timer);
    });
  });
}

/** Whether the server answers, whatever it says. */
const probe = () =>
  fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PROBE_MS) }).then(
    () => true,
    () => false,
  );
