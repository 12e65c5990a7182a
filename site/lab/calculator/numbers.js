"use strict";

const LOOKS = 40; // times at which the speed of memory is looked at
const MOST_UPDATES = 20000; // that are made one by one; momentum's mass counts early alone

// The numbers of scansnap_core.law.answer_numbers, for classes that are alike or for a table of words and counts with one
// query. A system gives the first class's common, first and last tokens as places in its own tokens.

/** (T - 1) s_nl/f_nl² of scansnap_core.law.phases.tilt. */
function tilts(probs) {
  const square = probs.reduce((sum, p) => sum + p * p, 0);
  const sum = 1 / square; // of f²/P, as the probabilities sum to 1
  const cubes = probs.reduce((total, p) => total + p ** 3, 0) / square ** 2;
  return Array.from(probs, (p) => sum - 2 * cubes - 1 / p + (2 * p) / square);
}

/** The places of the most frequent common tokens, and of the most and the least frequent distinct ones: of equals all. */
function placesOf(probs, shared) {
  const places = (kind) => [...probs.keys()].filter((i) => shared[i] === kind);
  const [common, own] = [places(true), places(false)];
  const equals = (among, best) => {
    const value = best(...among.map((i) => probs[i]));
    return among.filter((i) => Math.abs(probs[i] - value) <= limits.TIED * value);
  };
  return { common: equals(common, Math.max), first: equals(own, Math.max), last: equals(own, Math.min) };
}

/** Of a group of tokens those whose z is lowest: all that attention doesn't tell apart from the lowest one. */
function lowestOf(z, group) {
  const low = Math.min(...group.map((i) => z[i]));
  return group.filter((i) => z[i] <= low + limits.ALIKE * Math.abs(low));
}

/** How many tokens are meant by each name. */
const sizesOf = (places) => Object.fromEntries(Object.entries(places).map(([name, group]) => [`num_${name}`, group.length]));

/** Classes with equal overlaps: the lab's flows, and the decoder at rest by its own two numbers. */
function alikeClasses(settings) {
  const { K, M, rho } = settings;
  const system = withOverlap(settings);
  const probs = Array.from(system.probs[0]);
  const places = placesOf(probs, probs.map((_, i) => i === 0));
  const told = [places.first[0], places.last[0]];
  const tilt = tilts(probs);
  const restOf = (times, rates, visit) => {
    const flow = lawFlow(system, { ...rates, etaZ: 0 });
    integrate(flow, times, RTOL, (_, state) => {
      const [a, b] = state;
      const over = formulas.balance(a, b, (a - (K - 1) * b) / (M - K), K, M, rho);
      visit({ over: told.map((i) => tilt[i] * over) });
    });
  };
  const learningOf = (rates) => {
    const flow = lawFlow(system, rates);
    const f = new Float64Array(probs.length);
    const look = (state, change) => {
      attend(system.tokens[0], system.probs[0], state.subarray(flow.z, flow.z + f.length), f);
      const strength = (state[0] * change[0] * K) / rates.etaY;
      const squares = f.map((value) => value ** 2);
      const alone = Array.from(squares, (value) => value * (1 - value));
      const start = startOf(alone, [0], [alone.map((_, i) => i).slice(1)]);
      // All classes are alike, so one stands for them; `count` of them move the common token.
      const directionOf = (count) => {
        const moved = (v) => {
          const mean = squares.reduce((sum, value, i) => sum + value * v[i], 0);
          return v.map((value, i) => (i ? 1 : count) * squares[i] * (value - mean));
        };
        return stiffestDirection(moved, start);
      };
      const ofDraw = (v) => {
        const mean = squares.reduce((sum, value, i) => sum + value * v[i], 0);
        return strength * (squares.reduce((sum, value, i) => sum + value * v[i] ** 2, 0) - mean ** 2);
      };
      const together = directionOf(K);
      const length = together.reduce((sum, value, i) => sum + (i ? K : 1) * value ** 2, 0);
      const byOne = directionOf(1);
      const byOther = ofDraw(byOne.map((value, i) => (i ? 0 : value)));
      const stiffness = [
        stiffnessOf(Array(K).fill(length ? ofDraw(together) / length : 0)),
        stiffnessOf([ofDraw(byOne), ...Array(K - 1).fill(byOther)]),
      ];
      return { a: state[0], stiffness };
    };
    return { flow, look };
  };
  return {
    system,
    groups: alikeGroups(settings, probs),
    probs,
    places,
    restOf,
    learningOf,
    rho,
    moduli: [(K - 1) * rho, rho],
    path: (dynamics, times, rates) => {
      const flow = flowOf(dynamics, system, { ...settings, ...rates, model: "plain" });
      const found = [];
      integrate(flow, times, RTOL, (_, state) => found.push(Array.from(state.slice(flow.z, flow.z + probs.length))));
      return found;
    },
  };
}

