/** Play: one step after another, each for as long as it takes to read, up to the last. No DOM. */

/**
 * @param {{index: () => number, count: () => number, to: (index: number) => void, pace: () => number, isSeen: () => boolean, onChange: () => void}} walk
 *   `pace`: seconds for a step; `isSeen`: no other station was opened meanwhile
 */
export function createPlayer({ index, count, to, pace, isSeen, onChange }) {
  const player = { playing: false, play, stop, drawn };
  let timer = 0;

  function stop() {
    clearTimeout(timer);
    player.playing = false;
    onChange();
  }

  function play() {
    player.playing = true;
    onChange();
    to(index() === count() - 1 ? 0 : index() + 1);
  }

  /** The next step comes the pace's seconds after this one was drawn: a slow server skips none. */
  function drawn() {
    if (!player.playing) return;
    clearTimeout(timer);
    if (index() === count() - 1) stop();
    else timer = window.setTimeout(() => (isSeen() ? to(index() + 1) : stop()), pace() * 1000);
  }

  return player;
}
