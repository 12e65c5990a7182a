"use strict";

// A small lab of the essay: its words, and its picture in the essay's words.

const ONE_WORD = "A text of two has one word to attend to: attention has no choice, and z stays 0.";
const BY = { ideal: "by the paper’s law (10)", true: "under the gradient", sgd: "under SGD" };

/** The words of class n, from a text such as `and,wave,sail/cloud,wing`: the common word, then those of each class. */
function wordsOf(text, n) {
  if (!text) return undefined;
  const [[common, ...first], ...others] = text.split("/").map((words) => words.split(","));
  return [common, ...[first, ...others][n - 1]];
}

/** What the curves say at a time: of the common word, against the gradient, and of the rarest word against the most frequent one. */
function smallSentenceOf(shown, truth, { n }, moments, now) {
  const [i, top, end] = [indexAt(shown.times, now), shown.winner, shown.rarest];
  const [word, first, last] = [0, top, end].map((token) => `“${shown.words[token]}”`);
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const z = shown.z[0][i];
  let said = `At t = ${readable(now)} (${readable(now / moments.snap, 2)} t₀), ${BY[shown.dynamics]}, ${word} has ${percent(shown.c[i][0])} of the attention of topic ${n}, after ${percent(shown.start[0])} at t = 0. Its z is ${readable(z)}`;
  if (truth) {
    const gradient = truth.z[0][indexAt(truth.times, now)];
    said += shown.dynamics === "ideal" ? `, ${readable(z / gradient, 2)} times the ${readable(gradient)} under the gradient` : `; under the gradient, on endless texts, it is ${readable(gradient)}`;
  }
  if (shown.dynamics === "sgd" || top === end || !(shown.z[top][i] > 0)) return `${said}.`;
  const beside = truth ? `; under the gradient, ${readable(truth.gain[end][indexAt(truth.times, now)], 2)}` : "";
  return `${said}. ${last} has gained ${readable(shown.gain[end][i], 2)} of what ${first} has gained${beside}.`;
}
