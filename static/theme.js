// Before the first paint: sets the theme, the reader's earlier choice or else the system's; and says whether a link or a memory
// opens something else than the start page, so that its river is not shown. A classic script, on purpose: a module would run
// after the page has been painted once.
(() => {
  const root = document.documentElement;
  const asked = new URLSearchParams(location.search).get("theme");
  const kept = document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1];
  const chosen = asked === "light" || asked === "dark" ? asked : kept;
  root.dataset.theme = chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  // As isBare and rememberPlace of shell/address.js have it.
  const says = /[?&#](?!(theme|lang|type|debug|room|room_key)\b)\w+=/.test(location.search + location.hash);
  let place = null;
  try {
    place = localStorage.getItem("chumoku.place");
  } catch {}
  if (says || place) root.dataset.opens = "";
})();
