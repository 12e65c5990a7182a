"use strict";

// Two texts whose words light up as the model learns: the attention of each word, and the probability of the next one.

const SCENE = { K: 2, M: 1000, rho: 0.3, w: [1, 0.8, 0.5], etaY: 1, etaZ: 0.1, model: "plain" };
const TEXTS = [
  { next: "ship", words: ["and", "wave", "sail", "harbour"], text: "wave and sail and wave harbour and wave sail" },
  { next: "plane", words: ["and", "cloud", "wing", "runway"], text: "cloud and wing cloud and runway and cloud wing" },
];
const VISIBLE = 0.1; // percentage points: a smaller change is lost in rounding
const LAWS = { ideal: "the paper’s law (10)", true: "the gradient" };

/** Along a law, of the text with these counts of its words: the attention of each word and the probability of the next. */
function readingOf(dynamics, counts, times) {
  const { K, M } = SCENE;
  const system = core.withOverlap(SCENE);
  const flow = core.flowOf(dynamics, system, SCENE);
  const size = counts.length;
  const [own, other, rest] = [0, 1, 2].map((block) => (state, u) => u.reduce((sum, x, i) => sum + x * state[block * (size + 1) + i], 0));
  const found = [];
  core.integrate(flow, times, 1e-9, (index, state) => {
    const z = Array.from(state.slice(flow.z, flow.z + size));
    const seen = z.map((value, i) => counts[i] * Math.exp(value));
    const total = seen.reduce((a, b) => a + b, 0);
    const u = seen.map((value) => value / Math.hypot(...seen));
    let odds; // of the class's next word, of another class's and of one that is no class
    if (dynamics === "true") odds = [own, other, rest].map((logit) => Math.exp(logit(state, u)));
    else {
      const c = core.attention(system, 0, Float64Array.from(z)); // (10): Y = F (I + E)^-1 W of the present F
      const f = c.map((value) => value / Math.hypot(...c));
      const [mine, shared, overlap] = [u.reduce((sum, x, i) => sum + x * f[i], 0), u[0] * f[0], f[0] ** 2];
      const learned = M * core.formulas.h(times[index] / K, M, SCENE.etaY);
      odds = [(mine - overlap * shared) / (1 - overlap ** 2), (shared - overlap * mine) / (1 - overlap ** 2), 0].map((v) => Math.exp(v * learned));
    }
    found.push({ attention: seen.map((value) => value / total), next: odds[0] / (odds[0] + (K - 1) * odds[1] + (M - K) * odds[2]) });
  });
  return found;
}

/** What the bars and colours of the first page's picture mean, and how its slider counts; `half` is the step at the slider's middle. */
function legendOf(half) {
  const entry = (kind, text) => make("span", {}, make("b", { class: kind, "aria-hidden": "true" }), ` ${text}`);
  return make(
    "p",
    { class: "ss-key" },
    entry("ss-key-common", "a word of every topic, "),
    entry("ss-key-own", "a word of this topic alone. "),
    `The longer its bar, the more weight it has. The slider is stretched: half of it is for the first ${half} steps.`,
  );
}

/** Fills an element with the texts, the choice of a law and the time. The book's first page shows the first text alone, plays, and
 * uses no symbol. */
