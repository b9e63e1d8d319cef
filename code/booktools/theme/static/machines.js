// Machines side by side: two to four of all that are recorded. Without this script all are shown.
"use strict";

const MOST = 4, LEAST = 2, FIRST = innerWidth < 600 ? 2 : 3;
const chooser = document.querySelector(".dl-choose");
const boxes = [...chooser.querySelectorAll("input")];

// The choice is kept in the address, so that a link to it shows the same.
const asked = (new URLSearchParams(location.search).get("machines") ?? "").split(",").filter(Boolean);
const known = boxes.filter((box) => asked.includes(box.value)).slice(0, MOST);
for (const box of known.length >= LEAST ? known : boxes.slice(0, FIRST)) box.checked = true;

function show() {
  const chosen = boxes.filter((box) => box.checked);
  for (const box of boxes) box.disabled = box.checked ? chosen.length <= LEAST : chosen.length >= MOST;
  for (const row of document.querySelectorAll(":is(.dl-environments, .dl-claims) tr")) {
    boxes.forEach((box, column) => { row.cells[column + 1].hidden = !box.checked; });
  }
  return chosen.map((box) => box.value).join(",");
}

chooser.addEventListener("change", () => {
  const address = new URL(location.href);
  address.searchParams.set("machines", show());
  try { history.replaceState(null, "", address); } catch { /* a browser that keeps the address of a file as it is */ }
});
show();
chooser.hidden = false;
