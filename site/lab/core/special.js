"use strict";

// The functions that the generated formulas call and that JavaScript lacks.

function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/** Wright's omega: omega + ln omega = x, by Newton on v = ln omega from the right of the root. */
function omega(x) {
  let v = Math.log(Math.max(x, 1));
  for (let i = 0; i < 8; i++) v -= (v + Math.exp(v) - x) / (1 + Math.exp(v));
  return Math.exp(v);
}

/** The branch W_{-1} on (-1/e, 0): -u with u - ln u = -ln(-x), by Newton from the right of the root. */
function lowerLambertW(x) {
  const level = -Math.log(-x);
  let u = level + Math.sqrt(2 * (level - 1)) + level;
  for (let i = 0; i < 40; i++) u -= (u - Math.log(u) - level) / (1 - 1 / u);
  return -u;
}
