"use strict";

// MathJax sets each formula by the height of the letters around it, so it waits until the text's font has come. A font
// that can't be had (a reader may block it) is no reason to leave formulas unset. The printed book keeps this script too,
// because its name holds MathJax's.
(() => {
  window.MathJax = window.MathJax ?? {};
  window.MathJax.startup = {
    pageReady: async () => {
      await document.fonts.load('1em "Scansnap Sans"').catch(() => null);
      await window.MathJax.startup.defaultPageReady();
    },
  };
})();
