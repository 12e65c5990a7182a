"use strict";

// A picture to take into a talk: what is drawn now, as SVG; the PNG is that SVG, painted.

const PNG_WIDTH = 1920;
const MARGIN = 16;
const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight"];

/** The lines of a text as it stands on the page. */
function linesOfText(node, left, top) {
  const style = getComputedStyle(node.parentElement);
  const size = parseFloat(style.fontSize);
  const [range, lines] = [document.createRange(), []];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const { left: x, bottom } = range.getBoundingClientRect();
    if (lines.at(-1)?.bottom === bottom) lines.at(-1).words.push(word);
    else lines.push({ x, bottom, words: [word] });
  }
  return lines.map(({ x, bottom, words }) =>
    shape("text", { x: x - left, y: bottom - top - 0.24 * size, fill: plainColour(style.color), "font-size": size, "font-weight": style.fontWeight }, words.join(" ")),
  );
}

/** A background as it is seen, #rrggbb: a colour that lets the page's ground through is mixed with it. */
function seenColour(colour) {
  for (const layer of [getComputedStyle(document.body).backgroundColor, colour]) {
    pen.fillStyle = layer;
    pen.fillRect(0, 0, 1, 1);
  }
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  return plainColour(`rgb(${red}, ${green}, ${blue})`);
}

/** The shapes of a part of the page: boxes with a colour, lines at their left, texts, drawings. */
function shapesOf(node, left, top) {
  if (node.nodeType === Node.TEXT_NODE) return linesOfText(node, left, top);
  if (node.nodeType !== Node.ELEMENT_NODE || node.getClientRects().length === 0) return [];
  const [box, style] = [node.getBoundingClientRect(), getComputedStyle(node)];
  const [x, y] = [box.left - left, box.top - top];
  if (node.matches("svg")) {
    const copy = node.cloneNode(true);
    const [from, to] = [node, copy].map((one) => [one, ...one.querySelectorAll("*")]);
    from.forEach((one, i) => LOOKS.forEach((look) => to[i].setAttribute(look, getComputedStyle(one).getPropertyValue(look))));
    return [filled(copy, { x, y, width: box.width, height: box.height }, [])];
  }
  const coloured = (width, colour) => (width && colour.startsWith("#") ? [shape("rect", { x, y, width, height: box.height, fill: colour })] : []);
  const clear = style.backgroundColor === "rgba(0, 0, 0, 0)";
  return [
    ...(clear ? [] : coloured(box.width, seenColour(style.backgroundColor))),
    ...coloured(parseFloat(style.borderLeftWidth), plainColour(style.borderLeftColor)),
    ...(node.shapes ? [shape("g", { transform: `translate(${x} ${y})` }, ...node.shapes())] : []),
    ...[...node.childNodes].flatMap((child) => shapesOf(child, left, top)),
  ];
}

/** The parts of a picture below one another, on the page's ground. */
function pictureOf(parts) {
  let [width, height, range] = [0, MARGIN, document.createRange()];
  const shapes = parts.flatMap((part) => {
    const box = part.getBoundingClientRect();
    const found = shapesOf(part, box.left - MARGIN, box.top - height);
    range.selectNodeContents(part);
    width = Math.max(width, Math.ceil(range.getBoundingClientRect().right - box.left) + 2 * MARGIN);
    height += Math.ceil(box.height) + MARGIN;
    return found;
  });
  const ground = shape("rect", { width, height, fill: plainColour(getComputedStyle(document.body).backgroundColor) });
  const attributes = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": getComputedStyle(parts[0]).fontFamily };
  return shape("svg", attributes, ground, ...shapes);
}

/** The picture as a file of the kind `svg` or `png`. */
async function fileOf(picture, kind) {
  const text = new XMLSerializer().serializeToString(picture);
  if (kind === "svg") return new Blob([text], { type: "image/svg+xml" });
  const image = new Image();
  await new Promise((done, failed) => Object.assign(image, { onload: done, onerror: failed, src: `data:image/svg+xml,${encodeURIComponent(text)}` }));
  const canvas = make("canvas", { width: PNG_WIDTH, height: Math.round((PNG_WIDTH * image.height) / image.width) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}

/** Buttons that save the parts as they are drawn now; `settle` writes at once what else waits for a pause. */
function makeTake(name, parts, settle = () => {}) {
  const buttons = ["svg", "png"].map((kind) => {
    const button = make("button", { type: "button" }, kind.toUpperCase());
    button.addEventListener("click", async () => {
      settle();
      const href = URL.createObjectURL(await fileOf(pictureOf(parts), kind));
      make("a", { href, download: `scansnap-${name}.${kind}` }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60000);
    });
    return button;
  });
  return make("div", { class: "ss-lab-row", role: "group", "aria-label": "This picture as a file" }, "This picture as", ...buttons);
}
