"use strict";

// The graph of what rests on what: a statement under the pointer, or in focus, lights up all that it rests on.
document.querySelectorAll(".ss-graph").forEach((graph) => {
  const nodes = [...graph.querySelectorAll("a[data-id]")];
  const edges = [...graph.querySelectorAll("path[data-from]")];
  const light = (chosen) => {
    const lit = new Set(chosen ? [chosen.dataset.id, ...chosen.dataset.grounds.split(" ")] : []);
    graph.classList.toggle("ss-lit", chosen !== null);
    for (const node of nodes) node.classList.toggle("ss-on", lit.has(node.dataset.id));
    for (const edge of edges) edge.classList.toggle("ss-on", lit.has(edge.dataset.from) && lit.has(edge.dataset.to));
  };
  for (const event of ["pointerover", "focusin"]) graph.addEventListener(event, ({ target }) => light(target.closest("a[data-id]")));
  for (const event of ["pointerleave", "focusout"]) graph.addEventListener(event, () => light(null));
});
