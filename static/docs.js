// The API's page: its commands name the address at which this browser found it. The server does not know that address when a
// proxy has put a prefix before it. A classic script: without it the commands name the server's own address.
(() => {
  const { base } = document.body.dataset;
  const here = new URL(".", location.href).href.slice(0, -1).replaceAll("'", "%27"); // commands have it in quotes
  if (!base || base === here) return;
  for (const command of document.querySelectorAll("pre code")) {
    command.textContent = (command.textContent ?? "").replace(base, here);
  }
})();
