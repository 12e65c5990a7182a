"use strict";

// Dormand and Prince's method of order 8 with error estimates of orders 5 and 3; `tableau` holds SciPy's coefficients.

const ATOL = 1e-15;
const SAFETY = 0.9;
const SHRINK = 0.2;
const GROW = 10;

/**
 * The states at `times` (ascending, positive) of y' = rhs(t, y) from y(0) = 0; `visit(i, y)` sees each in its turn.
 * `rtol` and `atol` bound the relative and the absolute error of a step.
 */
function integrate({ size, rhs }, times, rtol, visit, atol = ATOL) {
  const { A, B, C, E3, E5 } = tableau;
  const stages = B.length;
  const k = Array.from({ length: stages + 1 }, () => new Float64Array(size));
  let [y, next] = [new Float64Array(size), new Float64Array(size)];
  const add = (row, count, step, into) => {
    into.set(y);
    for (let s = 0; s < count; s++) {
      const factor = step * row[s];
      if (factor === 0) continue;
      const slope = k[s];
      for (let i = 0; i < size; i++) into[i] += factor * slope[i];
    }
  };
  const errorOf = (step) => {
    let [five, three] = [0, 0];
    for (let i = 0; i < size; i++) {
      let [e5, e3] = [0, 0];
      for (let s = 0; s <= stages; s++) {
        e5 += E5[s] * k[s][i];
        e3 += E3[s] * k[s][i];
      }
      const scale = atol + rtol * Math.max(Math.abs(y[i]), Math.abs(next[i]));
      five += (e5 / scale) ** 2;
      three += (e3 / scale) ** 2;
    }
    return five === 0 ? 0 : (Math.abs(step) * five) / Math.sqrt((five + 0.01 * three) * size);
  };

  let [t, step] = [0, times[0] / 1000];
  rhs(0, y, k[0]);
  times.forEach((target, index) => {
    while (t < target) {
      const clipped = Math.min(step, target - t);
      for (let s = 1; s < stages; s++) {
        add(A[s], s, clipped, next);
        rhs(t + C[s] * clipped, next, k[s]);
      }
      add(B, stages, clipped, next);
      rhs(t + clipped, next, k[stages]);
      const error = errorOf(clipped);
      // written so that it also stops at a NaN, such as that of a missing time
      if (!(clipped >= 1e-14 * target)) throw new Error(`no step is small enough at t = ${t}`);
      if (error < 1) {
        const growth = error === 0 ? GROW : Math.min(GROW, SAFETY * error ** -0.125);
        // a step that was cut short at a target says nothing against the longer one
        step = Math.max(clipped * growth, clipped < step ? step : 0);
        t = clipped === target - t ? target : t + clipped;
        [y, next] = [next, y];
        [k[0], k[stages]] = [k[stages], k[0]];
      } else {
        const shrink = SAFETY * error ** -0.125; // NaN after a step so long that the state overflowed
        step = clipped * (shrink > SHRINK ? shrink : SHRINK);
      }
    }
    visit(index, y);
  });
}
