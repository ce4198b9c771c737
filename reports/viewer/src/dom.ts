// Elements from code: h("td.number", {title: "..."}, "12").

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (child !== null && child !== undefined && child !== false) {
      parent.appendChild(document.createTextNode(String(child)));
    }
  }
}

/** `selector` is a tag with classes: "span.bad". Attributes that are functions listen; false leaves one out. */
export function h(selector: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const [tag = "div", ...classes] = selector.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** The same of SVG. */
export function s(tag: string, attributes: Record<string, string | number>, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** A table in a region of its own that scrolls sideways, and that the keyboard reaches where it has to. */
export function table(caption: string, heads: Child[], rows: HTMLElement[], classes = ""): HTMLElement {
  const head = heads.map((text) => (text instanceof HTMLTableCellElement ? text : h("th", { scope: "col" }, text)));
  return h(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { class: classes },
      h("caption.unseen", {}, caption),
      h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, rows),
    ),
  );
}

export function number(text: string | number, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return h("td.number", attributes, text, children);
}

export function numberHead(text: string): HTMLElement {
  return h("th.number", { scope: "col" }, text);
}

/** A part of the page that can be jumped to. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), children);
}

/** Calls `make` when its result is asked for the first time. */
export function once<T>(make: () => T): () => T {
  let made: { it: T } | undefined;
  return () => (made ??= { it: make() }).it;
}

const fills = new WeakMap<HTMLDetailsElement, () => void>();

/** Closed until asked for; `make` runs at the first opening. */
export function fold(title: Child, make: () => Child): HTMLElement {
  const body = h("div.folded");
  const details = h("details", {}, h("summary", {}, title), body) as HTMLDetailsElement;
  fills.set(details, once(() => replace(body, make())));
  details.addEventListener("toggle", () => details.open && fills.get(details)?.());
  return details;
}

/** Shows a figure, and behind it what it counts. */
export function figureFold(figure: string, what: string, make: () => Child): HTMLElement {
  return fold([h("strong.figure", {}, figure), ` ${what}`], make);
}

// A longer table is folded, and made when it is opened.
const MOST_ROWS = 100;

export function comparisonTable<T>(caption: string, heads: Child[], list: T[], row: (each: T) => HTMLElement): HTMLElement {
  const make = () => table(caption, heads, list.map(row));
  return list.length > MOST_ROWS ? fold(`${caption}, as a table`, make) : make();
}

/** Opens it at once; browsers tell of an opening only later. */
export function unfold(details: HTMLDetailsElement): void {
  details.open = true;
  fills.get(details)?.();
}
