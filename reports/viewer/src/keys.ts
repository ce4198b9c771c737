// The keyboard: single keys that lead through the findings, and the list of them.
import { h } from "./dom";

const KEYS: [string, string, () => void][] = [
  ["j", "next finding", () => step(1)],
  ["k", "finding before", () => step(-1)],
  ["o", "open or close the finding", toggle],
  ["/", "filter of the findings, or of the cases", filter],
  ["?", "these keys", () => dialog().showModal()],
];

let areOn = true;

function shown(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("article.finding")];
}

function current(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("article.finding") ?? null;
}

function step(by: number): void {
  const items = shown();
  const here = current();
  const next = here === null ? items.find((item) => item.getBoundingClientRect().bottom > 0) : items[items.indexOf(here) + by];
  next?.querySelector("summary")?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function toggle(): void {
  const details = current()?.querySelector("details");
  if (details) details.open = !details.open;
}

function filter(): void {
  const input = document.querySelector<HTMLElement>(".choosing input[type=search]") ?? document.querySelector<HTMLElement>(".filters input[type=search]");
  input?.focus();
  input?.scrollIntoView({ block: "center" });
}

function dialog(): HTMLDialogElement {
  const found = document.querySelector<HTMLDialogElement>("dialog.keys");
  if (found !== null) return found;
  const on = h("input", { type: "checkbox", checked: true }) as HTMLInputElement;
  on.addEventListener("input", () => (areOn = on.checked));
  const list = h("dl.facts.stacked", {}, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what))));
  const close = h("button", { type: "submit" }, "Close");
  const made = h("dialog.keys", { "aria-labelledby": "keys-title" }, h("h2", { id: "keys-title" }, "Keys"), list, h("p", {}, h("label", {}, on, " single keys work")), h("p.note", {}, "Tab, Enter and Space work as everywhere; the map of a failure states its own keys."), h("form", { method: "dialog" }, close)) as HTMLDialogElement;
  document.body.append(made);
  return made;
}

export function keysButton(): HTMLElement {
  return h("button.keys", { type: "button", onclick: () => dialog().showModal() }, "Keys");
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const types = target.matches("input:not([type=radio]), select, textarea, [role=gridcell]");
    if (!areOn || types || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const key = KEYS.find(([name]) => name === event.key);
    if (key === undefined) return;
    event.preventDefault();
    key[2]();
  });
}
