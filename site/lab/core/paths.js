"use strict";

const POINTS = 160; // of a picture
const RTOL = 1e-9;
const SAMPLES = 4e6; // of SGD: a few seconds; a training that needs more is drawn as far as they reach
const SLICE = 40; // milliseconds of SGD between two looks at the messages

/** t_0' and t_0 of Theorem 4, and the moments at which the book compares dynamics. */
function moments({ K, M, etaY }) {
  const scan = formulas.t_0_prime(K, M, etaY);
  const snap = formulas.t_0(K, M, etaY, formulas.omega_1(M));
  return { scan, snap, all: [scan / 2, scan, snap, 4 * snap, 40 * snap] };
}

/** The times of a picture, ascending on a logarithmic clock with the moments among them; SGD's are whole updates. */
function timesOf(settings) {
  const { scan, snap, all } = moments(settings);
  const [start, ratio] = [scan / 100, (4000 * snap) / scan];
  const even = Array.from({ length: POINTS }, (_, i) => start * ratio ** (i / POINTS));
  const times = [...even, ...all];
  const whole = settings.dyn === "sgd" ? times.map((t) => Math.max(1, Math.round(t))) : times;
  return Float64Array.from(new Set(whole)).sort();
}

/** z (times x L, flat) and B (times; null of a flow without) of a class along a flow. */
function flowPath(dynamics, system, settings, times) {
  const flow = flowOf(dynamics, system, settings);
  const { L, tokens } = system;
  const z = new Float64Array(times.length * L);
  const B = flow.B === null ? null : new Float64Array(times.length);
  integrate(flow, times, RTOL, (row, state) => {
    for (const own of tokens) own.forEach((token, i) => (z[row * L + token] = state[flow.z + i]));
    if (B) B[row] = state[flow.B];
  });
  return { dynamics, times, z, B, done: true };
}

/** A training's z, yielded as far as it has come; it has no B. */
function* trainingPath(system, settings, times) {
  const run = training(system, settings);
  const z = new Float64Array(times.length * system.L);
  let [updates, shown] = [0, 0];
  const reached = (done) => ({ dynamics: "sgd", times: times.slice(0, shown), z: z.slice(0, shown * system.L), B: null, done });
  let deadline = Date.now() + SLICE;
  while (shown < times.length && updates * settings.B < SAMPLES) {
    run.update();
    updates++;
    if (updates === times[shown]) z.set(run.z, shown++ * system.L);
    if (Date.now() > deadline) {
      if (shown > 1) yield reached(false);
      deadline = Date.now() + SLICE;
    }
  }
  yield reached(true);
}

/** The paths of a picture: the dynamics asked for, and the true gradient beside it. */
function* paths(settings) {
  const system = withOverlap(settings);
  const times = timesOf(settings);
  if (settings.dyn !== "sgd") yield flowPath(settings.dyn, system, settings, times);
  if (settings.dyn !== "true") yield flowPath("true", system, settings, times);
  if (settings.dyn === "sgd") yield* trainingPath(system, settings, times);
}

/** A worker's loop. A newer request ends the one at work as soon as its next path, or slice of SGD, is through. */
function serve(worker) {
  let newest = 0;
  worker.onmessage = ({ data: { id, settings } }) => {
    newest = id;
    const work = paths(settings);
    const turn = () => {
      if (id !== newest) return;
      try {
        const { value, done } = work.next();
        if (done) return;
        worker.postMessage({ id, settings, path: value });
        setTimeout(turn);
      } catch (error) {
        worker.postMessage({ id, failure: error.message });
      }
    };
    setTimeout(turn); // after the requests that came in meanwhile
  };
}
