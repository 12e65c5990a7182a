"use strict";

// The search: MiniSearch over the records that the build wrote into documents.js. The search page and the dialog that Ctrl+K
// opens show the same results while a reader types.
const bookSearch = (() => {
  const GREEK = { α: "alpha", β: "beta", γ: "gamma", Γ: "gamma", δ: "delta", ε: "epsilon", ζ: "zeta", η: "eta", θ: "theta", ι: "iota", κ: "kappa", λ: "lambda", μ: "mu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", χ: "chi", ψ: "psi", ω: "omega", Ω: "omega" };
  const FORMULA = /\\\(.*?\\\)|\\\[.*?\\\]/gs;
  const FIELDS = ["title", "keywords", "own", "named", "symbols", "text", "page"];
  const NUMBERS = ["own", "named"]; // of equations
  const SHOWN = 40;
  const A_PAGE = 3; // parts of one page that are shown
  // Words of which questions are made, whatever they ask for. Where nothing else is asked, they are looked for too.
  const EMPTY = new Set(
    "a about all an and any are as at be been between book by can could did do does else ever find for from get give go had has have here how i if in into is it its me mean means my not of on one or other our paper should so than that the their them then there these they this to true up us use used was we were what when where whether which who whose why will with without would you your".split(" "),
  );

  const plain = (text) => text.replace(FORMULA, " ").replace(/[αβγΓδεζηθικλμξπρστφχψωΩ]/g, (letter) => GREEK[letter]).replace(/[’′]/g, "'").toLowerCase();
  /** Words, numbers, and symbols with their labels and primes: eta_z, t_0', 88. */
  const words = (text) => (plain(text).match(/[\p{L}\p{N}]+(?:[_'^*][\p{L}\p{N}]*)*/gu) ?? []).map((word) => word.replace(/'s$/, ""));
  /** A query with an equation's number and a prime as the book writes them. */
  const asked = (query) =>
    query.replace(/(?:\b(?:eqns?|eqs?|equations?)\b\.?\s*|^)\(?(\d+)\)?(?=\s|$)/gi, "($1)").replace(/\b(\w+) prime\b/gi, "$1'");

  const stemmer = new Stemmer();
  const stem = (word) => (/^[a-z]{4,}$/.test(word) ? stemmer.stemWord(word) : word);
  const known = new Set(); // the stems of the book's words
  const index = new MiniSearch({
    idField: "url",
    fields: FIELDS,
    tokenize: words,
    processTerm: (word) => {
      const term = stem(word);
      known.add(term);
      return term;
    },
    searchOptions: {
      processTerm: stem,
      boost: { title: 4, keywords: 6, own: 12, named: 3, symbols: 2, page: 1.5 },
      // a word that the book hasn't may be the beginning of one, or misspelt
      prefix: (term, i, terms) => /^\p{L}{3,}/u.test(term) && (i === terms.length - 1 || !known.has(term)),
      fuzzy: (term) => (/^\p{L}{5,}$/u.test(term) && !known.has(term) ? 0.15 : false),
      boostDocument: (url) => records.get(url).weight,
    },
  });
  const records = new Map(bookDocuments.map((record) => [record.url, record]));
  index.addAll([...records.values()]);

  /** The records that fit a query, best first: those that hold more of its words, word for word above all, and code last. */
  function find(query) {
    const text = asked(query);
    const spoken = words(text);
    const told = spoken.filter((word) => !EMPTY.has(word));
    const sought = (told.length ? told : spoken).join(" ");
    const phrase = spoken.join(" ");
    const fields = FIELDS.filter((field) => !NUMBERS.includes(field) || /\(\d+\)/.test(text));
    const terms = new Set(words(sought).map(stem));
    const relation = /[<>=≤≥]/.test(text) ? text.replace(/\s/g, "") : null; // K < M isn't K = M
    const found = index.search(sought, { combineWith: "OR", fields });
    for (const result of found) {
      const { title, keywords, text } = records.get(result.id);
      result.score *= (new Set(result.queryTerms).size / terms.size) ** 2;
      const holds = (text) => phrase.includes(" ") && words(text).join(" ").includes(phrase);
      result.score *= holds(keywords) ? 4 : holds(`${title} ${text}`) ? 2 : 1;
      if (relation && `${title}${text}`.replace(/\s/g, "").includes(relation)) result.score *= 4;
    }
    const last = ({ id }) => Boolean(records.get(id).last);
    return spread(found.sort((a, b) => last(a) - last(b) || b.score - a.score));
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
    const hit = pieces.map((piece) => words(piece).some((word) => terms.includes(stem(word))));
    const first = Math.max(0, hit.indexOf(true) - 8);
    const shown = pieces.slice(first, first + 36).flatMap((piece, i) => {
      const inline = piece.replace(/^\\\[(.*)\\\]$/s, "\\($1\\)");
      return [hit[first + i] ? make("mark", inline) : inline, " "];
    });
    return make("p", first > 0 ? "… " : "", ...shown, first + 36 < pieces.length ? "…" : "");
  }

  const root = (document.documentElement.dataset.content_root ?? "").replace(/^\.\//, "");
  /** Shows what a query finds: how much in `status`, and the places in `list`. */
  function show(query, status, list) {
    const found = query ? find(query) : [];
    status.textContent = query === "" ? "" : found.length ? `${found.length} ${found.length === 1 ? "place" : "places"}` : `Nothing was found for “${query}”.`;
    list.replaceChildren(
      ...found.slice(0, SHOWN).map(({ id, terms }) => {
        const { title, page, text, symbols } = records.get(id);
        const link = make("a", title);
        link.href = root + id;
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
  /** Shows results while a reader types into a field; `asked(query)` hears of each query. */
  function listen(input, status, list, asked = () => {}) {
    let timer = null;
    const now = () => show(input.value.trim(), status, list);
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        asked(input.value);
        now();
      }, 150);
    });
    now();
    return now;
  }

  const form = document.querySelector("form.ss-search");
  if (form) {
    const input = form.querySelector("input");
    input.value = new URLSearchParams(location.search).get("q") ?? "";
    input.focus();
    const [status, list] = [document.querySelector("#ss-found"), document.querySelector("#ss-results")];
    const now = listen(input, status, list, (query) => history.replaceState(null, "", `?${new URLSearchParams({ q: query })}`));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      now();
    });
  }
  return { listen };
})();