/** The classes as the order of their draws sees them: one class is followed, and the others are alike. */
function alikeGroups({ K, M }, probs) {
  const shared = probs.slice(0, 1);
  const own = probs.slice(1);
  const kinds = [1, K - 1].map((size) => ({ size, shared, own }));
  return { K, M, kinds, types: [[0, 1]] };
}

/** What the sentences are about Adam's first updates, by name, as scansnap_core.law.adam.first_signs has it. */
function adamNumbers({ K, M, T, etaY, etaZ, steps }, { system, places }) {
  const { L, outputs, tokens, probs } = system;
  const [gradient, force] = [new Float64Array(L * outputs), new Float64Array(L)];
  const [w, g, none] = [new Float64Array(outputs), new Float64Array(L), new Float64Array(L * outputs)];
  const [f, errors] = [probs.map((row) => new Float64Array(row.length)), probs.map(() => new Float64Array(outputs))];
  tokens.forEach((own, n) => {
    attend(own, probs[n], force, f[n]);
    decode(system, n, own, f[n], none, w, errors[n]);
    addDecoderStep(system, own, f[n], errors[n], 1, gradient);
  });
  const Y = gradient.map(Math.sign);
  tokens.forEach((own, n) => addAttentionStep(system, own, f[n], errors[n], Y, 1, force, g));
  const signs = Array.from(tokens[0], (token) => Math.sign(force[token]));
  const meant = { ...places, common: lowestOf(signs, places.common) };
  const [common_sign, first_sign, last_sign] = Object.values(meant).map(([i]) => signs[i]);
  const several = places.first[0] === places.last[0] ? 0 : 1;
  const found = { K, M, T, eta_Y: etaY, eta_Z: etaZ, steps, several, num_tied: places.common.length, ...sizesOf(meant), common_sign, first_sign, last_sign };
  Object.assign(found, { rising: signs.filter((sign) => sign > 0).length, held: signs.length, total: f[0].reduce((a, b) => a + b, 0) });
  for (const [name, value] of Object.entries(adamDerived)) found[name] = value(found);
  return { found, places: meant };
}

