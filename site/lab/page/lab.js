"use strict";

const ORDER = ["dyn", "model", "K", "M", "w", "rho", "beyond", "etaY", "etaZ", "T", "B", "seed"];
const SGD_ONLY = ["T", "B", "seed"];
const SETTLE = 250; // milliseconds without a change after which address and words follow
const source = `(${labCore})().serve(self)`;

/** Fills one lab's element. The first lab of a page has the page's address. */
function makeLab(root) {
  const start = { ...DEFAULTS, ...readAddress(root.dataset.preset).texts };
  const show = root.dataset.show?.split(",") ?? null; // a small lab: these fields, one chart, no address
  if (show && !show.includes("beyond")) start.beyond = "1"; // it warns instead
  const [kind, span] = [root.dataset.chart ?? "z", root.dataset.span?.split(",").map(Number)];
  const lens = "lens" in root.dataset ? makeLens([0.02, 0.36]) : null; // where (10) has hardly begun to fall
  const ownsAddress = show === null && root === document.querySelector(".ss-lab[data-preset]");
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  let [texts, good] = [{ ...start }, check(start).values];
  let [asked, shownId, coming, picture, timer, known] = [0, 0, {}, null, null, null];
  let over = null; // the time in t_0, which a small lab keeps
  let wished = start.rho; // what the reader asked for, of which more classes may allow less

  const fields = Object.fromEntries(ORDER.map((key) => [key, makeField(key, (text) => change(key, text))]));
  const time = makeTime((t) => {
    texts.t = String(Number(t.toPrecision(4)));
    good.t = t;
    over = t / picture.moments.snap;
    drawTime();
    settle();
  });
  const bars = makeBars();
  const charts = {
    [kind]: makeChart(kind, kind === "gain" ? "Gain of each telling word’s z, divided by that of the most frequent one" : `Attention logits z${show && !span ? " (the scale fits the curves)" : ""}`, span, lens),
    ...(show ? {} : { entropy: makeChart("entropy", "Entropy on distinct tokens (nats)"), chi: makeChart("chi", "Growth factor χ, bounds of (12)") }),
  };
  const classId = freshId("class");
  const classes = make("select", { id: classId });
  classes.addEventListener("change", () => change("n", classes.value));
  const [notice, status, spoken] = [
    make("p", { class: "ss-lab-fault", role: "status" }),
    make("p", { class: show ? "ss-lab-warning" : "ss-lab-status", "aria-live": show ? "polite" : null }),
    make("p", { class: "ss-lab-words", "aria-live": "polite" }),
  ];
  const link = make("a", { class: "ss-lab-link" }, "Link to this setting");
  const reset = make("button", { type: "button" }, "Start over");
  reset.addEventListener("click", () => take({ ...start }, ""));
  const redraw = make("button", { type: "button" }, "Another draw");
  redraw.addEventListener("click", () => change("seed", String((Number(texts.seed) + 1) % 1000000 || 0)));
  fields.seed.input.after(redraw);
  const [numbers, course] = [make("table"), make("table")];

  const scrolling = (label, table) => make("div", { class: "ss-lab-scroll", tabindex: "0", role: "region", "aria-label": label }, table);
  const controls = [...(show ?? ORDER).map((key) => fields[key].box), make("div", { class: "ss-lab-row" }, reset, ...(ownsAddress ? [link] : []))];
  const heading = make("figcaption", {}, make("label", { for: classId }, `Attention of ${show ? "topic" : "class"} `), classes, `${show ? ` ${BY[start.dyn]}` : ""} (tick: t = 0)`);
  const view = [
    notice,
    status,
    time.bar,
    ...(kind === "gain" ? [] : [make("figure", { class: "ss-lab-chart" }, heading, bars.list)]), // they show one law alone
    ...Object.values(charts).map(({ figure }) => figure),
    ...(show ? [] : [scrolling("The numbers at this time", numbers)]),
    spoken,
    make("details", {}, make("summary", {}, "The curves as a table"), scrolling("The curves as a table", course)),
  ];
  root.replaceChildren(
    make(
      "div",
      { class: "ss-lab-frame" },
      make("div", { class: "ss-lab-controls", role: "group", "aria-label": "Setting" }, ...controls),
      make("div", { class: "ss-lab-view" }, ...view),
    ),
  );

  function change(key, text) {
    texts[key] = text;
    if (key === "rho") wished = text;
    if (key === "K" && Number(texts.n) > Number(text) && Number(text) >= 1) texts.n = text;
    if (key === "K" || key === "beyond") texts.rho = allowedOverlap(texts, wished);
    refresh();
  }
  /** Shows what is wrong with the texts, or asks for their picture. */
  function refresh(unread = "") {
    const { values, faults } = check(texts);
    const told = texts.rho === wished ? "" : `Lowered from ${wished}: Assumption 2 asks for ρ < ${brief(upperOverlap(values.K))}.`;
    const toldOf = { rho: told, T: values.T === 2 ? ONE_WORD : "" };
    ORDER.forEach((key) => fields[key].show(texts[key], faults[key], toldOf[key]));
    SGD_ONLY.forEach((key) => (fields[key].box.hidden = texts.dyn !== "sgd"));
    const elsewhere = ["n", "t"].map((key) => faults[key]).filter(Boolean);
    const any = Object.keys(faults).length > 0;
    notice.textContent = [unread, ...elsewhere, any ? `Picture and numbers are of the last sound setting: ${settingInWords(good)}.` : ""].filter(Boolean).join(" ");
    root.dataset.faults = Object.keys(faults).join(" ");
    clearTimeout(timer);
    if (!any) good = values;
    if (!any || picture === null) ask();
    settle();
  }
  function ask() {
    root.dataset.state = "busy";
    const { K, M, w, rho, etaY, etaZ, T, B, seed, dyn, model } = good;
    worker.postMessage({ id: ++asked, settings: { K, M, w, rho, etaY, etaZ, T, B, seed, dyn, model } });
  }
  /** What waits until the reader pauses: the address and the words. */
  function settle() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (time.playing) return settle();
      if (ownsAddress && Object.keys(check(texts).faults).length === 0) {
        if (location.hash !== known) return; // another address was given, and is about to be read
        const address = writeAddress(texts, start);
        link.href = `#${address || writeAddress(texts, { ...start, K: "" })}`;
        if (address || location.hash.includes("=")) history.replaceState(null, "", link.href);
        known = location.hash;
      }
      speak();
    }, SETTLE);
  }

  worker.onmessage = ({ data: { id, settings, path, failure } }) => {
    if (id < shownId) return;
    if (id > shownId) [shownId, coming] = [id, { settings }];
    if (failure) {
      notice.textContent = `This setting can't be followed (${failure}); the picture shows the last one that could.`;
      root.dataset.state = "failed";
      return;
    }
    coming[path.dynamics === settings.dyn ? "shown" : "truth"] = path;
    const { shown, truth } = coming;
    if (!shown || !(truth || settings.dyn === "true")) return;
    const fresh = picture === null;
    picture = { settings, system: core.withOverlap(settings), moments: core.moments(settings), shown, truth };
    draw();
    if (fresh && "play" in root.dataset) time.play();
    if (id === asked && shown.done) {
      root.dataset.state = "done";
      speak();
    }
  };

  function draw() {
    const { settings, system, moments, shown, truth } = picture;
    const seen = { ...settings, n: Math.min(good.n, settings.K) };
    const [curves, beside] = [shown, truth].map((path) => path && curvesOf(path, system, seen));
    Object.assign(picture, { curves: Object.assign(curves, { words: wordsOf(root.dataset.words, seen.n) }), beside, seen });
    classes.replaceChildren(...system.tokens.map((_, i) => make("option", { value: i + 1 }, String(i + 1))));
    classes.value = seen.n;
    if (show) status.textContent = outsideAssumption2(settings);
    else status.replaceChildren(...statusOf(picture));
    const kept = show && over ? over * moments.snap : good.t;
    good.t = time.span((truth ?? shown).times, moments, kept || moments.snap);
    over ??= good.t / moments.snap;
    for (const [kind, chart] of Object.entries(charts)) {
      chart.draw(curves, beside, moments, good.t);
      const values = { z: curves.z[0], gain: curves.gain[curves.rarest], entropy: curves.entropy, chi: curves.chi[0] }[kind];
      chart.describe(courseOf({ z: "z of the common token", gain: "Gain of the rarest word", entropy: "Entropy", chi: "χ" }[kind], curves, values, moments));
    }
    fillTable(course, `${FIELDS.dyn.choices[settings.dyn]}, ${show ? "topic" : "class"} ${seen.n}`, ...courseOfAll(curves, beside, moments));
    drawTime();
  }
  function drawTime() {
    if (!picture?.curves) return;
    const { curves, beside, seen, system, moments } = picture;
    bars.draw(curves, indexAt(curves.times, good.t), system.probs[seen.n - 1], seen.w, inks(root), curves.words);
    Object.values(charts).forEach((chart) => chart.mark(good.t));
    const heads = ["at this time", "as printed (Theorem 4)", FIELDS.dyn.choices[curves.dynamics], "true gradient"];
    const rows = numbersOf(curves, beside, seen, moments, good.t);
    if (!beside) [heads, ...rows].forEach((row) => row.pop());
    fillTable(numbers, "The numbers", heads, rows);
    if (time.playing) speak();
  }
  function speak() {
    if (!picture?.curves) return;
    const { curves, beside, seen, moments } = picture;
    const words = (curves.words ? smallSentenceOf : sentenceOf)(curves, beside, seen, moments, good.t);
    const live = time.playing ? "off" : "polite"; // words that run with the picture aren't read out
    if (spoken.textContent !== words || spoken.ariaLive !== live) Object.assign(spoken, { ariaLive: live, textContent: words });
  }

  /** Takes a whole set of texts. */
  function take(taken, unread) {
    [texts, wished, over] = [taken, taken.rho, null];
    refresh(unread);
  }
  function readHash() {
    const hash = (known = location.hash);
    if (!hash.includes("=") && (hash.length < 2 || document.getElementById(hash.slice(1)))) return take({ ...texts }, "");
    const { texts: given, fault } = readAddress(hash);
    take({ ...start, ...given }, fault);
  }

  root.lab = { core, charts, get picture() { return picture; } }; // for the tests
  new ResizeObserver(() => Object.values(charts).forEach((chart) => chart.resize())).observe(root);
  new MutationObserver(() => picture && draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  if (ownsAddress) {
    addEventListener("hashchange", readHash);
    readHash();
  } else take({ ...start }, "");
}
