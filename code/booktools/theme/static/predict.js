// Questions ({predict}): what was measured shows once the reader has guessed, or has asked to be shown it.
// A page loads this before its text, and each question calls it as soon as it has been read: nothing flashes, and
// what was guessed before is there at once. Guesses stay in this browser. Without this script nothing is hidden.
"use strict";
window.dlPredict = (() => {
  const NAME = "dl-guesses"; // by question: a number, the place of a choice, or null for who was shown it
  let guesses = {};
  try { guesses = JSON.parse(localStorage.getItem(NAME)) ?? {}; } catch { /* none was kept */ }

  function keep(box, guess) {
    if (guess === undefined) delete guesses[box.id];
    else guesses[box.id] = guess;
    try { localStorage.setItem(NAME, JSON.stringify(guesses)); } catch { /* asked again next time */ }
  }

  const part = (box, name) => box.querySelector(`:scope .dl-${name}`);
  // Between a question and what it hides stands its twin in the other language, once that has been asked for.
  function past(element, way) {
    const next = element[way];
    return next?.matches(".dl-twin") ? past(next, way) : next;
  }
  const questionOf = (found) => past(found, "previousElementSibling");
  function hidden(box) {
    const next = past(box, "nextElementSibling");
    return next?.matches(".dl-predicted") ? next : null;
  }
  const isTold = (box) => !part(box, "answer").hidden;
  const choices = (box) => [...box.querySelectorAll(".dl-choices button")];
  const stops = (box) => JSON.parse(part(box, "slider").dataset.stops);

  // Makes a question of what was read so far of the page: it is the last thing on it.
  function begin(box) {
    choices(box).forEach((choice, place) => choice.addEventListener("click", () => {
      if (!isTold(box)) commit(box, place);
    }));
    const slider = part(box, "slider");
    if (slider) {
      const range = slider.querySelector("input");
      slider.hidden = false;
      range.addEventListener("input", () => say(box));
      range.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || isTold(box)) return;
        event.preventDefault(); // or the button that gets the focus would be pressed
        guessed(box);
      });
      part(box, "commit").addEventListener("click", () => guessed(box));
      say(box);
    }
    part(box, "show").addEventListener("click", () => commit(box, null));
    part(box, "again").addEventListener("click", () => {
      keep(box, undefined);
      ask(box);
      (choices(box)[0] ?? slider.querySelector("input")).focus({ preventScroll: true });
    });
    if (box.id in guesses) tell(box, guesses[box.id]);
    else ask(box);
  }

  // Says which number the slider stands at, and returns that.
  function say(box) {
    const range = box.querySelector("input"), said = stops(box)[range.value][1];
    part(box, "value").textContent = said;
    range.setAttribute("aria-valuetext", said);
    return said;
  }

  const guessed = (box) => commit(box, stops(box)[box.querySelector("input").value][0]);

  function commit(box, guess) {
    keep(box, guess);
    tell(box, guess);
    part(box, "again").focus({ preventScroll: true }); // what was pressed may be gone
  }

  function ask(box) {
    show(box, false);
    for (const choice of choices(box)) {
      choice.disabled = false;
      choice.removeAttribute("aria-pressed");
      choice.querySelector(".dl-tag")?.remove();
    }
    hidden(box)?.setAttribute("hidden", "until-found"); // so that the browser's own search finds it
  }

  // Shows what was measured, and what a guess was worth; none, for who did not guess.
  function tell(box, guess) {
    const told = JSON.parse(box.dataset.told), verdict = part(box, "verdict");
    show(box, true);
    hidden(box)?.removeAttribute("hidden");
    let shown = null, low = guess, high = guess;
    choices(box).forEach((choice, place) => {
      const tags = [place === guess && told.yours, "right" in choice.dataset && told.found].filter(Boolean);
      choice.disabled = true;
      choice.setAttribute("aria-pressed", place === guess);
      if (tags.length) {
        const tag = choice.appendChild(document.createElement("span"));
        tag.className = "dl-tag";
        tag.textContent = tags.join(" · ");
      }
      if (place !== guess) return;
      [low, high] = [Number(choice.dataset.low), Number(choice.dataset.high)];
      shown = choice.firstElementChild.textContent;
    });
    if (part(box, "slider") && guess !== null) {
      const range = box.querySelector("input");
      range.value = stops(box).filter(([stop]) => stop < guess).length;
      shown = say(box);
    }
    verdict.hidden = shown === null;
    if (shown !== null) verdict.textContent = told.guessed.replace("{guess}", shown).replace("{verdict}", worth(told, low, high));
  }

  function show(box, isTold) {
    part(box, "answer").hidden = !isTold;
    part(box, "again").hidden = !isTold;
    part(box, "show").hidden = isTold;
    part(box, "more").hidden = isTold || !hidden(box);
    if (part(box, "slider")) {
      part(box, "commit").hidden = isTold;
      part(box, "found").hidden = !isTold;
      box.querySelector("input").disabled = isTold;
    }
  }

  // Returns what a guess from `low` to `high` is worth, in words.
  function worth(told, low, high) {
    const centre = (end) => told.centres.reduce((best, each) => Math.abs(each - end) < Math.abs(best - end) ? each : best);
    if (low > told.high) return told.above.replace("{off}", off(told, low, centre(low)));
    if (high < told.low) return told.below.replace("{off}", off(told, centre(high), high));
    return told.right;
  }

  const off = (told, larger, smaller) => told.percent
    ? String(Math.max(1, Math.round(larger - smaller))) : String(Number((larger / smaller).toPrecision(2)));

  // A part that an address or the browser's search leads into is shown, and so is the answer that it follows.
  addEventListener("beforematch", (event) => {
    const found = event.target.closest?.(".dl-predicted");
    if (found) tell(questionOf(found), null);
  });
  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const closed = target?.closest(".dl-predicted[hidden]");
    if (!closed) return;
    tell(questionOf(closed), null);
    target.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  addEventListener("DOMContentLoaded", follow);

  return {
    ask: begin,
    hide: (found) => {
      const box = questionOf(found);
      if (isTold(box)) return;
      found.setAttribute("hidden", "until-found");
      part(box, "more").hidden = false;
    },
  };
})();
