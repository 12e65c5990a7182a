"use strict";

/** Attention c_n of one class as bars, each with its number, and a tick where it was at t = 0. */
function makeBars() {
  const list = make("ul", { class: "ss-lab-bars" });
  let rows = [];
  const rebuild = (names, words) => {
    rows = names.map((name, i) => {
      const [bar, start, number] = [make("b"), make("i"), make("output")];
      const row = make("li", { class: i ? "" : "ss-lab-common" }, make("span", {}, name), make("div", {}, bar, start), number);
      withName(row, words?.[i] ?? `token ${i}`);
      return { name, row, bar, start, number };
    });
    list.replaceChildren(...rows.map(({ row }) => row));
  };
  return {
    list,
    draw({ c }, index, prior, weights, ink, words) {
      const names = words ?? ["common", ...weights.map((weight, i) => `distinct ${i + 1}, weight ${weight}`)];
      if (names.join() !== rows.map(({ name }) => name).join()) rebuild(names, words);
      rows.forEach(({ bar, start, number }, i) => {
        bar.style.width = `${100 * c[index][i]}%`;
        bar.style.background = i ? distinctInk(ink, i, weights.length) : ink.common;
        start.style.left = `${100 * prior[i]}%`;
        number.textContent = `${(100 * c[index][i]).toFixed(1)} %`;
      });
    },
  };
}
