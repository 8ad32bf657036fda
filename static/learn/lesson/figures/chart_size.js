/** Width and height of a chart in its own units: about CSS pixels, so that its letters are as large on a phone. */

/** @param {HTMLElement} root  where it is drawn @returns {[number, number]} */
export const chartSize = ({ clientWidth }) => (clientWidth < 500 ? [360, 300] : [640, 365]);
