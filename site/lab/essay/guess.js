"use strict";

/** Hides what follows a question until the reader has guessed. */
function makeGuess(root) {
  const answer = root.nextElementSibling;
  const buttons = [...root.querySelectorAll("button")];
  const said = root.querySelector("output");
  answer.hidden = true;
  said.textContent = " The answer opens when you choose.";
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      const right = Number(root.dataset.right);
      said.textContent = i === right ? " You are right." : ` Not quite: ${buttons[right].textContent}.`;
      answer.hidden = false;
    }),
  );
}
