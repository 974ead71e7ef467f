"use strict";
// Keys press buttons; answers are sent without leaving the page, and again until they are saved.
(() => {
  const RETRY_MS = 1500;
  const DOUBLE_PRESS_MS = 150; // nobody has read a new row before that
  const status = document.getElementById("status");
  let sending = false;
  let shownAt = 0;
  let timer = 0;

  function say(text, isProblem) {
    status.textContent = text;
    status.classList.toggle("problem", Boolean(isProblem));
  }

  // The page that the server sent: its main part takes the place of the old one.
  function show(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    const main = page.querySelector("main");
    if (!main) return false;
    document.querySelector("main").replaceWith(main);
    window.scrollTo(0, 0);
    shownAt = performance.now();
    lookAgainLater();
    return true;
  }

  function pause(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  // The same request until there is an answer: its id makes a repetition harmless.
  async function persist(address, body) {
    for (;;) {
      try {
        const answer = await fetch(address, { method: "POST", body, credentials: "same-origin" });
        if (answer.status !== 429 && answer.status !== 408) return answer;
        say("Too fast for the server. Trying again.", true);
      } catch {
        say("Not saved yet: the server does not answer. Trying again until it does.", true);
      }
      await pause(RETRY_MS);
    }
  }

  async function send(form, button) {
    if (sending) return;
    sending = true;
    const body = new URLSearchParams(new FormData(form));
    if (button && button.name) body.append(button.name, button.value);
    const address = button && button.hasAttribute("formaction") ? button.formAction : form.action;
    document.querySelector("main").setAttribute("aria-busy", "true");
    try {
      const answer = await persist(address, body);
      if (answer.status === 401) {
        sending = false;
        location.reload(); // the page says what to do
        return;
      }
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
        sending = false;
        location.assign(answer.url);
        return;
      }
      const isShown = show(await answer.text());
      say(answer.ok ? "Saved." : isShown ? "" : "The server refused this answer. Reload the page.", !answer.ok);
    } finally {
      sending = false;
      document.querySelector("main").removeAttribute("aria-busy");
    }
  }

  function lookAgainLater() {
    clearTimeout(timer);
    const waiting = document.querySelector("main [data-refresh]");
    if (!waiting) return;
    timer = setTimeout(async () => {
      if (sending) return;
      try {
        const answer = await fetch("/", { credentials: "same-origin" });
        show(await answer.text());
        say("");
      } catch {
        say("The server does not answer. Trying again.", true);
        lookAgainLater();
      }
    }, 1000 * Number(waiting.dataset.refresh));
  }

  // Without the script, forms have the origin "null", which is refused unless the browser vouches
  // for the page; over plain http to another machine it does not.
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.target, event.submitter);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.target.matches("input, textarea")) {
      if (event.key === "Escape") event.target.blur();
      if (event.key === "Enter" && event.target.name === "comment") {
        event.preventDefault(); // else the first class would be chosen
        event.target.blur();
      }
      return;
    }
    const wanted = event.key.toLowerCase();
    const part = [...document.querySelectorAll("main [data-key]")].find((p) => p.dataset.key === wanted);
    if (!part) return;
    event.preventDefault();
    if (event.repeat || sending || performance.now() - shownAt < DOUBLE_PRESS_MS) return;
    if (part.matches("input")) part.focus();
    else if (!part.disabled) part.click();
  });

  window.addEventListener("beforeunload", (event) => {
    if (sending) event.preventDefault();
  });

  lookAgainLater();
})();
