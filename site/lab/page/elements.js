"use strict";

let made = 0;

/** An id that no other lab of the page has. */
const freshId = (name) => `ss-lab-${name}-${++made}`;

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** An element with attributes; children are elements or texts. */
const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

/** The same in SVG. */
const shape = (tag, attributes, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** A text in which η_Y and the like carry a real subscript. */
function withSubscripts(text) {
  return text.split(/_(\w)/).map((part, i) => (i % 2 ? make("sub", {}, part) : part));
}

/** A number as readers write it: three digits, powers of ten where it is very large or small. */
function readable(x, digits = 3) {
  if (!Number.isFinite(x)) return "–";
  if (x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-3)) {
    const [mantissa, power] = x.toExponential(digits - 1).split("e");
    return `${mantissa.replace("-", "−")} × 10${[...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
  }
  const text = Math.abs(x) >= 1000 ? String(Math.round(x)) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}
