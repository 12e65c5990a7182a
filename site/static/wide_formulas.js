"use strict";

// An inline formula wider than its line scrolls by itself; MathJax would let the page cut it off. Formulas are no stops of
// the Tab key (_config.yml), except those that scroll.
(() => {
  const focusable = (box, scrolls) => (scrolls ? (box.tabIndex = 0) : box.removeAttribute("tabindex"));
  const mark = () => {
    for (const formula of document.querySelectorAll('mjx-container:not([display="true"])')) {
      formula.classList.remove("ss-wide");
      const line = formula.closest("p, li, dd, dt, td, th, h1, h2, h3, figcaption, div");
      const wide = line !== null && formula.getBoundingClientRect().width > line.clientWidth;
      formula.classList.toggle("ss-wide", wide);
      focusable(formula, wide);
    }
    const rows = new Set(); // the displayed formulas that go on to the right, which say so
    for (const box of document.querySelectorAll('div.math, mjx-container[display="true"]')) {
      const scrolls = box.scrollWidth > box.clientWidth;
      focusable(box, scrolls);
      if (scrolls) rows.add(box.closest("div.math"));
    }
    for (const row of document.querySelectorAll("div.math")) row.classList.toggle("ss-goes-on", rows.has(row));
  };
  window.addEventListener("load", () => {
    const set = window.MathJax?.startup?.promise ?? Promise.resolve();
    set.then(mark);
    window.addEventListener("resize", mark);
  });
})();
