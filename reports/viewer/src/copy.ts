// Command lines and addresses with a button that copies them.
import { h } from "./dom";

// The clipboard interface is missing where a browser does not trust local files.
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "unseen" }) as HTMLTextAreaElement;
    field.value = text;
    document.body.appendChild(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

/** `what` is said to those who do not see the button: "the replay line of F1". */
export function copyButton(text: () => string, what: string, label: string): HTMLElement {
  const button = h("button.copy", { type: "button", "aria-label": `Copy ${what}` }, label);
  const status = h("span.unseen", { role: "status" });
  button.addEventListener("click", async () => {
    const done = await copy(text());
    button.textContent = done ? "Copied" : "Select and copy";
    status.textContent = done ? `${what} copied` : "The browser does not let this page copy";
    setTimeout(() => (button.textContent = label), 2000);
  });
  return h("span.copying", {}, button, status);
}

export function commandLine(text: string, what: string): HTMLElement {
  return h("div.command", {}, h("code", {}, text), copyButton(() => text, what, "Copy"));
}
