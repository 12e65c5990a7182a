"use strict";

const CLASS_FIELDS = ["K", "rho", "w"];
const EXAMPLE = "ship: and 30, blue 20, wave 25, sail 15, harbour 10\nplane: and 30, blue 20, cloud 30, wing 10, runway 10";
const MOST = { classes: 20, words: 200 };

/**
 * Classes of a text, a line each: `ship: and 30, wave 25`, or a line for each word: `ship, and, 30`; and what is wrong. The table
 * maps names to maps of words to counts: an object would take "constructor" for a word, and would put the word "7" first.
 */
function readTable(text) {
  const table = new Map();
  for (const line of text.split("\n").map((part) => part.trim()).filter(Boolean)) {
    const [, name, rest] = line.match(/^([^:]*):(.*)$/) ?? [];
    const cells = line.split(/[,;\t]/).map((cell) => cell.trim());
    const pairs = name === undefined ? [[cells[0], cells[1], cells[2]]] : rest.split(/[,;]/).map((pair) => [name.trim(), ...(pair.trim().match(/^(.*?)\s*[:=\s]\s*(\S+)$/)?.slice(1) ?? [pair])]);
    for (const [of, word, count] of pairs) {
      if (!of || !word || /\s\d\S*\s/.test(word) || !(Number(count) > 0) || !Number.isFinite(Number(count))) return { fault: `“${line.slice(0, 60)}” isn’t a class with words and positive counts; write such as “${EXAMPLE.split("\n")[0]}”.` };
      if (!table.has(of)) table.set(of, new Map());
      const row = table.get(of);
      row.set(word, Number(count) + (row.get(word) ?? 0));
    }
  }
  const rows = [...table.values()];
  const words = new Set(rows.flatMap((row) => [...row.keys()]));
  if (rows.length < 2 || rows.length > MOST.classes || words.size > MOST.words) return { fault: `Give 2 to ${MOST.classes} classes with at most ${MOST.words} words; these are ${rows.length} with ${words.size}.` };
  const shared = (word) => rows.filter((row) => row.has(word)).length > 1;
  const own = [...rows[0].keys()];
  if (!own.some(shared) || own.every(shared)) return { fault: `The first class, “${[...table.keys()][0]}”, needs a word that another class shares and one that none does; put another class first.` };
  return { table, words };
}

/** The numbers that the texts stand for, and what is wrong. */
function readSetting(texts) {
  const own = texts.table.trim() !== "";
  const { values, faults } = check(own ? { ...texts, K: "2", rho: "0.3", w: "1" } : texts); // a table has its own classes
  values.table = null;
  if (own) {
    const { table, words, fault } = readTable(texts.table);
    if (fault) faults.table = fault;
    else if (values.M < words.size + 1) faults.M = `M = ${values.M} is too small for ${words.size} words and a query; choose ${words.size + 1} or more.`;
    if (table) Object.assign(values, { table, K: table.size });
  }
  if (values.opt !== "momentum") [values.mu] = [0, delete faults.mu];
  const hasBatches = texts.opt === "sgd" || texts.opt === "momentum";
  if (!hasBatches) [values.B] = [Infinity, delete faults.B];
  if (!faults.B && !faults.T && values.B < Infinity && values.T < Infinity)
    faults.B = `B = ${values.B} needs endless sequences here: write T = inf, or B = full. “scansnap predict --batch-size” takes both.`;
  if (!faults.steps && !(values.steps >= 1)) faults.steps = "Write 1 or more steps, such as 1000.";
  if (Object.keys(faults).length === 0 && values.opt !== "adam") {
    const { snap } = core.moments({ ...values, etaY: values.etaY / (1 - values.mu) });
    if (values.steps > core.limits.HORIZON * snap) faults.steps = `${texts.steps} is beyond a million t₀, which is ${written(core.limits.HORIZON * snap)}; choose less.`;
  }
  return { values, faults };
}

/** A number in a few significant digits, half-way to the even one. It is taken to nine digits first, as in Python. */
function roundedToEven(x, significant) {
  const [digits, power] = Math.abs(x).toExponential(8).split("e");
  const nine = Number(digits.replace(".", ""));
  const unit = 10 ** (9 - significant);
  const whole = Math.floor(nine / unit);
  const rest = nine - whole * unit;
  const up = rest > unit / 2 || (rest === unit / 2 && whole % 2 === 1);
  return Math.sign(x) * Number(`${whole + (up ? 1 : 0)}e${Number(power) - significant + 1}`);
}

