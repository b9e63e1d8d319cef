// What searching shows: results while one types, in a list under each search box, and the search page's own.
// book.js loads this when a box is entered; without it the form leads to the search page.
"use strict";

const INSTANT = 8;
const AROUND = 200; // characters of an excerpt

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&");

// Every needle as a pattern: Han anywhere, words from beginning to end, whatever joins their parts.
function patternOf(needles) {
  const one = (needle) => (isHan(needle) ? escaped(needle)
    : `(?<![[\\p{L}\\p{N}]--\\p{Script=Han}])${[...needle].map(escaped).join("[\\-–._]?")}[\\p{L}--\\p{Script=Han}]*`);
  return new RegExp([...new Set(needles)].sort((a, b) => b.length - a.length).map(one).join("|") || "(?!)", "giv");
}

// Puts text into an element, with every match marked.
function mark(element, text, pattern) {
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    const marked = document.createElement("mark");
    marked.textContent = match[0];
    element.append(text.slice(last, match.index), marked);
    last = match.index + match[0].length;
  }
  element.append(text.slice(last));
}

// The place in a text from which an excerpt shows most of what was asked for.
function bestStart(text, pattern) {
  const hits = [...text.matchAll(pattern)].map((match) => ({ at: match.index, word: match[0].toLowerCase() }));
  let best = { at: 0, worth: 0 };
  for (const { at } of hits) {
    const worth = new Set(hits.filter((hit) => hit.at >= at && hit.at < at + AROUND - 60).map((hit) => hit.word)).size;
    if (worth > best.worth) best = { at, worth };
  }
  return best.at > 60 ? best.at - 60 : 0;
}

function excerpt({ text, names }, pattern) {
  const start = bestStart(text, pattern);
  const line = document.createElement("p");
  const end = start + AROUND < text.length ? "…" : "";
  mark(line, (start ? "…" : "") + text.slice(start, start + AROUND).replace(/^[\s，。、；：,.;:]+/, "") + end, pattern);
  const name = names.split(" ").find((each) => each.search(pattern) >= 0);
  if (name && !line.querySelector("mark")) {
    const code = document.createElement("code");
    mark(code, name, pattern);
    line.append(" ", code);
  }
  return line;
}

const addressOf = ({ page, anchor }) => `${page}.html${anchor ? "#" + anchor : ""}`;

// Fills a link with a section's title and, where it is not the page's own, the page's below it.
function fill(link, section, pattern) {
  const title = document.createElement("span");
  mark(title, section.title, pattern);
  link.append(title);
  const page = pageTitles.get(section.page);
  if (page === section.title) return;
  const small = document.createElement("small");
  small.textContent = page;
  link.append(small);
}

// --- the search page ---

function showAll(query) {
  const status = document.getElementById("dl-found");
  const results = document.getElementById("dl-results");
  results.replaceChildren();
  if (!query) return;
  const { found, near } = find(query);
  const said = !found.length ? status.dataset.none : near ? status.dataset.near : status.dataset.some;
  status.textContent = said.replace("{query}", () => query).replace("{count}", found.length);
  for (const section of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const pattern = patternOf(section.needles);
    link.href = addressOf(section);
    fill(link, section, pattern);
    item.append(link, excerpt(section, pattern));
    results.append(item);
  }
}

// --- the list under a box ---

class Instant {
  constructor(form, number) {
    this.form = form;
    this.input = form.querySelector("input");
    this.list = document.createElement("div");
    Object.assign(this.list, { id: `dl-instant-${number}`, className: "dl-instant", role: "listbox", ariaLabel: form.dataset.label, hidden: true });
    form.append(this.list);
    this.input.setAttribute("role", "combobox");
    this.input.setAttribute("aria-autocomplete", "list");
    this.input.setAttribute("aria-controls", this.list.id);
    this.input.ariaExpanded = "false";
    this.input.addEventListener("input", () => this.show());
    this.input.addEventListener("focus", () => this.show());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // so that the box keeps the focus
    this.list.addEventListener("click", () => this.close());
  }

  show() {
    const query = this.input.value.trim();
    if (!query || query === this.settled) return this.close();
    const { found } = find(query);
    this.list.replaceChildren(...found.slice(0, INSTANT).map((section, i) => this.option(section, i)));
    if (!found.length) this.list.append(this.form.dataset.none.replace("{query}", () => query));
    this.choose(-1);
    this.place();
    this.list.hidden = false;
    this.input.ariaExpanded = "true";
  }

  option(section, i) {
    const link = document.createElement("a");
    Object.assign(link, { id: `${this.list.id}-${i}`, role: "option", tabIndex: -1, ariaSelected: "false" });
    link.href = new URL(addressOf(section), this.form.action);
    fill(link, section, patternOf(section.needles));
    return link;
  }

  // Beside the contents the list is wider than what it stands in, which scrolls: so it is placed on the window.
  place() {
    const box = this.input.getBoundingClientRect();
    this.list.style.setProperty("--left", `${box.left}px`);
    this.list.style.setProperty("--top", `${box.bottom}px`);
  }

  choose(i) {
    this.chosen = i;
    this.options = [...this.list.querySelectorAll("a")];
    this.options.forEach((option, n) => { option.ariaSelected = String(n === i); });
    if (i < 0) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", this.options[i].id);
    this.options[i].scrollIntoView({ block: "nearest" });
  }

  close() {
    this.list.hidden = true;
    this.input.ariaExpanded = "false";
    this.choose(-1);
  }

  key(event) {
    if (event.isComposing) return; // arrows and Enter choose characters
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (this.list.hidden) { this.settled = null; this.show(); }
      const count = this.options.length + 1; // one more for none
      this.choose(((this.chosen + 1 + step + count) % count) - 1);
    } else if (event.key === "Enter" && this.chosen >= 0) {
      event.preventDefault();
      this.options[this.chosen].click();
    } else if (event.key === "Escape" && !this.list.hidden) {
      event.preventDefault(); // it closes the list, not the menu in which that stands
      this.close();
    }
  }
}

const instants = [...document.querySelectorAll(".dl-search")].map((form, i) => new Instant(form, i));
if (document.getElementById("dl-results")) {
  const query = (new URLSearchParams(location.search).get("q") ?? "").trim();
  for (const instant of instants) {
    instant.input.value ||= query;
    instant.settled = query; // its results are on the page already
  }
  document.querySelector(".dl-search-page input").focus();
  showAll(query);
} else {
  instants.find(({ input }) => input === document.activeElement)?.show();
}
