"use strict";

const STEPS = 1000; // of a slider

/** Where a value stands on its slider, and back; on a logarithmic one, equal ways are equal factors. */
function sliderScale({ scale, min, max, low, high, rule }) {
  const [from, to] = [low ?? min, high ?? max];
  if (scale === "linear") return { min: from, max: to, step: 1, place: (x) => x, value: (place) => String(place) };
  const ratio = to / from;
  const rounded = (x) => (rule === "whole" ? Math.round(Number(x.toPrecision(2))) : Number(x.toPrecision(3)));
  return {
    min: 0,
    max: STEPS,
    step: 1,
    place: (x) => Math.round((STEPS * Math.log(x / from)) / Math.log(ratio)),
    value: (place) => String(Math.min(to, Math.max(from, rounded(from * ratio ** (place / STEPS))))),
  };
}

/** One field: its label, its text, for numbers a slider, and a place for a sentence. `changed(text)` hears of it. */
function makeField(key, changed) {
  const field = FIELDS[key];
  const [id, faultId] = [freshId(key), freshId("fault")];
  const fault = make("p", { class: "ss-lab-fault", id: faultId, "aria-live": "polite" });
  const box = make("div", { class: "ss-lab-field", "data-field": key }, make("label", { for: id }, ...withSubscripts(field.label)));
  let [input, slider, scale] = [null, null, null];
  if (field.rule === "choice" && key !== "beyond") {
    input = make("select", { id }, ...Object.entries(field.choices).map(([value, text]) => make("option", { value }, text)));
    input.addEventListener("change", () => changed(input.value));
  } else if (key === "beyond") {
    input = make("input", { id, type: "checkbox" });
    input.addEventListener("change", () => changed(input.checked ? "1" : "0"));
    box.classList.add("ss-lab-tick");
  } else {
    const keyboard = ["weights", "length", "batch"].includes(field.rule) ? "text" : "decimal";
    input = make("input", { id, type: "text", inputmode: keyboard, autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => changed(input.value));
  }
  input.setAttribute("aria-describedby", faultId);
  const row = make("div", { class: "ss-lab-row" }, input);
  if (field.scale) {
    scale = sliderScale(field);
    const { min, max, step } = scale;
    slider = make("input", { type: "range", min, max, step, "aria-label": `${field.label}: slider` });
    slider.addEventListener("input", () => changed(scale.value(Number(slider.value))));
    row.prepend(slider);
  }
  box.append(row, fault);

  return {
    box,
    /** Shows a text, and its fault or else what was done to it. */
    show(text, sentence, told = "") {
      if (key === "beyond") input.checked = text === "1";
      else if (input.value !== text) input.value = text;
      // a slider in use is where the reader put it, though its value was rounded
      if (slider && !sentence && slider !== document.activeElement) slider.value = scale.place(Number(text));
      slider?.setAttribute("aria-valuetext", text);
      input.setAttribute("aria-invalid", sentence ? "true" : "false");
      fault.classList.toggle("ss-lab-told", !sentence);
      if (fault.textContent !== (sentence ?? told)) fault.textContent = sentence ?? told;
    },
    input,
  };
}
