"use strict";

// The switch in a page's header opens all of its folded code. The choice holds for every page.
(() => {
  const KEY = "ss-code";
  let shown = false;
  try {
    shown = localStorage.getItem(KEY) === "shown";
  } catch {
    // a browser that keeps nothing starts with folded code
  }
  const apply = () => {
    for (const cell of document.querySelectorAll("details.above-input")) cell.open = shown;
    for (const button of document.querySelectorAll(".ss-code-switch")) button.setAttribute("aria-pressed", shown);
  };
  const flip = () => {
    shown = !shown;
    apply();
    try {
      localStorage.setItem(KEY, shown ? "shown" : "folded");
    } catch {
      // it still holds for this page
    }
  };
  // cells open as they are parsed, so that nothing jumps after the first paint
  const parsing = new MutationObserver(apply);
  if (shown) parsing.observe(document, { childList: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => {
    parsing.disconnect();
    apply();
    for (const button of document.querySelectorAll(".ss-code-switch")) button.addEventListener("click", flip);
  });
})();
