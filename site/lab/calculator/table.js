"use strict";

// Classes of a table, with one query: a map of names to maps of words to counts. All of Y is integrated, on the words that occur.

function tableClasses({ table, M }) {
  const K = table.size;
  const counts = [...table.values()];
  const words = [...new Set(counts.flatMap((row) => [...row.keys()]))];
  const columns = new Map(words.map((word, place) => [word, place]));
  const holders = (word) => counts.filter((row) => row.has(word)).length;
  const tokens = counts.map((row) => Int32Array.from(row.keys(), (word) => columns.get(word)));
  const all = counts.map((row) => {
    const values = [...row.values()];
    const total = values.reduce((a, b) => a + b, 0);
    return Float64Array.from(values, (count) => count / total);
  });
  const system = { K, L: words.length, outputs: K + 1, others: M - K, tokens, probs: all };
  const f = all.map((probs, n) => spread(system, n, probs.map((p) => p / Math.hypot(...probs))));
  const E = f.map((one, n) => f.map((other, k) => (n === k ? 0 : dot(one, other))));
  const moduli = eigenvalues(E).map(Math.abs).sort((a, b) => b - a);
  const probs = Array.from(all[0]);
  const places = placesOf(probs, [...counts[0].keys()].map((word) => holders(word) > 1));
  const tilt = tilts(all[0]);
  const z = system.L * system.outputs;
  const path = (dynamics, times, rates) => {
    const flow = dynamics === "ideal" ? idealTable(system, { M, ...rates }) : trueTable(system, rates);
    const found = [];
    integrate(flow, times, RTOL, (_, state) => found.push(Array.from(tokens[0], (token) => state[flow.z + token])));
    return found;
  };
  const restOf = (times, rates, visit) => {
    const tiny = 1e-9;
    const flow = trueTable(system, { ...rates, etaZ: tiny * rates.etaY });
    integrate(flow, times, RTOL, (_, state) => {
      const learned = state.subarray(flow.y, flow.y + K + 1); // by the first class, which alone holds these words
      const length = learned.reduce((sum, value, o) => sum + (o < K ? value * value : (value * value) / (M - K)), 0);
      const over = [places.first[0], places.last[0]].map((i) => {
        const pushed = (tilt[i] * f[0][tokens[0][i]] ** 2 * length) / 2;
        return pushed / (state[z + tokens[0][i]] / tiny);
      });
      visit({ over });
    });
  };
  const shared = words.map((_, l) => l).filter((l) => holders(words[l]) > 1);
  const owns = tokens.map((held) => [...held].filter((l) => holders(words[l]) === 1));
  const learningOf = (rates) => {
    const flow = trueTable(system, rates);
    const look = (state, change) => {
      const now = all.map((own, n) => {
        const values = new Float64Array(own.length);
        attend(tokens[n], own, state.subarray(flow.z, flow.z + system.L), values);
        return spread(system, n, values);
      });
      const a = now.map((_, n) => state[flow.y + n * (K + 1) + n]);
      const errors = now.map((_, n) => (change[flow.y + n * (K + 1) + n] * K) / rates.etaY);
      const strength = now.map((_, n) => a[n] * errors[n]);
      const squares = now.map((one) => one.map((value) => value ** 2));
      const ofDraws = (v) =>
        squares.map((q, n) => {
          const mean = q.reduce((sum, value, l) => sum + value * v[l], 0);
          return strength[n] * (q.reduce((sum, value, l) => sum + value * v[l] ** 2, 0) - mean ** 2);
        });
      const alone = squares.map((q, n) => q.map((value) => strength[n] * value * (1 - value)));
      const together = words.map((_, l) => alone.reduce((sum, one) => sum + one[l], 0));
      const largest = alone.map((one) => Math.max(...one));
      const strongest = largest.indexOf(Math.max(...largest));
      const directionOf = (some, diagonal, ownWords) => {
        const moved = (v) => {
          const means = some.map((n) => squares[n].reduce((sum, value, l) => sum + value * v[l], 0));
          return words.map((_, l) => some.reduce((sum, n, i) => sum + strength[n] * squares[n][l] * (v[l] - means[i]), 0));
        };
        return stiffestDirection(moved, startOf(diagonal, shared, ownWords));
      };
      const everyClass = now.map((_, n) => n);
      const directions = [
        directionOf(everyClass, together, owns),
        directionOf([strongest], alone[strongest], [owns[strongest]]),
      ];
      return { a: Math.max(...a), stiffness: directions.map((v) => stiffnessOf(ofDraws(v))) };
    };
    return { flow, look };
  };
  // For the order of classes each class is a kind and a type of its own.
  const common = words.filter((word) => holders(word) > 1);
  const kinds = counts.map((row, n) => {
    const held = [...row.keys()];
    const probOf = (word) => (row.has(word) ? all[n][held.indexOf(word)] : 0);
    const alone = held.filter((word) => holders(word) === 1);
    return { size: 1, shared: common.map(probOf), own: alone.map(probOf) };
  });
  const groups = { K, M, kinds, types: kinds.map((_, n) => [n]) };
  return { system, groups, probs, places, moduli: [moduli[0], moduli[K - 1]], rho: Math.max(...E.flat()), path, restOf, learningOf };
}

