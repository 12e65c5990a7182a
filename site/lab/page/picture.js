"use strict";

/** The places, from one on, of the largest values: of several that differ by no more than rounding all. */
function largestOf(values, from = 0) {
  const largest = Math.max(...values.slice(from));
  return [...values.keys()].slice(from).filter((i) => values[i] >= largest * (1 - 1e-9));
}

/** The curves of class n along a path: what the charts draw, the bars show and the table says. */
function curvesOf(path, system, settings) {
  const { n, w } = settings;
  const [own, L] = [system.tokens[n - 1], system.L];
  const { times, B } = path;
  const z = Array.from(own, (token) => Float64Array.from(times, (_, i) => path.z[i * L + token]));
  const c = Array.from(times, (_, i) => core.attention(system, n - 1, path.z.subarray(i * L, (i + 1) * L)));
  const winners = largestOf([0, ...w], 1); // l_0: the most frequent of the class's distinct tokens, or several that are so
  const winner = winners[0];
  const rarest = largestOf([0, ...w.map((weight) => 1 / weight)], 1)[0];
  const f = system.probs[n - 1];
  const f_0 = f[winner] / Math.hypot(...f);
  return {
    dynamics: path.dynamics,
    start: f,
    times,
    z,
    gain: z.map((values) => values.map((value, i) => value / z[winner][i])), // over the most frequent distinct token's
    c,
    winner,
    winners,
    rarest,
    f_0,
    B,
    entropy: Float64Array.from(c, core.entropy),
    chi: winners.map((token) => z[token].map((value) => core.formulas.chi(value, 0))),
    lower: B && B.map((value) => core.formulas.chi_lower(f_0, value)),
    upper: B && B.map((value) => core.formulas.chi_upper(value)),
  };
}

/** The index of the last of the times up to t; the first where all are later. */
function indexAt(times, t) {
  let index = 0;
  while (index + 1 < times.length && times[index + 1] <= t * (1 + 1e-12)) index++;
  return index;
}

/** The share of the common token's movement, up to the last time, that comes after t_0. */
function shareAfter(times, z, snap) {
  return 1 - z[indexAt(times, snap)] / z[z.length - 1];
}

/** z of the common token and B_n as Theorem 4 prints them, at h = h(t/K). */
function printedAt(h, { M, K, rho, etaY, etaZ }) {
  return { z: core.formulas.z_printed(h, M, K, rho, etaY, etaZ), B: core.formulas.B_printed(h, M, K, rho, etaY, etaZ) };
}

function printedShareAfter(settings, { scan, snap, all }) {
  const at = (t) => printedAt(core.formulas.h(t / settings.K, settings.M, settings.etaY), settings).z;
  return 1 - at(snap) / at(all[all.length - 1]);
}
