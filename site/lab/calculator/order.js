"use strict";

// How far the random order of the classes moves the mean of z in small batches, as scansnap_core.law.order finds it: equations
// (b) and (c) there, with the law of one memory a class and its steps of finite size (scansnap_core.law.inertia). T is infinite,
// the classes are equally frequent, and one query serves them all.
//
// `groups` describes the classes: M, K, the `kinds`, and the `types`. A kind stands for `size` alike classes, with probabilities
// of the words that several classes hold (`shared`, of all kinds in one order) and of its `own`. A type lists the kinds that
// differ in nothing but that the draws of one are followed: its first one, a single class.

const MOST_WORK = 4e8; // multiplications, or so; they take some seconds at most

/** The law of one memory a class. A state holds of each kind a, b and H, then z of the shared words, then z of each kind's own. */
function memoryLaw({ M, K, kinds }, ratio) {
  const count = kinds.length;
  const shared = kinds[0].shared.length;
  const rest = M - K; // outputs that name no class
  const others = kinds.map((_, i) => kinds.map(({ size }, j) => (i === j ? size - 1 : size)));

  let size = 0;
  const block = (length) => {
    size += length;
    return size - length;
  };
  const places = kinds.map(({ own }) => ({ a: block(1), b: block(count), H: block(shared + own.length) }));
  const z = block(shared);
  const zOwn = kinds.map(({ own }) => block(own.length));
  const moves = kinds.map((kind) => kind.shared.some((p) => p > 0)); // a class that shares no word isn't moved at all

  // Work arrays, made once.
  const probs = kinds.map((kind) => Float64Array.from([...kind.shared, ...kind.own]));
  const f = probs.map((row) => new Float64Array(row.length));
  const g = probs.map((row) => new Float64Array(row.length));
  const c = new Float64Array(count);
  const atClass = kinds.map(() => new Float64Array(shared)); // rows of Y of the shared words, at the output of a class of a kind
  const atRest = new Float64Array(shared); // and at one output that names no class
  const other = new Float64Array(count); // logits, then errors, at the output of another class

  /** f of each kind, by Eqn 5. */
  function attendAll(state) {
    probs.forEach((row, i) => {
      const zOf = (l) => state[l < shared ? z + l : zOwn[i] + l - shared];
      let top = -Infinity;
      for (let l = 0; l < row.length; l++) if (row[l] > 0) top = Math.max(top, zOf(l));
      let square = 0;
      for (let l = 0; l < row.length; l++) {
        f[i][l] = row[l] > 0 ? row[l] * Math.exp(zOf(l) - top) : 0;
        square += f[i][l] ** 2;
      }
      const norm = Math.sqrt(square);
      for (let l = 0; l < row.length; l++) f[i][l] /= norm;
    });
  }

  /** The rows of Y: a sum over the memories H/a, each times what its class has learned. */
  function readRows(state) {
    atRest.fill(0);
    atClass.forEach((row) => row.fill(0));
    places.forEach(({ a, b, H }, i) => {
      let lost = 0; // at the outputs of other classes
      for (let j = 0; j < count; j++) lost += others[i][j] * state[b + j];
      c[i] = (state[a] - lost) / rest;
      for (let l = 0; l < shared; l++) {
        const mean = state[H + l] / state[a];
        atRest[l] -= kinds[i].size * c[i] * mean;
        atClass[i][l] += state[H + l];
        for (let j = 0; j < count; j++) atClass[j][l] -= others[j][i] * state[b + j] * mean;
      }
    });
  }

  /** Adds what classes of kind i do, when each is drawn `pace` times as often as in its share. */
  function addKind(i, state, pace, change) {
    const { a, b, H } = places[i];
    const [own, push] = [f[i], g[i]];
    let alone = 0; // along the words that no other class holds
    for (let l = shared; l < own.length; l++) alone += (own[l] * state[H + l]) / state[a];

    // The logits of its own output, of another class's and of one that names no class.
    const along = (row) => {
      let sum = 0;
      for (let l = 0; l < shared; l++) sum += own[l] * row[l];
      return sum;
    };
    const ownLogit = along(atClass[i]) + alone * state[a];
    const restLogit = along(atRest) - alone * c[i];
    let top = Math.max(ownLogit, restLogit);
    for (let j = 0; j < count; j++) {
      other[j] = along(atClass[j]) - alone * state[b + j];
      if (others[i][j] > 0) top = Math.max(top, other[j]);
    }

    // Their softmax: the errors.
    let restError = Math.exp(restLogit - top);
    let error = rest * restError;
    for (let j = 0; j < count; j++) {
      other[j] = others[i][j] > 0 ? Math.exp(other[j] - top) : 0;
      error += others[i][j] * other[j];
    }
    const total = error + Math.exp(ownLogit - top);
    error /= total;
    restError /= total;
    for (let j = 0; j < count; j++) other[j] /= total;

    // g = Y e.
    let learned = state[a] * error + rest * restError * c[i];
    for (let j = 0; j < count; j++) learned += others[i][j] * other[j] * state[b + j];
    for (let l = 0; l < shared; l++) {
      push[l] = error * atClass[i][l] - rest * restError * atRest[l];
      for (let j = 0; j < count; j++) push[l] -= others[i][j] * other[j] * atClass[j][l];
    }
    for (let l = shared; l < own.length; l++) push[l] = (learned * state[H + l]) / state[a];

    change[a] += pace * error;
    for (let j = 0; j < count; j++) change[b + j] += pace * other[j];
    for (let l = 0; l < own.length; l++) change[H + l] += pace * error * own[l];
    if (!moves[i]) return;

    // Eqn 4; a shared word is moved by all classes.
    let inner = 0;
    for (let l = 0; l < own.length; l++) inner += own[l] * push[l];
    for (let l = 0; l < own.length; l++) {
      const moved = ratio * pace * own[l] * (push[l] - own[l] * inner);
      if (l < shared) change[z + l] += kinds[i].size * moved;
      else change[zOwn[i] + l - shared] += moved;
    }
  }

  /** d(state)/dtau into `change`, where each class of kind i is drawn paces[i] times as often as in its share. */
  function rate(state, paces, change) {
    change.fill(0);
    attendAll(state);
    readRows(state);
    paces.forEach((pace, i) => pace !== 0 && addKind(i, state, pace, change));
  }

  /** The state after a first update, whose errors are 1 - 1/M. */
  function start(tau, paces, state) {
    state.fill(0);
    attendAll(state);
    paces.forEach((pace, i) => {
      const { a, b, H } = places[i];
      state[a] = tau * pace * (1 - 1 / M);
      for (let j = 0; j < count; j++) state[b + j] = (tau * pace) / M;
      for (let l = 0; l < f[i].length; l++) state[H + l] = state[a] * f[i][l];
    });
  }

  const work = probs.reduce((sum, row) => sum + 2 * count * shared + 10 * row.length + 5 * count, 0);
  return { size, rate, start, work, evidence: places.map(({ a }) => a), z, zOwn, moves };
}

