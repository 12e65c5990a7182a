"use strict";

// Two classes in the plane of f_1 and f_2: what update (26) adds to class 1's gradient, and what the gradient has of it.

/** beta/iota at t = 2 t_0' with attention at rest, K = 2: of the gradient, and of update (26), which has rho. */
function pushOf(rho, M) {
  const settings = { K: 2, M, rho, w: [1], etaY: 1, etaZ: 1 };
  const flow = core.lawFlow(core.withOverlap(settings), { ...settings, etaZ: 0 });
  const change = new Float64Array(flow.size);
  let share = 0;
  core.integrate(flow, [2 * core.moments(settings).scan], 1e-9, (_, state) => {
    flow.rhs(0, state, change);
    const [a, b, error, other] = [state[0], state[1], 2 * change[0], 2 * change[1]];
    const [c, rest] = [(a - b) / (M - 2), error - other];
    share = (a * other + b * error - c * rest) / (a * error + b * other + c * rest);
  });
  return { gradient: share, update26: rho };
}

/** The factor by which both felt parts are drawn longer, so that the longer one can be seen. */
const stretchOf = (length) => Math.max(1, 120 / length);

// In the essay the picture grows by one arrow at a time; what is said of each.
const STAGES = [
  "Each topic is a direction: f₁ is what attention sees of the first topic, f₂ of the second. They overlap by ρ.",
  "Update (26) first removes ρf₂ from f₁: the part that topic 2 sees.",
  "What is left is update (26). It stands at a right angle to f₂, so topic 2 doesn’t see it.",
  "Attention feels only what stands at a right angle to f₁: this much of update (26).",
  "The gradient itself turns f₁ by less.",
  "", // the whole picture has a sentence with numbers
];

/** Fills an element with the plane and the two sliders; with `data-steps` it begins with two directions, and grows. */
function makePlane(root) {
  const texts = { rho: "0.3", M: "1000" };
  let stage = "steps" in root.dataset ? 0 : STAGES.length - 1;
  let grown = false; // whether the last stage's arrow has just come
  const fields = Object.keys(texts).map((key) => makeField(key, (text) => ((texts[key] = text), draw())));
  const [told, holder] = [make("p", { class: "ss-lab-words", "aria-live": "polite" }), make("div", { class: "ss-plane" })];
  const warning = make("p", { class: "ss-lab-warning", "aria-live": "polite" });
  const turn = (label, to) => {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      const next = to();
      grown = next > stage;
      stage = next;
      draw();
    });
    return button;
  };
  const last = STAGES.length - 1;
  const back = turn("Back", () => Math.max(0, stage - 1));
  const on = turn("Next arrow", () => Math.min(last, stage + 1));
  const whole = turn("All arrows", () => last);
  const turns = make("div", { class: "ss-lab-row", role: "group", "aria-label": "Arrows, one at a time" }, back, on, whole);
  const controls = make("div", { class: "ss-lab-controls", role: "group", "aria-label": "Setting" }, ...fields.map(({ box }) => box));
  root.replaceChildren(controls, warning, holder, ...("steps" in root.dataset ? [turns] : []), told, makeTake("plane", [holder, told]));
  /** What lights up with a name in the text: of update (26) also what it removes. */
  const lawOf = (name) => (name.includes("gradient") ? "law:true" : /update|removed/.test(name) ? "law:26" : "");
  const marks = (name) => (lawOf(name) ? ` data-name="${lawOf(name)}"` : "");
  const arrow = ([x1, y1], [x2, y2], name) => {
    const [dx, dy] = [x2 - x1, y2 - y1];
    const length = Math.hypot(dx, dy);
    if (length < 1) return `<path class="${name}"${marks(name)} d="M${x1} ${y1}L${x2} ${y2}"/>`;
    const [ux, uy, head] = [dx / length, dy / length, Math.min(10, length / 2)];
    const wing = (sign) => `${x2 - head * (ux - sign * 0.5 * uy)} ${y2 - head * (uy + sign * 0.5 * ux)}`;
    const drawn = `<path class="${name}"${marks(name)} d="M${x1} ${y1}L${x2} ${y2}"/><path class="${name} ss-head"${marks(name)} d="M${wing(1)}L${x2} ${y2}L${wing(-1)}"/>`;
    return `<g style="transform-origin: ${x1}px ${y1}px">${drawn}</g>`;
  };
  const label = ([x, y], text, name = "") => `<text class="${name}"${marks(name)} x="${x}" y="${y}">${text}</text>`;
  /** The row of the legend: a line as it is drawn, and what it is. */
  const named = (row, name, text) => `<path class="${name} ss-sample"${marks(name)} d="M300 ${34 + 29 * row}H334"/>${label([344, 41 + 29 * row], text, name)}`;
  function draw() {
    const { values, faults } = check({ ...DEFAULTS, ...texts, beyond: "1" });
    fields.forEach((field, i) => field.show(Object.values(texts)[i], faults[Object.keys(texts)[i]]));
    if (faults.rho || faults.M) return;
    const { rho, M } = values;
    const { gradient, update26 } = pushOf(rho, M);
    warning.textContent = outsideAssumption2({ K: 2, M, rho });
    const [unit, origin] = [250, [20, 300]];
    const at = (x, y) => [origin[0] + unit * x, origin[1] - unit * y];
    const sine = Math.sqrt(1 - rho * rho);
    const pushed = (share) => at(1 - share * rho, -share * sine); // f_1 less share times f_2
    const stretch = stretchOf(unit * Math.max(update26, gradient) * sine);
    const foot = (x, share) => [at(x, 0), at(x, -stretch * share * sine)];
    const felt = `its felt part${stretch > 1 ? `, × ${readable(stretch, 2)}` : ""}`;
    const stages = [
      arrow(at(1, 0), pushed(update26), "ss-removed") + named(4, "ss-removed", "removed by (26): ρf₂"),
      arrow(origin, pushed(update26), "ss-update") + named(0, "ss-update", "update (26)"),
      arrow(...foot(1.07, update26), "ss-update ss-felt") + named(1, "ss-update ss-felt", felt),
      arrow(origin, pushed(gradient), "ss-gradient") + named(2, "ss-gradient", "the gradient"),
      arrow(...foot(1.16, gradient), "ss-gradient ss-felt") + named(3, "ss-gradient ss-felt", felt),
    ];
    holder.innerHTML =
      `<svg viewBox="0 16 580 456" role="img" aria-label="The directions of two topics, and of the updates of topic 1">` +
      arrow(origin, at(1, 0), "ss-f") + arrow(origin, at(rho, sine), "ss-f") +
      label([at(1, 0)[0] - 8, at(1, 0)[1] - 12], "f₁") + label([at(rho, sine)[0] + 10, at(rho, sine)[1] + 8], "f₂") +
      stages.slice(0, stage).map((shapes, i) => `<g class="${grown && i === stage - 1 ? "ss-grown" : ""}">${shapes}</g>`).join("") + "</svg>";
    grown = false;
    back.disabled = stage === 0;
    on.disabled = whole.disabled = stage === last;
    told.textContent = STAGES[stage] || `At t = 2t₀′, with ρ = ${rho} and M = ${M}, the felt part of the gradient is ${readable((100 * gradient) / update26, 2)} % as long as that of update (26), which is drawn for large M. Update (26) points at a right angle to f₂, so topic 2 doesn’t see it.`;
    root.lab = { share: gradient / update26, stretch }; // for the tests
    root.dataset.state = "done";
  }
  draw();
}
