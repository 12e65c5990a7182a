"use strict";

// What the decoder reads of a class, by the model's name. By symmetry u has one number a token of the class, v for every
// distinct token of another class, and one in the last place for what all classes share beside the common token: the
// query, or the tokens that no class holds, together. `pull` takes g over the class's tokens back to z (Lemma 1).

/** f∘(w - f f^T w), Lemma 1's factor, into dz. */
function acrossInto(f, w, dz) {
  let along = 0;
  for (let i = 0; i < dz.length; i++) along += f[i] * w[i];
  for (let i = 0; i < dz.length; i++) dz[i] = f[i] * (w[i] - f[i] * along);
}

function plainModel() {
  return {
    read: (f, u) => {
      u.set(f);
      u[f.length] = 0;
      return 0;
    },
    pull: (f, u, g, along, dz) => acrossInto(f, g, dz),
  };
}

/** u = LN(f + x_T): f and the query's token are orthogonal unit vectors. */
function residualModel({ tokens: [own] }) {
  const w = new Float64Array(own.length);
  return {
    read: (f, u) => {
      for (let i = 0; i < f.length; i++) u[i] = f[i] * Math.SQRT1_2;
      u[f.length] = Math.SQRT1_2;
      return 0;
    },
    pull: (f, u, g, along, dz) => {
      for (let i = 0; i < w.length; i++) w[i] = (g[i] - u[i] * along) * Math.SQRT1_2;
      acrossInto(f, w, dz);
    },
  };
}

/** u = LN(c - 1/M), the mean over all M tokens taken off. */
function layernormModel({ K, tokens: [own] }, { M }) {
  const size = own.length;
  const c = new Float64Array(size);
  const nobodys = M - 1 - K * (size - 1); // tokens that no class holds
  let norm = 1;
  return {
    read: (f, u) => {
      let [total, square] = [0, -1 / M];
      for (let i = 0; i < size; i++) total += f[i];
      for (let i = 0; i < size; i++) {
        c[i] = f[i] / total;
        square += c[i] * c[i];
      }
      norm = Math.sqrt(square);
      for (let i = 0; i < size; i++) u[i] = (c[i] - 1 / M) / norm;
      u[size] = -Math.sqrt(nobodys) / (M * norm);
      return -1 / (M * norm);
    },
    pull: (f, u, g, along, dz) => {
      // c^T w is 0 for w = P(across u) g/norm: the entries of u sum to 0, so from Y(0) = 0 on those of g do
      for (let i = 0; i < size; i++) dz[i] = (c[i] * (g[i] - u[i] * along)) / norm;
    },
  };
}

const MODELS = { plain: plainModel, residual: residualModel, layernorm: layernormModel };
