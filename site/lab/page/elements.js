"use strict";

let made = 0;

/** An id that no other lab of the page has. */
const freshId = (name) => `ss-lab-${name}-${++made}`;

/** An element with attributes; children are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A text in which η_Y and the like carry a real subscript. */
function withSubscripts(text) {
  return text.split(/_(\w)/).map((part, i) => (i % 2 ? make("sub", {}, part) : part));
}

/** A number as readers write it: three digits, powers of ten where it is very large or small. */
function readable(x, digits = 3) {
  if (!Number.isFinite(x)) return "–";
  if (x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-3)) {
    const [mantissa, power] = x.toExponential(digits - 1).split("e");
    return `${mantissa.replace("-", "−")}·10${[...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
  }
  const text = Math.abs(x) >= 1000 ? String(Math.round(x)) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}
