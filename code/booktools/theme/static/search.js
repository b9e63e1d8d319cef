// The search page. Sphinx's index (searchindex.js) says which pages hold every term of the query;
// texts.js, written beside it, says in which of their sections, and gives the words around. Both are
// scripts, not fetched data, so that search works from a file as well.
"use strict";

const Search = { index: null, setIndex(index) { Search.index = index; } }; // searchindex.js calls setIndex

// The terms of a query as the index holds them: Han characters in pairs, other words by their stem.
function queryTerms(query) {
  const split = typeof splitQuery === "function" ? splitQuery : (text) => text.split(/[^\p{Letter}\p{Number}_]+/u).filter(Boolean);
  const stemmer = new Stemmer();
  return split(query.toLowerCase()).filter((word) => !stopwords.includes(word)).map((word) => ({ word, stem: stemmer.stemWord(word) }));
}

// The pages (by number) that hold a term: as it is, else as part of a longer word.
function pagesWith({ word, stem }) {
  const pages = new Set();
  const add = (found) => [found ?? []].flat().forEach((page) => pages.add(page));
  for (const terms of [Search.index.terms, Search.index.titleterms]) for (const key of new Set([stem, word])) if (Object.hasOwn(terms, key)) add(terms[key]);
  if (!pages.size && word.length > 2) {
    for (const terms of [Search.index.terms, Search.index.titleterms]) for (const key of Object.keys(terms)) if (key.includes(stem)) add(terms[key]);
  }
  return pages;
}

// How often `needle` stands in `text`.
const count = (text, needle) => (needle ? text.split(needle).length - 1 : 0);

// The sections that match, best first: the whole phrase before its words, headings before text.
function find(query) {
  const terms = queryTerms(query);
  if (!terms.length) return [];
  const pages = terms.map(pagesWith).reduce((all, some) => all.intersection(some));
  const names = new Set([...pages].map((page) => Search.index.docnames[page]));
  const phrase = query.toLowerCase().trim().replace(/\s+/g, " ");
  // A stem need not begin its word as written (measuring, measur): look for what both share.
  const needles = terms.map(({ word, stem }) => (word.startsWith(stem) ? stem : word.slice(0, Math.max(3, stem.length - 1))));
  const han = /[\u3400-\u9fff]/.test(phrase);
  const found = [];
  for (const [page, anchor, title, text] of window.DL_TEXTS ?? []) {
    if (!names.has(page)) continue;
    const [head, body] = [title.toLowerCase(), text.toLowerCase()];
    const whole = count(head, phrase) * 20 + Math.min(count(body, phrase), 10) * 4;
    const every = needles.every((needle) => head.includes(needle) || body.includes(needle));
    // In Chinese a phrase is what was typed between spaces: its pairs, scattered, are another matter.
    const runs = phrase.split(/[\s，。、；：]+/).filter(Boolean);
    if (!whole && (!every || (han && !runs.every((run) => head.includes(run) || body.includes(run))))) continue;
    const parts = needles.reduce((sum, needle) => sum + count(head, needle) * 5 + Math.min(count(body, needle), 5), 0);
    found.push({ page, anchor, title, text, score: whole + parts / needles.length, needles: whole ? [phrase] : needles });
  }
  // Words that only a page as a whole holds, each in another section: then the page itself is the answer.
  if (!found.length && !han) {
    for (const [page, , title, text] of window.DL_TEXTS ?? []) {
      if (names.delete(page)) found.push({ page, anchor: "", title, text, score: 0, needles });
    }
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 40);
}

// A line of text around the first match, with every match marked.
function excerpt({ text, needles }) {
  const lower = text.toLowerCase();
  const at = Math.max(0, Math.min(...needles.map((needle) => lower.indexOf(needle)).filter((i) => i >= 0), lower.length));
  const start = at === lower.length ? 0 : Math.max(0, at - 60);
  const shown = text.slice(start, start + 200);
  const line = document.createElement("p");
  line.append(start ? "…" : "");
  const pattern = new RegExp(needles.map((needle) => needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  let last = 0;
  for (const match of shown.matchAll(pattern)) {
    const marked = document.createElement("mark");
    marked.textContent = match[0];
    line.append(shown.slice(last, match.index), marked);
    last = match.index + match[0].length;
  }
  line.append(shown.slice(last), start + 200 < text.length ? "…" : "");
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
    link.textContent = each.title;
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