/**
 * Equations (b) and (c): a motion packs m of full batches, its shift m_1 at batch size 1, and a response S_n for each kind whose
 * draws are followed. Of a type of many classes one class is followed, and stands for all.
 */
function orderedMotion({ K, kinds, types }, law, mu) {
  const { size } = law;
  const even = kinds.map(() => 1);
  const followed = types.filter(([kind]) => law.moves[kind]);
  const responses = followed.map((type) => {
    const classes = type.reduce((sum, kind) => sum + kinds[kind].size, 0);
    const weight = Math.sqrt(classes / K); // sqrt(P(n)), times the root of how many classes it stands for
    return { weight, paces: kinds.map((_, kind) => (kind === type[0] ? K * weight : 0)) };
  });
  const part = (motion, row) => motion.subarray(row * size, (row + 1) * size);
  const rows = 2 + responses.length;
  const [F, up, down, at] = [0, 0, 0, 0].map(() => new Float64Array(size));
  const largest = (state) => state.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

  function start(tau) {
    const motion = new Float64Array(rows * size);
    law.start(tau, even, part(motion, 0));
    responses.forEach(({ weight, paces }, n) => {
      const S = part(motion, 2 + n);
      law.start(tau, paces, S);
      for (let i = 0; i < size; i++) S[i] -= weight * motion[i];
    });
    return motion;
  }

  // A step along a response changes no evidence by more than a small share of it, at least at first.
  const first = start(1);
  const steps = responses.map((_, n) => limits.DIFFERENCE / Math.max(...law.evidence.map((a) => Math.abs(part(first, 2 + n)[a] / first[a]))));

  /** F on either side of the mean, a step along a direction away. */
  function look(mean, direction, step) {
    for (const [sign, into] of [[1, up], [-1, down]]) {
      for (let i = 0; i < size; i++) at[i] = mean[i] + sign * step * direction[i];
      law.rate(at, even, into);
    }
  }

  /** d(motion)/dtau after t updates. */
  function rate(t, motion, change) {
    const mean = part(motion, 0);
    const [shift, shiftChange] = [part(motion, 1), part(change, 1)];
    law.rate(mean, even, F);
    change.set(F);
    shiftChange.fill(0);

    // J m_1; F is linear over a small step alone.
    const far = largest(shift);
    if (far > 0) {
      const step = (Math.min(...steps) * largest(mean)) / far;
      look(mean, shift, step);
      for (let i = 0; i < size; i++) shiftChange[i] = (up[i] - down[i]) / (2 * step);
    }

    const draws = effectiveDraws(t, mu);
    responses.forEach(({ weight, paces }, n) => {
      const [S, SChange] = [part(motion, 2 + n), part(change, 2 + n)];
      law.rate(mean, paces, SChange); // sqrt(P(n)) v_n
      look(mean, S, steps[n]);
      for (let i = 0; i < size; i++) {
        const slope = (up[i] - down[i]) / (2 * steps[n]); // J S
        const bend = (up[i] + down[i] - 2 * F[i]) / steps[n] ** 2; // D²F[S, S]
        SChange[i] += slope - weight * F[i];
        shiftChange[i] += bend / (2 * draws);
      }
    });
  }
  return { size: rows * size, rate, start, work: (3 + 3 * responses.length) * law.work, isMoved: responses.length > 0 };
}

