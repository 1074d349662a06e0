// Asks for an API key if the service requires one. It is kept for this tab only.

import { element } from "./element.js";

let asking = null;

export function askForKey(wasRefused) {
  asking ??= ask(wasRefused).finally(() => (asking = null));
  return asking;
}

function ask(wasRefused) {
  return new Promise((resolve) => {
    const input = element("input", { type: "password", id: "key", autocomplete: "off", required: true });
    const form = element(
      "form",
      { method: "dialog" },
      element("h2", { id: "key-title" }, "This service requires a key"),
      element(
        "p",
        {},
        wasRefused
          ? "That key is not known here. Try another one."
          : "Whoever runs it can give you one. It is kept in this tab only.",
      ),
      element("label", { for: "key" }, "Key"),
      input,
      element("button", { class: "button primary" }, "Continue"),
    );
    const dialog = element("dialog", { class: "key", "aria-labelledby": "key-title" }, form);
    dialog.addEventListener("cancel", (event) => event.preventDefault()); // the page needs a key
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close();
      dialog.remove();
      resolve(input.value.trim());
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
