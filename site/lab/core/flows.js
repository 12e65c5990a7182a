"use strict";

// Right-hand sides on one clock: steps of batch size 1, each class weighed by P(n) = 1/K. The classes are alike, so one
// stands for all: its d + 1 tokens, the common one in place 0, and three kinds of outputs, its own next token, another
// class's, and one of the M - K that name no class. A state holds z (d + 1) from the place `z` on, and
// B of the class at `B` unless the flow has none; the bounds that it gives are of the paper's model alone. Each function
// is made once a system, since it keeps its work arrays.

/** (I + E)^{-1} for overlaps s between all K classes: v on its diagonal and -o off it; `excess` is v - 1. */
function inverseOf(K, s) {
  const D = (1 - s) * (1 + (K - 1) * s);
  return { v: (1 + (K - 2) * s) / D, o: s / D, excess: ((K - 1) * s * s) / D };
}

/** u_n^T u_n' of two classes, from u and v as a model reads them. */
function overlapOf(K, u, v) {
  const size = u.length - 1;
  let own = 0;
  for (let i = 1; i < size; i++) own += u[i];
  return u[0] * u[0] + u[size] * u[size] + 2 * v * own + (K - 2) * (size - 1) * v * v;
}

/** The paper's law (10) solves z' = eta_Z/K gamma(t) Phi(z) with beta = E' of the present z, and B_n of Theorem 3. */
function idealisedFlow(system, settings) {
  const { K, tokens: [own], probs: [q] } = system;
  const { M, etaY, etaZ } = settings;
  const size = own.length;
  const model = MODELS[settings.model](system, settings);
  const [f, g, dz] = [0, 0, 0].map(() => new Float64Array(size));
  const u = new Float64Array(size + 1);

  function rhs(t, state, change) {
    attend(own, q, state, f);
    const v = model.read(f, u);
    const s = overlapOf(K, u, v);
    const { o } = inverseOf(K, s); // E' is o off its diagonal
    const speed = (etaZ / K) * formulas.gamma(formulas.h(t / K, M, etaY), M);
    // g_n = -sum of beta_nn' u_n'; of itself it has the length along u_n below
    for (let i = 0; i < size; i++) g[i] = -(K - 1) * o * (i ? v : u[0]);
    model.pull(f, u, g, -(K - 1) * o * s, dz);
    for (let i = 0; i < size; i++) change[i] = speed * (i ? 1 : K) * dz[i]; // every class moves the common token
    change[size] = speed * (K - 1) * o * s;
  }
  return { size: size + 1, z: 0, B: settings.model === "plain" ? size : null, rhs };
}

/**
 * Eqn 4 for z with a decoder that learns: by Eqn 7, the true gradient, or, if `modified`, by (26), which moves Y along
 * u_n - U E' e_n in place of u_n. B takes xi_n = sum of gamma beta_nn' u_n^T u_n' from g by projection on U. A state
 * begins with the rows' entries for the own output, another class's and the rest; rows that classes share have the first
 * twice.
 */
function learningFlow(system, settings, modified) {
  const { K, others, tokens: [own], probs: [q] } = system;
  const { etaY, etaZ } = settings;
  const size = own.length;
  const rows = size + 1;
  const z = 3 * rows;
  const model = MODELS[settings.model](system, settings);
  const [f, g, dz] = [0, 0, 0].map(() => new Float64Array(size));
  const u = new Float64Array(rows);

  function rhs(t, state, change) {
    attend(own, q, state.subarray(z, z + size), f);
    const v = model.read(f, u);
    let [own_w, other_w, rest_w] = [0, 0, 0];
    for (let i = 0; i < rows; i++) {
      own_w += u[i] * state[i];
      other_w += u[i] * state[rows + i];
      rest_w += u[i] * state[2 * rows + i];
    }
    let [own_sum, other_sum, rest_sum] = [0, 0, 0]; // over a class's distinct tokens
    if (v) {
      for (let i = 1; i < size; i++) {
        own_sum += state[i];
        other_sum += state[rows + i];
        rest_sum += state[2 * rows + i];
      }
      own_w += v * (K - 1) * other_sum;
      other_w += v * (own_sum + (K - 2) * other_sum);
      rest_w += v * (K - 1) * rest_sum;
    }
    const top = Math.max(own_w, other_w, rest_w);
    const [own_x, other_x, rest_x] = [Math.exp(own_w - top), Math.exp(other_w - top), others * Math.exp(rest_w - top)];
    const total = own_x + (K - 1) * other_x + rest_x;
    const [own_e, other_e, rest_e] = [((K - 1) * other_x + rest_x) / total, -other_x / total, -rest_x / total];

    // U (I - E') spreads e over the classes, and I - E' = (I + E)^{-1}
    const inverse = inverseOf(K, overlapOf(K, u, v));
    const o = inverse.o;
    let [own_step, other_step, rest_step] = [own_e, other_e, rest_e / others];
    if (modified) {
      own_step = inverse.v * own_e - o * (K - 1) * other_e;
      other_step = inverse.v * other_e - o * (own_e + (K - 2) * other_e);
      rest_step *= inverse.v - (K - 1) * o;
    }
    const decoder = etaY / K;
    for (let i = 1; i < size; i++) {
      change[i] = decoder * (u[i] * own_step + v * (K - 1) * other_step);
      change[rows + i] = decoder * (u[i] * other_step + v * (own_step + (K - 2) * other_step));
      change[2 * rows + i] = decoder * (u[i] + v * (K - 1)) * rest_step;
    }
    for (const i of [0, size]) {
      change[i] = change[rows + i] = decoder * u[i] * (own_step + (K - 1) * other_step);
      change[2 * rows + i] = decoder * u[i] * K * rest_step;
    }

    // u_n^T g_n and g_n^T u_n', since g_n = Y e_n and Y^T u_n' are logits
    const along = own_e * own_w + (K - 1) * other_e * other_w + rest_e * rest_w;
    const across = own_e * other_w + other_e * own_w + (K - 2) * other_e * other_w + rest_e * rest_w;
    for (let i = 0; i < size; i++) g[i] = own_e * state[i] + (K - 1) * other_e * state[rows + i] + rest_e * state[2 * rows + i];
    model.pull(f, u, g, along, dz);
    for (let i = 0; i < size; i++) change[z + i] = (etaZ / K) * (i ? 1 : K) * dz[i];
    change[z + size] = (etaZ / K) * (inverse.excess * along - (K - 1) * o * across);
  }
  return { size: z + size + 1, z, B: settings.model === "plain" ? z + size : null, rhs };
}

/**
 * The law of one memory a class (scansnap_core.law.memory) for one type of classes. A state is the evidence a,
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
