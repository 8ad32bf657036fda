// Sets the theme before the first paint: the reader's earlier choice, else the system's. A classic script, on purpose: a
// module would run after the page has been painted once.
(() => {
  const root = document.documentElement;
  const asked = new URLSearchParams(location.search).get("theme");
  const kept = document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1];
  const chosen = asked === "light" || asked === "dark" ? asked : kept;
  root.dataset.theme = chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
})();
