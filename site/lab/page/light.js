"use strict";

// Text and pictures talk to each other: point at a word of the text, a legend's entry or a bar, by pointer, key or finger, and all
// that has its name lights up. A name is a word of the example, or `law:` and a dynamics.

const LIGHT = "ss-light"; // the event by which curves on a canvas hear of a name
const UNNAMED = "a, button, code, details, h1, h2, h3, mjx-container, [data-name], .ss-lab, .ss-guess, .math"; // where no word gets a name
const LAW_NAMES = {
  "law:ideal": /[Tt]he paper’s law(?: \(10\))?/,
  "law:true": /[Tt]he (?:true )?gradient(?: flow)?(?! descent)/,
  "law:26": /[Uu]pdate \(26\)/,
};

/** Gives an element a name; `reached` says whether the keyboard reaches it too. */
function withName(element, name, reached = false) {
  if (name) element.dataset.name = name;
  if (name && reached) filled(element, { role: "button", tabindex: 0, "aria-pressed": false }, []);
  return element;
}

/** Lights up all that has a name. What stands beside it is dimmed (in lab.css); a picture without the name stays as it is. */
function light(name) {
  for (const one of document.querySelectorAll("[data-name]")) {
    const lit = one.dataset.name === name;
    one.classList.toggle("ss-lit", lit);
    if (one.getAttribute("role") === "button") one.setAttribute("aria-pressed", lit);
  }
  document.dispatchEvent(new CustomEvent(LIGHT, { detail: name }));
}

/** Makes a page listen to pointer, keyboard and finger, once for all of its scripts. */
function listenForNames() {
  if ("listens" in document.documentElement.dataset) return;
  document.documentElement.dataset.listens = "";
  let shown = null;
  const show = (name) => {
    if (name !== shown) light((shown = name));
  };
  const nameAt = ({ target }) => (target instanceof Element && target.closest("[data-name]")?.dataset.name) || null;
  document.addEventListener("pointerover", (event) => show(nameAt(event)));
  document.addEventListener("focusin", (event) => show(nameAt(event)));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(null);
    if (!["Enter", " "].includes(event.key) || !event.target.matches("[data-name][role=button]")) return;
    event.preventDefault();
    event.target.click();
  });
}

/** Gives names to words of a page's text: those in quotation marks that a picture knows, and the laws, each once a paragraph. */
function nameWords(article, words) {
  const quoted = words.length ? [[new RegExp(`(?<=[“"])(?:${words.join("|")})(?=[”",])`), (word) => word]] : [];
  const patterns = [...quoted, ...Object.entries(LAW_NAMES).map(([name, pattern]) => [pattern, () => name])];
  for (const block of article.querySelectorAll("p, li")) {
    const done = new Set();
    for (const [pattern, nameOf] of patterns) {
      const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (walker.nextNode()) texts.push(walker.currentNode);
      for (const text of texts) nameWordsIn(text, pattern, nameOf, done);
    }
  }
}

/** Gives names to what a pattern finds in one text, but to no name twice. */
function nameWordsIn(text, pattern, nameOf, done) {
  let rest = text;
  while (!rest.parentElement.closest(UNNAMED)) {
    const found = pattern.exec(rest.data);
    if (!found) return;
    const word = rest.splitText(found.index);
    rest = word.splitText(found[0].length);
    const name = nameOf(found[0]);
    if (done.has(name)) continue;
    done.add(name);
    const mark = withName(make("span", { class: "ss-name" }), name, true);
    word.replaceWith(mark);
    mark.append(word);
  }
}
