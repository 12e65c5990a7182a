"use strict";

// The dialog that Ctrl+K opens shows results while a reader types. The index is large, so it is loaded with the first letter.
addEventListener("DOMContentLoaded", () => {
  const input = document.querySelector("#pst-search-dialog input[name=q]");
  if (!input || document.querySelector("form.ss-search")) return;
  const folder = `${document.documentElement.dataset.content_root ?? ""}_static/search/`;
  const load = (name) =>
    new Promise((done) => {
      const script = Object.assign(document.createElement("script"), { src: folder + name, onload: done });
      document.head.append(script);
    });
  const begin = async () => {
    for (const name of ["MiniSearch.js", "stemmer.js", "documents.js", "search.js"]) await load(name);
    const status = Object.assign(document.createElement("p"), { role: "status" });
    const list = document.createElement("ol");
    const found = Object.assign(document.createElement("div"), { className: "ss-found" });
    found.append(status, list);
    input.form.after(found);
    bookSearch.listen(input, status, list);
  };
  input.addEventListener("input", begin, { once: true });
});
