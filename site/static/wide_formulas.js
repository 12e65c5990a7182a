"use strict";

// An inline formula wider than its line scrolls by itself; MathJax would let the page cut it off.
(() => {
  const mark = () => {
    for (const formula of document.querySelectorAll('mjx-container:not([display="true"])')) {
      formula.classList.remove("ss-wide");
      const line = formula.closest("p, li, dd, dt, td, th, h1, h2, h3, figcaption, div");
      const wide = line !== null && formula.getBoundingClientRect().width > line.clientWidth;
      formula.classList.toggle("ss-wide", wide);
      if (wide) formula.tabIndex = 0;
    }
  };
  window.addEventListener("load", () => {
    const set = window.MathJax?.startup?.promise ?? Promise.resolve();
    set.then(mark);
    window.addEventListener("resize", mark);
  });
})();
