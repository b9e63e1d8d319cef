// Figures: each can be enlarged to the window, by the button at its corner or by a click on it. The drawing is not
// copied but used, so that its ids stand once.
"use strict";
(() => {
  const ARROWS = '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M11.5 8.5 17 3m-5 0h5v5M8.5 11.5 3 17m5 0H3v-5"/></svg>';
  const { enlarge, close } = document.body.dataset;

  for (const figure of document.querySelectorAll("article figure:has(.dl-whole)")) {
    const number = figure.querySelector(".caption-number")?.textContent.match(/\d[\d.]*/) ?? [""];
    const name = enlarge.replace("{number}", number[0]).trim();
    const button = Object.assign(document.createElement("button"), { type: "button", className: "dl-enlarge", ariaLabel: name, title: name, innerHTML: ARROWS });
    button.addEventListener("click", () => open(figure, button));
    figure.querySelector(".dl-figure").addEventListener("click", () => {
      if (getSelection().isCollapsed) open(figure, button); // else its labels are being selected
    });
    figure.prepend(button);
  }

  function open(figure, button) {
    const whole = figure.querySelector(".dl-whole");
    const caption = figure.querySelector("figcaption p")?.cloneNode(true) ?? document.createElement("p");
    for (const each of caption.querySelectorAll(".headerlink")) each.remove();
    for (const each of caption.querySelectorAll("[id]")) each.removeAttribute("id");
    const dialog = Object.assign(document.createElement("dialog"), { className: "dl-zoom", ariaLabel: button.ariaLabel });
    dialog.innerHTML = `<button type="button" class="dl-close" aria-label="${close}">×</button><div class="dl-zoom-box">
      <svg viewBox="${whole.getAttribute("viewBox")}" role="img" style="--dl-width: ${whole.style.getPropertyValue("--dl-width")}"><use href="#${whole.querySelector("g").id}"/></svg></div>`;
    dialog.append(caption);
    dialog.querySelector("svg").ariaLabel = caption.textContent.trim() || button.ariaLabel;
    dialog.addEventListener("click", (event) => { if (!event.target.closest("a") && getSelection().isCollapsed) dialog.close(); });
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    button.focus({ preventScroll: true }); // to which the dialog gives the focus back
    dialog.showModal();
    const box = dialog.querySelector(".dl-zoom-box");
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
  }
})();
