"use strict";

// What the reader set, as text, and what it means. A setting is taken only if every text is sound.

const DEFAULTS = Object.fromEntries(Object.entries(FIELDS).map(([key, field]) => [key, field.default]));

/** The texts that an address such as `#K=3&rho=0.1` names, and a sentence on what in it can't be read. */
function readAddress(address) {
  const [texts, unread] = [{}, []];
  for (const pair of address.replace(/^#/, "").split("&").filter(Boolean)) {
    const [key, ...rest] = pair.split("=");
    let text = null;
    try {
      text = decodeURIComponent(rest.join("=").replace(/\+/g, " "));
    } catch {
      // a lone % is no text
    }
    if (key in FIELDS && rest.length && text !== null) texts[key] = text;
    else unread.push(pair);
  }
  const fault = unread.length
    ? `The address says “${unread.join("&").slice(0, 60)}”, which this page can't read; it knows ${Object.keys(FIELDS).join(", ")}, as in #K=3&rho=0.1.`
    : "";
  return { texts, fault };
}

/** The address of the texts that differ from `start`. */
function writeAddress(texts, start) {
  const changed = Object.keys(FIELDS).filter((key) => texts[key] !== start[key]);
  return changed.map((key) => `${key}=${encodeURIComponent(texts[key]).replace(/%2C/g, ",").replace(/%20/g, "")}`).join("&");
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const brief = (x) => String(Number(x.toPrecision(3)));

const RULES = {
  whole: (x, { min, max }) => (Number.isInteger(x) && x >= min && x <= max ? "" : `choose a whole number from ${min} to ${max}`),
  rate: (x, { min, max }) => {
    if (!(x > 0)) return `a learning rate is positive; choose ${min} to ${max}`;
    return x < min || x > max ? `choose ${min} to ${max}` : "";
  },
  open: (x, { low, high }) => {
    if (x === 0) return `without overlap no token is shared, and attention doesn't move; choose ${low} to ${high}`;
    return x < low || x > high ? `overlaps of probabilities lie between 0 and 1; choose ${low} to ${high}` : "";
  },
  length: (x, { min, max }) =>
    x === Infinity || (Number.isInteger(x) && x >= min && x <= max) ? "" : `choose a whole number from ${min} to ${max}, or inf`,
  batch: (x, { min, max }) => (x === Infinity || (Number.isInteger(x) && x >= min && x <= max) ? "" : `choose a whole number from ${min} to ${max}, or full`),
  share: (x, { min, max }) => (x >= min && x <= max ? "" : `choose ${min} to ${max}`),
  time: (x) => (x <= 0 ? "time is positive" : ""), // left out, it is t_0
};

/** The numbers that the texts stand for, and a sentence for each field that has none or breaks a rule. */
function check(texts) {
  const [values, faults] = [{}, {}];
  for (const [key, field] of Object.entries(FIELDS)) {
    const text = texts[key].trim();
    if (field.rule === "choice") {
      values[key] = text;
      if (!(text in field.choices)) faults[key] = `“${text}” isn't a choice; choose ${Object.keys(field.choices).join(", ")}.`;
    } else if (field.rule === "weights") {
      values[key] = text.split(/[\s,;]+/).filter(Boolean).map(Number);
      const sound = values[key].length >= 1 && values[key].length <= field.most;
      if (!sound || !values[key].every((x) => x >= field.min && x <= field.max))
        faults[key] = `Write 1 to ${field.most} numbers from ${field.min} to ${field.max}, such as 1, 0.8, 0.5.`;
    } else {
      values[key] = text === "" ? NaN : Number(text === "inf" ? "Infinity" : text);
      if (field.rule === "batch" && ["", "full"].includes(text)) values[key] = Infinity;
      if (field.rule === "table") continue;
      const name = field.label.split(",")[0];
      const broken = RULES[field.rule](values[key], field);
      if (Number.isNaN(values[key]) && text !== "") faults[key] = `“${text}” isn't a number for ${name}; write such as ${field.example ?? field.default}.`;
      else if (broken) faults[key] = `${name} = ${text}: ${broken}.`;
    }
  }
  Object.assign(faults, Object.fromEntries(Object.entries(together(values, faults)).filter(([key]) => !faults[key])));
  return { values, faults };
}

/** The rules that join fields; each is asked only where its fields are sound. */
function together({ K, M, w, rho, beyond, n, dyn, model }, faults) {
  const found = {};
  const sound = (...keys) => keys.every((key) => !faults[key]);
  if (sound("K", "w", "M") && M < 2 + K * w.length)
    found.M = `M = ${M} is too small: ${K} classes of ${plural(w.length, "distinct token")}, a common token and a query need ${2 + K * w.length} or more.`;
  if (sound("K", "rho") && beyond === "0" && rho >= upperOverlap(K))
    found.rho = `ρ = ${rho} breaks the upper bound of Assumption 2, ρ < ${brief(upperOverlap(K))} for K = ${K}; choose less, or tick “${FIELDS.beyond.label}”.`;
  if (sound("dyn", "model") && model !== "plain" && ["law", "sgd"].includes(dyn))
    found.model = `“${FIELDS.model.choices[model]}” has the three flows here; choose one of them as the dynamics, or the paper’s model.`;
  if ("n" in FIELDS && sound("K") && !(Number.isInteger(n) && n >= 1 && n <= K)) found.n = `Class ${n} isn't one of the ${K}; choose 1 to ${K}.`;
  return found;
}

/** Assumption 2 for E = rho (11^T - I): |lambda_1| = (K - 1) rho < 1/K, and the others, rho, at least 6/sqrt(M). */
const upperOverlap = (K) => 1 / (K * (K - 1));
const lowerOverlap = (M) => 6 / Math.sqrt(M);

/** For the text around a picture: that a setting lies outside Assumption 2, and what that asks for; of one inside no words. */
function outsideAssumption2({ K, M, rho }) {
  const [low, high] = [lowerOverlap(M), upperOverlap(K)];
  if (rho >= low && rho < high) return "";
  const asks = low < high ? `${brief(low)} ≤ ρ < ${brief(high)} at M = ${M}` : `M > ${brief((6 / high) ** 2)} here`;
  return `Outside Assumption 2, which asks for ${asks}: what the text says about that assumption doesn’t cover this setting.`;
}

/** The overlap that K classes may have of the one that was wished for: that, or a little less than their upper bound. */
function allowedOverlap({ K, beyond }, wished) {
  const high = upperOverlap(Number(K));
  return beyond === "0" && high > 0 && high < 1 && Number(wished) >= high ? brief(Number((0.9 * high).toPrecision(2))) : wished;
}

/** A setting in words. */
const settingInWords = ({ K, M, rho, etaY, etaZ, model }) =>
  `K = ${K}, M = ${M}, ρ = ${rho}, η_Y = ${etaY}, η_Z = ${etaZ}${model === "plain" ? "" : `, ${FIELDS.model.choices[model]}`}`;
