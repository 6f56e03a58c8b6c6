// Asks the device for a passkey, puts its answer into the form, and sends that. Without it the form stays hidden.
(() => {
  const { browserSupportsWebAuthn, startAuthentication, startRegistration } = SimpleWebAuthnBrowser;
  const ASK = { make: startRegistration, sign: startAuthentication };
  const supported = browserSupportsWebAuthn();
  document.querySelectorAll("[data-no-passkeys]").forEach((told) => { told.hidden = supported; });
  document.querySelectorAll("form[data-passkey]").forEach((form) => {
    const button = form.querySelector("button"), failed = form.querySelector("[data-failed]");
    form.hidden = !supported;
    button.addEventListener("click", async () => {
      button.disabled = true;
      failed.hidden = true;
      try {
        const answer = await ASK[form.dataset.passkey]({ optionsJSON: JSON.parse(form.dataset.options) });
        form.elements.answer.value = JSON.stringify(answer);
        form.submit();
      } catch {
        failed.hidden = false;
        button.disabled = false;
      }
    });
  });
})();
