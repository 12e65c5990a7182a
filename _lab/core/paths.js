"use strict";

// A picture, and a draft of it that keeps up with a slider being dragged
const FINE = { points: 160, rtol: 1e-9 };
const DRAFT = { points: 30, rtol: 1e-5 };
const SAMPLES = 4e6; // of SGD: a few seconds; a training that needs more is drawn as far as they reach
const SLICE = 40; // milliseconds of SGD between two looks at the messages

/** t_0' and t_0 of Theorem 4, and the moments at which the book compares dynamics. */
function moments({ K, M, etaY }) {
  const scan = formulas.t_0_prime(K, M, etaY);
  const snap = formulas.t_0(K, M, etaY, formulas.omega_1(M));
  return { scan, snap, all: [scan / 2, scan, snap, 4 * snap, 40 * snap] };
}

/** The times of a picture, ascending on a logarithmic clock with the moments among them; SGD's are whole updates. */
function timesOf(settings, points) {
  const { scan, snap, all } = moments(settings);
  const [start, ratio] = [scan / 100, (4000 * snap) / scan];
  const even = Array.from({ length: points }, (_, i) => start * ratio ** (i / points));
  const times = [...even, ...all];
  const whole = settings.dyn === "sgd" ? times.map((t) => Math.max(1, Math.round(t))) : times;
  return Float64Array.from(new Set(whole)).sort();
}

/** z (times x L, flat) and B (times x K, flat) along a flow. */
function flowPath(dynamics, system, settings, times, rtol) {
  const flow = flowOf(dynamics, system, settings);
  const { L, K } = system;
  const [z, B] = [new Float64Array(times.length * L), new Float64Array(times.length * K)];
  integrate(flow, times, rtol, (i, state) => {
    z.set(state.subarray(flow.z, flow.z + L), i * L);
    B.set(state.subarray(flow.z + L, flow.z + L + K), i * K);
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
function* paths(settings, draft = false) {
  const { points, rtol } = draft ? DRAFT : FINE;
  const system = withOverlap(settings);
  const times = timesOf(settings, points);
  if (settings.dyn !== "sgd") yield flowPath(settings.dyn, system, settings, times, rtol);
  if (settings.dyn !== "true") yield flowPath("true", system, settings, times, rtol);
  if (settings.dyn === "sgd") yield* trainingPath(system, settings, times);
}

/** A worker's loop. A newer request ends the one at work as soon as its next path, or slice of SGD, is through. */
function serve(worker) {
  let newest = 0;
  worker.onmessage = ({ data: { id, settings, draft } }) => {
    newest = id;
    const work = paths(settings, draft);
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
