"use strict";

const TICKS = 1000; // of the time slider
const PLAY = 8000; // milliseconds from the first time to the last
const PAUSE = 1500; // between two moments, for readers who asked for less motion

const inUnits = (t, moments) => `t = ${readable(t)} = ${readable(t / moments.snap, 2)} t₀`;

/** The time slider, on a logarithmic clock or an even one, and the play button. `moved(t)` hears of every new time; `say(t, moments)`
 * puts a time into words; a text `mark` stands at the moment t₀. */
function makeTime(moved, { say = inUnits, mark = "", even = false } = {}) {
  const button = make("button", { type: "button" }, "Play");
  const slider = make("input", { type: "range", min: 0, max: TICKS, "aria-label": "Time t" });
  const output = make("output", {});
  const flag = make("small", {}, mark);
  const bar = make("div", { class: "ss-lab-time" }, button, make("span", { class: "ss-lab-track" }, slider, ...(mark ? [flag] : [])), output);
  let [first, last, now, moments, timer] = [1, 2, 1, null, null];
  let chosen = false; // the reader's own time, from which playing goes on; otherwise it starts at the first

  const at = (share) => (even ? first + (last - first) * share : first * (last / first) ** share);
  const share = (t) => (even ? (t - first) / (last - first) : Math.log(t / first) / Math.log(last / first));
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const stop = () => {
    cancelAnimationFrame(timer);
    clearTimeout(timer);
    timer = null;
    button.textContent = "Play";
  };
  const go = (t) => {
    show(t);
    moved(now);
  };

  function show(t) {
    now = Math.min(last, Math.max(first, t));
    const words = say(now, moments);
    if (slider !== document.activeElement || timer !== null) slider.value = Math.round(TICKS * share(now));
    slider.setAttribute("aria-valuetext", words);
    output.textContent = words;
  }
  function play() {
    if (!chosen || now >= last * 0.999) go(first);
    chosen = false;
    button.textContent = "Pause";
    if (calm()) {
      const jump = () => {
        const next = moments.all.find((t) => t > now * 1.001);
        if (next === undefined) return stop();
        go(next);
        timer = setTimeout(jump, PAUSE);
      };
      return jump();
    }
    let [begun, from] = [performance.now(), share(now)];
    const frame = (time) => {
      const to = from + Math.max(0, time - begun) / PLAY;
      go(at(Math.min(1, to)));
      if (to < 1) timer = requestAnimationFrame(frame);
      else stop();
    };
    timer = requestAnimationFrame(frame);
  }
  button.addEventListener("click", () => {
    chosen ||= timer !== null;
    if (timer === null) play();
    else stop();
  });
  slider.addEventListener("input", () => {
    stop();
    chosen = true;
    go(at(Number(slider.value) / TICKS));
  });

  return {
    bar,
    play: () => calm() || play(), // of its own accord it plays only where motion is welcome
    get playing() {
      return timer !== null;
    },
    /** Takes the span of a picture, and keeps t within it. */
    span(times, found, t) {
      [first, last, moments] = [times[0], times[times.length - 1], found];
      flag.style.setProperty("--at", share(moments.snap));
      show(t);
      return now;
    },
  };
}
