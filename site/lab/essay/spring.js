"use strict";

// Memory as a spring: the decoder's memory catches one word after another as attention gets faster.

/** At 40 t_0, of each distinct word: z, its gain over the first word's, without memory and with it, f^2 and the memory number. */
function caughtAt(etaZ) {
  const { K, M, etaY } = SCENE;
  const [system, t] = [core.withOverlap(SCENE), core.moments(SCENE).all[4]];
  const flow = core.flowOf("true", system, { ...SCENE, etaZ });
  const square = system.probs[0].reduce((sum, p) => sum + p * p, 0);
  const squares = Array.from(system.probs[0], (p) => (p * p) / square);
  const a = (M - 1) * core.formulas.h(t / K, M, etaY);
  let z = [];
  core.integrate(flow, [t], 1e-9, (_, state) => (z = Array.from(state.slice(flow.z, flow.z + squares.length))));
  const words = SCENE.w.map((_, i) => i + 1);
  return { a, words: words.map((i) => ({ z: z[i], gain: z[i] / z[1], free: squares[i] / squares[1], square: squares[i], memory: (etaZ / etaY / 2) * squares[i] * a * a })) };
}

/** Fills an element with the words and a slider of attention's rate. */
function makeSpring(root) {
  const field = makeField("etaZ", draw);
  const told = make("p", { class: "ss-lab-words", "aria-live": "polite" });
  const { probs } = core.withOverlap(SCENE);
  const names = TEXTS[0].words.slice(1);
  const rows = names.map((name, i) => {
    const [bar, tick, number] = [make("b"), make("i"), make("output")];
    return { bar, tick, number, row: withName(make("li", {}, make("span", {}, `${name} (${(100 * probs[0][i + 1]).toFixed(0)} %)`), make("div", {}, bar, tick), number), name) };
  });
  const heading = make("figcaption", {}, `Gain of each word’s z, over that of “${names[0]}”, at 40 t₀ under the gradient (tick: without memory)`);
  const figure = make("figure", { class: "ss-lab-chart" }, heading, make("ul", { class: "ss-lab-bars" }, ...rows.map(({ row }) => row)));
  root.replaceChildren(make("div", { class: "ss-lab-controls", role: "group", "aria-label": "Setting" }, field.box), figure, told, makeTake("spring", [figure, told]));
  function draw(text) {
    const { values, faults } = check({ ...DEFAULTS, etaZ: text });
    field.show(text, faults.etaZ);
    if (faults.etaZ) return;
    const found = caughtAt(values.etaZ);
    rows.forEach(({ bar, tick, number }, i) => {
      const { gain, free, memory } = found.words[i];
      bar.style.width = `${100 * gain}%`;
      bar.style.background = `var(--lab-${memory > 1 ? "common" : "accent"})`;
      tick.style.left = `${100 * free}%`;
      number.textContent = `${gain.toFixed(2)}, m = ${readable(memory, 2)}`;
    });
    const held = found.words.filter(({ memory }) => memory > 1).length;
    const squares = found.words.map(({ square }) => readable(square, 2)).join(", ");
    told.replaceChildren(...withSubscripts(`At η_Z/η_Y = ${text} the memory number m of ${held} of the three words is above 1 (warm colour). The z of “${names[0]}” is ${readable(found.words[0].z)}. The f² of the words are ${squares}, and a = ${readable(found.a)}. In brackets: shares of the topic.`));
    root.lab = { found }; // for the tests
    root.dataset.state = "done";
  }
  draw("10");
}
