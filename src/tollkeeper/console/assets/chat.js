// The chat: sends what is in this page, shows the answer as it comes, and keeps nothing anywhere else.
(() => {
  const chat = document.getElementById("chat");
  const part = (name) => document.getElementById(name);
  const [log, message, send, stop, jump, refused] = ["log", "message", "send", "stop", "jump", "refused"].map(part);
  const words = chat.dataset;
  // What was said, as it is sent with the next message.
  let said = [];
  // What ends the answer that is on its way; and which chat this is, for answers that end after a new one was begun.
  let running = null;
  let chats = 0;

  const refuse = (text) => { refused.textContent = text; refused.classList.toggle("d-block", Boolean(text)); };
  const pictures = new Pictures(part("pictures"), words, refuse);
  const room = () => Number(words.mostPictures) - said.reduce((count, turn) => count + (turn.pictures?.length ?? 0), 0);

  // ---- scrolling: with the answer, until the reader looks at something else -----------------------------------------
  let follows = true;
  const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const scrollToEnd = () => { log.scrollTop = log.scrollHeight; };
  log.addEventListener("scroll", () => { follows = isAtEnd(); jump.hidden = follows; });
  // Pictures and longer messages take room from it.
  new ResizeObserver(() => { if (follows) scrollToEnd(); }).observe(log);
  jump.addEventListener("click", () => { follows = true; scrollToEnd(); message.focus(); });

  let due = 0;
  const showSoon = (answer) => {
    due ||= requestAnimationFrame(() => {
      due = 0;
      answer.show();
      if (follows) scrollToEnd();
      else jump.hidden = isAtEnd();
    });
  };

  // ---- one answer ---------------------------------------------------------------------------------------------------
  async function readLines(response, take) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) take(JSON.parse(line));
    }
  }

  async function ask(answer, asked, ending) {
    const headers = { "content-type": "application/json", "x-form-token": chat.querySelector("[name=form_token]").value };
    const body = JSON.stringify({ model: answer.model, messages: asked });
    const response = await fetch("/chat", { method: "POST", headers, body, signal: ending.signal, redirect: "manual" });
    if (!(response.headers.get("content-type") ?? "").startsWith("application/x-ndjson")) {
      answer.tell({ words: response.status === 413 ? words.tooMuch : words.signedOut });
      return;
    }
    await readLines(response, (line) => { answer.take(line); showSoon(answer); });
    if (answer.end === null && !answer.trouble) answer.tell({ words: words.lost });
  }

  async function answerTo(asked) {
    const answer = new Answer(part("model").value, words);
    answer.model = part("model").value;
    const ending = new AbortController();
    const ours = chats;
    running = ending;
    document.querySelectorAll(".turn-again").forEach((button) => button.remove());
    log.append(answer.turn);
    busy(true);
    follows = true;
    scrollToEnd();
    try {
      await ask(answer, asked, ending);
    } catch {
      if (ending.signal.aborted) answer.note(answer.call ? words.stopped : words.stoppedEarly);
      else answer.tell({ words: words.lost });
    }
    answer.finish();
    const settled = answer.settle();
    if (ours === chats) {
      if (answer.text) said = [...asked, { role: "assistant", text: answer.text }];
      else giveBack(asked);
    }
    answer.find(".turn-again").addEventListener("click", () => again(answer, asked));
    // The next one may be sent when this one is settled: until then, it counts as under way.
    await settled;
    running = null;
    busy(false);
    if (follows) scrollToEnd();
  }

  function again(answer, asked) {
    if (running) return;
    answer.turn.remove();
    if (message.value === asked.at(-1).text) { message.value = ""; pictures.take(); fit(); }
    answerTo(asked);
  }

  // What was not answered can be changed and sent again.
  function giveBack(asked) {
    said = asked.slice(0, -1);
    if (message.value || pictures.chosen.length) return;
    message.value = asked.at(-1).text;
    pictures.chosen = [...asked.at(-1).pictures];
    pictures.show();
    fit();
  }

  function busy(is) {
    send.hidden = is;
    stop.hidden = !is;
    stop.disabled = false;
    if (!is && document.activeElement === document.body) message.focus();
  }

  const end = () => { if (running && !stop.hidden) { stop.disabled = true; running.abort(); } };

  function submit() {
    const text = message.value.trim();
    if (running || (!text && pictures.chosen.length === 0)) return;
    const characters = said.reduce((count, turn) => count + turn.text.length, text.length);
    if (characters > Number(words.mostCharacters) || said.length >= Number(words.mostMessages)) { refuse(words.tooMuch); return; }
    refuse("");
    const mine = { role: "user", text, pictures: pictures.take() };
    part("chat-empty").hidden = true;
    part("new-chat").hidden = false;
    log.append(turnOfYours(text, mine.pictures, words));
    message.value = "";
    fit();
    answerTo([...said, mine]);
  }

  // ---- the composer -------------------------------------------------------------------------------------------------
  const fit = () => { message.rows = Math.min(8, Math.max(1, message.value.split("\n").length, Math.ceil(message.value.length / 90))); };
  const addFiles = (files) => { refuse(""); pictures.add([...files].filter((file) => file.type.startsWith("image/")), room()); };

  part("composer").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  stop.addEventListener("click", end);
  message.addEventListener("input", fit);
  message.addEventListener("keydown", (event) => {
    // While an input method composes a word, Enter chooses the word.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") end(); });
  part("files").addEventListener("change", (event) => { addFiles(event.target.files); event.target.value = ""; });
  message.addEventListener("paste", (event) => { if (event.clipboardData.files.length) { event.preventDefault(); addFiles(event.clipboardData.files); } });
  chat.addEventListener("dragover", (event) => event.preventDefault());
  chat.addEventListener("drop", (event) => { event.preventDefault(); addFiles(event.dataTransfer.files); });
  chat.querySelectorAll(".chat-idea").forEach((idea) => idea.addEventListener("click", () => { message.value = idea.textContent; fit(); message.focus(); }));
  part("new-chat").addEventListener("click", () => {
    end();
    chats += 1;
    said = [];
    log.querySelectorAll(".turn").forEach((turn) => turn.remove());
    part("chat-empty").hidden = false;
    part("new-chat").hidden = true;
    jump.hidden = true;
    message.focus();
  });
  const showPrice = () => { part("price").textContent = part("model").selectedOptions[0].dataset.price; };
  part("model").addEventListener("change", showPrice);
  // A browser may fill in again what was written before: this page begins empty.
  message.value = "";
  showPrice();
  part("composer").hidden = false;
  if (part("ideas")) part("ideas").hidden = false;
  if (matchMedia("(min-width: 761px)").matches) message.focus();
})();
