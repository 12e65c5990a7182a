"use strict";

// Two trainings side by side on the same data, clock and scale: the paper's law (10), and the true gradient with a magnifier.

const SIDES = { ideal: "The paper’s law (10)", true: "The true gradient" };

/** Fills an element with both trainings. */
function makePair(root) {
  const worker = new Worker(URL.createObjectURL(new Blob([`(${labCore})().serve(self)`], { type: "text/javascript" })));
  const texts = { ...DEFAULTS, etaZ: "0.1", dyn: "ideal", beyond: "1" };
  const fields = ["K", "M", "rho", "etaY", "etaZ"].map((key) => [key, makeField(key, (text) => change(key, text))]);
  let [asked, picture, now, timer] = [0, null, 0, null];
  let coming = {};
  const time = makeTime((t) => {
    now = t;
    drawTime();
  });
  const span = []; // of both charts' scale: from the lowest z of both to the highest
  const lens = makeLens([0, 1]);
  const sides = Object.entries(SIDES).map(([dynamics, title]) => {
    const [bars, chart] = [makeBars(), makeChart("z", "Attention logits z over time t (both on one scale)", span, dynamics === "true" ? lens : null, HEIGHT_WITH_LENS)];
    const figure = make("figure", { class: "ss-lab-chart" }, make("figcaption", {}, title), bars.list);
    return { dynamics, title, bars, chart, view: make("div", {}, figure, chart.figure) };
  });
  const [notice, told] = [make("p", { class: "ss-lab-fault", role: "status" }), make("p", { class: "ss-lab-words", "aria-live": "polite" })];
  const boxes = fields.map(([, field]) => field.box);
  const both = make("div", { class: "ss-pair-sides" }, ...sides.map(({ view }) => view));
  root.replaceChildren(make("div", { class: "ss-lab-controls", role: "group", "aria-label": "Setting" }, ...boxes), notice, time.bar, both, told, makeTake("pair", [both, told], tell));

  function change(key, text) {
    texts[key] = text;
    const { values, faults } = check(texts);
    fields.forEach(([name, field]) => field.show(texts[name], faults[name]));
    root.dataset.faults = Object.keys(faults).join(" ");
    notice.textContent = root.dataset.faults ? "The picture belongs to the last sound setting." : "";
    if (root.dataset.faults) return;
    root.dataset.state = "busy";
    const { K, M, w, rho, etaY, etaZ, T, B, seed, dyn, model } = values;
    worker.postMessage({ id: ++asked, settings: { K, M, w, rho, etaY, etaZ, T, B, seed, dyn, model } });
    coming = {};
  }
  worker.onmessage = ({ data: { id, settings, path, failure } }) => {
    if (id !== asked) return;
    notice.textContent = failure ? `This setting can’t be followed (${failure}).` : "";
    if (failure) return (root.dataset.state = "failed");
    coming[path.dynamics] = path;
    if (!coming.ideal || !coming.true) return;
    const [seen, moments] = [{ ...settings, n: 1 }, core.moments(settings)];
    now = (picture ? now / picture.moments.snap : 1) * moments.snap; // t_0 stays t_0
    const system = core.withOverlap(settings);
    const curves = Object.fromEntries(Object.entries(coming).map(([dynamics, one]) => [dynamics, Object.assign(curvesOf(one, system, seen), { words: TEXTS[0].words })]));
    picture = { seen, system, curves, moments };
    const values = Object.values(curves).flatMap(({ z }) => z.flatMap((row) => Array.from(row)));
    span.splice(0, 2, values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b)));
    draw();
    root.dataset.state = "done";
  };
  function draw() {
    const { curves, moments } = picture;
    now = time.span(curves.true.times, moments, now);
    sides.forEach(({ dynamics, title, chart }) => {
      chart.draw(curves[dynamics], null, moments, now);
      chart.describe(courseOf(`z of “and”, ${title}`, curves[dynamics], curves[dynamics].z[0], moments));
    });
    drawTime();
  }
  function drawTime() {
    if (!picture) return;
    const { curves, seen, system } = picture;
    const prior = system.probs[0];
    const index = indexAt(curves.true.times, now);
    sides.forEach(({ dynamics, bars, chart }) => {
      bars.draw(curves[dynamics], index, prior, seen.w, inks(root), curves[dynamics].words);
      chart.mark(now);
    });
    clearTimeout(timer);
    timer = setTimeout(tell, 250);
  }
  function tell() {
    const { curves, seen } = picture;
    const [left, right] = ["ideal", "true"].map((dynamics) => readable(curves[dynamics].z[0][indexAt(curves.true.times, now)]));
    told.replaceChildren(...withSubscripts(`${outsideAssumption2(seen)} ${settingInWords(seen)}: at t = ${readable(now)} the z of “and” is ${left} by the paper’s law (10) and ${right} under the true gradient.`));
  }
  root.lab = { lens, get picture() { return picture; }, get scales() { return sides.map(({ chart }) => chart.scale); } }; // for the tests
  new ResizeObserver(() => sides.forEach(({ chart }) => chart.resize())).observe(root);
  new MutationObserver(() => picture && draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  change("dyn", "ideal");
}
