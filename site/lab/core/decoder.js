"use strict";

/**
 * The decoder on one sample: w = Y^T f and e = x_{T+1} - alpha over the outputs (Eqn 3). The last output stands for all
 * M - K tokens that are no class: Y(0) = 0 keeps their columns equal, and e holds the sum of theirs.
 */
function decode(system, n, tokens, f, Y, w, e) {
  const { outputs, others } = system;
  w.fill(0);
  for (let i = 0; i < tokens.length; i++) {
    const row = tokens[i] * outputs;
    for (let o = 0; o < outputs; o++) w[o] += f[i] * Y[row + o];
  }
  let top = w[outputs - 1] + Math.log(others);
  for (let o = 0; o < outputs - 1; o++) if (w[o] > top) top = w[o];
  let total = 0;
  for (let o = 0; o < outputs; o++) {
    e[o] = (o < outputs - 1 ? 1 : others) * Math.exp(w[o] - top);
    total += e[o];
  }
  for (let o = 0; o < outputs; o++) e[o] = (o === n ? 1 : 0) - e[o] / total;
}

/** Adds `rate` f e^T to dY: the ascent of Y (Eqn 3), for one of the equal columns in the last place. */
function addDecoderStep(system, tokens, f, e, rate, dY) {
  const { outputs, others } = system;
  for (let i = 0; i < tokens.length; i++) {
    const row = tokens[i] * outputs;
    for (let o = 0; o < outputs - 1; o++) dY[row + o] += rate * f[i] * e[o];
    dY[row + outputs - 1] += (rate * f[i] * e[outputs - 1]) / others;
  }
}

/** Adds `rate` f∘(g - f f^T g), with g = Y e, to dz: the ascent of the query's row of Z (Eqn 4). */
function addAttentionStep(system, tokens, f, e, Y, rate, dz, g) {
  const { outputs } = system;
  let along = 0;
  for (let i = 0; i < tokens.length; i++) {
    g[i] = 0;
    const row = tokens[i] * outputs;
    for (let o = 0; o < outputs; o++) g[i] += e[o] * Y[row + o];
    along += f[i] * g[i];
  }
  for (let i = 0; i < tokens.length; i++) dz[tokens[i]] += rate * f[i] * (g[i] - f[i] * along);
}
