/** Play: one step after another, each for as long as it takes to read, up to the last. No DOM. */

/**
 * @param {{index: () => number, count: () => number, to: (index: number) => void, isSeen: () => boolean, onChange: () => void}} walk
 *   `isSeen`: no other station was opened meanwhile
 */
export function createPlayer({ index, count, to, isSeen, onChange }) {
  const player = { playing: false, pace: 2, play, stop, drawn }; // pace: seconds a step
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

  /** The next step comes `pace` seconds after this one was drawn: a slow server skips none. */
  function drawn() {
    if (!player.playing) return;
    clearTimeout(timer);
    if (index() === count() - 1) stop();
    else timer = window.setTimeout(() => (isSeen() ? to(index() + 1) : stop()), player.pace * 1000);
  }

  return player;
}
