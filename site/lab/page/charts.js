"use strict";

/** The colours of the page as it is now, light or dark. */
function inks(element) {
  const style = getComputedStyle(element);
  const ink = (name) => style.getPropertyValue(`--lab-${name}`).trim();
  return { text: ink("text"), grid: ink("grid"), common: ink("common"), bound: ink("bound"), hues: ink("hues").split(/\s+/), light: ink("light") };
}

/** The colour of distinct token i = 1..d of a class, from one end of the palette to the other. */
function distinctInk({ hues: [from, to], light }, i, d) {
  const hue = Number(from) + ((Number(to) - Number(from)) * (i - 1)) / Math.max(1, d - 1);
  return `hsl(${hue} 70% ${light})`;
}

const pen = document.createElement("canvas").getContext("2d");

/** A colour as every program that draws SVG reads it, #rrggbb; a transparent one begins with rgba. */
function plainColour(colour) {
  pen.fillStyle = colour;
  return pen.fillStyle;
}

/** A number with the decimals that its axis needs, whose neighbours are a step away: two for 0.25. */
function decimal(y, step) {
  let places = Math.max(0, Math.floor(-Math.log10(step)));
  const whole = (x) => Math.abs(x - Math.round(x)) < 1e-6 * x;
  while (places < 12 && !whole(step * 10 ** places)) places++;
  return y.toFixed(Math.min(12, places)).replace("-", "−");
}

const HEIGHT = 208; // of a chart
const HEIGHT_WITH_LENS = 268;
const FAINT = 0.2; // how much is seen of curves beside those that are lit
const CLOCK = "time t, in steps";
// In a small lab a line's style says which law it follows; in the lab the solid one is the dynamics chosen.
const STYLES = { ideal: { name: "solid: the paper’s law (10)" }, true: { dash: [5, 4], name: "dashed: the gradient" }, sgd: { dash: [2, 2], name: "dotted: SGD" } };

/** The range of an axis: a span of less than a millionth has no ticks that uPlot can write. */
function wide(low, high) {
  const least = 1e-6 * Math.max(Math.abs(low), Math.abs(high));
  return high - low < least ? [low - least, high + least] : uPlot.rangeNum(low, high, 0.1, true);
}

/** The multiples 1 to 9 of the powers of ten in a range; uPlot's own never end where it begins just below a power. */
function multiples(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (let factor = 1; factor < 10; factor++) found.push(Number(`${factor}e${power}`));
  }
  return found.filter((t) => t >= low && t <= high);
}

/** What a chart draws: a label, a value for each time, and how; one without values stands in the legend alone. Dashed curves
 * are the true gradient's; `swatch` is a legend's colour; by `name` and `law` a line lights up (light.js). */
function linesOf(kind, shown, truth, ink) {
  const lines = [];
  const line = (label, values, stroke, dash, swatch = stroke, width = dash ? 1.4 : 2, of = {}) => values && lines.push({ label, values, stroke, dash, swatch, width, ...of });
  const d = shown.z.length - 1;
  const own = (i) => ({ name: shown.words?.[i] ?? `token ${i}`, law: shown.dynamics });
  const flow = (i) => ({ name: shown.words?.[i] ?? `token ${i}`, law: "true" });
  if (kind === "z" || kind === "gain") {
    const { dash, name } = (shown.words && STYLES[shown.dynamics]) ?? {};
    const gradient = shown.words ? STYLES.true.name : "dashed, in the same colours: true gradient";
    const widest = shown.words && shown.dynamics === "true" ? 1.5 : 0; // curves that coincide are stripes
    const least = kind === "z" ? 0 : 1; // the common token has no gain
    const colour = (i) => (i ? distinctInk(ink, i, d) : ink.common);
    for (let i = least; i <= d; i++) line(shown.words?.[i] ?? (i ? `distinct ${i}` : "common token"), shown[kind][i], colour(i), dash, colour(i), 2 + (i && widest * (d - i)), own(i));
    if (name) lines.push({ label: name, dash, swatch: ink.text, law: shown.dynamics });
    for (let i = least; truth && i <= d; i++) line(gradient, truth[kind][i], colour(i), [5, 4], i > least ? null : ink.text, 1.4, flow(i));
  } else if (kind === "shares") {
    const colour = (i) => (i ? distinctInk(ink, i, d) : ink.common);
    shown.names.forEach((name, i) => line(name, shown.z[i], colour(i), undefined, colour(i), 2, { name, law: "ideal" }));
    lines.push({ label: STYLES.ideal.name, swatch: ink.text, law: "ideal" });
    truth.z.forEach((values, i) => line("dashed, in the same colours: true gradient", values, colour(i), [5, 4], i ? null : ink.text, 1.4, { name: shown.names[i], law: "true" }));
  } else if (kind === "entropy") {
    line("entropy", shown.entropy, ink.common);
    line("true gradient", truth?.entropy, ink.common, [5, 4]);
  } else {
    const size = shown.winners.length;
    const called = size === 1 ? "χ of the most frequent distinct token" : `χ of the ${size} most frequent distinct tokens`;
    shown.chi.forEach((values, i) => line(called, values, ink.common, undefined, i ? null : ink.common));
    line("upper bound of (12)", shown.upper, ink.bound, [2, 3]);
    line("lower bound of (12)", shown.lower, ink.bound, [9, 3, 2, 3]);
    line("true gradient", truth?.chi[0], ink.common, [5, 4]);
  }
  return lines;
}

