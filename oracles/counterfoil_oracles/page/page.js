"use strict";
(() => {
  const buttons = [...document.querySelectorAll("ol.steps button")];
  const sections = [...document.querySelectorAll(".panel section")];
  const columns = [...document.querySelectorAll(".column")];
  const units = [...document.querySelectorAll("[data-first]")];
  let chosen = -1;

  // Everything that speaks of one step shows it; contexts that came later are faint, released ones grey.
  function choose(step, focus) {
    if (step < 0 || step >= buttons.length || step === chosen) return;
    chosen = step;
    buttons.forEach((button, at) => {
      if (at === step) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
      button.tabIndex = at === step ? 0 : -1;
    });
    sections.forEach((section, at) => { section.hidden = at !== step; });
    columns.forEach((column) => column.classList.toggle("chosen", Number(column.dataset.step) === step));
    units.forEach((unit) => {
      unit.classList.toggle("later", Number(unit.dataset.first) > step);
      unit.classList.toggle("ended", "released" in unit.dataset && Number(unit.dataset.released) <= step);
    });
    if (focus) buttons[step].focus();
    history.replaceState(null, "", `#step-${step + 1}`);
  }

  buttons.forEach((button, at) => button.addEventListener("click", () => choose(at, false)));
  document.querySelectorAll("svg [data-step]").forEach((mark) => {
    mark.addEventListener("click", () => choose(Number(mark.dataset.step), false));
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
    if (event.key in moves) choose(chosen + moves[event.key], true);
    else if (event.key === "Home") choose(0, true);
    else if (event.key === "End") choose(buttons.length - 1, true);
    else return;
    event.preventDefault();
  });
  const asked = /^#step-(\d+)$/.exec(location.hash);
  choose(asked ? Number(asked[1]) - 1 : Number(document.body.dataset.start), false);
})();
