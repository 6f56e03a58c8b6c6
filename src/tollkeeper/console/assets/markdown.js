// Markdown as elements: `renderMarkdown(place, text)`.
//
// Rules of this file
// 1. Text becomes nodes by createElement and createTextNode alone. No HTML is ever read, so none can be put in.
// 2. A link leads to http, https or mailto, opens elsewhere and tells nobody where it came from. A picture is a link.
// 3. Called again with a longer text, only blocks that changed are made anew. Nothing is searched for far away.
const MOST_DEEP = 6;
const MOST_TRIES = 12;
const NEAR = 2000;
const SCHEMES = ["http:", "https:", "mailto:"];

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(\S.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])\s+/;
const TABLE_RULE = /^:?-+:?$/;

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

// ---- blocks: where each begins and ends ------------------------------------------------------------------------------

// Spaces at the end are taken off first: looked for together with what may stand before them, they would be searched again and again.
function headingOf(line) {
  const found = HEADING.exec(line.trimEnd());
  if (!found) return null;
  const text = found[2];
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  // Of `C#` it is a part.
  const isClosed = end === 0 || text[end - 1] === " ";
  return { level: found[1].length, text: isClosed ? text.slice(0, end).trimEnd() : text };
}

function isTable(lines, at) {
  if (!lines[at].includes("|") || at + 1 >= lines.length || !lines[at + 1].includes("-")) return false;
  const rule = cells(lines[at + 1]);
  return rule.every((cell) => TABLE_RULE.test(cell)) && cells(lines[at]).length === rule.length;
}

function begins(lines, at) {
  const line = lines[at];
  return FENCE.test(line) || headingOf(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line) || isTable(lines, at);
}

