// What a page does beyond showing its text. Everything here is a comfort: without it the page reads,
// the menu opens (popover) and the language links lead to the same page.
"use strict";

// Storage may be missing or forbidden (file://, private windows): then nothing is remembered.
const memory = {
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { value ? localStorage.setItem(key, value) : localStorage.removeItem(key); } catch { /* not remembered */ } },
};

// --- colours: as the system, light, dark ---
const modes = ["auto", "light", "dark"];
const modeButton = document.querySelector(".dl-mode");
function showMode(mode) {
  if (mode === "auto") delete document.documentElement.dataset.mode;
  else document.documentElement.dataset.mode = mode;
  modeButton.title = modeButton.dataset[mode];
  modeButton.setAttribute("aria-label", modeButton.dataset[mode]);
}
modeButton.hidden = false;
showMode(document.documentElement.dataset.mode || "auto");
modeButton.addEventListener("click", () => {
  const mode = modes[(modes.indexOf(document.documentElement.dataset.mode || "auto") + 1) % modes.length];
  memory.set("dl-mode", mode === "auto" ? null : mode);
  showMode(mode);
});

// --- languages: the same block at the same height, whose name is the same in every language ---
const anchored = [...document.querySelectorAll("article section[id]")];
const blocks = [...document.querySelectorAll("article [data-block]")];
const nameOf = (block) => `${block.closest("section[id]")?.id ?? ""}.${block.dataset.block}`;
const topLine = () => parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);

// Sections that have not come near yet are as high as a guess (book.css). Before anybody asks where something is, or
// goes there, all of them are laid out, and what is at the top of the window stays there; so they are once the reader
// has begun to scroll, for a browser remembers places in pixels.
const isLazy = () => "lazy" in document.documentElement.dataset;
function layOut() {
  if (!isLazy()) return;
  const stays = document.elementFromPoint(innerWidth / 2, topLine() + 8);
  const before = stays?.getBoundingClientRect().top;
  delete document.documentElement.dataset.lazy;
  const by = stays ? stays.getBoundingClientRect().top - before : 0;
  if (by) scrollBy({ top: by, behavior: "instant" });
}
const soon = self.requestIdleCallback ?? ((call) => setTimeout(call, 200));
addEventListener("scroll", () => soon(layOut), { once: true, passive: true });
addEventListener("click", (event) => { if (event.target.closest?.("a[href^='#']")) layOut(); }, true);
addEventListener("hashchange", () => {
  if (!isLazy()) return;
  layOut();
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
});

// The section whose heading was last passed at the top of the window; none above the first.
function sectionOnTop() {
  const line = topLine() + 8;
  return anchored.filter((section) => section.getBoundingClientRect().top <= line).pop();
}

// The address's own anchor while it is in sight (a figure, a claim), else the heading on top.
function place() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && document.getElementById(id);
  // Terms and footnotes are named after their words, which differ from language to language.
  if (target && !/^(id\d+|term-.*)$/.test(id)) {
    const box = target.getBoundingClientRect();
    if (box.bottom > 0 && box.top < innerHeight) return id;
  }
  if (scrollY < 8) return "";
  return sectionOnTop()?.id ?? "";
}

// A closed solution's blocks are laid out nowhere; its summary is.
const closedAround = (block) => (block.tagName === "SUMMARY" ? block.parentElement.parentElement : block).closest("details:not([open])");

// Where the reader is: a block, of which a point a `part` of its height down is `shift` pixels below the window's top.
// It is the first block that begins in sight, rather in an open solution, or where none does the one across the top.
// Whoever was put somewhere and has not moved is still there, so that there and back is no way at all.
let held = null;
function height({ block, part }) {
  const box = block.getBoundingClientRect();
  return box.top + part * box.height;
}
function spot() {
  if (held && Math.abs(height(held) - held.at) < 2) return held;
  if (scrollY < 8) return null;
  layOut();
  const line = topLine() - 1;
  const boxes = blocks.filter((block) => !closedAround(block)).map((block) => [block, block.getBoundingClientRect()]);
  const inSight = boxes.filter(([, box]) => box.top >= line && box.top < innerHeight * 0.8);
  const begun = inSight.find(([block]) => block.matches("details > section > *")) ?? inSight[0];
  if (begun) return { block: begun[0], shift: begun[1].top, part: 0 };
  const [block, box] = boxes.findLast(([, box]) => box.top < line) ?? [];
  return block ? { block, shift: line, part: (line - box.top) / box.height } : null;
}

function put(place) {
  layOut();
  for (let closed; (closed = closedAround(place.block)); ) closed.open = true;
  scrollBy({ top: height(place) - place.shift, behavior: "instant" });
  held = { ...place, at: height(place) }; // which the ends of a page may keep apart
}

for (const link of document.querySelectorAll("a[data-switch]")) {
  const page = link.getAttribute("href");
  const aim = () => {
    layOut();
    const id = place(), now = spot();
    const where = now ? `~${nameOf(now.block)}~${now.shift.toFixed(1)}~${now.part.toFixed(4)}` : "";
    link.href = page + (document.body.classList.contains("dl-page-search") ? location.search : "") + (id || where ? "#" + id + where : "");
  };
  for (const event of ["pointerdown", "focus", "click"]) link.addEventListener(event, aim);
  link.addEventListener("click", () => memory.set("dl-language", link.dataset.switch));
}