/** (sum c_j)²/sum c_j² of (c) after t updates: t without momentum. */
function effectiveDraws(t, mu) {
  if (mu === 0) return t;
  const lag = mu / (1 - mu);
  const moved = t - lag * (1 - mu ** t);
  const squares = t - 2 * lag * (1 - mu ** t) + (mu ** 2 / (1 - mu ** 2)) * (1 - mu ** (2 * t));
  return moved ** 2 / squares;
}

/**
 * The motions of SGD at `times` (updates, ascending, 1 or more), in steps of finite size, as scansnap_core.law.inertia.InertialLaw
 * has them. The first updates are made one by one; between them the path is straight. From then on it is integrated in ln t.
 */
function pathOfUpdates(motion, times, pace, mu, visit) {
  const { ONE_BY_ONE, ORDER_RTOL, ORDER_ATOL } = limits;
  const { size, rate } = motion;
  const update = pace / (1 - mu); // the tau of one
  let speed = motion.start(1);
  const made = [new Float64Array(size), motion.start(pace)];
  const change = new Float64Array(size);
  for (let t = 1; t < ONE_BY_ONE; t++) {
    rate(t, made[t], change);
    speed = speed.map((value, i) => mu * value + change[i]);
    made.push(made[t].map((value, i) => value + pace * speed[i]));
  }
  for (const t of times.filter((time) => time <= ONE_BY_ONE)) {
    const before = Math.min(Math.floor(t), ONE_BY_ONE - 1);
    visit(made[before].map((value, i) => value + (t - before) * (made[before + 1][i] - value)));
  }
  const later = times.filter((time) => time > ONE_BY_ONE).map((time) => Math.log(time / ONE_BY_ONE));
  if (later.length === 0) return;

  // Each force is that of half an update before. With momentum its share kappa acts later: a coasting part, beside the motion,
  // goes to that share of the present force, and the difference falls as mu^t.
  const kappa = mu > 0 ? (-mu * Math.log(mu)) / (1 - mu) : 0;
  const slowing = mu > 0 ? -Math.log(mu) / update : 0;
  const begin = new Float64Array(mu > 0 ? 2 * size : size);
  begin.set(made[ONE_BY_ONE]);
  if (mu > 0) begin.set(speed.map((value) => kappa * (1 - mu) * value), size);
  const now = new Float64Array(begin.length);
  const earlier = new Float64Array(size);
  let work = 0;
  function rhs(x, moved, out) {
    work += 2 * (motion.work + 10 * size);
    if (work > MOST_WORK) throw new Error("the order of the classes takes too many steps here; B = full leaves it out");
    const t = ONE_BY_ONE * Math.exp(x);
    const tau = t * update;
    for (let i = 0; i < now.length; i++) now[i] = begin[i] + moved[i];
    const place = now.subarray(0, size);
    rate(t, place, change);
    for (let i = 0; i < size; i++) {
      const coasting = mu > 0 ? now[size + i] : 0;
      earlier[i] = place[i] - (update / 2) * ((1 - kappa) * change[i] + coasting);
      earlier[i] += (update ** 2 / 8) * slowing * (kappa * change[i] - coasting);
    }
    rate(t - 0.5, earlier, change);
    for (let i = 0; i < size; i++) {
      const coasting = mu > 0 ? now[size + i] : 0;
      out[i] = tau * ((1 - kappa) * change[i] + coasting);
      if (mu > 0) out[size + i] = tau * slowing * (kappa * change[i] - coasting);
    }
  }
  const see = (_, moved) => visit(moved.subarray(0, size).map((value, i) => value + begin[i]));
  integrate({ size: begin.length, rhs }, Float64Array.from(later), ORDER_RTOL, see, ORDER_ATOL);
}