/** What the sentences are about, by name; `classes` as above, or as tableClasses has them. */
function answerNumbers(settings, classes) {
  const { K, M, T, etaY, etaZ, mu, steps, opt, B } = settings;
  if (opt === "adam") return adamNumbers(settings, classes);
  const { GRID, HORIZON, END, POINTS } = limits;
  const { probs, places, moduli } = classes;
  const rates = { etaY: etaY / (1 - mu), etaZ: etaZ / (1 - mu) };
  const { scan, snap } = moments({ K, M, etaY: rates.etaY });
  const even = (from, to, count) => Array.from({ length: count }, (_, i) => from * (to / from) ** (i / (count - 1)));
  const times = Float64Array.from(new Set([...even(GRID * snap, HORIZON * snap, POINTS), snap, END * snap, steps])).sort();
  const at = (t) => times.indexOf(t);
  const sharesOf = (dynamics, moments) =>
    classes.path(dynamics, moments, rates).map((z) => {
      const c = z.map((value, i) => probs[i] * Math.exp(value));
      const total = c.reduce((a, b) => a + b, 0);
      return { z, c: c.map((value) => value / total) };
    });
  const laws = { ten: "ideal", true: "true" };
  const paths = Object.fromEntries(Object.entries(laws).map(([name, dynamics]) => [name, sharesOf(dynamics, times)]));
  const meant = { ...places, common: lowestOf(paths.true[at(snap)].z, places.common) };
  const [common, first, last] = Object.values(meant).map((group) => group[0]);
  const shares = B === Infinity ? { now: 0, largest: 0 } : orderShares(classes.groups, settings);
  const found = {
    ...{ K, M, T, eta_Y: rates.etaY, eta_Z: rates.etaZ, steps, scan, snap, largest: moduli[0], smallest: moduli[1], uniform: 1 },
    ...{ batch: B, order: shares.now / B, flow: opt === "flow" ? 1 : 0, whole: 0, rho: classes.rho, mu },
    several: first === last ? 0 : 1,
    num_tied: places.common.length,
    ...sizesOf(meant),
    square_first: probs[first] ** 2 / probs.reduce((sum, p) => sum + p * p, 0),
    share: probs[common],
    lead: probs[first] / probs[last],
  };
  const rest = (moments) => {
    const seen = [];
    classes.restOf(moments, rates, (state) => seen.push(state));
    return seen;
  };
  const room = (seen) => seen.map(({ over }) => T - 1 - Math.max(...over.map(Math.abs)));
  const states = rest(times);
  [found.sampled_first, found.sampled_last] = states[at(snap)].over;
  found.t_drift = T === Infinity ? 0 : firstTime(times, room(states), (moments) => room(rest(moments)));
  const { a, growth } = learned(classes.learningOf(rates), steps, { etaZ: opt === "flow" ? 0 : etaZ, mu, B });
  // scansnap_core.law.expected_error.beyond_first_order.
  const square = (shares.now / B) ** (1 - mu) * (shares.largest / B) ** (1 + mu);
  const chance = Math.cbrt(square * (etaY / B));
  const errors = errorsOf(a / (T - 1), growth, chance);
  [found.likely, found.error] = [errors.likely, errors.expected];
  const curves = {};
  for (const [name, dynamics] of Object.entries(laws)) {
    const lost = ({ c }) => 1 - c[common] / probs[common];
    const path = paths[name];
    const now = path[at(steps)];
    found[`snap_${name}`] = path[at(snap)].z[common];
    found[`end_${name}`] = path[at(END * snap)].z[common];
    found[`lead_${name}`] = now.c[first] / now.c[last];
    found[`lost_${name}`] = lost(now);
    found[`horizon_${name}`] = lost(path[path.length - 1]);
    found[`half_${name}`] = firstTime(times, path.map((p) => lost(p) - 0.5), (moments) => sharesOf(dynamics, moments).map((p) => lost(p) - 0.5));
    curves[name] = Object.fromEntries(Object.entries(meant).map(([group, [i]]) => [group, path.map(({ c }) => 100 * c[i])]));
  }
  for (const [name, value] of Object.entries(derived)) found[name] = value(found);
  return { found, places: meant, curves, times, moments: { scan, snap } };
}

/**
 * What was learned after `steps` updates of full batches, and how far an oscillation would have grown, for the errors to be
 * expected: scansnap_core.law.overshoot.Oscillation.
 * Without momentum by the flow. With it also update by update, up to MOST_UPDATES; the larger of both counts.
 */
function learned({ flow, look }, steps, updates) {
  const { mu } = updates;
  const change = new Float64Array(flow.size);
  let last = null;
  const oscillation = () => {
    let [growth, before, rateBefore] = [0, 0, 0];
    return (state, time) => {
      last = look(state, change);
      const rate = Math.max(0, ...last.stiffness.map((each) => growthOf(each, updates)));
      growth += ((time - before) * (rateBefore + rate)) / 2;
      [before, rateBefore] = [time, rate];
      return growth;
    };
  };
  const begin = Math.min(1, steps / 2);
  const times = Float64Array.from({ length: LOOKS }, (_, i) => begin * (steps / begin) ** (i / (LOOKS - 1)));
  const alongTheFlow = oscillation();
  let growth = 0;
  integrate(flow, times, RTOL, (i, state) => {
    flow.rhs(0, state, change);
    growth = alongTheFlow(state, times[i]);
  });
  let a = last.a;
  if (mu > 0) {
    const [state, velocity] = [new Float64Array(flow.size), new Float64Array(flow.size)];
    const count = Math.min(steps, MOST_UPDATES);
    const byUpdates = oscillation();
    let [grown, next] = [0, 1];
    flow.rhs(0, state, change);
    for (let t = 1; t <= count; t++) {
      for (let i = 0; i < flow.size; i++) {
        velocity[i] = mu * velocity[i] + (1 - mu) * change[i]; // the flow's rates are those of the updates over 1 - mu
        state[i] += velocity[i];
      }
      flow.rhs(0, state, change);
      if (t >= next || t + 1 > count) {
        grown = byUpdates(state, t);
        next = t * limits.LOOK;
      }
    }
    a = Math.max(a, last.a);
    growth = Math.max(growth, grown);
  }
  return { a, growth };
}

