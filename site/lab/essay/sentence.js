"use strict";

// Two texts whose words light up as the model learns: the attention of each word, and the probability of the next one.

const SCENE = { K: 2, M: 1000, rho: 0.3, w: [1, 0.8, 0.5], etaY: 1, etaZ: 0.1, model: "plain" };
const TEXTS = [
  { next: "ship", words: ["and", "wave", "sail", "harbour"], text: "wave and sail and wave harbour and wave sail" },
  { next: "plane", words: ["and", "cloud", "wing", "runway"], text: "cloud and wing cloud and runway and cloud wing" },
];
const LAWS = { ideal: "the paper’s law (10)", true: "the gradient" };

/** The place of the last of ascending times that isn't after t, or 0. */
const lastBefore = (times, t) => Math.max(0, times.findLastIndex((one) => one <= t * (1 + 1e-12)));

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

/** Along each law, of each text: what `readingOf` finds at these times. */
function readingsOf(texts, times) {
  const countsOf = ({ words, text }) => words.map((word) => text.split(" ").filter((one) => one === word).length);
  return Object.fromEntries(Object.keys(LAWS).map((law) => [law, texts.map((text) => readingOf(law, countsOf(text), times))]));
}

/** A text as a line of words, each with a bar, and the right next word. `show` gives it the weights and the odds of a moment. */
function makeLine({ next, words, text }) {
  const marks = text.split(" ").map((word) => ({ at: words.indexOf(word), box: withName(make("span", { class: word === "and" ? "ss-token ss-token-common" : "ss-token" }, word, make("b")), word) }));
  const counts = words.map((_, place) => marks.filter(({ at }) => at === place).length);
  const odds = make("output", {});
  const bar = make("span", { class: "ss-odds", "aria-hidden": "true" }, make("b"));
  const end = make("span", { class: "ss-end" }, make("span", { class: "ss-query" }, "the"), ` → ${next}? `, odds, bar);
  const element = make("p", { class: "ss-text" }, ...marks.flatMap(({ box }) => [box, " "]), end);
  const show = (reading) => {
    marks.forEach(({ at, box }) => box.style.setProperty("--share", (reading.attention[at] / counts[at]).toFixed(4)));
    odds.textContent = `${(100 * reading.next).toFixed(reading.next > 0.1 ? 0 : 1)} %`;
    bar.style.setProperty("--share", reading.next.toFixed(4));
  };
  return { element, show };
}

/** Fills an element with the texts, the choice of a law and the time. */
function makeSentence(root) {
  const moments = core.moments(SCENE);
  const times = Float64Array.from(new Set([...Array.from({ length: 160 }, (_, i) => (moments.scan / 100) * ((4000 * moments.snap) / moments.scan) ** (i / 160)), ...moments.all])).sort();
  const readings = readingsOf(TEXTS, times);
  let [law, now] = ["ideal", moments.snap]; // at the start there is nothing to be seen
  const moved = (t) => {
    now = t;
    draw();
  };
  const time = makeTime(moved, { mark: "t₀" });
  const name = freshId("law");
  const choices = Object.keys(LAWS).map((value) => {
    const input = make("input", { type: "radio", name, value, ...(value === law ? { checked: "" } : {}) });
    input.addEventListener("change", () => {
      law = value;
      draw();
    });
    return withName(make("label", {}, input, ` ${LAWS[value]}`), `law:${value}`);
  });
  const lines = TEXTS.map(makeLine);
  const elements = lines.map(({ element }) => element);
  const told = make("p", { class: "ss-lab-words" });
  const laws = make("div", { class: "ss-choices", role: "radiogroup", "aria-label": "Law" }, "Attention moves by ", ...choices);
  root.replaceChildren(laws, ...elements, time.bar, told, makeTake("sentence", [...elements, told]));

  function draw() {
    const index = lastBefore(times, now);
    lines.forEach(({ show }, i) => show(readings[law][i][index]));
    told.setAttribute("aria-live", time.playing ? "off" : "polite"); // words that run with the picture aren't read out
    const [before, after] = [0, index].map((k) => (100 * readings[law][0][k].attention[0]).toFixed(1));
    told.textContent = `By ${LAWS[law]}, at t = ${readable(now)} (${readable(now / moments.snap, 2)} t₀), the three “and” of the first text have ${after} % of its attention; they began with ${before} %.`;
  }
  root.lab = { readingOf, times, moments, scene: SCENE }; // for the tests
  time.span(times, moments, now);
  draw();
  root.dataset.state = "done";
}
