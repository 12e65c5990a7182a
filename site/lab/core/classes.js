"use strict";

/**
 * The class system of scansnap_core.data.datasets.with_overlap on the axes that can move: the common token is row 0, then
 * come the distinct tokens class by class. One query token serves all classes.
 */
function withOverlap({ K, M, rho, w }) {
  const common = Math.sqrt(rho / (1 - rho)) * Math.hypot(...w);
  const weights = [common, ...w];
  const total = weights.reduce((a, b) => a + b, 0);
  const probs = Float64Array.from(weights, (weight) => weight / total);
  const tokens = Array.from({ length: K }, (_, n) => Int32Array.from(weights, (_, i) => (i ? n * w.length + i : 0)));
  return { K, L: 1 + K * w.length, outputs: K + 1, others: M - K, tokens, probs: tokens.map(() => probs) };
}

/** f = LN(c) of one sample (Eqn 5) into `f`, from the frequencies q of the tokens it may hold and the logits z over L. */
function attend(tokens, q, z, f) {
  let top = -Infinity;
  for (let i = 0; i < tokens.length; i++) if (q[i] > 0 && z[tokens[i]] > top) top = z[tokens[i]];
  let square = 0;
  for (let i = 0; i < tokens.length; i++) {
    f[i] = q[i] > 0 ? q[i] * Math.exp(z[tokens[i]] - top) : 0;
    square += f[i] * f[i];
  }
  const norm = Math.sqrt(square);
  for (let i = 0; i < tokens.length; i++) f[i] /= norm;
}

/** c, the same normalised to sum 1. */
function attention(system, n, z) {
  const c = new Float64Array(system.tokens[n].length);
  attend(system.tokens[n], system.probs[n], z, c);
  const total = c.reduce((a, b) => a + b, 0);
  return c.map((value) => value / total);
}

/** H_n over the class's distinct tokens, renormalised over them (Fig. 6), in nats. Row 0 of c is the common token. */
function entropy(c) {
  let total = 0;
  for (let i = 1; i < c.length; i++) total += c[i];
  let H = 0;
  for (let i = 1; i < c.length; i++) if (c[i] > 0) H -= (c[i] / total) * Math.log(c[i] / total);
  return H;
}
