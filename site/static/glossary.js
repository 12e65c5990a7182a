"use strict";

// Shows what a term means, from the page's own list of symbols: under the pointer, on focus, and on a phone at the first tap.
// It does the same for a citation, with the work that is cited.
// Of a link to another page it shows that page's first sentences, under the pointer and on focus.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector(".bd-article");
  if (!article) return;
  const tip = document.createElement("div");
  Object.assign(tip, { id: "ss-tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  article.append(tip);
  let [shown, wanted, before, leaving] = [null, null, null, null];
  // A browser shows a title under the pointer alone, and would show it beside this one.
  for (const citation of article.querySelectorAll("a.reference.internal[title]")) {
    citation.dataset.cited = citation.title;
    citation.removeAttribute("title");
  }

  /** The symbol and its meaning, as they stand in the list, with nothing that takes the focus. */
  function meaning(anchor) {
    const term = document.getElementById(anchor);
    const row = document.createElement("div");
    for (const node of [...term.querySelectorAll(".math"), ...term.nextElementSibling.childNodes]) row.append(node.cloneNode(true));
    for (const element of row.querySelectorAll("[tabindex]")) element.removeAttribute("tabindex");
    return row;
  }
  /** All previews, from a script that is loaded once: a page opened from the disk can read no other kind of file. */
  let loaded = null;
  const root = new URL(document.documentElement.dataset.content_root, document.baseURI).href;
  function previews() {
    loaded ??= new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = `${root}_static/previews.js`;
      script.onload = () => resolve(window.ssPreviews);
      script.onerror = () => resolve({});
      document.head.append(script);
    });
    return loaded;
  }
  /** What stands where a link leads, if that's another page or an erratum. */
  async function preview(link) {
    const [address, anchor] = link.href.split("#");
    if (!address.startsWith(root) || address === location.href.split("#")[0]) return null;
    const page = address.slice(root.length).replace(/\.html$/, "");
    const [all] = await Promise.all([previews(), new Promise((done) => setTimeout(done, 250))]);
    const found = all[`${page}#${anchor}`] ?? all[page];
    if (!found) return null;
    const row = document.createElement("div");
    const title = document.createElement("strong");
    const words = document.createElement("p");
    [title.textContent, words.textContent] = found;
    row.append(title, words);
    return row;
  }
  /** The work that a citation names. */
  function work(citation) {
    const row = document.createElement("div");
    row.textContent = citation.dataset.cited;
    return row;
  }
  function show(link) {
    clearTimeout(leaving);
    if (shown === link) return;
    wanted = link;
    if (link.dataset.terms) open(link, link.dataset.terms.split(" ").map(meaning));
    else if (link.dataset.cited) open(link, [work(link)]);
    else preview(link).then((row) => row && wanted === link && open(link, [row])); // until then what is shown stays
  }
  function open(link, rows) {
    hide();
    shown = link;
    tip.replaceChildren(...rows);
    tip.hidden = false;
    for (const formula of tip.querySelectorAll("mjx-container.ss-wide")) {
      const fits = formula.clientWidth / formula.scrollWidth; // on a phone a long formula is set smaller, not cut
      formula.style.fontSize = `${parseFloat(formula.style.fontSize) * Math.min(1, fits)}%`;
    }
    link.setAttribute("aria-describedby", tip.id);
    place();
  }
  function place() {
    const [link, edge] = [shown.getBoundingClientRect(), document.documentElement.clientWidth - 8];
    const below = link.bottom + tip.offsetHeight + 8 < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(link.left, edge - tip.offsetWidth))}px`;
    tip.style.top = `${below ? link.bottom + 4 : link.top - tip.offsetHeight - 4}px`;
  }
  function hide() {
    shown?.removeAttribute("aria-describedby");
    tip.hidden = true;
    shown = null;
    wanted = null;
  }
  const LINKS = ".ss-term, .bd-article a.reference.internal:not(#ss-tip *)";
  const term = (event) => event.target.closest?.(LINKS);
  const within = (event) => term(event) ?? event.target.closest?.("#ss-tip");

  document.addEventListener("mouseover", (event) => {
    if (term(event)) show(term(event));
    else if (within(event)) clearTimeout(leaving);
  });
  document.addEventListener("mouseout", (event) => {
    if (term(event)) wanted = null;
    if (within(event)) leaving = setTimeout(hide, 200); // time to move onto the words
  });
  document.addEventListener("focusin", (event) => (term(event) ? show(term(event)) : hide()));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("pointerdown", (event) => {
    before = shown;
    if (!within(event)) hide();
  });
  document.addEventListener("click", (event) => {
    const link = term(event);
    if (!(link?.dataset.terms || link?.dataset.cited) || event.pointerType !== "touch" || before === link) return; // a second tap follows the link
    event.preventDefault();
    show(link);
  });
  addEventListener("scroll", () => shown && !tip.hidden && (shown === document.activeElement ? place() : hide()), { passive: true });
});
