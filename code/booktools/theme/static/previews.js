// Previews: what a link in the text leads to, on a card beside it, when a pointer rests on the link, the keyboard
// reaches it, or a finger taps it once. What stands on this page is cloned, what stands on another is kept on this one
// in a template. Without this script links lead where they lead.
"use strict";
(() => {
  const WAIT = 300; // milliseconds until a card comes
  const LEAVE = 250; // until it goes, so that a pointer can reach it
  const GAP = 6; // pixels between a link and its card
  const EDGE = 12; // between a card and the edge of the window

  const article = document.querySelector("article");
  const kept = new Map([...document.querySelectorAll("template[data-of]")].map((each) => [each.dataset.of, each.content]));
  const card = Object.assign(document.createElement("div"), { id: "dl-card", className: "dl-card", popover: "manual" });
  let shown = null; // the link whose card is open
  let closed = null; // the link whose card was closed by Escape: it stays closed until the link is left
  let timer = 0;

  // --- what a card shows ---

  const clone = (element) => (element ? [element.cloneNode(true)] : []);

  function titled(words, text) {
    const head = document.createElement("p");
    head.className = "dl-card-head";
    head.append(...[...words.cloneNode(true).childNodes]);
    return [head, ...clone(text)];
  }

  // A drawing is not copied but used: its ids stand once.
  function drawing(figure) {
    const whole = figure.querySelector(".dl-whole");
    const box = document.createElement("div");
    if (whole) box.innerHTML = `<svg viewBox="${whole.getAttribute("viewBox")}" aria-hidden="true"><use href="#${whole.querySelector("g").id}"/></svg>`;
    return [...box.children, ...clone(figure.querySelector("figcaption p"))];
  }

  const KINDS = [
    ["figure", drawing],
    ["section", (section) => titled(section.querySelector("h1, h2, h3, h4"), section.querySelector(":scope > p"))],
    ["dt", (term) => titled(term, term.parentElement.querySelector(`#${CSS.escape(term.id)} ~ dd > p`))],
    ["table, .dl-table-box, div.math, .exercise, .dl-claim, .citation", clone],
  ];

  function contentOf(link) {
    const address = link.getAttribute("href");
    if (kept.has(address)) return [...kept.get(address).cloneNode(true).children];
    const target = address.startsWith("#") && document.getElementById(decodeURIComponent(address.slice(1)));
    if (target && target.closest(".dl-predicted[hidden]")) return []; // it waits for a guess
    const kind = target && KINDS.find(([selector]) => target.matches(selector));
    const content = kind ? kind[1](target) : [];
    for (const part of content) {
      for (const each of part.querySelectorAll(".headerlink, button, details, .dl-uses")) each.remove();
      for (const each of [part, ...part.querySelectorAll("[id]")]) each.removeAttribute("id");
    }
    return content;
  }

  // --- opening, placing, closing ---

  function linkOf(element) {
    const link = element.closest?.("a.internal");
    return link && !link.matches(".headerlink, .dl-card a, .dl-tree a, .dl-uses a, [download]") ? link : null;
  }

  function show(link, touched) {
    const content = contentOf(link);
    hide();
    if (!content.length) return false;
    card.replaceChildren(...content);
    if (touched) card.append(Object.assign(document.createElement("a"), { className: "dl-go", href: link.href, textContent: document.body.dataset.go }));
    link.after(card); // so that Tab leads from the link into the card
    link.setAttribute("aria-describedby", card.id);
    card.showPopover();
    place(link);
    shown = link;
    return true;
  }

  // Below the link, or above it where there is more room; it scrolls with the page.
  function place(link) {
    Object.assign(card.style, { left: "0", top: `${scrollY}px`, maxHeight: "" });
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const lines = [...link.getClientRects()];
    const [first, last] = [lines[0], lines.at(-1)];
    const [above, below] = [first.top, height - last.bottom].map((room) => room - GAP - EDGE);
    const isBelow = card.offsetHeight <= below || below >= above;
    card.style.maxHeight = `${isBelow ? below : above}px`;
    const top = isBelow ? last.bottom + GAP : first.top - GAP - card.offsetHeight;
    const left = Math.max(EDGE, Math.min((isBelow ? last : first).left - EDGE, width - card.offsetWidth - EDGE));
    Object.assign(card.style, { left: `${left + scrollX}px`, top: `${top + scrollY}px` });
    card.tabIndex = card.scrollHeight > card.clientHeight ? 0 : -1;
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    card.remove();
  }

  function after(time, act) {
    clearTimeout(timer);
    timer = setTimeout(act, time);
  }

  function wait(link) {
    if (link !== closed) after(WAIT, () => show(link));
  }

  // Whether the keyboard holds the card open, wherever the pointer is.
  const isHeld = () => card.contains(document.activeElement) || (document.activeElement === shown && shown.matches(":focus-visible"));

  // --- the pointer ---

  article.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const link = linkOf(event.target);
    if (card.contains(event.target) || (link && link === shown)) return clearTimeout(timer);
    if (link !== closed) closed = null;
    if (link) wait(link);
    else if (!isHeld()) after(shown ? LEAVE : 0, hide);
  });
  article.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch" && !isHeld()) after(LEAVE, hide);
  });

  // --- the keyboard ---

  article.addEventListener("focusin", (event) => {
    const link = linkOf(event.target);
    if (card.contains(event.target) || (link && link === shown)) return;
    if (link !== closed) closed = null;
    if (link?.matches(":focus-visible")) wait(link);
  });
  article.addEventListener("focusout", (event) => {
    if (shown && !card.contains(event.relatedTarget) && event.relatedTarget !== shown && !card.matches(":hover")) after(0, hide);
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shown) return;
    closed = shown;
    if (card.contains(document.activeElement)) shown.focus();
    hide();
    event.preventDefault();
  }, true);

  // --- a finger: the first tap shows the card, the second follows the link ---

  let touched = false;
  addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (shown && !card.contains(event.target) && linkOf(event.target) !== shown) hide();
  }, true);
  article.addEventListener("click", (event) => {
    const link = linkOf(event.target);
    const isTap = link && touched && event.detail > 0;
    if (isTap && link !== shown && show(link, true)) event.preventDefault();
    else if (link || event.target.closest(".dl-card a")) hide();
  });
})();
