// The search page. Sphinx's index (searchindex.js) says which pages hold a word in any of its forms;
// texts.js, written beside it, holds the text of every section: where exactly, and the words around.
// Both are scripts, not fetched data, so that search works from a file as well.
"use strict";

const Search = { index: null, setIndex(index) { Search.index = index; } }; // searchindex.js calls setIndex

const HAN = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+/g;

// A query falls into words, found by their stem through the index, and runs of Han characters, which
// have no word boundaries and are looked for as they stand.
function parse(query) {
  const stemmer = new Stemmer();
  const words = query.replace(HAN, " ").split(/[^\p{Letter}\p{Number}_]+/u).filter((word) => word && !stopwords.includes(word));
  return { words: words.map((word) => ({ word, stem: stemmer.stemWord(word) })), runs: query.match(HAN) ?? [] };
}

// The names of the pages that hold a word: as it is, else as part of a longer one.
function pagesWith({ word, stem }) {
  const tables = [Search.index.terms, Search.index.titleterms];
  let found = tables.flatMap((terms) => [stem, word].filter((key) => Object.hasOwn(terms, key)).map((key) => terms[key])).flat();
  if (!found.length && word.length > 2) {
    found = tables.flatMap((terms) => Object.keys(terms).filter((key) => key.includes(stem)).map((key) => terms[key])).flat();
  }
  return new Set(found.map((page) => Search.index.docnames[page]));
}

// How often `needle` stands in `text`.
const count = (text, needle) => text.split(needle).length - 1;

// The sections that match, best first: the whole phrase before its words, headings before text.
function find(query) {
  const phrase = query.toLowerCase().trim().replace(/\s+/g, " ");
  const { words, runs } = parse(phrase);
  if (!words.length && !runs.length) return [];
  const withWords = words.map(pagesWith);
  // A word as written need not begin with its stem (measuring, measur): look for what both share.
  const needles = [...runs, ...words.map(({ word, stem }) => (word.startsWith(stem) ? stem : word.slice(0, Math.max(3, stem.length - 1))))];
  const found = [];
  for (const [page, sections] of Map.groupBy(window.DL_TEXTS, ([page]) => page)) {
    const everything = sections.map(([, , title, text]) => title + "\n" + text).join("\n").toLowerCase();
    if (!withWords.every((pages) => pages.has(page)) || !runs.every((run) => everything.includes(run))) continue;
    const before = found.length;
    for (const [, anchor, title, text] of sections) {
      const [head, body] = [title.toLowerCase(), text.toLowerCase()];
      const whole = count(head, phrase) * 20 + Math.min(count(body, phrase), 10) * 4;
      if (!whole && !needles.every((needle) => head.includes(needle) || body.includes(needle))) continue;
      const parts = needles.reduce((sum, needle) => sum + count(head, needle) * 5 + Math.min(count(body, needle), 5), 0);
      found.push({ page, anchor, title, text, score: whole + parts / needles.length, needles: whole ? [phrase] : needles });
    }
    // What stands on the page, but in several sections: then the page itself is the answer.
    if (found.length === before) found.push({ page, anchor: "", title: sections[0][2], text: sections[0][3], score: 0, needles });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 40);
}

// Puts text into an element, with every match marked.
function mark(element, text, needles) {
  const pattern = new RegExp(needles.map((needle) => needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    const marked = document.createElement("mark");
    marked.textContent = match[0];
    element.append(text.slice(last, match.index), marked);
    last = match.index + match[0].length;
  }
  element.append(text.slice(last));
}

// A line of text around the first match.
function excerpt({ text, needles }) {
  const lower = text.toLowerCase();
  const first = Math.min(...needles.map((needle) => lower.indexOf(needle)).filter((i) => i >= 0));
  const start = Number.isFinite(first) ? Math.max(0, first - 60) : 0;
  const line = document.createElement("p");
  mark(line, (start ? "…" : "") + text.slice(start, start + 200).replace(/^[\s，。、；：,.;:]+/, "") + (start + 200 < text.length ? "…" : ""), needles);
  return line;
}

function show(query) {
  const status = document.getElementById("dl-found");
  const results = document.getElementById("dl-results");
  results.replaceChildren();
  if (!query) return;
  const found = find(query);
  status.textContent = (found.length ? status.dataset.some : status.dataset.none).replace("{query}", query).replace("{count}", found.length);
  const titles = Object.fromEntries(Search.index.docnames.map((name, number) => [name, Search.index.titles[number]]));
  for (const each of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = each.page + ".html" + (each.anchor ? "#" + each.anchor : "");
    mark(link, each.title, each.needles);
    item.append(link);
    const page = document.createElement("small");
    page.innerHTML = titles[each.page]; // the index holds titles as HTML
    if (page.textContent !== each.title) item.append(page);
    item.append(excerpt(each));
    results.append(item);
  }
}

// All scripts of the page are deferred: when the document is ready, the index is too.
document.addEventListener("DOMContentLoaded", () => {
  const query = (new URLSearchParams(location.search).get("q") ?? "").trim();
  for (const input of document.querySelectorAll('input[name="q"]')) input.value = query;
  document.querySelector(".dl-search-page input").focus();
  show(query);
});
