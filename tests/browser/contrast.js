// Returns the lowest contrast (WCAG) of text that an element shows itself, for each selector, with an example.
(selectors) => {
  const parse = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const known = new Map(); // by element: most share their ancestors
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    if (!known.has(element)) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      known.set(element, colour.length === 3 || colour[3] === 1 ? colour : behind(element.parentElement));
    }
    return known.get(element);
  };
  const lowest = {};
  for (const selector of selectors) {
    for (const element of document.querySelectorAll(selector)) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      // Text of a colour of its own stands on a shape, not on the page.
      if (!own || !element.getClientRects().length || element.style.fill) continue;
      const style = getComputedStyle(element);
      const colour = parse(element instanceof SVGElement ? style.fill : style.color);
      const [a, b] = [luminance(colour), luminance(behind(element))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (!(selector in lowest) || ratio < lowest[selector][0]) lowest[selector] = [ratio, element.textContent.trim().slice(0, 40)];
    }
  }
  return lowest;
}
