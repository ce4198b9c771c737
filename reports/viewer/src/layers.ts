// The layers of a whole model are shown as a line of cells, in the model's order.
import { fold, h, number, numberHead, replace, section, table, type Child } from "./dom";
import type { ModelLayer, ModelRun, Report } from "./model";
import { causeOf, count, counted, percent } from "./text";

// The terminal has these signs too; nobody has to tell colours apart.
const STATES = {
  right: { sign: "", text: "right" },
  wrong: { sign: "W", text: "wrong itself" },
  "wrong-behind": { sign: "w", text: "wrong behind a wrong layer" },
  "fed-wrong": { sign: ",", text: "right, but fed wrong values" },
  "not-judged": { sign: "?", text: "not judged" },
} as const;

const isWrong = ({ state }: ModelLayer) => state === "wrong" || state === "wrong-behind";
const distanceOf = ({ worst }: ModelLayer) => (worst === undefined ? "–" : worst.distance === "inf" ? "not comparable" : String(worst.distance));

class Layers {
  private readonly line: HTMLElement;
  private readonly detail = h("p.layer-detail");
  private readonly cells: HTMLElement[];
  private readonly causes: Map<string, string>;
  private current: number;

  constructor(
    private readonly run: ModelRun,
    report: Report,
  ) {
    this.causes = new Map(report.findings.map((finding) => [finding.id, causeOf(finding)]));
    this.current = run.first_wrong ?? 0;
    this.cells = run.layers.map((layer, position) => this.cell(layer, position));
    this.line = h("ol.layers", { "aria-label": "Layers in the model's order" }, this.cells.map((cell) => h("li", {}, cell)));
  }

  build(): Child {
    const { layers, first_wrong: first, origin, disturbed } = this.run;
    this.line.addEventListener("keydown", (event) => this.key(event));
    for (const type of ["focusin", "mouseover"]) this.line.addEventListener(type, (event) => this.enter(event));
    this.line.addEventListener("mouseleave", () => this.show(this.current));
    this.show(this.current);
    const wrong = [...layers.keys()].filter((position) => isWrong(layers[position]!));
    return [
      h("p", {}, `${this.run.backend} ran the whole model: ${counted(layers.length, "layer")}, each judged on the inputs that reached it. `, first === undefined ? h("strong.good", {}, "No layer is wrong.") : [h("strong.bad", {}, "The first wrong layer"), `: ${count(first + 1)} of ${count(layers.length)}, `, h("a", { href: this.target(first) }, layers[first]!.id), "."]),
      this.line,
      this.detail,
      this.legend(),
      h("p.note", {}, `Inputs: ${origin}.`, disturbed ? ` Showing the values of all layers changes what the runtime fuses: ${disturbed}; what it else computes in one step is judged in parts.` : ""),
      wrong.length > 0 ? fold(`Wrong layers as a table: ${count(wrong.length)}`, () => this.table(wrong)) : null,
    ];
  }

  private legend(): HTMLElement {
    const counts = Object.entries(STATES).map(([state, { sign, text }]) => ({ state, sign, text, layers: this.run.layers.filter((layer) => layer.state === state).length }));
    return h(
      "div.legend",
      {},
      counts.filter(({ layers }) => layers > 0).map(({ state, sign, text, layers }) => h("span.key", {}, h(`span.swatch.layer-${state}`, { "aria-hidden": "true" }, sign), `${text}: ${count(layers)}`)),
      this.run.first_wrong === undefined ? null : h("span.key", {}, h("span.swatch.first", { "aria-hidden": "true" }), "the first wrong layer"),
      h("span.note", {}, "Arrow keys, Home and End move, N and Shift+N go to the next and previous wrong layer, Enter to its finding or case."),
    );
  }

  // A layer that is not wrong has no finding: its link filters the cases.
  private target(position: number): string {
    const { finding, id } = this.run.layers[position]!;
    return finding ? `#${finding}` : `#cases?${new URLSearchParams({ "case-text": id })}`;
  }

  private sentence(position: number): string {
    const layer = this.run.layers[position]!;
    const place = `Layer ${count(position + 1)} of ${count(this.run.layers.length)}, ${layer.id}: ${STATES[layer.state].text}`;
    if (!isWrong(layer)) return `${place}; ${counted(layer.elements, "element")} judged`;
    const cause = layer.finding ? `; ${layer.finding}: ${this.causes.get(layer.finding) ?? "no cause"}` : "";
    return `${place}; ${percent(layer.wrong_elements ?? 0, layer.elements)} of ${counted(layer.elements, "element")} wrong, greatest distance ${distanceOf(layer)}${cause}`;
  }

  private cell({ state }: ModelLayer, position: number): HTMLElement {
    const first = position === this.run.first_wrong;
    return h(
      `a.layer-${state}${first ? ".first" : ""}`,
      { href: this.target(position), "data-position": position, tabindex: position === this.current ? 0 : -1, "aria-label": `${this.sentence(position)}${first ? "; the first wrong layer" : ""}` },
      STATES[state].sign,
    );
  }

  private table(wrong: number[]): HTMLElement {
    const rows = wrong.map((position) => {
      const layer = this.run.layers[position]!;
      const cause = layer.finding ? [h("a", { href: `#${layer.finding}` }, layer.finding), ` ${this.causes.get(layer.finding) ?? ""}`] : "–";
      return h("tr", {}, number(count(position + 1)), h("th", { scope: "row" }, layer.id), h("td", {}, STATES[layer.state].text), number(percent(layer.wrong_elements ?? 0, layer.elements)), number(count(layer.elements)), number(distanceOf(layer)), h("td", {}, cause));
    });
    return table("Wrong layers", [numberHead("Layer"), "Id", "State", numberHead("Wrong elements"), numberHead("Judged"), numberHead("Greatest distance"), "Finding"], rows);
  }

  private enter(event: Event): void {
    const cell = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("[data-position]") : null;
    if (cell === null) return;
    const position = Number(cell.dataset.position);
    if (event.type === "focusin") this.settle(position);
    this.show(position);
  }

  private settle(position: number): void {
    this.cells[this.current]!.tabIndex = -1;
    this.current = position;
    this.cells[position]!.tabIndex = 0;
  }

  private show(position: number): void {
    replace(this.detail, this.sentence(position));
  }

  private key(event: KeyboardEvent): void {
    const { layers } = this.run;
    const wrongFrom = (step: number) => {
      let position = this.current + step;
      while (layers[position] !== undefined && !isWrong(layers[position]!)) position += step;
      return position;
    };
    const steps: Record<string, () => number> = {
      ArrowLeft: () => this.current - 1,
      ArrowRight: () => this.current + 1,
      Home: () => 0,
      End: () => layers.length - 1,
      n: () => wrongFrom(1),
      N: () => wrongFrom(-1),
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.cells[step()]?.focus();
  }
}

/** Returns null where no model ran as a whole. */
export function layers(report: Report): HTMLElement | null {
  if (report.model === undefined || report.model.layers.length === 0) return null;
  return section("layers", "Layers", new Layers(report.model, report).build());
}