/** A number as scansnap_core.base.digits writes it. */
function written(x, significant = 3) {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const rounded = roundedToEven(x, significant);
  const power = rounded === 0 ? 0 : Number(rounded.toExponential().split("e")[1]);
  if (power >= -4 && power < 5) return String(rounded).replace("-", "−");
  const mantissa = String(Number(rounded.toExponential().split("e")[0])).replace("-", "−");
  const raised = [...String(power)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
  return mantissa === "1" || mantissa === "−1" ? `${mantissa.slice(0, -1)}10${raised}` : `${mantissa} × 10${raised}`;
}

/** A group of equally frequent words by their names, or by their number, as scansnap_core.law.answer calls it. */
function namedGroup(words, name, found) {
  if (words && words.length <= MOST_NAMED) return [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");
  const size = found[`num_${name}`];
  const group = GROUPS[name === "common" || found.several ? name : "level"];
  if (size === 1) return `the ${name === "common" ? "common word" : group.slice(0, -1)}`;
  return `the ${COUNTS[size] ?? size} ${group}`;
}

/** The names of the common, the first and the last words; in classes of weights the words have none. */
function namesOf(table, { found, places }) {
  const own = table && [...[...table.values()][0].keys()];
  return Object.fromEntries(Object.entries(places).map(([name, group]) => [name, namedGroup(own && group.map((i) => `“${own[i]}”`), name, found)]));
}

/** The sentences of these numbers by topic, as scansnap_core.law.answer says them. */
function sentencesOf(found, words) {
  const told = {};
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  for (const [topic, groups] of Object.entries("rising" in found ? ADAM : SENTENCES)) {
    for (const alternatives of groups) {
      const { text } = alternatives.find(({ when }) => when(found)) ?? {};
      const fill = (_, name, percent, one, many) => {
        if (one !== undefined) return found[`num_${name}`] === 1 ? one : many;
        return words[name] ?? (percent ? `${written(100 * found[name], 2)} %` : written(found[name]));
      };
      if (text) (told[topic] ??= []).push(capital(text.replace(PLACE, fill)));
    }
  }
  return told;
}

/** Fills the calculator's element. */
function makeCalculator(root) {
  const source = `(${labCore})().serveAnswers(self)`;
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  let texts = { ...DEFAULTS };
  let [asked, timer, known, picture] = [0, null, null, null];
  const keys = Object.keys(FIELDS).filter((key) => key !== "table");
  const fields = Object.fromEntries(keys.map((key) => [key, makeField(key, (text) => change(key, text))]));
  const tableId = freshId("table");
  const tableFault = make("p", { class: "ss-lab-fault", id: freshId("fault"), "aria-live": "polite" });
  const area = make("textarea", { id: tableId, rows: "3", spellcheck: "false", placeholder: EXAMPLE, "aria-describedby": tableFault.id });
  area.addEventListener("input", () => change("table", area.value));
  const example = make("button", { type: "button" }, "Fill in an example");
  example.addEventListener("click", () => change("table", EXAMPLE));
  const clear = make("button", { type: "button" }, "Empty");
  clear.addEventListener("click", () => change("table", ""));
  const own = make("div", { class: "ss-lab-own" }, make("label", { for: tableId }, "Or enter your own words: one class per line, each word with its count. They replace K, ρ and the weights"), area, make("div", { class: "ss-lab-row" }, example, clear), tableFault);
  const [notice, told] = [make("p", { class: "ss-lab-fault", role: "status" }), make("div", { class: "ss-lab-answer", "aria-live": "polite" })];
  const chart = makeChart("shares", "Attention of the class’s words, in %, over time t, for endless sequences (blue line: your steps)");
  const reset = make("button", { type: "button" }, "Start over");
  reset.addEventListener("click", () => take({ ...DEFAULTS }));
  const link = make("a", { class: "ss-lab-link", href: "#" }, "Link to this answer");
  const boxes = [...keys.map((key) => fields[key].box), own, make("div", { class: "ss-lab-row" }, reset, link)];
  root.replaceChildren(
    make("div", { class: "ss-lab-frame" },
      make("div", { class: "ss-lab-controls", role: "group", "aria-label": "Your data" }, ...boxes),
      make("div", { class: "ss-lab-view" }, notice, told, chart.figure)));

  function change(key, text) {
    texts[key] = text;
    refresh();
  }
  function refresh(unread = "") {
    const { values, faults } = readSetting(texts);
    keys.forEach((key) => fields[key].show(texts[key], faults[key]));
    if (area.value !== texts.table) area.value = texts.table;
    [tableFault.textContent, area.ariaInvalid] = [faults.table ?? "", String(Boolean(faults.table))];
    CLASS_FIELDS.forEach((key) => (fields[key].box.hidden = texts.table.trim() !== ""));
    fields.mu.box.hidden = texts.opt !== "momentum";
    fields.B.box.hidden = texts.opt === "flow" || texts.opt === "adam";
    const any = Object.keys(faults).length > 0;
    notice.textContent = [unread, any ? "The answer below belongs to the last sound setting." : ""].filter(Boolean).join(" ");
    root.dataset.faults = Object.keys(faults).join(" ");
    if (any) return;
    root.dataset.state = "busy";
    clearTimeout(timer);
    timer = setTimeout(() => {
      worker.postMessage({ id: ++asked, settings: values });
      const address = writeAddress(texts, DEFAULTS);
      link.href = `#${address || "K=2"}`;
      if (address || location.hash.includes("=")) history.replaceState(null, "", link.href);
      known = location.hash;
    }, picture ? 250 : 0);
  }
  worker.onmessage = ({ data: { id, settings, answer, failure } }) => {
    if (id !== asked) return;
    if (failure) {
      notice.textContent = `This setting can’t be followed (${failure}). Change it a little, or ask “scansnap predict”.${picture ? " The answer below belongs to the last sound setting." : ""}`;
      root.dataset.state = "failed";
      return;
    }
    const names = namesOf(settings.table, answer);
    picture = { settings, answer, names, told: sentencesOf(answer.found, names) };
    const question = [...document.querySelectorAll("a[data-answer]")].find((one) => one.getAttribute("href") === link.getAttribute("href"));
    const spoken = (sentence) => (question && sentence.includes(question.dataset.answer) ? [make("mark", {}, ...withSubscripts(sentence))] : withSubscripts(sentence));
    const paragraph = (sentences) => make("p", {}, ...sentences.flatMap((sentence, i) => [i ? " " : "", ...spoken(sentence)]));
    told.replaceChildren(...Object.entries(picture.told).map(([topic, sentences]) => make("section", {}, make("h2", {}, topic), paragraph(sentences))));
    draw();
    root.dataset.state = "done";
  };
  function draw() {
    const { settings, answer, names } = picture;
    chart.figure.hidden = !answer.curves; // Adam has none
    if (!answer.curves) return;
    const upto = answer.times.findIndex((t) => t > Math.max(core.limits.END * answer.moments.snap, settings.steps));
    const shown = answer.found.several ? ["common", "first", "last"] : ["common", "first"]; // where all are equal, one curve is all
    const cut = (curves) => ({ times: answer.times.slice(0, upto), names: shown.map((name) => names[name]), z: shown.map((name) => curves[name].slice(0, upto)) });
    const [ten, truth] = [cut(answer.curves.ten), cut(answer.curves.true)];
    chart.draw(ten, truth, answer.moments, settings.steps);
    chart.describe(`By t = ${written(settings.steps)} the paper’s law (10) has taken ${written(100 * answer.found.lost_ten, 2)} % of its attention from ${names.common}, the true gradient ${written(100 * answer.found.lost_true, 2)} %.`);
  }
  function take(taken, unread) {
    texts = taken;
    refresh(unread);
  }
  function readHash() {
    if (location.hash === known) return;
    const { texts: given, fault } = readAddress(location.hash.includes("=") ? location.hash : "");
    take({ ...DEFAULTS, ...given }, fault);
  }
  root.lab = { get picture() { return picture; } }; // for the tests
  new ResizeObserver(() => chart.resize()).observe(root);
  new MutationObserver(() => picture && draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  addEventListener("hashchange", readHash);
  readHash();
}
