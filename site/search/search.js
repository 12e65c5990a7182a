"use strict";

// The search page: MiniSearch over the records that the build wrote into documents.js.
(() => {
  const GREEK = { α: "alpha", β: "beta", γ: "gamma", Γ: "gamma", δ: "delta", ε: "epsilon", ζ: "zeta", η: "eta", θ: "theta", ι: "iota", κ: "kappa", λ: "lambda", μ: "mu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", χ: "chi", ψ: "psi", ω: "omega", Ω: "omega" };
  const FORMULA = /\\\(.*?\\\)|\\\[.*?\\\]/gs;
  const FIELDS = ["title", "keywords", "own", "named", "symbols", "text", "page"];
  const NUMBERS = ["own", "named"]; // of equations
  const SHOWN = 40;
  const A_PAGE = 3; // parts of one page that are shown

  const plain = (text) => text.replace(FORMULA, " ").replace(/[αβγΓδεζηθικλμξπρστφχψωΩ]/g, (letter) => GREEK[letter]).replace(/[’′]/g, "'").toLowerCase();
  /** Words, numbers, and symbols with their labels and primes: eta_z, t_0', 88. */
  const words = (text) => (plain(text).match(/[\p{L}\p{N}]+(?:[_'^*][\p{L}\p{N}]*)*/gu) ?? []).map((word) => word.replace(/'s$/, ""));
  /** A query with an equation's number and a prime as the book writes them. */
  const asked = (query) =>
    query.replace(/(?:\b(?:eqns?|eqs?|equations?)\b\.?\s*|^)\(?(\d+)\)?(?=\s|$)/gi, "($1)").replace(/\b(\w+) prime\b/gi, "$1'");

  const index = new MiniSearch({
    idField: "url",
    fields: FIELDS,
    tokenize: words,
    processTerm: (term) => term,
    searchOptions: {
      boost: { title: 4, keywords: 6, own: 12, named: 3, symbols: 2, page: 1.5 },
      prefix: (term) => /^\p{L}{3,}/u.test(term),
      fuzzy: (term) => (/^\p{L}{5,}$/u.test(term) ? 0.15 : false),
      boostDocument: (url) => records.get(url).weight,
    },
  });
  const records = new Map(bookDocuments.map((record) => [record.url, record]));
  index.addAll([...records.values()]);

  /** The records that fit a query, best first; those that hold it word for word count double. */
  function find(query) {
    const text = asked(query);
    const phrase = words(text).join(" ");
    const fields = FIELDS.filter((field) => !NUMBERS.includes(field) || /\(\d+\)/.test(text));
    for (const combineWith of ["AND", "OR"]) {
      const found = index.search(text, { combineWith, fields });
      for (const result of found) {
        const { title, text } = records.get(result.id);
        if (phrase.includes(" ") && words(`${title} ${text}`).join(" ").includes(phrase)) result.score *= 2;
      }
      if (found.length) return spread(found.sort((a, b) => b.score - a.score));
    }
    return [];
  }
  /** Without the parts by which one page would crowd out the others. */
  function spread(found) {
    const seen = {};
    return found.filter(({ id }) => {
      const page = id.replace(/#.*/, "");
      seen[page] = (seen[page] ?? 0) + 1;
      return seen[page] <= A_PAGE;
    });
  }

  const make = (tag, ...children) => {
    const element = document.createElement(tag);
    element.append(...children);
    return element;
  };
  /** Some words around the first that was looked for, which are marked. */
  function excerpt(text, terms) {
    const pieces = text.match(/\\\(.*?\\\)|\\\[.*?\\\]|(?:(?!\\[([])\S)+/gs) ?? [];
    const hit = pieces.map((piece) => words(piece).some((word) => terms.includes(word)));
    const first = Math.max(0, hit.indexOf(true) - 8);
    const shown = pieces.slice(first, first + 36).flatMap((piece, i) => {
      const inline = piece.replace(/^\\\[(.*)\\\]$/s, "\\($1\\)");
      return [hit[first + i] ? make("mark", inline) : inline, " "];
    });
    return make("p", first > 0 ? "… " : "", ...shown, first + 36 < pieces.length ? "…" : "");
  }

  const input = document.querySelector(".ss-search input");
  const [status, list] = [document.querySelector("#ss-found"), document.querySelector("#ss-results")];
  function show() {
    const query = input.value.trim();
    const found = query ? find(query) : [];
    status.textContent = query === "" ? "" : found.length ? `${found.length} ${found.length === 1 ? "place" : "places"}` : `Nothing was found for “${query}”.`;
    list.replaceChildren(
      ...found.slice(0, SHOWN).map(({ id, terms }) => {
        const { title, page, text, symbols } = records.get(id);
        const link = make("a", title);
        link.href = id;
        if (words(title).length === 0) {
          const name = make("span", symbols || page); // a formula alone gives a link no name
          name.className = "visually-hidden";
          link.append(name);
        }
        return make("li", link, title === page ? "" : make("span", ` ${page}`), excerpt(text, terms));
      }),
    );
    globalThis.MathJax?.startup?.promise?.then(() => MathJax.typesetPromise([list]));
  }
  let timer = null;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      history.replaceState(null, "", `?${new URLSearchParams({ q: input.value })}`);
      show();
    }, 150);
  });
  document.querySelector(".ss-search").addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  input.value = new URLSearchParams(location.search).get("q") ?? "";
  input.focus();
  show();
})();
