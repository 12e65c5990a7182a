"use strict";

const LENS_GAP = 18; // pixels between what is magnified and the box; the lens's words stand there

/** The largest factor of one digit, 1, 2 or 5 times a power of ten, that isn't above x. */
function roundFactor(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [5, 2, 1].find((digit) => digit * power <= x * (1 + 1e-9));
}

/** A magnifier in a chart: curves that are small on its scale once more, higher, in a box below them. The box takes the shares
 * `left` to `right` of the chart's width. */
function makeLens([left, right]) {
  const svg = shape("svg", { class: "ss-lab-lens", "aria-hidden": "true" });
  const path = (name, d, ink) => shape("path", { class: name, d, stroke: ink?.stroke ?? null, "stroke-dasharray": ink?.dash?.join(" ") ?? null });
  return {
    svg,
    factor: 1,
    /** Draws lines of a plot again, with the same marks; where they are large already, nothing. */
    draw(plot, lines, marks) {
      const [width, height] = [plot.over.clientWidth, plot.over.clientHeight];
      const [x, y] = [(t) => plot.valToPos(t, "x"), (value) => plot.valToPos(value, "y")];
      const values = lines.flatMap((line) => Array.from(line.values)).filter(Number.isFinite);
      const [top, zero, bottom] = [y(Math.max(0, ...values)), y(0), y(Math.min(0, ...values))];
      const [from, to, ceiling, floor] = [left * width, right * width, bottom + LENS_GAP, height - 2];
      const room = floor - ceiling - 8;
      this.factor = bottom > top && room > 30 ? roundFactor(room / (bottom - top)) : 1;
      if (!(this.factor >= 2)) return svg.replaceChildren();
      const across = (t) => from + ((to - from) * x(t)) / width;
      const level = (pixels) => ceiling + 4 + this.factor * (pixels - top);
      const [above, below] = [top - 2, bottom + 2];
      const curve = (line) => Array.from(line.values).flatMap((value, i) => (Number.isFinite(value) ? [`${across(plot.data[0][i]).toFixed(1)} ${level(y(value)).toFixed(1)}`] : []));
      const own = right - left < 1 ? marks : []; // a box as wide as the chart has the chart's marks
      svg.replaceChildren(
        path("ss-lens-edge", `M0.5 ${above}H${width - 0.5}V${below}H0.5ZM0.5 ${below}L${from + 0.5} ${ceiling}`),
        shape("rect", { x: from + 0.5, y: ceiling, width: to - from - 1, height: floor - ceiling }),
        path("ss-lens-zero", `M${from} ${level(zero)}H${to}`),
        ...own.map((t, i) => path(i ? "ss-lens-now" : "ss-lens-edge", `M${across(t)} ${ceiling}V${floor}`)),
        ...lines.map((line) => path(line.faint ? "ss-lens-curve ss-faint" : "ss-lens-curve", `M${curve(line).join("L")}`, line)),
        shape("text", { x: from + 6, y: ceiling - 4 }, `gradient × ${this.factor.toLocaleString("en")}`),
      );
    },
  };
}
