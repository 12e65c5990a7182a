"use strict";

// Numbers in sentences that can be dragged: each moves a picture's slider, and shows what that one says.

const WAY = 240; // pixels that a drag needs from one end of the slider to the other
const KEYS = { ArrowRight: 20, ArrowUp: 20, ArrowLeft: -20, ArrowDown: -20, PageUp: 100, PageDown: -100 }; // thousandths of it

/** Joins a number of the text, such as <span class="ss-drag" data-of=".ss-plane" data-field="M">1000</span>, to a slider. */
function makeDrag(span) {
  const part = (type) => document.querySelector(`${span.dataset.of} [data-field="${span.dataset.field}"] [type=${type}]`);
  filled(span, { role: "slider", tabindex: 0, "aria-label": span.dataset.label, "aria-valuemin": 0, "aria-valuemax": 1000 }, []);
  const read = () => {
    const [slider, text] = [part("range"), part("text")];
    if (!slider) return;
    if (span.textContent !== text.value) span.textContent = text.value;
    const share = (slider.value - slider.min) / (slider.max - slider.min);
    filled(span, { "aria-valuenow": Math.round(1000 * share), "aria-valuetext": text.value }, []);
  };
  /** Puts the slider at a share of its way. */
  const put = (share) => {
    const slider = part("range");
    const [low, high] = [Number(slider.min), Number(slider.max)];
    slider.value = low + (high - low) * Math.min(1, Math.max(0, share));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    read();
  };
  const share = () => {
    const slider = part("range");
    return (slider.value - slider.min) / (slider.max - slider.min);
  };
  let from = null; // where a drag began: the pointer and the slider's share
  span.addEventListener("pointerdown", (event) => {
    if (!part("range")) return;
    from = [event.clientX, share()];
    span.setPointerCapture(event.pointerId);
    event.preventDefault();
    span.focus();
  });
  span.addEventListener("pointermove", ({ clientX }) => from && put(from[1] + (clientX - from[0]) / WAY));
  for (const end of ["pointerup", "pointercancel"]) span.addEventListener(end, () => (from = null));
  span.addEventListener("keydown", (event) => {
    const way = { ...KEYS, Home: -1000, End: 1000 }[event.key];
    if (way === undefined || !part("range")) return;
    event.preventDefault();
    put(share() + way / 1000);
  });
  document.addEventListener("input", () => setTimeout(read)); // the slider or its text was moved
  read();
}
