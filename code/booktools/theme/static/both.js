// Both languages side by side: after each block of the page its twin, from the script that the build wrote for this
// page (window.DL_TWINS, by the blocks' names). The style sheet sets them in two columns; in a narrow window, where one
// column is all there is, a tap on a block shows its twin beneath. Loaded by book.js, whose functions it uses.
"use strict";

{
  const root = document.documentElement;
  const article = document.querySelector("article");
  const narrow = matchMedia("(width < 62.5rem)");
  const twins = new Map(); // of each block, or of a figure's caption: its twin, and the button that shows it

  for (const block of blocks) {
    const html = DL_TWINS[nameOf(block)];
    if (!html) continue;
    const own = block.querySelector(":scope > figcaption") ?? block;
    own.insertAdjacentHTML("afterend", html);
    own.classList.add("dl-own");
    const twin = own.nextElementSibling;
    if (twin.matches("table, .dl-table-box")) scrolling.observe(twin);
    if (!/^H\d$/.test(own.tagName)) twins.set(own, { twin, button: addButton(own) }); // a heading's twin is always shown
  }

  // For whoever cannot tap: out of sight until it has the focus.
  function addButton(own) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "dl-unfold";
    button.setAttribute("aria-label", both.dataset.show);
    button.setAttribute("aria-expanded", "false");
    if (own.tagName === "TABLE") own.before(button);
    else (own.querySelector(":scope > p:last-child") ?? own).append(button);
    return button;
  }

  function show(own, shown) {
    const { twin, button } = twins.get(own);
    twin.classList.toggle("dl-shown", shown);
    button.setAttribute("aria-expanded", shown);
  }

  function keepPlace(change) {
    const place = spot();
    change();
    if (place) put(place);
  }

  const how = document.createElement("p");
  how.className = "dl-how";
  how.setAttribute("role", "status");
  document.body.append(how);

  function toggle() {
    keepPlace(() => root.toggleAttribute("data-both"));
    const on = root.hasAttribute("data-both");
    both.setAttribute("aria-pressed", on);
    how.textContent = "";
    memory.set("dl-both", on ? "on" : null);
  }

  function ownOf(element) {
    const own = element.closest(".dl-own");
    if (own) return own;
    const before = element.closest("button.dl-unfold")?.nextElementSibling;
    return before?.classList.contains("dl-own") ? before : null;
  }

  article.addEventListener("click", (event) => {
    if (!root.hasAttribute("data-both") || !narrow.matches) return;
    const own = ownOf(event.target);
    if (!twins.has(own)) return;
    const pressed = event.target.closest("button.dl-unfold");
    if (!pressed && (event.target.closest("a, button, summary, input, select, label") || !getSelection().isCollapsed)) return;
    show(own, !twins.get(own).twin.classList.contains("dl-shown"));
    how.textContent = "";
  });

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && root.hasAttribute("data-both")) keepPlace(() => { for (const own of twins.keys()) show(own, false); });
  });

  both.addEventListener("click", () => {
    toggle();
    if (root.hasAttribute("data-both")) how.textContent = both.dataset.how;
  });
  const asked = !memory.get("dl-both");
  toggle();
  if (asked) how.textContent = both.dataset.how;
}
