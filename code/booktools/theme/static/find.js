// Which sections answer a query, best first. MiniSearch (minisearch.js) ranks words; what is special here is
// what a reader's words are: Han characters without spaces, names such as c++ and all-reduce, synonyms, typos.
// texts.js holds what is looked through, terms.js what readers may call a term.
"use strict";

const HAN = /[\p{Script=Han}]+/gu;
const TOKEN = /c(?:\+\+|#)|o\([^\(\)\s]{1,9}\)|\d+(?:\.\d+)+|\p{Script=Han}+|[[\p{L}\p{N}_]--\p{Script=Han}]+(?:[\-–.][[\p{L}\p{N}_]--\p{Script=Han}]+)*/giv;
const ASKING = ["what", "why", "how", "when", "which", "who", "does", "do", "did", "can", "should", "my", "me", "we", "you", "your",
  "so", "has", "have", "from", "than", "its", "an", "i", "am", "什么", "为什么", "怎么", "怎样", "如何", "哪些", "哪个", "多少", "是否", "可以", "我的", "我们"];
const RESULTS = 40;

const stemmer = new Stemmer();
const stems = new Map();
const isHan = (token) => /^\p{Script=Han}/u.test(token);

function stem(word) {
  if (!stems.has(word)) stems.set(word, /^[a-z]{3,}$/.test(word) ? stemmer.stemWord(word) : word);
  return stems.get(word);
}

const plainOf = (text) => text.normalize("NFKC").toLowerCase();
const tokensOf = (text) => plainOf(text).match(TOKEN) ?? [];
const partsOf = (token) => (/^\d|[+#(]/.test(token) ? [token] : token.split(/[\-–._]/).filter(Boolean));
const joined = (token) => partsOf(token).join("");

// A text as its words' stems, so that "Warm-ups" and "warm up" are one.
const keyOf = (text) => tokensOf(text).flatMap((token) => (isHan(token) ? [token] : partsOf(token).map(stem))).join(" ");

// What a text is indexed by: words, their stems, the parts of compound ones. Han is looked for as it stands.
function terms(text) {
  return tokensOf(text).filter((token) => !isHan(token)).flatMap((token) => {
    const parts = partsOf(token);
    const words = parts.length > 1 ? [parts.join(""), ...parts] : parts;
    return words.flatMap((word) => (stem(word) === word ? [word] : [word, stem(word)]));
  });
}

const pageTitles = new Map();
const sections = window.DL_TEXTS.map(([page, anchor, title, text, names], id) => {
  if (!pageTitles.has(page)) pageTitles.set(page, title);
  return { id, page, anchor, title, text, names, body: plainOf(text), all: plainOf(`${title}\n${text}\n${names}`), key: keyOf(title) };
});
const averageBody = sections.reduce((sum, { body }) => sum + body.length, 0) / sections.length;
const TITLE = 4; // what a word in a title is worth
const index = new MiniSearch({
  fields: ["title", "text", "names"],
  tokenize: terms,
  processTerm: (term) => term,
  searchOptions: { boost: { title: TITLE, names: 0.4 }, weights: { prefix: 0.3, fuzzy: 0.3 }, tokenize: (word) => [word] },
});
index.addAll(sections);

// --- one word: a map of the sections that hold it to what that is worth and what to mark there ---

function look(queries, options) {
  const found = index.search({ combineWith: "OR", queries }, options);
  return new Map(found.map(({ id, score, terms: needles }) => [id, { score, needles }]));
}

// What stands somewhere as it is, such as a run of Han characters or a phrase, by the measure of MiniSearch (BM25+).
function seekPattern(pattern) {
  const one = new RegExp(pattern, "gu");
  const holding = sections.filter(({ all }) => all.search(one) >= 0);
  const rarity = Math.log(1 + (sections.length - holding.length + 0.5) / (holding.length + 0.5));
  return new Map(holding.map(({ id, title, body, all }) => {
    const times = (body.match(one) ?? []).length;
    const much = 0.5 + (times * 2.2) / (times + 0.36 + (0.84 * body.length) / averageBody);
    const titled = plainOf(title).search(one) >= 0 ? TITLE : 0;
    return [id, { score: rarity * (much + titled * 1.5), needles: [...new Set(all.match(one))] }];
  }));
}

function seek(word) {
  if (isHan(word)) return seekPattern(word);
  const whole = joined(word);
  return look([...new Set([whole, stem(whole)])], { prefix: whole.length > 2 });
}

// The same with one letter too many, too few, another, or two that changed places; of Han, one other character.
function seekNear(word) {
  const letters = [...joined(word)];
  const exact = seek(word);
  if (letters.length < 4 || exact.size) return exact;
  if (isHan(word)) return seekPattern(letters.map((_, i) => letters.with(i, "\\p{Script=Han}").join("")).join("|"));
  if (!/^\p{L}+$/u.test(letters.join("")) || partsOf(word).some((part) => part.length < 3)) return exact;
  const swapped = letters.slice(1).map((letter, i) => letters.with(i, letter).with(i + 1, letters[i]).join(""));
  const near = look([joined(word)], { fuzzy: 1 });
  for (const [id, value] of look([...swapped, ...swapped.map(stem)], {})) near.set(id, value);
  return near;
}

// Words that stand one after the other, in whatever form.
function seekPhrase(words) {
  if (words.length === 1) return seek(words[0]);
  const beginning = (word) => (isHan(word) ? word : `${word.startsWith(stem(word)) ? stem(word) : word.slice(0, -1)}\\p{L}*`);
  return seekPattern(words.map((word) => beginning(word).replace(/[+.()]/g, "\\$&")).join("[\\s\\-–._]?"));
}

// --- several ---

function inBoth(a, b) {
  const found = new Map();
  for (const [id, one] of a) {
    const other = b.get(id);
    if (other) found.set(id, { score: one.score + other.score, needles: [...one.needles, ...other.needles] });
  }
  return found;
}

function either(a, b, combine = Math.max) {
  const found = new Map(a);
  for (const [id, other] of b) {
    const one = found.get(id);
    found.set(id, one ? { score: combine(one.score, other.score), needles: [...one.needles, ...other.needles] } : other);
  }
  return found;
}

// --- a query: units that must all be found, each a word or several wordings of a term ---

// What readers call a term, longest first, so that "GPU memory" is seen before "memory".
const wordings = window.DL_TERMS
  .filter(([term]) => term.length > 1)
  .flatMap(([term, ...others]) => others.map((other) => ({ term, others, key: keyOf(other) })))
  .sort((a, b) => b.key.length - a.key.length);

// Where a wording stands in a query: between words, but anywhere in Han.
const placeOf = (key, query) => (isHan(key) ? query.indexOf(key) : ` ${query} `.replace(HAN, (run) => " ".repeat(run.length)).indexOf(` ${key} `));

// Whether a wording would leave one Han character alone beside it: then it is rather a word misspelt ("参数服务" and "期").
const leavesOne = (key, at, query) => isHan(key)
  && [query.slice(0, at).match(/\p{Script=Han}*$/u)[0], query.slice(at + key.length).match(/^\p{Script=Han}*/u)[0]].some((run) => run.length === 1);

// The terms that a query speaks of in readers' words, as wordings, and the words that are left.
function termsIn(query, wide) {
  let rest = keyOf(query);
  const units = [];
  for (const { key } of wordings) {
    const at = placeOf(key, rest);
    if (at < 0 || leavesOne(key, at, rest)) continue;
    const meant = wordings.filter((each) => each.key === key);
    units.push([...new Set([key, ...meant.flatMap(({ term, others }) => (wide ? [term, ...others] : [term]))])].map(tokensOf));
    rest = `${rest.slice(0, at)} ${rest.slice(at + key.length)}`;
  }
  return { units, rest };
}

function unitsOf(query, { terms, wide, cut }) {
  const { units, rest } = terms ? termsIn(query, wide) : { units: [], rest: query };
  const words = tokensOf(units.length ? rest : query).flatMap((token) => (cut && isHan(token) ? wordsOf(token) : [token]));
  const telling = words.filter((word) => !stopwords.includes(word) && !ASKING.includes(word));
  return [...units, ...(telling.length || units.length ? telling : words).map((word) => [[word]])];
}

// The words of two characters and more in a run of Han, as the browser's dictionary cuts it.
function wordsOf(run) {
  const words = [...new Intl.Segmenter("zh", { granularity: "word" }).segment(run)].map(({ segment }) => segment);
  return run.length < 3 ? [run] : words.filter((word) => word.length > 1);
}

const unit = (wordings, seeking) => wordings
  .map((words) => (words.length > 1 ? seekPhrase(words) : seeking(words[0])))
  .reduce((a, b) => either(a, b));

const all = (units, seeking) => units.map((each) => unit(each, seeking)).reduce(inBoth);

// Sections that hold at least half of what was asked for, the more of it the better.
function some(units) {
  const counts = new Map();
  let found = new Map();
  for (const each of units) {
    const one = unit(each, seekNear);
    for (const id of one.keys()) counts.set(id, (counts.get(id) ?? 0) + 1);
    found = either(found, one, (a, b) => a + b);
  }
  const share = (id) => counts.get(id) / units.length;
  const kept = [...found].filter(([id]) => share(id) >= 0.5);
  return new Map(kept.map(([id, value]) => [id, { ...value, score: value.score * share(id) ** 2 }]));
}

// How much more a section is worth that is named after what is asked for, or holds it as a phrase.
function bonus({ key, all: text }, phrases) {
  if (phrases.some((phrase) => key === phrase.key)) return 6;
  if (phrases.some((phrase) => (isHan(phrase.key) ? key.includes(phrase.key) : ` ${key} `.includes(` ${phrase.key} `)))) return 2;
  return phrases.some((phrase) => text.includes(phrase.plain)) ? 1.5 : 1;
}

function ranked(found, query, units) {
  const wordings = units.length === 1 ? units[0].map((words) => words.join(" ")) : [];
  const phrases = [query, ...wordings].map((text) => ({ key: keyOf(text), plain: plainOf(text).trim().replace(/\s+/g, " ") }));
  return [...found]
    .map(([id, { score, needles }]) => ({ ...sections[id], score: score * bonus(sections[id], phrases), needles }))
    .sort((a, b) => b.score - a.score)
    .slice(0, RESULTS);
}

// The ways to read a query, from the strictest on; the first that finds anything decides.
const READINGS = [
  { terms: true, how: (units) => all(units, seek) },
  { terms: true, wide: true, how: (units) => all(units, seek) },
  { near: true, how: (units) => all(units, seekNear) },
  { cut: true, how: (units) => all(units, seek) },
  { near: true, cut: true, how: some },
];

// Returns { found, near }: `near` says that nothing holds all of it as it is written.
function find(query) {
  for (const reading of READINGS) {
    const units = unitsOf(query, reading);
    const found = units.length ? reading.how(units) : new Map();
    if (found.size) return { found: ranked(found, query, units), near: reading.near ?? false };
  }
  return { found: [], near: false };
}
