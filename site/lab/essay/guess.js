"use strict";

/** Hides what follows a question until the reader has guessed; `show` opens it without a guess. */
function makeGuess(root) {
  const answer = root.nextElementSibling;
  const buttons = [...root.querySelectorAll("button")];
  const said = root.querySelector("output");
  const right = buttons[Number(root.dataset.right)];
  answer.hidden = true;
  said.textContent = " The answer opens when you choose.";
  const open = (words) => {
    said.textContent = words;
    answer.hidden = false;
  };
  buttons.forEach((button) =>
    button.addEventListener("click", () => {
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      open(button === right ? " You are right." : ` Not quite: ${right.textContent}.`);
    }),
  );
  return { show: () => answer.hidden && open(` The answer: ${right.textContent}.`) };
}

/** Guesses, and before the first of them a button that opens all answers; on paper all of them are open. */
function makeGuesses(roots) {
  if (roots.length === 0) return;
  const guesses = roots.map(makeGuess);
  const all = make("button", { type: "button" }, "Read without guessing: show all");
  const line = make("p", { class: "ss-show-all" }, all);
  const show = () => {
    guesses.forEach((guess) => guess.show());
    line.remove();
  };
  roots[0].before(line);
  all.addEventListener("click", () => {
    show();
    roots[0].nextElementSibling.tabIndex = -1; // where the button was
    roots[0].nextElementSibling.focus({ preventScroll: true });
  });
  addEventListener("beforeprint", show);
}