function endOfFence(lines, at) {
  const mark = FENCE.exec(lines[at])[1];
  const closing = new RegExp(`^ {0,3}${mark[0] === "`" ? "`" : "~"}{${mark.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end += 1;
  return Math.min(end + 1, lines.length);
}

function endOfList(lines, at) {
  const kind = /\d/.test(ITEM.exec(lines[at])[2]);
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const item = ITEM.exec(line);
    if (item && /\d/.test(item[2]) === kind && !RULE.test(line)) continue;
    if (/^\s+\S/.test(line)) continue;
    if (line.trim() === "") {
      const next = lines[end + 1] ?? "";
      const follows = ITEM.exec(next);
      if (/^\s+\S/.test(next) || (follows && /\d/.test(follows[2]) === kind)) continue;
      break;
    }
    if (begins(lines, end) || lines[end - 1].trim() === "") break;
  }
  return end;
}

function endOf(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) return endOfFence(lines, at);
  if (headingOf(line) || RULE.test(line)) return at + 1;
  let end = at + 1;
  if (QUOTE.test(line)) {
    while (end < lines.length && lines[end].trim() !== "" && (QUOTE.test(lines[end]) || !begins(lines, end))) end += 1;
  } else if (ITEM.test(line)) {
    end = endOfList(lines, at);
  } else if (isTable(lines, at)) {
    while (end < lines.length && lines[end].includes("|")) end += 1;
  } else {
    while (end < lines.length && lines[end].trim() !== "" && !begins(lines, end)) end += 1;
  }
  return end;
}

function blocks(text) {
  const lines = text.split("\n");
  const found = [];
  for (let at = 0; at < lines.length;) {
    if (lines[at].trim() === "") { at += 1; continue; }
    const end = endOf(lines, at);
    found.push(lines.slice(at, end).join("\n"));
    at = end;
  }
  return found;
}

// ---- blocks: as elements ---------------------------------------------------------------------------------------------

function codeBlock(lines) {
  const [, mark, language] = FENCE.exec(lines[0]);
  const last = lines[lines.length - 1];
  const closed = lines.length > 1 && new RegExp(`^ {0,3}[${mark[0]}]{${mark.length},}\\s*$`).test(last);
  const code = lines.slice(1, closed ? -1 : undefined).join("\n");
  const made = document.getElementById("code-block").content.firstElementChild.cloneNode(true);
  made.querySelector("span").textContent = language;
  made.querySelector("code").textContent = code;
  const button = made.querySelector("button");
  button.dataset.copy = code;
  button.hidden = !navigator.clipboard;
  return made;
}

function items(lines) {
  const found = [];
  const numbered = /^\s*\d/.test(lines[0]);
  let indent = 0;
  for (const line of lines) {
    const item = ITEM.exec(line);
    const isOfThese = item && (item[1] === "" || /\d/.test(item[2]) === numbered);
    if (item && (found.length === 0 || (isOfThese && item[1].length < indent))) {
      indent = item[0].length;
      found.push([line.slice(item[0].length)]);
    } else {
      const blank = /^\s*/.exec(line)[0].length;
      found[found.length - 1].push(line.slice(Math.min(blank, indent)));
    }
  }
  return found;
}

function list(lines, deep) {
  const number = /^\s*(\d+)[.)]/.exec(lines[0]), made = element(number ? "ol" : "ul");
  if (number && number[1] !== "1") made.start = Number(number[1]);
  for (const item of items(lines)) {
    const entry = element("li");
    const parts = blocks(item.join("\n"));
    // Items of one line need no paragraph around them.
    parts.forEach((part, at) => {
      const shown = block(part, deep + 1);
      entry.append(...(at === 0 && shown.tagName === "P" ? [...shown.childNodes] : [shown]));
    });
    made.append(entry);
  }
  return made;
}

function cells(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines, deep) {
  const sides = cells(lines[1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "mid" : "end") : ""));
  const row = (line, name) => {
    const found = cells(line);
    return element("tr", ...sides.map((side, at) => {
      const made = element(name, ...inline(found[at] ?? "", deep + 1));
      if (side) made.className = `cell-${side}`;
      return made;
    }));
  };
  const made = element("table", element("thead", row(lines[0], "th")), element("tbody", ...lines.slice(2).map((line) => row(line, "td"))));
  made.className = "table table-sm";
  const around = element("div", made);
  around.className = "table-responsive";
  return around;
}

function block(text, deep) {
  const lines = text.split("\n");
  if (deep > MOST_DEEP) return element("p", text);
  if (FENCE.test(text)) return codeBlock(lines);
  const heading = headingOf(lines[0]);
  // Below the page's own headings.
  if (heading) return element(`h${Math.min(heading.level + 2, 6)}`, ...inline(heading.text, deep));
  if (RULE.test(text)) return element("hr");
  if (QUOTE.test(text)) return element("blockquote", ...blocks(lines.map((line) => line.replace(QUOTE, "")).join("\n")).map((part) => block(part, deep + 1)));
  if (ITEM.test(text)) return list(lines, deep);
  if (isTable(lines, 0)) return table(lines, deep);
  return element("p", ...inline(text, deep));
}

// ---- within a block --------------------------------------------------------------------------------------------------

function safeAddress(text) {
  try {
    const address = new URL(text);
    return SCHEMES.includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

function link(address, children) {
  const made = element("a", ...children);
  made.href = address;
  made.rel = "noopener noreferrer nofollow";
  made.target = "_blank";
  return made;
}

// [words](address "title"), after the bracket; a picture likewise.
const TARGET = /\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"\n]*")?\s*\)/y;

function bracket(text, at, deep) {
  const isPicture = text[at] === "!";
  const begin = at + (isPicture ? 2 : 1);
  const near = text.slice(begin, begin + NEAR);
  const most = begin + near.lastIndexOf("](") + 1;
  let open = 1, end = begin;
  for (; end < most && open; end += 1) {
    if (text[end] === "\\") end += 1;
    else if (text[end] === "[") open += 1;
    else if (text[end] === "]") open -= 1;
  }
  if (open) return null;
  TARGET.lastIndex = end - 1;
  const target = TARGET.exec(text);
  const address = target && safeAddress(target[1]);
  if (!address) return null;
  const words = text.slice(begin, end - 1);
  return [link(address, isPicture ? [words || address] : inline(words, deep + 1)), TARGET.lastIndex];
}

function codeSpan(text, at) {
  const mark = /`+/y;
  mark.lastIndex = at;
  const ticks = mark.exec(text)[0], near = text.slice(at + ticks.length, at + ticks.length + NEAR);
  const end = new RegExp(`(?<!\`)\`{${ticks.length}}(?!\`)`).exec(near);
  if (!end || ticks.length > 8) return [document.createTextNode(ticks), at + ticks.length];
  return [element("code", near.slice(0, end.index).replaceAll("\n", " ").replace(/^ (.*[^ ].*) $/, "$1")), at + ticks.length * 2 + end.index];
}

const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

function emphasis(text, at, deep) {
  for (const [mark, name] of MARKS) {
    if (!text.startsWith(mark, at)) continue;
    const begin = at + mark.length;
    // A mark within a word is a letter of it, where it is an underscore.
    if (/\s|^$/.test(text[begin] ?? "") || (mark[0] === "_" && /\w/.test(text[at - 1] ?? ""))) continue;
    const near = text.slice(begin, begin + NEAR);
    let end = near.indexOf(mark, 1), tries = 0;
    while (end > 0 && (tries += 1) < MOST_TRIES && (/\s/.test(near[end - 1]) || (mark.length === 1 && near[end + 1] === mark) || (mark[0] === "_" && /\w/.test(near[end + mark.length] ?? "")))) {
      end = near.indexOf(mark, end + (near[end + 1] === mark ? 2 : 1));
    }
    if (end > 0 && tries < MOST_TRIES) return [element(name, ...inline(near.slice(0, end), deep + 1)), begin + end + mark.length];
  }
  return null;
}

const BARE = /https?:\/\/[^\s<>"'`]+/y;
const ANGLED = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;

function bareAddress(text, at) {
  const pattern = text[at] === "<" ? ANGLED : BARE;
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  if (!found) return null;
  const words = text[at] === "<" ? found[1] : found[0].replace(/[.,;:!?)\]*_~]+$/, "");
  const address = safeAddress(words);
  return address && [link(address, [words]), text[at] === "<" ? pattern.lastIndex : at + words.length];
}