// --- a hint for readers whose browser prefers another language: shown until closed, or until they switch once ---
const base = (tag) => tag.toLowerCase().split("-")[0];
const hints = [...document.querySelectorAll(".dl-hint")];
const offered = [document.documentElement.lang, ...hints.map((hint) => hint.dataset.language)];
const preferred = (navigator.languages ?? [navigator.language]).find((tag) => offered.some((lang) => base(lang) === base(tag)));
for (const hint of hints) {
  if (preferred && base(preferred) === base(hint.dataset.language) && !memory.get("dl-language")) hint.hidden = false;
  hint.querySelector("button").addEventListener("click", () => {
    hint.hidden = true;
    memory.set("dl-language", document.documentElement.lang);
  });
}

// --- code: a button that copies it ---
for (const block of document.querySelectorAll(".cell_input div.highlight, article div[class*='highlight-']:not(.output) > div.highlight")) {
  if (block.querySelector(".dl-copy")) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "dl-copy";
  button.textContent = document.body.dataset.copy;
  button.addEventListener("click", async () => {
    await copy(block.querySelector("pre"));
    button.textContent = document.body.dataset.copied;
    button.classList.add("dl-done");
    setTimeout(() => { button.textContent = document.body.dataset.copy; button.classList.remove("dl-done"); }, 1500);
  });
  block.append(button);
}

async function copy(pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent);
  } catch { // not a secure context: select it and use the old command
    getSelection().selectAllChildren(pre);
    document.execCommand("copy");
  }
}

// --- formulas are copied as the TeX that they were written in ---
addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  const range = selection.getRangeAt(0).cloneRange();
  const formula = (node) => (node.nodeType === 1 ? node : node.parentElement).closest("math");
  const [first, last] = [formula(range.startContainer), formula(range.endContainer)];
  if (first) range.setStartBefore(first); // a part of a formula is no formula
  if (last) range.setEndAfter(last);
  const box = document.createElement("div");
  box.append(range.cloneContents());
  const formulas = box.querySelectorAll("math");
  if (!formulas.length) return;
  for (const each of formulas) {
    const sign = each.getAttribute("display") === "block" ? "$$" : "$";
    each.replaceWith(sign + each.querySelector("annotation").textContent + sign);
  }
  box.className = "dl-copied"; // in the page, so that innerText has its lines
  document.body.append(box);
  event.clipboardData.setData("text/plain", box.innerText);
  event.clipboardData.setData("text/html", box.innerHTML);
  box.remove();
  event.preventDefault();
});

// --- the contents of the page mark where the reader is ---
const marks = new Map([...document.querySelectorAll(".dl-toc a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
if (marks.size) {
  const listed = anchored.filter((section) => marks.has(section.id));
  let waiting = false;
  const show = () => {
    waiting = false;
    const line = innerHeight / 4;
    const now = listed.filter((section) => section.getBoundingClientRect().top <= line).pop();
    for (const [id, link] of marks) link.classList.toggle("dl-on", id === now?.id);
  };
  addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(show); } }, { passive: true });
  show();
}

// --- searching: what it takes is loaded when a search box is entered, or at once on the search page ---
const thisScript = document.currentScript.src;
function load(...names) {
  for (const name of names) {
    const script = document.createElement("script");
    script.async = false; // in this order
    script.src = thisScript.replace("book.js", `${name}.js`);
    document.head.append(script);
  }
}
let searching = false;
function loadSearch() {
  if (!searching) load("language_data", "minisearch", "texts", "terms", "find", "search");
  searching = true;
}
for (const input of document.querySelectorAll(".dl-search input")) input.addEventListener("focus", loadSearch);
if (document.getElementById("dl-results")) loadSearch();

// --- machines: which of them stand side by side ---
if (document.querySelector(".dl-choose")) load("machines");

// --- both languages side by side: loaded when first asked for, then on every page until it is switched off ---
const both = document.querySelector(".dl-both");
function loadBoth() {
  both.removeEventListener("click", loadBoth);
  for (const address of [both.dataset.twins, thisScript.replace("book.js", "both.js")]) {
    const script = document.createElement("script");
    script.async = false; // in this order
    script.src = address;
    document.head.append(script);
  }
}
if (both) {
  both.hidden = false;
  both.addEventListener("click", loadBoth);
  if (memory.get("dl-both")) loadBoth();
}

// --- "/" and Ctrl+K go to the search field ---
addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if ((event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
    const nav = document.getElementById("dl-nav");
    if (getComputedStyle(nav).display === "none") nav.showPopover?.();
    (document.querySelector(".dl-search-page input") ?? nav.querySelector("input")).focus();
    event.preventDefault();
  }
});

// --- what scrolls can be reached, and so scrolled, by keyboard; what does not scroll is no stop ---
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const more = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    if (more) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll("article :is(pre, .dl-table-box, .dl-figure, div.math, section > table, .dl-predicted > table)")) scrolling.observe(box);

// --- an anchor inside a closed solution opens it ---
function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target?.closest("details:not([open])");
  if (closed) { closed.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", open);

// --- whoever comes from the other language is put where they were, at once and again when fonts are there ---
function arrive() {
  const [id, name, shift, part] = decodeURIComponent(location.hash.slice(1)).split("~");
  if (!part) return open();
  const block = blocks.find((each) => nameOf(each) === name);
  if (!block) return location.replace("#" + id);
  history.replaceState(null, "", location.pathname + location.search + (id ? "#" + id : ""));
  const where = { block, shift: Number(shift), part: Number(part) };
  put(where);
  let moved = false;
  for (const event of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(event, () => { moved = true; }, { once: true, passive: true });
  addEventListener("load", () => document.fonts.ready.then(() => { if (!moved) put(where); }));
}
arrive();
