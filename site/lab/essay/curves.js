"use strict";

// How much weight a word has at each step, by both laws, drawn above a slider and on its clock.

const ACROSS = 1000; // of the drawing, in units of its own: the slider's way
const DOWN = 100; // for weights from 0 to HIGHEST
const HIGHEST = 0.36;

/**
 * Curves of weights at ascending `times`, by law. `title` says whose weights they are, and `names` what a law is called.
 * `show(index)` moves the line that stands at the present time, and writes the weights of that time.
 */
function makeCurves(times, weights, names, title) {
  const x = (t) => (ACROSS * Math.log(t / times[0])) / Math.log(times.at(-1) / times[0]);
  const y = (weight) => DOWN * (1 - weight / HIGHEST);
  const laws = Object.keys(weights);

  const curves = laws.map((law) => {
    const points = weights[law].map((weight, i) => `${x(times[i]).toFixed(1)} ${y(weight).toFixed(2)}`);
    return shape("path", { class: `ss-curve ss-curve-${law}`, d: `M${points.join("L")}` });
  });
  const now = shape("path", { class: "ss-curve-now" });
  const drawing = shape("svg", { viewBox: `0 0 ${ACROSS} ${DOWN}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...curves, now);

  // A law's name stands under the end of its curve.
  const labels = laws.map((law) => make("span", { class: "ss-curve-name", style: `top: ${y(weights[law].at(-1)).toFixed(1)}%` }));
  const element = make("div", { class: "ss-curves" }, drawing, make("span", { class: "ss-curve-title" }, title), ...labels);

  const show = (index) => {
    now.setAttribute("d", `M${x(times[index]).toFixed(1)} 0V${DOWN}`);
    labels.forEach((label, i) => (label.textContent = `${names[laws[i]]}: ${(100 * weights[laws[i]][index]).toFixed(1)} %`));
  };
  return { element, show };
}