/** The shares of z by which the order of classes has changed it at batch size 1, now and the largest so far: |m_1|/|m| of all of z. */
function orderShares(groups, { etaY, etaZ, mu, steps }) {
  const { LOOK } = limits;
  const { K, kinds, types } = groups;
  const law = memoryLaw(groups, etaZ / etaY);
  const motion = orderedMotion(groups, law, mu);
  if (!motion.isMoved) return { now: 0, largest: 0 }; // classes that share nothing
  const shared = kinds[0].shared.length;

  // z of a type's own words is the mean over its classes: only the draws of one were followed.
  const squareOf = (state) => {
    let square = 0;
    for (let l = 0; l < shared; l++) square += state[law.z + l] ** 2;
    for (const type of types) {
      const classes = type.reduce((sum, kind) => sum + kinds[kind].size, 0);
      kinds[type[0]].own.forEach((_, l) => {
        const total = type.reduce((sum, kind) => sum + kinds[kind].size * state[law.zOwn[kind] + l], 0);
        square += total ** 2 / classes;
      });
    }
    return square;
  };
  const looks = Array.from({ length: 1 + Math.floor(Math.log(steps) / Math.log(LOOK)) }, (_, i) => LOOK ** i);
  const times = [...new Set([...looks.filter((time) => time < steps), steps])];
  let [now, largest] = [0, 0];
  pathOfUpdates(motion, times, etaY / K, mu, (state) => {
    const size = squareOf(state.subarray(0, law.size));
    const shift = squareOf(state.subarray(law.size, 2 * law.size));
    now = size > 0 ? Math.sqrt(shift / size) : 0;
    largest = Math.max(largest, now);
  });
  return { now, largest };
}
