"use strict";

// MathJax sets each formula by the height of the letters around it, so it waits until the text's font has come.
(() => {
  window.MathJax = window.MathJax ?? {};
  window.MathJax.startup = {
    pageReady: async () => {
      await document.fonts.load('1em "Scansnap Sans"');
      await window.MathJax.startup.defaultPageReady();
    },
  };
})();