const dot = (u, v) => u.reduce((sum, value, i) => sum + value * v[i], 0);

function spread({ L, tokens }, n, values) {
  const row = new Float64Array(L);
  tokens[n].forEach((token, i) => (row[token] = values[i]));
  return row;
}

/** Eqn 10: g_n = -sum of E'_nn' f_n', of the present f. */
function idealTable(system, { M, etaY, etaZ }) {
  const { K, L, tokens, probs } = system;
  const own = tokens.map((places) => new Float64Array(places.length));
  function rhs(t, state, change) {
    tokens.forEach((places, n) => attend(places, probs[n], state, own[n]));
    const f = own.map((values, n) => spread(system, n, values));
    const inverse = inverted(f.map((one) => f.map((other) => dot(one, other))));
    const speed = (etaZ / K) * formulas.gamma(formulas.h(t / K, M, etaY), M);
    change.fill(0);
    f.forEach((one, n) => {
      const g = new Float64Array(L);
      f.forEach((other, k) => k !== n && other.forEach((value, l) => (g[l] += inverse[n][k] * value)));
      const along = dot(one, g);
      one.forEach((value, l) => (change[l] += speed * value * (g[l] - value * along)));
    });
  }
  return { size: L, z: 0, rhs };
}

/** Eqns 3 and 4 in expectation, by the lab's training at T = infinity; `y` gathers e_n - alpha_n of each class. */
function trueTable(system, { etaY, etaZ }) {
  const { K, L, outputs, tokens, probs } = system;
  const z = L * outputs;
  const y = z + L;
  const f = tokens.map((own) => new Float64Array(own.length));
  const [w, e, g] = [new Float64Array(outputs), new Float64Array(outputs), new Float64Array(L)];
  function rhs(t, state, change) {
    const Y = state.subarray(0, z);
    change.fill(0);
    tokens.forEach((own, n) => {
      attend(own, probs[n], state.subarray(z, y), f[n]);
      decode(system, n, own, f[n], Y, w, e);
      addDecoderStep(system, own, f[n], e, etaY / K, change);
      addAttentionStep(system, own, f[n], e, Y, etaZ / K, change.subarray(z, y), g);
      for (let o = 0; o < outputs; o++) change[y + n * outputs + o] = (etaY / K) * e[o];
    });
  }
  return { size: y + K * outputs, z, y, rhs };
}

/** The inverse of a positive definite matrix, by Gauss and Jordan. */
function inverted(matrix) {
  const size = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let i = 0; i < size; i++) {
    const pivot = rows[i][i];
    rows[i] = rows[i].map((value) => value / pivot);
    for (let k = 0; k < size; k++) {
      const factor = rows[k][i];
      if (k !== i) rows[k] = rows[k].map((value, j) => value - factor * rows[i][j]);
    }
  }
  return rows.map((row) => row.slice(size));
}

/** The eigenvalues of a symmetric matrix, by Jacobi's rotations. */
function eigenvalues(matrix) {
  const a = matrix.map((row) => [...row]);
  for (let sweep = 0; sweep < 60; sweep++)
    for (let p = 0; p < a.length; p++)
      for (let q = p + 1; q < a.length; q++) {
        if (a[p][q] === 0) continue;
        const theta = Math.atan2(2 * a[p][q], a[q][q] - a[p][p]) / 2;
        const [cos, sin] = [Math.cos(theta), Math.sin(theta)];
        for (const row of a) [row[p], row[q]] = [cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]];
        const [above, below] = [[...a[p]], [...a[q]]];
        a[p] = above.map((value, j) => cos * value - sin * below[j]);
        a[q] = above.map((value, j) => sin * value + cos * below[j]);
      }
  return a.map((row, i) => row[i]);
}
