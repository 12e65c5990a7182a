"use strict";

/** A share of a movement; outside 0 to 1 the movement turned round, and no share of it means anything. */
const percent = (x) => (!Number.isFinite(x) ? "–" : x < 0 || x > 1 ? "it turns round" : `${(100 * x).toFixed(0)} %`);

/** The value of equally frequent tokens, or its range: a training's samples tell them apart. */
const rangeOf = (values) => [...new Set([Math.min(...values), Math.max(...values)].map((x) => readable(x)))].join(" to ");

/** The rows of the table: what it is, as printed (Theorem 4), under the dynamics shown, under the true gradient.
 * Theorem 4, B and the bounds are of the paper's model. */
function numbersOf(shown, truth, settings, moments, now) {
  const beside = truth ?? shown;
  const [i, j] = [indexAt(shown.times, now), indexAt(beside.times, now)];
  const printed = printedAt(core.formulas.h(now / settings.K, settings.M, settings.etaY), settings);
  const chi = [core.formulas.chi_lower(shown.f_0, printed.B), core.formulas.chi_upper(printed.B)].map((x) => readable(x));
  const named = called(shown.winners);
  const z = (curves, k) => rangeOf(shown.winners.map((token) => curves.z[token][k]));
  const growth = (curves, k) => rangeOf(curves.chi.map((values) => values[k]));
  const bounds = (curves, k) => (curves?.B ? `${readable(curves.lower[k])} to ${readable(curves.upper[k])}` : "–");
  const finished = beside.times[beside.times.length - 1] <= shown.times[shown.times.length - 1];
  return [
    ["z of the common token", readable(printed.z), readable(shown.z[0][i]), readable(beside.z[0][j])],
    [`z of ${named}`, "–", z(shown, i), z(beside, j)],
    ["Bₙ", readable(printed.B), shown.B ? readable(shown.B[i]) : "–", beside.B ? readable(beside.B[j]) : "–"],
    [`χ of ${named}`, `${chi[0]} to ${chi[1]}`, growth(shown, i), growth(beside, j)],
    ["bounds of χ by (12)", "–", bounds(shown, i), bounds(beside, j)],
    ["entropy, nats", "–", readable(shown.entropy[i]), readable(beside.entropy[j])],
    [
      "movement after t₀ (common token, to 40 t₀)",
      percent(printedShareAfter(settings, moments)),
      finished ? percent(shareAfter(shown.times, shown.z[0], moments.snap)) : "–",
      percent(shareAfter(beside.times, beside.z[0], moments.snap)),
    ],
  ];
}

/** The curves as a table, heads and rows: z of each token, then z under the gradient in a small lab, entropy and χ elsewhere. */
function courseOfAll(curves, beside, moments) {
  const named = curves.z.map((_, i) => `z ${curves.words?.[i] ?? (i ? `distinct ${i}` : "common")}`);
  const dashed = (curves.words && beside?.z) || [];
  const more = curves.words ? dashed.map((_, i) => `${named[i]}, gradient`) : ["entropy", "χ"];
  const rows = moments.all.map((t, i) => {
    const [k, j] = [indexAt(curves.times, t), beside && indexAt(beside.times, t)];
    const others = curves.words ? dashed.map((z) => z[j]) : [curves.entropy[k]];
    const cells = [t, ...curves.z.map((z) => z[k]), ...others].map((x) => readable(x));
    const growth = curves.words ? [] : [rangeOf(curves.chi.map((chi) => chi[k]))];
    return [["t₀′/2", "t₀′", "t₀", "4 t₀", "40 t₀"][i], ...cells, ...growth];
  });
  return [["moment", "t", ...named, ...more], rows];
}

/** A table with a heading for each row and column. */
function fillTable(table, caption, heads, rows) {
  const row = (cells, tag) =>
    make("tr", {}, ...cells.map((cell, i) => (tag === "th" || i === 0 ? make("th", { scope: i === 0 && tag === "td" ? "row" : "col" }, cell) : make(tag, {}, cell))));
  table.replaceChildren(
    make("caption", {}, caption),
    make("thead", {}, row(heads, "th")),
    make("tbody", {}, ...rows.map((cells) => row(cells, "td"))),
  );
}

/** Tokens by their places in a class. */
function called(tokens) {
  const listed = (words) => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");
  const own = tokens.filter((token) => token > 0);
  const distinct = own.length ? [`distinct token${own.length > 1 ? "s" : ""} ${listed(own.map(String))}`] : [];
  return listed([...(tokens.includes(0) ? ["the common token"] : []), ...distinct]);
}

/** How much attention tokens of equal shares have each. */
const toWhom = (c, tokens, comma) => `${(100 * c[tokens[0]]).toFixed(1)} %${tokens.length > 1 ? " each" : ""}${comma} to ${called(tokens)}`;

/** The picture in words, for those who don't see it. */
function sentenceOf(shown, truth, settings, moments, now) {
  const i = indexAt(shown.times, now);
  const c = shown.c[i];
  const name = FIELDS.dyn.choices[shown.dynamics];
  const top = largestOf(c);
  const others = top.includes(0) ? largestOf(c, 1).filter((token) => !top.includes(token)) : [0]; // none, if they are as large
  const beside = truth
    ? ` Under the true gradient z of the common token is ${readable(truth.z[0][indexAt(truth.times, now)])}.`
    : "";
  return (
    `${settings.model === "plain" ? "" : `${FIELDS.model.choices[settings.model]}. `}${name}, t = ${readable(now)} (${readable(now / moments.snap, 2)} t₀): class ${settings.n} gives most attention, ` +
    `${toWhom(c, top, ",")}${others.length ? `, and ${toWhom(c, others, "")}` : ""}; entropy ` +
    `${readable(shown.entropy[i])} nats; z of the common token ${readable(shown.z[0][i])}.${beside}`
  );
}

/** A chart in words: a curve at the moments of the book. */
function courseOf(name, { times }, values, moments) {
  const at = (t) => readable(values[indexAt(times, t)]);
  const [, scan, snap, , end] = moments.all;
  return `${name}: ${at(scan)} at t₀′, ${at(snap)} at t₀, ${at(end)} at the end.`;
}

/** The two moments and where the setting stands to Assumption 2. */
function statusOf({ settings: { K, M, rho }, moments, shown }) {
  const [low, high] = [lowerOverlap(M), upperOverlap(K)];
  const said = (met) => (met ? "met" : "not met");
  const both = low < high ? "" : `; both at once need M > ${brief((6 / high) ** 2)}`;
  const last = shown.times[shown.times.length - 1];
  const short = shown.done && last < 0.99 * moments.all[4] ? ` SGD is drawn up to t = ${readable(last)}.` : "";
  return [
    make("b", {}, `t₀′ = ${readable(moments.scan)}, t₀ = ${readable(moments.snap)}`),
    ` steps of batch size 1. Assumption 2 asks for ρ < ${brief(high)} (${said(rho < high)}) and ρ ≥ 6/√M = ${brief(low)} ` +
      `(${said(rho >= low)})${both}.${short}`,
  ];
}