/** Where the power method begins: down at the largest of `shared`, and up at the largest of each of `owns`; all are places. */
function startOf(diagonal, shared, owns) {
  const start = diagonal.map(() => 0);
  const largest = (places) => places.reduce((best, i) => (diagonal[i] > diagonal[best] ? i : best), places[0]);
  if (shared.length) start[largest(shared)] = -1;
  for (const own of owns) if (own.length) start[largest(own)] = 1;
  return start;
}

/** The eigenvector of the largest eigenvalue of a linear map, by the power method, as scansnap_core.law.overshoot finds it. */
function stiffestDirection(map, start) {
  let v = start;
  for (let round = 0; round < limits.ROUNDS; round++) {
    v = map(v);
    const length = Math.sqrt(v.reduce((sum, value) => sum + value ** 2, 0));
    if (length === 0) return v;
    v = v.map((value) => value / length);
  }
  return v;
}

/** The mean and the variance of the classes' stiffness along a direction; all classes are equally frequent. */
function stiffnessOf(ofDraws) {
  const mean = ofDraws.reduce((a, b) => a + b, 0) / ofDraws.length;
  const square = ofDraws.reduce((sum, value) => sum + value ** 2, 0) / ofDraws.length;
  return { mean, variance: square - mean ** 2 };
}

/** By how much the logarithm of a distance grows in an update: scansnap_core.law.overshoot.growth_of, at a rate of attention etaZ. */
function growthOf(stiffness, { etaZ, mu, B }) {
  const mean = etaZ * stiffness.mean;
  const scatter = (etaZ ** 2 * stiffness.variance) / B;
  const rows = [
    [(1 - mean) ** 2 + scatter, 2 * mu * (1 - mean), mu ** 2],
    [scatter - mean * (1 - mean), mu * (1 - 2 * mean), mu ** 2],
    [mean ** 2 + scatter, -2 * mu * mean, mu ** 2],
  ];
  // The characteristic polynomial's largest root, by Newton's method from above all roots: it comes down to it.
  const minor = (i, j) => rows[i][i] * rows[j][j] - rows[i][j] * rows[j][i];
  const trace = rows[0][0] + rows[1][1] + rows[2][2];
  const minors = minor(0, 1) + minor(0, 2) + minor(1, 2);
  const triple = ([a, b, c], [d, e, f], [g, h, i]) => a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  const determinant = triple(...rows);
  let root = Math.max(...rows.map((row) => row.reduce((sum, value) => sum + Math.abs(value), 0)));
  for (let round = 0; round < 100; round++) {
    const value = ((root - trace) * root + minors) * root - determinant;
    const slope = (3 * root - 2 * trace) * root + minors;
    if (slope <= 0 || value <= 0) break;
    root -= value / slope;
  }
  return Math.log(root) / 2;
}

/** When values first pass 0; 0 if they begin above it, infinity if they stay below. `again` gives them at other times. */
function firstTime(times, values, again) {
  for (let round = 0; ; round++) {
    const i = values.findIndex((value) => value > 0);
    if (i < 0) return Infinity;
    if (i === 0) return 0;
    const [before, after] = [times[i - 1], times[i]];
    if (round === 2) return before + ((after - before) * values[i - 1]) / (values[i - 1] - values[i]);
    times = Float64Array.from({ length: 41 }, (_, k) => before * (after / before) ** (k / 40));
    values = again(times);
  }
}

/** Values between the entries of a table, whose places ascend; beyond its ends they stay. */
function between(x, places, values) {
  const i = places.findIndex((place) => place >= x);
  if (i < 0) return values[values.length - 1];
  return i ? values[i - 1] + ((values[i] - values[i - 1]) * (x - places[i - 1])) / (places[i] - places[i - 1]) : values[0];
}

/** scansnap_core.law.expected_error's errors, of the cause whose error is largest. */
function errorsOf(shortness, growth, chance) {
  const { SHORTNESS, GROWTHS, ORDERS, LEAST } = limits;
  const causes = [[shortness, SHORTNESS], [growth, GROWTHS], [chance, ORDERS]];
  const largest = (row) => Math.max(...causes.map(([x, table]) => between(x, table[0], table[row])));
  return { likely: largest(1), expected: Math.max(LEAST, largest(2)) };
}

/** A worker's loop: numbers of each setting. */
function serveAnswers(worker) {
  worker.onmessage = ({ data: { id, settings } }) => {
    try {
      const classes = settings.table ? tableClasses(settings) : alikeClasses(settings);
      worker.postMessage({ id, settings, answer: answerNumbers(settings, classes) });
    } catch (error) {
      worker.postMessage({ id, settings, failure: error.message });
    }
  };
}
