"use strict";

// Memory as a spring: the decoder's memory catches one word after another as attention gets faster.

const SPRING = { K: 2, M: 1000, rho: 0.3, w: [1, 0.6, 0.3, 0.01], etaY: 1, model: "plain" };

/** At 40 t_0, of the first three distinct words: the memory number, and the kept share, relative to the last one, too rare to be held. */
function caughtAt(etaZ) {
  const { K, M, etaY } = SPRING;
  const [system, t] = [core.withOverlap(SPRING), core.moments(SPRING).all[4]];
  const flow = core.flowOf("true", system, { ...SPRING, etaZ });
  const square = system.probs[0].reduce((sum, p) => sum + p * p, 0);
  const squares = Array.from(system.probs[0], (p) => (p * p) / square);
  const a = (M - 1) * core.formulas.h(t / K, M, etaY);
  let gains = [];
  core.integrate(flow, [t], 1e-9, (_, state) => (gains = squares.map((f2, i) => state[flow.z + i] / f2)));
  return [1, 2, 3].map((i) => ({ kept: gains[i] / gains[4], memory: (etaZ / etaY / 2) * squares[i] * a * a }));
}

/** Fills an element with the words and a slider of attention's rate. */
function makeSpring(root) {
  const field = makeField("etaZ", draw);
  const told = make("p", { class: "ss-lab-words", "aria-live": "polite" });
  const rows = SPRING.w.slice(0, 3).map((weight) => {
    const [bar, number] = [make("b"), make("output")];
    return { bar, number, row: make("li", {}, make("span", {}, `frequency ${weight}`), make("div", {}, bar), number) };
  });
  const heading = make("figcaption", {}, "Share of its gain that a word keeps, at 40 t₀ under the gradient, and its memory number m");
  const figure = make("figure", { class: "ss-lab-chart" }, heading, make("ul", { class: "ss-lab-bars" }, ...rows.map(({ row }) => row)));
  root.replaceChildren(make("div", { class: "ss-lab-controls", role: "group", "aria-label": "Setting" }, field.box), figure, told, makeTake("spring", [figure, told]));
  function draw(text) {
    const { values, faults } = check({ ...DEFAULTS, etaZ: text });
    field.show(text, faults.etaZ);
    if (faults.etaZ) return;
    const found = caughtAt(values.etaZ);
    rows.forEach(({ bar, number }, i) => {
      const { kept, memory } = found[i];
      bar.style.width = `${Math.min(100, 100 * kept)}%`;
      bar.style.background = `var(--lab-${memory > 1 ? "common" : "accent"})`;
      number.textContent = `${(100 * kept).toFixed(0)} %, m = ${readable(memory, 2)}`;
    });
    const held = found.filter(({ memory }) => memory > 1).length;
    told.replaceChildren(...withSubscripts(`At η_Z/η_Y = ${text} the memory number of ${held} of the three words is above 1 (warm colour). A word that memory leaves alone keeps 100 %.`));
    root.lab = { found }; // for the tests
    root.dataset.state = "done";
  }
  draw("0.1");
}
