// What stands in the chat: a message of yours, or an answer with what it cost and what went wrong with it.
function fromTemplate(name) {
  return document.getElementById(name).content.firstElementChild.cloneNode(true);
}

function turnOfYours(text, pictures, words) {
  const made = fromTemplate("said-by-you");
  made.querySelector(".turn-text").textContent = text;
  made.querySelector(".turn-pictures").append(...pictures.map((address) => thumbnail(address, words.picture)));
  return made;
}

class Answer {
  constructor(model, words) {
    this.words = words;
    this.text = "";
    this.thought = "";
    this.call = "";
    this.end = null;
    this.shown = false;
    this.turn = fromTemplate("said-by-model");
    this.turn.setAttribute("aria-busy", "true");
    this.find(".turn-name").textContent = model;
    this.find(".turn-text").classList.add("waiting");
    this.find(".turn-text").setAttribute("aria-label", words.waiting);
  }

  find(selector) { return this.turn.querySelector(selector); }

  // Take one line of the answer; what it says is shown with the next picture of the page.
  take(line) {
    if (line.call) this.call = line.call;
    if (line.text) this.text += line.text;
    if (line.thought) this.thought += line.thought;
    if (line.end !== undefined) this.end = line.end;
    if (line.trouble) this.tell(line.trouble);
  }

  show() {
    const body = this.find(".turn-text");
    if (this.thought) {
      this.find(".turn-thought").hidden = false;
      this.find(".turn-thought div").textContent = this.thought;
    }
    if (!this.text) return;
    body.classList.remove("waiting");
    body.removeAttribute("aria-label");
    renderMarkdown(body, this.text);
  }

  tell(trouble) {
    this.trouble = true;
    this.find(".turn-trouble").hidden = false;
    this.find(".turn-words").textContent = trouble.words;
    const detail = this.find(".turn-detail");
    detail.textContent = trouble.detail ?? "";
    detail.hidden = !trouble.detail;
    const link = this.find(".turn-trouble a");
    link.hidden = !trouble.href;
    if (trouble.href) { link.href = trouble.href; link.textContent = trouble.link; }
  }

  note(words) { this.find(".turn-note").textContent = words; }

  // No more comes.
  finish() {
    this.show();
    const body = this.find(".turn-text");
    body.classList.remove("waiting");
    body.removeAttribute("aria-label");
    if (!this.text) body.remove();
    this.turn.removeAttribute("aria-busy");
    this.find(".turn-foot").hidden = false;
    const copy = this.find(".turn-copy");
    copy.dataset.copy = this.text;
    copy.hidden = !this.text || !navigator.clipboard;
    const said = { length: this.words.length, content_filter: this.words.filtered }[this.end];
    if (said) this.note(said);
    else if (!this.text && !this.trouble && this.end !== null) this.note(this.words.empty);
  }

  // What it cost, by its receipt.
  async settle() {
    const free = this.find(".turn-free");
    if (!this.call) return;
    free.hidden = false;
    free.textContent = "…";
    let told = { state: "running" };
    for (let look = 0; look < 3 && told.state === "running"; look += 1) {
      try {
        const answer = await fetch(`/chat/calls/${this.call}`, { headers: { accept: "application/json" } });
        if (!answer.ok || answer.redirected) break;
        told = await answer.json();
      } catch {
        break;
      }
    }
    if (told.state !== "settled") {
      free.textContent = told.state === "none" ? this.words.free : this.words.running;
      return;
    }
    const cost = this.find(".turn-cost");
    cost.href = told.href;
    cost.textContent = told.usd;
    cost.title = `${told.exact} · ${told.ended}`;
    cost.hidden = false;
    free.hidden = true;
  }
}
