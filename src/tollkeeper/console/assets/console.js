// What pages have beyond what they can do without a script.
const SAID_MS = 3000;
// Longer than two clicks are apart. Stopping a page, and a download, leave the form where it is, and tell nobody.
const SENT_MS = 5000;

// ---- copying: said in words, to the eye and to a screen reader ------------------------------------------------------------
const spoken = document.getElementById("spoken");
let silence = 0;

function speak(words) {
  clearTimeout(silence);
  spoken.textContent = words;
  silence = setTimeout(() => { spoken.textContent = ""; }, SAID_MS);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    speak(spoken.dataset.notCopied);
    return;
  }
  speak(spoken.dataset.copied);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), SAID_MS);
});
document.querySelectorAll("[data-copy][hidden]").forEach((button) => { button.hidden = !navigator.clipboard; });

// ---- a form is sent once, also by two clicks -------------------------------------------------------------------------
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "1";
  setTimeout(() => { delete form.dataset.sent; }, SENT_MS);
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => { delete form.dataset.sent; }));

// ---- a page that is live is loaded anew while somebody looks at it and does nothing on it -----------------------------
const live = document.querySelector("main[data-refresh]");

function isBusy() {
  const focused = document.activeElement;
  return document.hidden || Boolean(focused && focused.matches("input, select, textarea, :focus-visible"))
    || document.querySelector("details[open], .dropdown-menu.show") !== null || !getSelection().isCollapsed;
}

// Without the attribute it is live no more.
if (live) setInterval(() => { if (live.dataset.refresh && !isBusy()) location.reload(); }, Number(live.dataset.refresh) * 1000);
