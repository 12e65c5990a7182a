"use strict";

/** F = [f_1..f_K] as rows over all L tokens, from the rows over each class's own. */
function spread(system, f, F) {
  F.fill(0);
  const { K, L, tokens } = system;
  for (let n = 0; n < K; n++) for (let i = 0; i < tokens[n].length; i++) F[n * L + tokens[n][i]] = f[n][i];
}

/** E = F^T F - I: the overlaps off a zero diagonal, K x K. */
function overlaps(system, f, F, E) {
  const { K, L, tokens } = system;
  for (let n = 0; n < K; n++)
    for (let k = 0; k < K; k++) {
      let sum = 0;
      if (n !== k) for (let i = 0; i < tokens[n].length; i++) sum += f[n][i] * F[k * L + tokens[n][i]];
      E[n * K + k] = sum;
    }
}

/** (I + E)^{-1} by Gauss-Jordan elimination; I + E is positive definite, so its pivots need no exchange. */
function inverse(K, E, result) {
  const A = E.slice();
  result.fill(0);
  for (let n = 0; n < K; n++) {
    A[n * K + n] += 1;
    result[n * K + n] = 1;
  }
  for (let p = 0; p < K; p++) {
    const pivot = A[p * K + p];
    for (let j = 0; j < K; j++) {
      A[p * K + j] /= pivot;
      result[p * K + j] /= pivot;
    }
    for (let i = 0; i < K; i++) {
      const factor = A[i * K + p];
      if (i === p || factor === 0) continue;
      for (let j = 0; j < K; j++) {
        A[i * K + j] -= factor * A[p * K + j];
        result[i * K + j] -= factor * result[p * K + j];
      }
    }
  }
}

function product(K, A, B, result) {
  for (let i = 0; i < K; i++)
    for (let j = 0; j < K; j++) {
      let sum = 0;
      for (let k = 0; k < K; k++) sum += A[i * K + k] * B[k * K + j];
      result[i * K + j] = sum;
    }
}
