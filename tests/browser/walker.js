// Returns what a reader is shown, or is told by a screen reader, that is not in the page's own language:
// every text node and every label, less what is a name or code in any language.
(allowed) => {
  const names = new Set(allowed);
  const skip = "code, pre, kbd, samp, script, style, template, mjx-container, .math, [translate=no], .citation, " +
    "a[href*='references.html#'], noscript, #dl-results, mark";
  const here = document.documentElement.lang;
  const foreign = (element) => element.closest(skip) || (element.closest("[lang]")?.lang ?? here) !== here;
  // A term's English in full-width brackets is wanted, 预热（warm-up）; wait_to_read, x.shape, print(x), /dev/sda and fstype=xfs are code.
  const bracketed = /（[A-Za-z][^（）\u3400-\u9fff]*）/g, identifier = /[A-Za-z]\w*(?:[._=]\w+|\([\w\s.>]*\))+|\/dev\/\w+/g;
  const words = (text) => (text.replace(bracketed, " ").replace(identifier, " ").match(/[A-Za-z][A-Za-z.'’-]*[A-Za-z]/g) ?? [])
    .flatMap((word) => word.split(/[.'’-]/)).filter((word) => word.length > 1)
    .filter((word) => !/^.+[A-Z]/.test(word) && !names.has(word)); // GPU, NumPy, FLOP: capitals inside
  const found = [];
  const note = (where, text) => { for (const word of words(text)) found.push(`${where}: ${word} (${text.trim().slice(0, 80)})`); };
  const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (!foreign(parent)) note(parent.tagName.toLowerCase(), walk.currentNode.data);
  }
  const labels = ["aria-label", "title", "placeholder", "alt", "data-bs-title", "data-tooltip", "data-copy", "data-copied", "data-none", "data-some",
    "data-auto", "data-light", "data-dark", "data-machines"];
  for (const name of labels) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (!foreign(element)) note(`@${name}`, element.getAttribute(name).replace(/\{\w+\}/g, ""));
    }
  }
  note("@description", document.querySelector("meta[name=description]")?.content ?? "");
  return found;
}
