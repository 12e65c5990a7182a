"use strict";

// Right-hand sides on one clock: steps of batch size 1, each class weighed by P(n) = 1/K. The classes are alike, so one
// stands for all: its d + 1 tokens, the common one in place 0, and three kinds of outputs, its own next token, another
// class's, and one of the M - K that name no class. A state holds z (d + 1) from the place `z` on, and
// B of the class at `B` unless the flow has none. Each function is made once a system, since it keeps its work arrays.

/** (I + E)^{-1} for overlaps s between all K classes: v on its diagonal and -o off it; `excess` is v - 1. */
function inverseOf(K, s) {
  const D = (1 - s) * (1 + (K - 1) * s);
  return { v: (1 + (K - 2) * s) / D, o: s / D, excess: ((K - 1) * s * s) / D };
}

/** Eqn 10, quasi-static: z' = eta_Z/K gamma(t) Phi(z) with beta = E' of the present z, and B_n of Theorem 3. */
function idealisedFlow({ K, tokens: [own], probs: [q] }, { M, etaY, etaZ }) {
  const size = own.length;
  const f = new Float64Array(size);

  function rhs(t, state, change) {
    attend(own, q, state, f);
    const s = f[0] * f[0];
    const { o } = inverseOf(K, s); // E' is o off its diagonal
    const pull = (K - 1) * o * s;
    const speed = (etaZ / K) * formulas.gamma(formulas.h(t / K, M, etaY), M);
    change[0] = K * speed * f[0] * (pull - (K - 1) * o) * f[0]; // every class moves it
    for (let i = 1; i < size; i++) change[i] = speed * f[i] * pull * f[i];
    change[size] = speed * pull;
  }
  return { size: size + 1, z: 0, B: size, rhs };
}

/**
 * Eqn 4 for z with a decoder that learns: by Eqn 7, the true gradient, or, if `modified`, by (26), which moves Y along
 * f_n - F E' e_n in place of f_n. B takes xi_n = sum of gamma beta_nn' f_n^T f_n' from g by projection on F. A state
 * begins with the rows' entries for the own output, another class's and the rest; the common row has the first twice.
 */
function learningFlow({ K, others, tokens: [own], probs: [q] }, { etaY, etaZ }, modified) {
  const size = own.length;
  const z = 3 * size;
  const [f, g] = [0, 0].map(() => new Float64Array(size));

  function rhs(t, state, change) {
    attend(own, q, state.subarray(z, z + size), f);
    let [own_w, other_w, rest_w] = [0, 0, 0];
    for (let i = 0; i < size; i++) {
      own_w += f[i] * state[i];
      other_w += f[i] * state[size + i];
      rest_w += f[i] * state[2 * size + i];
    }
    const top = Math.max(own_w, other_w, rest_w);
    const [own_x, other_x, rest_x] = [Math.exp(own_w - top), Math.exp(other_w - top), others * Math.exp(rest_w - top)];
    const total = own_x + (K - 1) * other_x + rest_x;
    const [own_e, other_e, rest_e] = [((K - 1) * other_x + rest_x) / total, -other_x / total, -rest_x / total];

    // F (I - E') spreads e over the classes, and I - E' = (I + E)^{-1}
    const { v, o, excess } = inverseOf(K, f[0] * f[0]);
    let [own_step, other_step, rest_step] = [own_e, other_e, rest_e / others];
    if (modified) {
      own_step = v * own_e - o * (K - 1) * other_e;
      other_step = v * other_e - o * (own_e + (K - 2) * other_e);
      rest_step *= v - (K - 1) * o;
    }
    const decoder = etaY / K;
    for (let i = 1; i < size; i++) {
      change[i] = decoder * f[i] * own_step;
      change[size + i] = decoder * f[i] * other_step;
      change[2 * size + i] = decoder * f[i] * rest_step;
    }
    change[0] = change[size] = decoder * f[0] * (own_step + (K - 1) * other_step);
    change[2 * size] = decoder * f[0] * K * rest_step;

    let along = 0;
    for (let i = 0; i < size; i++) {
      g[i] = own_e * state[i] + (K - 1) * other_e * state[size + i] + rest_e * state[2 * size + i];
      along += f[i] * g[i];
    }
    for (let i = 0; i < size; i++) change[z + i] = (etaZ / K) * (i ? 1 : K) * f[i] * (g[i] - f[i] * along);
    // g_n^T f_k for another class, since g_n = Y e_n and Y^T f_k are its logits
    const across = own_e * other_w + other_e * own_w + (K - 2) * other_e * other_w + rest_e * rest_w;
    change[z + size] = (etaZ / K) * (excess * along - (K - 1) * o * across);
  }
  return { size: 4 * size + 1, z, B: z + size, rhs };
}

/**
 * The law of one memory a class (scansnap_core.theory.law.memory) for one type of classes. A state is the evidence a,
 * what the class took off another's logit, b, the remembered attention H and z; the decoder is their product.
 */
function lawFlow({ K, others, tokens: [own], probs: [q] }, { etaY, etaZ }) {
  const size = own.length;
  const [H, z] = [2, 2 + size];
  const [f, mean, g] = [0, 0, 0].map(() => new Float64Array(size));

  function rhs(t, state, change) {
    attend(own, q, state.subarray(z, z + size), f);
    const [a, b] = state;
    const c = (a - (K - 1) * b) / others;
    let s = 0; // of the class with its own memory
    for (let i = 0; i < size; i++) {
      mean[i] = a > 0 ? state[H + i] / a : f[i];
      s += f[i] * mean[i];
    }
    const r = f[0] * mean[0]; // with another class's
    const own_w = s * a - (K - 1) * r * b;
    const other_w = r * a - s * b - (K - 2) * r * b;
    const rest_w = -(s + (K - 1) * r) * c;
    const top = Math.max(own_w, other_w, rest_w);
    const [own_x, other_x, rest_x] = [Math.exp(own_w - top), Math.exp(other_w - top), others * Math.exp(rest_w - top)];
    const total = own_x + (K - 1) * other_x + rest_x;
    const [error, other, rest] = [((K - 1) * other_x + rest_x) / total, other_x / total, rest_x / total];

    const [same, across] = [a * error + (K - 1) * b * other + c * rest, (K - 2) * b * other + c * rest - a * other - b * error];
    let along = 0;
    for (let i = 0; i < size; i++) {
      g[i] = (same + (i ? 0 : (K - 1) * across)) * mean[i];
      along += f[i] * g[i];
    }
    change[0] = (etaY / K) * error;
    change[1] = (etaY / K) * other;
    for (let i = 0; i < size; i++) {
      change[H + i] = (etaY / K) * error * f[i];
      change[z + i] = (etaZ / K) * (i ? 1 : K) * f[i] * (g[i] - f[i] * along);
    }
  }
  return { size: 2 + 2 * size, z, B: null, rhs };
}

function flowOf(dynamics, system, settings) {
  if (dynamics === "ideal") return idealisedFlow(system, settings);
  if (dynamics === "law") return lawFlow(system, settings);
  return learningFlow(system, settings, dynamics === "update26");
}
