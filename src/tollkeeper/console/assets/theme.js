// Colours as on this device, where nothing else was chosen. Loaded before the page shows, so that nothing flashes.
(() => {
  const page = document.documentElement;
  if (page.dataset.theme !== "auto") return;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => page.setAttribute("data-bs-theme", dark.matches ? "dark" : "light");
  dark.addEventListener("change", follow);
  follow();
})();
