// On paper nothing can be opened: what is shown is opened before, and closed again after.
import { unfold } from "./dom";

export function openForPrint(): void {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("article.finding > details:not([open])")];
    for (const details of opened) unfold(details);
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });
}
