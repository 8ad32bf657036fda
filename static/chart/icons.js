/** Outlines of the buttons over a picture, on a 24 × 24 grid. */

const LENS = "M10 3a7 7 0 1 0 4.2 12.6l5 5 1.4-1.4-5-5A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z";

export const ICONS = {
  png: "M12 3v10.2l3.6-3.6 1.4 1.4-6 6-6-6 1.4-1.4 3.6 3.6V3zM4 19h14v2H4z",
  svg: "M3 5h5v2H5v10h3v2H3zm10 0h5v14h-5v-2h3V7h-3zM8 11h5v2H8z",
  closer: `${LENS}M9 7h2v2h2v2h-2v2H9v-2H7V9h2z`,
  back: `${LENS}M7 9h6v2H7z`,
  all: "M4 4h6v2H6v4H4zm10 0h6v6h-2V6h-4zM4 14h2v4h4v2H4zm14 0h2v6h-6v-2h4z",
};
