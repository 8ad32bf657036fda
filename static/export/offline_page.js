// The script of a saved HTML file (see offline.js): it draws the pictures out of the JSON beside it. A classic script, on
// purpose: it is copied into a file of its own, where there is nothing to import.
(() => {
  /** The least room, in pixels, for one label before the next. */
  const ROOM = 14;
  const { Plotly } = window;
  const data = JSON.parse(document.getElementById("data").textContent);

  /** The labels that fit, now that so many cells are in view; the chosen one always. */
  function ticks(axis, { range, _length: pixels }) {
    const [low, high] = [Math.min(...range), Math.max(...range)];
    const step = Math.max(1, Math.ceil((ROOM * (high - low)) / pixels));
    const shown = (i) =>
      i >= low && i <= high && (i === axis.chosen || (i % step === 0 && Math.abs(i - axis.chosen) >= step));
    const tickvals = axis.labels.map((_, i) => i).filter(shown);
    return { tickvals, ticktext: tickvals.map((i) => axis.labels[i]) };
  }

  function followZoom(root, { axes }) {
    root.on("plotly_relayout", (change) => {
      if (!Object.keys(change).some((name) => /axis\d*\.(range|autorange)/.test(name))) return;
      const patch = {};
      for (const [name, axis] of Object.entries(axes)) {
        const { tickvals, ticktext } = ticks(axis, root._fullLayout[name]);
        Object.assign(patch, { [`${name}.tickvals`]: tickvals, [`${name}.ticktext`]: ticktext });
      }
      Plotly.relayout(root, patch);
    });
  }

  data.pictures.forEach((picture, index) => {
    const root = document.getElementById(`picture-${index}`);
    const config = {
      displaylogo: false,
      responsive: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    };
    Plotly.newPlot(root, picture.data, picture.layout, config).then(() => {
      if (picture.axes) followZoom(root, picture);
      root.dataset.drawn = "true";
    });
  });
})();
