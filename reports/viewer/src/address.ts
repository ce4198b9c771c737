// The page's address: which part it leads to, and what the filters are set to: "#F3", "#cases?case-verdict=wrong".

interface Control {
  element: HTMLSelectElement | HTMLInputElement;
  initial: string;
  changed: () => void;
}

const controls = new Map<string, Control>();

/** Keeps what `element` is set to in the address, under `name`, which no other control has. */
export function remember(name: string, element: HTMLSelectElement | HTMLInputElement, part: string, changed: () => void): void {
  element.name = name;
  controls.set(name, { element, initial: element.value, changed });
  element.addEventListener("input", () => {
    changed();
    write(part);
  });
}

// The parameters stay when a link leads elsewhere: the filters stay as they are, too.
function write(target: string): void {
  const set = [...controls].filter(([, { element, initial }]) => element.value !== initial).map(([name, { element }]) => [name, element.value]);
  const query = set.length > 0 ? `?${new URLSearchParams(set)}` : "";
  history.replaceState(history.state, "", `#${target}${query}`);
}

/** An address of this page that leads to `target` and sets no filter. */
export function addressOf(target: string): string {
  return `${location.href.split("#")[0]}#${target}`;
}

function apply(parameters: URLSearchParams): void {
  const changes = new Set<() => void>();
  for (const [name, { element, initial, changed }] of controls) {
    const value = parameters.get(name) ?? initial;
    if (element.value === value) continue;
    element.value = value;
    // An address of another report: nothing is chosen.
    if (element.value !== value) element.value = initial;
    changes.add(changed);
  }
  for (const changed of changes) changed();
}

/** Goes where the address says, now and whenever it changes; `reveal` brings the target in sight, if there is one. */
export function follow(reveal: (target: string) => boolean): void {
  const go = () => {
    const [id = "", query] = location.hash.slice(1).split("?", 2);
    if (query !== undefined) apply(new URLSearchParams(query));
    if (id !== "" && reveal(id)) write(id);
  };
  window.addEventListener("hashchange", go);
  // Only then has the browser looked for the target itself, which takes the focus away.
  if (location.hash === "") return;
  if (document.readyState === "complete") go();
  else window.addEventListener("load", () => setTimeout(go));
}
