"use strict";

/** Random numbers in [0, 1) from a seed: sfc32 (Doty-Humphrey), started after its first outputs. */
function generator(seed) {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, seed | 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let i = 0; i < 20; i++) next();
  return next;
}

/** Walker's alias table of a distribution: each draw costs one look-up, however many tokens a class has. */
function aliasTable(probs) {
  const size = probs.length;
  const part = Float64Array.from(probs, (p) => p * size);
  const alias = new Int32Array(size);
  const [small, large] = [[], []];
  part.forEach((p, i) => (p < 1 ? small : large).push(i));
  while (small.length && large.length) {
    const [s, l] = [small.pop(), large.pop()];
    alias[s] = l;
    part[l] -= 1 - part[s];
    (part[l] < 1 ? small : large).push(l);
  }
  for (const i of [...small, ...large]) part[i] = 1;
  return { part, alias };
}

/**
 * A training from Y(0) = Z(0) = 0 by Lemma 1's gradients: each update is the mean over B samples of a uniformly drawn
 * class and T - 1 contextual tokens; T = Infinity takes q = P(.|n). Clock: updates.
 */
function training(system, { etaY, etaZ, T, B, seed }) {
  const { K, L, outputs, tokens, probs } = system;
  const random = generator(seed);
  const tables = probs.map(aliasTable);
  const [Y, dY] = [0, 0].map(() => new Float64Array(L * outputs));
  const [z, dz] = [0, 0].map(() => new Float64Array(L));
  const longest = Math.max(...tokens.map((own) => own.length));
  const [f, g, drawn] = [0, 0, 0].map(() => new Float64Array(longest));
  const [w, e] = [0, 0].map(() => new Float64Array(outputs));

  function sample(n) {
    if (T === Infinity) return probs[n];
    const size = probs[n].length;
    const { part, alias } = tables[n];
    drawn.fill(0);
    for (let i = 1; i < T; i++) {
      const place = random() * size;
      const token = Math.floor(place);
      drawn[place - token < part[token] ? token : alias[token]] += 1 / (T - 1);
    }
    return drawn;
  }

  function update() {
    dY.fill(0);
    dz.fill(0);
    for (let b = 0; b < B; b++) {
      const n = Math.floor(random() * K);
      const own = tokens[n];
      attend(own, sample(n), z, f);
      decode(system, n, own, f, Y, w, e);
      addDecoderStep(system, own, f, e, etaY / B, dY);
      addAttentionStep(system, own, f, e, Y, etaZ / B, dz, g);
    }
    for (let i = 0; i < Y.length; i++) Y[i] += dY[i];
    for (let i = 0; i < z.length; i++) z[i] += dz[i];
  }
  return { z, update };
}
