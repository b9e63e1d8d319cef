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

// --- languages: the same heading, whose anchor is the same in every language ---
const anchored = [...document.querySelectorAll("article section[id]")];

// The section whose heading was last passed at the top of the window; none above the first.
function sectionOnTop() {
  const line = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) + 8;
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

for (const link of document.querySelectorAll("a[data-switch]")) {
  const page = link.getAttribute("href");
  const aim = () => {
    const id = place();
    link.href = page + location.search + (id ? "#" + id : "");
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

// --- machines: a few side by side; the address keeps which, so that a link shows the same ones ---
const FEWEST = 2, USUAL = 3, MOST = 4;
const compared = [...document.querySelectorAll(".dl-environments table, .dl-claims table")];
const machines = [...(compared[0]?.rows[0].cells ?? [])].slice(1).map((cell) => cell.textContent.trim());
if (machines.length > FEWEST) {
  const asked = new URLSearchParams(location.search).get("machines")?.split(",") ?? [];
  const known = machines.filter((name) => asked.includes(name)).slice(0, MOST);
  const chosen = new Set(known.length < FEWEST ? machines.slice(0, USUAL) : known);
  const boxes = new Map();
  const form = document.createElement("fieldset");
  form.className = "dl-choose";
  form.append(Object.assign(document.createElement("legend"), { textContent: document.body.dataset.machines }));
  for (const name of machines) {
    const label = form.appendChild(document.createElement("label"));
    const box = label.appendChild(Object.assign(document.createElement("input"), { type: "checkbox" }));
    label.append(name);
    label.translate = false;
    boxes.set(name, box);
    box.addEventListener("change", () => {
      box.checked ? chosen.add(name) : chosen.delete(name);
      const query = machines.filter((each) => chosen.has(each)).map(encodeURIComponent).join(",");
      try { history.replaceState(null, "", "?machines=" + query + location.hash); } catch { /* a file's address stays */ }
      showChosen();
    });
  }
  function showChosen() {
    for (const [name, box] of boxes) {
      box.checked = chosen.has(name);
      box.disabled = box.checked ? chosen.size <= FEWEST : chosen.size >= MOST;
    }
    for (const table of compared)
      for (const row of table.rows)
        for (const [number, name] of machines.entries()) row.cells[number + 1].hidden = !chosen.has(name);
  }
  showChosen();
  compared[0].closest(".dl-table-box").before(form);
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

// --- an anchor inside a closed solution opens it ---
function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target?.closest("details:not([open])");
  if (closed) { closed.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", open);
open();