function makeSentence(root) {
  const opening = "opening" in root.dataset;
  const moments = core.moments(SCENE);
  const times = Float64Array.from(new Set([...Array.from({ length: 160 }, (_, i) => (moments.scan / 100) * ((4000 * moments.snap) / moments.scan) ** (i / 160)), ...moments.all])).sort();
  const readings = Object.fromEntries(Object.keys(LAWS).map((law) => [law, TEXTS.map(({ words, text }) => readingOf(law, words.map((word) => text.split(" ").filter((one) => one === word).length), times))]));
  let [law, now] = ["ideal", moments.snap]; // at the start there is nothing to be seen
  const moved = (t) => {
    now = t;
    draw();
  };
  const step = (t) => `step ${Math.round(t)}`;
  const time = opening ? makeTime(moved, { say: step, mark: "the paper’s snap" }) : makeTime(moved, { mark: "t₀" });
  const name = freshId("law");
  const nameOf = (value) => (opening ? LAWS[value].replace(" (10)", "") : LAWS[value]);
  const choices = Object.keys(LAWS).map((value) => {
    const input = make("input", { type: "radio", name, value, ...(value === law ? { checked: "" } : {}) });
    input.addEventListener("change", () => {
      law = value;
      draw();
    });
    return withName(make("label", {}, input, ` ${nameOf(value)}`), `law:${value}`);
  });
  const shown = (opening ? TEXTS.slice(0, 1) : TEXTS).map(({ next, words, text }) => {
    const marks = text.split(" ").map((word) => ({ at: words.indexOf(word), box: withName(make("span", { class: word === "and" ? "ss-token ss-token-common" : "ss-token" }, word, make("b")), word) }));
    const odds = make("output", {});
    const spread = marks.flatMap(({ box }) => [box, " "]);
    const bar = make("span", { class: "ss-odds", "aria-hidden": "true" }, make("b"));
    return { words, marks, odds, bar, counts: words.map((word) => marks.filter(({ at }) => words[at] === word).length), line: make("p", { class: "ss-text" }, ...spread, make("span", { class: "ss-end" }, make("span", { class: "ss-query" }, "the"), ` → ${next}? `, odds, bar)) };
  });
  const told = make("p", { class: "ss-lab-words" });
  const lines = shown.map(({ line }) => line);
  const laws = make("div", { class: "ss-choices", role: "radiogroup", "aria-label": "Law" }, "Attention moves by ", ...choices);
  const byLaw = (value) => readings[value][0].map(({ attention }) => attention[0]);
  const curves = opening && makeCurves(times, { ideal: byLaw("ideal"), true: byLaw("true") }, { ideal: nameOf("ideal"), true: nameOf("true") }, "weight of the three “and”");
  if (opening) time.bar.querySelector(".ss-lab-track").prepend(curves.element);
  const middle = Math.round(Math.sqrt(times[0] * times.at(-1)));
  if (opening) root.replaceChildren(...lines, time.bar, laws, told, legendOf(middle));
  else root.replaceChildren(laws, ...lines, time.bar, told, makeTake("sentence", [...lines, told]));

  /** What each law has taken off the weight of "and". */
  function comparison(index) {
    const [paper, gradient] = Object.keys(LAWS).map((one) => 100 * readings[one][0][index].attention[0]);
    const before = 100 * readings.true[0][0].attention[0];
    const lost = (weight) => (before - weight < VISIBLE ? "less than 0.1" : (before - weight).toPrecision(2));
    return `At ${step(now)} the three “and” have lost ${lost(paper)} points of their ${before.toFixed(1)} % by the paper’s law, ${lost(gradient)} by the gradient.`;
  }

  function draw() {
    const index = Math.max(0, times.findLastIndex((t) => t <= now * (1 + 1e-12)));
    shown.forEach(({ marks, odds, bar, counts }, i) => {
      const { attention, next } = readings[law][i][index];
      marks.forEach(({ at, box }) => box.style.setProperty("--share", (attention[at] / counts[at]).toFixed(4)));
      odds.textContent = `${(100 * next).toFixed(next > 0.1 ? 0 : 1)} %`;
      bar.style.setProperty("--share", next.toFixed(4));
    });
    if (opening) curves.show(index);
    told.setAttribute("aria-live", time.playing ? "off" : "polite"); // words that run with the picture aren't read out
    const [before, after] = [0, index].map((k) => (100 * readings[law][0][k].attention[0]).toFixed(1));
    told.textContent = opening
      ? comparison(index)
      : `By ${LAWS[law]}, at t = ${readable(now)} (${readable(now / moments.snap, 2)} t₀), the three “and” of the first text have ${after} % of its attention; they began with ${before} %.`;
  }
  root.lab = { readingOf, times, moments, scene: SCENE }; // for the tests
  // On the first page the text's names of the laws choose one.
  if (opening)
    document.addEventListener("click", ({ target }) => {
      const chosen = target.closest(".ss-name")?.dataset.name.replace("law:", "");
      choices.find((label) => label.dataset.name === `law:${chosen}`)?.click();
    });
  time.span(times, moments, now);
  draw();
  root.dataset.state = "done";
  if (opening) time.play();
}