/** A chart over time with marks at t_0', t_0 and the time shown; `caption` is its heading, `span` what its scale holds at least.
 * A lens magnifies the gradient's curves: the dashed ones, or all where none is dashed. */
function makeChart(kind, caption, span = [], lens = null, height = lens ? HEIGHT_WITH_LENS : HEIGHT) {
  const holder = make("div", { class: "ss-lab-plot", role: "img" });
  const legend = make("p", { class: "ss-lab-legend" });
  const figure = make("figure", { class: "ss-lab-chart" }, make("figcaption", {}, caption), legend, holder);
  const marks = ["scan", "snap", "now"].map((name) => make("span", { class: `ss-lab-mark ss-lab-${name}` }));
  marks[0].textContent = "t₀′";
  marks[1].textContent = "t₀";
  let [plot, drawn, places, small, all, lit] = [null, "", [], [], [], null];
  const ticks = {}; // of each axis: [value, text]
  const named = (axis, splits, texts) => ((ticks[axis] = splits.map((value, i) => [value, texts[i]]).filter(([, text]) => text)), texts);

  const font = () => `12px ${getComputedStyle(holder).fontFamily}`;
  const axis = (ink) => ({ stroke: ink.text, font: font(), grid: { stroke: ink.grid, width: 1 }, ticks: { stroke: ink.grid, size: 4 } });
  // What was painted before the page's font had come is painted again with it.
  document.fonts.ready.then(() => plot?.redraw(false, true));
  const isLit = (line) => line.name === lit || `law:${line.law}` === lit;
  /** Dims the curves that haven't the name that is lit; where none has it, all stay. */
  const dim = () => {
    if (!plot) return;
    const any = all.some(isLit);
    all.forEach((line, i) => {
      line.faint = any && !isLit(line);
      plot.series[i + 1].alpha = line.faint ? FAINT : 1;
    });
    plot.redraw(false);
    lens?.draw(plot, small, places.slice(1));
  };
  document.addEventListener(LIGHT, ({ detail }) => {
    lit = detail;
    dim();
  });
  const place = () => {
    if (!plot) return;
    marks.forEach((mark, i) => {
      const left = plot.valToPos(places[i], "x");
      mark.style.left = `${left}px`;
      mark.hidden = !(left >= 0 && left <= plot.over.clientWidth);
    });
    lens?.draw(plot, small, places.slice(1));
  };
  const build = (data, lines, ink) => {
    plot?.destroy();
    const [first, last] = [data[0][0], data[0][data[0].length - 1]];
    const logarithmic = (splits) => splits.map((t) => (Number.isInteger(Math.log10(t)) ? readable(t, 1) : ""));
    const options = {
      width: Math.max(200, holder.clientWidth),
      height,
      scales: { x: { time: false, distr: 3, range: [first, last] }, y: { range: (_, low, high) => wide(Math.min(low, ...span), Math.max(high, ...span)) } },
      axes: [
        { ...axis(ink), size: 28, label: CLOCK, labelSize: 18, labelFont: font(), splits: (_, __, low, high) => multiples(low, high), values: (_, splits) => named("x", splits, logarithmic(splits)) },
        { ...axis(ink), size: (_, texts) => 16 + 7 * Math.max(3, ...(texts ?? []).map((text) => text.length)), values: (_, splits, axis, space, step) => named("y", splits, splits.map((y) => decimal(y, step))) },
      ],
      series: [{}, ...lines.map(({ label, stroke, dash, width }) => ({ label, stroke, dash, width, points: { show: false } }))],
      legend: { show: false },
      cursor: { show: false },
      hooks: { setSize: [place] },
    };
    plot = new uPlot(options, data, holder);
    plot.over.append(...(lens ? [lens.svg] : []), ...marks);
  };

  /** What uPlot has painted, as SVG in the holder's pixels. */
  holder.shapes = () => {
    const [ink, corner, frame] = [inks(figure), holder.getBoundingClientRect(), plot.over.getBoundingClientRect()];
    const [left, top] = [frame.left - corner.left, frame.top - corner.top];
    const [right, bottom] = [left + frame.width, top + frame.height];
    const [x, y] = [(t) => left + plot.valToPos(t, "x"), (value) => top + plot.valToPos(value, "y")];
    const line = (d, stroke, width, dash) => shape("path", { d, fill: "none", stroke, "stroke-width": width, "stroke-dasharray": dash?.join(" ") ?? null });
    const text = (at, anchor, words) => shape("text", { ...at, fill: ink.text, "font-size": 12, "text-anchor": anchor }, words);
    const curve = (values) => values.flatMap((value, i) => (value === null ? [] : [`${x(plot.data[0][i]).toFixed(1)} ${y(value).toFixed(1)}`]));
    return [
      ...ticks.x.flatMap(([t, words]) => [line(`M${x(t)} ${top}V${bottom}`, ink.grid, 1), text({ x: x(t), y: bottom + 18 }, "middle", words)]),
      ...ticks.y.flatMap(([value, words]) => [line(`M${left} ${y(value)}H${right}`, ink.grid, 1), text({ x: left - 8, y: y(value) + 4 }, "end", words)]),
      text({ x: left + frame.width / 2, y: bottom + 38 }, "middle", CLOCK),
      ...plot.series.slice(1).map(({ stroke, dash, width }, i) => line(`M${curve(plot.data[i + 1]).join("L")}`, plainColour(stroke()), width, dash)),
    ];
  };

  return {
    figure,
    get data() {
      return plot?.data;
    },
    /** Which curves aren't dimmed, for the tests. */
    get lit() {
      return all.filter(({ faint }) => !faint).map(({ name, law }) => `${name} ${law}`);
    },
    get scale() {
      return [plot.scales.y.min, plot.scales.y.max];
    },
    draw(shown, truth, moments, now) {
      const ink = inks(figure);
      const named = linesOf(kind, shown, truth, ink);
      const lines = named.filter(({ values }) => values);
      // SGD may not have come as far as the flow beside it
      const times = truth && truth.times.length > shown.times.length ? truth.times : shown.times;
      const data = [Array.from(times), ...lines.map(({ values }) => Array.from(times, (_, i) => values[i] ?? null))];
      const look = JSON.stringify([lines.map(({ label, stroke }) => [label, stroke]), data[0][0], data[0][data[0].length - 1]]);
      if (look !== drawn) build(data, lines, ink);
      else plot.setData(data);
      drawn = look;
      const dashed = lines.filter(({ dash }) => dash);
      small = dashed.length ? dashed : lines;
      all = lines;
      places = [moments.scan, moments.snap, now];
      place();
      if (lit !== null) dim();
      legend.replaceChildren(
        ...named.filter(({ swatch }) => swatch).map(({ label, swatch, dash, name, law, stroke }) => {
          const sample = shape("path", { d: "M0 3H26", stroke: swatch, "stroke-width": 2, "stroke-dasharray": dash ?? null });
          const called = stroke === swatch && name ? name : law && `law:${law}`; // an entry in a curve's colour is a word's
          return withName(make("span", {}, shape("svg", { "aria-hidden": "true" }, sample), label), called, true);
        }),
      );
    },
    mark(now) {
      places[2] = now;
      place();
    },
    describe: (text) => holder.setAttribute("aria-label", `${caption}. ${text}`),
    resize() {
      if (plot && holder.clientWidth) plot.setSize({ width: holder.clientWidth, height });
    },
  };
}
