"use strict";

// How much weight a word has at each step, by each law, drawn above a slider and on its clock.

const ACROSS = 1000; // of the drawing, in units of its own: the slider's way
const DOWN = 100; // for weights from LOWEST to HIGHEST
const LOWEST = 0;
const HIGHEST = 0.4;

/**
 * Curves of weights at ascending `times`, by law. `names` says what a law is called; `mark` has a time and its meaning.
 * `show(index)` moves the line that stands at the present time, and writes the weights of that time.
 */
function makeCurves(times, weights, names, mark) {
  const x = (t) => (ACROSS * (t - times[0])) / (times.at(-1) - times[0]);
  const y = (weight) => (DOWN * (HIGHEST - weight)) / (HIGHEST - LOWEST);
  const laws = Object.keys(weights);

  const curves = laws.map((law) => {
    const points = weights[law].map((weight, i) => `${x(times[i]).toFixed(1)} ${y(weight).toFixed(2)}`);
    return withName(shape("path", { class: `ss-curve ss-curve-${law}`, d: `M${points.join("L")}` }), `law:${law}`);
  });
  const then = shape("path", { class: "ss-curve-then", d: `M${x(mark.at).toFixed(1)} 0V${DOWN}` });
  const now = shape("path", { class: "ss-curve-now" });
  const drawing = shape("svg", { viewBox: `0 0 ${ACROSS} ${DOWN}`, preserveAspectRatio: "none", "aria-hidden": "true" }, then, ...curves, now);

  // The highest curve's name stands over its end and the others' under theirs, so that none stands between two curves.
  // The mark's meaning stands on the ground, right of its line.
  const highest = laws.reduce((one, other) => (weights[one].at(-1) < weights[other].at(-1) ? other : one));
  const labels = laws.map((law) =>
    make("span", { class: `ss-curve-name${law === highest ? " ss-over" : ""}`, style: `top: ${y(weights[law].at(-1)).toFixed(1)}%` }),
  );
  const meaning = make("span", { class: "ss-curve-mark", style: `left: ${((100 * x(mark.at)) / ACROSS).toFixed(1)}%` }, mark.text);
  // Where the curves begin, and 0.
  const ends = [weights[laws[0]][0], LOWEST].map((weight) =>
    make("span", { class: "ss-curve-end", style: `top: ${y(weight).toFixed(1)}%` }, weight ? `${(100 * weight).toFixed(1)} %` : "0 %"),
  );
  const element = make("div", { class: "ss-curves" }, drawing, ...ends, meaning, ...labels);

  const show = (index) => {
    now.setAttribute("d", `M${x(times[index]).toFixed(1)} 0V${DOWN}`);
    labels.forEach((one, i) => (one.textContent = `${names[laws[i]]}: ${(100 * weights[laws[i]][index]).toFixed(1)} %`));
  };
  return { element, show };
}
