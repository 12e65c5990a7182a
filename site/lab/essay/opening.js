"use strict";

// The first page's picture: one text, which plays, read by both laws at once. It uses no symbol.

const LENGTH = 5; // times t_0: how long it plays
const FRAMES = 160;
const VISIBLE = 0.1; // percentage points: a smaller change is lost in rounding
const OPENING_LAWS = { true: "the gradient", ideal: "the paper’s law" }; // in the order of their rows
const ROWS = { true: "What training does, in small steps: the gradient", ideal: "What the paper’s formulas say: its law" };
const WATCHED = "weight of the three “and” together";

/** What the colours, bars and tints mean. */
function makeKey() {
  const entry = (kind, text) => make("span", {}, make("b", { class: kind, "aria-hidden": "true" }), ` ${text}`);
  return make(
    "p",
    { class: "ss-key" },
    entry("ss-key-common", "a word of every topic, "),
    entry("ss-key-own", "a word of this topic alone. "),
    "The deeper the bar and the stronger the tint, the more weight. The last bar is the chance of “ship”.",
  );
}

/** Fills an element with the text by each law, the curves of one word's weight, and the time. */
function makeOpening(root) {
  const { scan, snap, all } = core.moments(SCENE);
  const end = LENGTH * snap;
  const times = Float64Array.from({ length: FRAMES + 1 }, (_, i) => (end * i) / FRAMES);
  times[0] = end / 1e4; // almost the start: the solver has to come from there
  const readings = readingsOf(TEXTS.slice(0, 1), times);
  const laws = Object.keys(OPENING_LAWS);
  const step = (t) => `step ${Math.round(t)}`;
  let now = snap; // at the start there is nothing to be seen
  const moved = (t) => {
    now = t;
    draw();
  };
  const time = makeTime(moved, { say: step, even: true });

  const rows = laws.map((law) => {
    const line = makeLine(TEXTS[0]);
    const name = withName(make("p", { class: "ss-row-name" }, ROWS[law]), `law:${law}`);
    return { law, line, elements: [name, line.element] };
  });
  const weights = Object.fromEntries(laws.map((law) => [law, readings[law][0].map(({ attention }) => attention[0])]));
  const mark = { at: snap, text: `the paper’s snap, ${step(snap)}: from here on, the paper says, attention only creeps` };
  const curves = makeCurves(times, weights, OPENING_LAWS, mark);
  const told = make("p", { class: "ss-lab-words" });
  time.bar.querySelector(".ss-lab-track").prepend(make("span", { class: "ss-curve-title" }, WATCHED), curves.element);
  root.replaceChildren(...rows.flatMap(({ elements }) => elements), makeKey(), time.bar, told);

  /** What each law has taken off the weight of "and". */
  function comparison(index) {
    const before = 100 * weights.true[0];
    const lost = laws.map((law) => {
      const points = before - 100 * weights[law][index];
      return points < VISIBLE ? "less than 0.1" : points.toPrecision(2);
    });
    return `At ${step(now)} the three “and” have lost ${lost[0]} points of their ${before.toFixed(1)} % by the gradient, ${lost[1]} by the paper’s law.`;
  }

  function draw() {
    const index = lastBefore(times, now);
    rows.forEach(({ law, line }) => line.show(readings[law][0][index]));
    curves.show(index);
    told.setAttribute("aria-live", time.playing ? "off" : "polite"); // words that run with the picture aren't read out
    told.textContent = comparison(index);
  }
  const moments = { scan, snap, all: [...all.filter((t) => t < end), end] };
  root.lab = { readingOf, times, moments, scene: SCENE }; // for the tests
  time.span(times, moments, now);
  draw();
  root.dataset.state = "done";
  time.play();
}