function special(text, at, deep) {
  const letter = text[at];
  if (letter === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) return [document.createTextNode(text[at + 1]), at + 2];
  if (letter === "`") return codeSpan(text, at);
  if (letter === "\n") return [/(?: {2}|\\)$/.test(text.slice(Math.max(0, at - 2), at)) ? element("br") : document.createTextNode("\n"), at + 1];
  if (deep > MOST_DEEP) return null;
  if (letter === "[" || (letter === "!" && text[at + 1] === "[")) return bracket(text, at, deep);
  if (letter === "<" || letter === "h") return /\w/.test(text[at - 1] ?? "") && letter === "h" ? null : bareAddress(text, at);
  return emphasis(text, at, deep);
}

const SPECIAL = /[\\`\n![<*_~]|http/g;

function inline(text, deep) {
  const found = [];
  let plain = 0, at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(text);
    if (!next) break;
    const made = special(text, next.index, deep);
    if (!made) { at = next.index + 1; continue; }
    if (next.index > plain) found.push(document.createTextNode(text.slice(plain, next.index)));
    found.push(made[0]);
    [plain, at] = [made[1], made[1]];
  }
  if (plain < text.length) found.push(document.createTextNode(text.slice(plain)));
  return found;
}

const rendered = new WeakMap();

function renderMarkdown(place, text) {
  const before = rendered.get(place) ?? [];
  const now = blocks(text.replaceAll("\r\n", "\n"));
  const same = now.findIndex((part, at) => part !== before[at]);
  const kept = same < 0 ? now.length : same;
  while (place.children.length > kept) place.lastElementChild.remove();
  place.append(...now.slice(kept).map((part) => block(part, 0)));
  rendered.set(place, now);
}
