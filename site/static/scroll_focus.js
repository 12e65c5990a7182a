"use strict";

// What scrolls by itself can be reached, and so scrolled, by the keyboard; what doesn't is no stop on the way.
(() => {
  const BOXES = ".ss-scroll, .pst-scrollable-table-container, .bd-article pre, .bd-article .cell_output > .output";
  const mark = (box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else if (box.matches(".ss-scroll")) box.removeAttribute("tabindex");
    else box.tabIndex = -1; // as the theme has it
  };
  window.addEventListener("load", () => {
    const sizes = new ResizeObserver((changes) => changes.forEach(({ target }) => mark(target)));
    for (const box of document.querySelectorAll(BOXES)) sizes.observe(box);
  });
})();
