"use strict";

/** Hides what follows a question until the reader has guessed. */
function makeGuess(root) {
  const answer = root.nextElementSibling;
  const buttons = [...root.querySelectorAll("button")];
  answer.hidden = true;
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      root.querySelector("output").textContent = i === Number(root.dataset.right) ? " You are right." : " Not quite.";
      answer.hidden = false;
    }),
  );
}
