"use strict";

// Right-hand sides on one clock: steps of batch size 1, each class weighed by P(n) = 1/K. A state ends with z (L) and
// B (K); those of the flows that train a decoder begin with Y (L x outputs). Each function is made once a system, since
// it keeps its work arrays.

/** Eqn 10, quasi-static: z' = eta_Z/K gamma(t) Phi(z) with beta = E' of the present z, and B_n of Theorem 3. */
function idealisedFlow(system, { M, etaY, etaZ }) {
  const { K, L, tokens, probs } = system;
  const f = tokens.map((own) => new Float64Array(own.length));
  const F = new Float64Array(K * L);
  const [E, inv, Ep] = [0, 0, 0].map(() => new Float64Array(K * K));

  function rhs(t, state, change) {
    for (let n = 0; n < K; n++) attend(tokens[n], probs[n], state, f[n]);
    spread(system, f, F);
    overlaps(system, f, F, E);
    inverse(K, E, inv);
    product(K, inv, E, Ep); // E' = (I + E)^{-1} E keeps its digits where overlaps are small
    const speed = (etaZ / K) * formulas.gamma(formulas.h(t / K, M, etaY), M);
    change.fill(0);
    for (let n = 0; n < K; n++) {
      let pull = 0;
      for (let k = 0; k < K; k++) pull += Ep[k * K + n] * E[n * K + k];
      for (let i = 0; i < tokens[n].length; i++) {
        let others = 0;
        for (let k = 0; k < K; k++) if (k !== n) others += Ep[k * K + n] * F[k * L + tokens[n][i]];
        change[tokens[n][i]] += speed * f[n][i] * (pull * f[n][i] - others);
      }
      change[L + n] = speed * pull;
    }
  }
  return { size: L + K, z: 0, rhs };
}

/**
 * Eqn 4 for z with a decoder that learns: by Eqn 7, the true gradient, or, if `modified`, by (26), which moves Y along
 * f_n - F E' e_n in place of f_n. B takes xi_n = sum of gamma beta_nn' f_n^T f_n' from g by projection on F.
 */
function learningFlow(system, { etaY, etaZ }, modified) {
  const { K, L, outputs, tokens, probs } = system;
  const rows = (length) => Array.from({ length: K }, () => new Float64Array(length));
  const f = tokens.map((own) => new Float64Array(own.length));
  const [w, e] = [rows(outputs), rows(outputs)];
  const F = new Float64Array(K * L);
  const [E, inv] = [0, 0].map(() => new Float64Array(K * K));
  const [turned, g] = [new Float64Array(outputs), new Float64Array(L)];
  const z = L * outputs;

  function rhs(t, state, change) {
    const logits = state.subarray(z, z + L);
    const dz = change.subarray(z, z + L);
    change.fill(0);
    for (let n = 0; n < K; n++) {
      attend(tokens[n], probs[n], logits, f[n]);
      decode(system, n, tokens[n], f[n], state, w[n], e[n]);
      addAttentionStep(system, tokens[n], f[n], e[n], state, etaZ / K, dz, g);
    }
    spread(system, f, F);
    overlaps(system, f, F, E);
    inverse(K, E, inv);
    for (let n = 0; n < K; n++) {
      let step = e[n];
      if (modified) {
        turned.fill(0); // F (I - E') spreads e over the classes, and I - E' = (I + E)^{-1}
        for (let k = 0; k < K; k++) for (let o = 0; o < outputs; o++) turned[o] += inv[n * K + k] * e[k][o];
        step = turned;
      }
      addDecoderStep(system, tokens[n], f[n], step, etaY / K, change);
      let [xi, own] = [0, 0];
      for (let k = 0; k < K; k++) {
        let along = 0; // g_n^T f_k, since g_n = Y e_n and w_k = Y^T f_k
        for (let o = 0; o < outputs; o++) along += e[n][o] * w[k][o];
        xi += along * inv[k * K + n];
        if (k === n) own = along;
      }
      change[z + L + n] = (etaZ / K) * (xi - own);
    }
  }
  return { size: z + L + K, z, rhs };
}

function flowOf(dynamics, system, settings) {
  if (dynamics === "ideal") return idealisedFlow(system, settings);
  return learningFlow(system, settings, dynamics === "update26");
}
