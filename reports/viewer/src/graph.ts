// The graph of a failing case: what computes what from top to bottom, and which output is wrong.
import { fold, h, s, type Child } from "./dom";
import { laidOut, type Item } from "./layout";
import type { Finding, Graph, GraphNode, GraphValue } from "./model";
import { counted, indexText, shapeText } from "./text";

const CHARACTER = 6.7; // the width of one, as in style.css
const LINE = 15;
const PADDING = 7;
const MARGIN = 8;
const LINE_CHARACTERS = 40;
const NAME_CHARACTERS = 26;
const TEXT_CHARACTERS = 160;

interface Line {
  text: string;
  style?: "head" | "bad";
}

interface Box extends Item {
  kind: "input" | "node" | "output" | "wrong";
  lines: Line[];
  /** The values that it gives, and of each the text at its line. */
  gives: string[];
  labels: string[];
  /** The values that it reads, as many as Item::from has. */
  reads: string[];
}

function shortened(name: string): string {
  return name.length <= NAME_CHARACTERS ? name : `…${name.slice(1 - NAME_CHARACTERS)}`;
}

// Lines that end behind a comma or a blank where there is one.
function wrapped(text: string): string[] {
  const lines: string[] = [];
  let rest = text.length <= TEXT_CHARACTERS ? text : `${text.slice(0, TEXT_CHARACTERS - 1)}…`;
  while (rest.length > LINE_CHARACTERS) {
    const end = Math.max(rest.lastIndexOf(",", LINE_CHARACTERS - 1), rest.lastIndexOf(" ", LINE_CHARACTERS - 1)) + 1 || LINE_CHARACTERS;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return rest === "" ? lines : [...lines, rest];
}

function typeText(value: GraphValue | undefined): string {
  return value === undefined ? "" : ` ${value.type} ${shapeText(value.shape)}`;
}

function dataText(value: GraphValue): string {
  return value.data === undefined ? "" : ` = ${value.data.join(", ")}`;
}

function attributesText(node: GraphNode): string {
  return Object.entries(node.attributes ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
}

function operatorText(node: GraphNode): string {
  return node.domain && node.domain !== "ai.onnx" ? `${node.domain}::${node.op_type}` : node.op_type;
}

function lines(texts: string[]): Line[] {
  return texts.filter((text) => text !== "").flatMap(wrapped).map((text) => ({ text }));
}

class Drawing {
  private readonly constants: Map<string, GraphValue>;
  private readonly values: Map<string, GraphValue>;
  private readonly boxes: Box[] = [];
  private readonly giver = new Map<string, number>();
  /** Which of the outputs is wrong. */
  private readonly wrong: number | undefined;
  private readonly wrongName: string | undefined;

  constructor(
    private readonly graph: Graph,
    private readonly finding: Finding,
    private readonly id: string,
    private readonly title: string,
  ) {
    this.constants = new Map(graph.initializers.map((value) => [value.name, value]));
    this.values = new Map([...graph.inputs, ...graph.initializers, ...graph.computed].map((value) => [value.name, value]));
    this.wrong = finding.worst === undefined ? undefined : (finding.worst.output ?? 0);
    this.wrongName = this.wrong === undefined ? undefined : graph.outputs[this.wrong];
    for (const value of graph.inputs) this.add("input", lines([`${shortened(value.name)}${typeText(value)}`, dataText(value).trim()]), [], [value.name]);
    for (const node of graph.nodes) this.addNode(node);
    graph.outputs.forEach((name, position) => this.addOutput(name, position));
  }

  build(): Element {
    const layout = laidOut(this.boxes);
    const width = Math.ceil(layout.width + 2 * MARGIN);
    const height = Math.ceil(layout.height + 2 * MARGIN);
    const { id } = this;
    return s(
      "svg",
      { class: "graph", role: "img", "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-text`, viewBox: `${-MARGIN} ${-MARGIN} ${width} ${height}`, width, height },
      s("title", { id: `${id}-title` }, this.title),
      s("desc", { id: `${id}-text` }, this.description()),
      this.boxes.flatMap((box, to) => box.reads.map((name, k) => this.edge(layout, to, k, name))),
      this.boxes.map((box, i) => this.drawnBox(box, layout.places[i]!)),
    );
  }

  /** The same in words, a line for each value. */
  list(): HTMLElement {
    const { graph } = this;
    const valueLine = (name: string) => `${name}${typeText(this.values.get(name))}`;
    const stated = (kind: string) => (value: GraphValue) => h("li", {}, `${kind} ${valueLine(value.name)}${dataText(value)}`);
    return h(
      "ol.values",
      {},
      graph.inputs.map(stated("input")),
      graph.initializers.map(stated("initializer")),
      graph.nodes.map((node) => {
        const attributes = attributesText(node);
        return h("li", {}, `${node.outputs.filter((name) => name !== "").map(valueLine).join("; ")} = ${operatorText(node)}(${node.inputs.map((name) => name || "–").join(", ")})${attributes && `, ${attributes}`}`);
      }),
      graph.outputs.map((name, position) => h("li", {}, `output ${valueLine(name)}`, position === this.wrong ? h("strong.bad", {}, ` ✗ wrong: ${this.failure().join(", ")}`) : null)),
    );
  }

  private description(): string {
    return `${counted(this.graph.nodes.length, "node")}, ${counted(this.graph.inputs.length, "input")}, ${counted(this.graph.outputs.length, "output")}. ${this.wrongName === undefined ? "" : `Output ${this.wrongName} is wrong: ${this.failure().join(", ")}. `}The list below says the same in words.`;
  }

  private failure(): string[] {
    const { worst } = this.finding;
    if (worst === undefined) return [];
    return [`at [${worst.index.join(",")}]`, `got ${worst.got}`, `admissible ${worst.admissible}`, worst.exact ? `exact ${worst.exact}` : ""].filter((text) => text !== "");
  }

  private add(kind: Box["kind"], text: Line[], reads: string[], gives: string[], labels: string[] = []): void {
    const drawn = reads.filter((name) => this.giver.has(name));
    for (const name of gives) if (name !== "") this.giver.set(name, this.boxes.length);
    const widest = Math.max(...text.map((line) => line.text.length)) * CHARACTER + 2 * PADDING;
    const below = labels.reduce((sum, label) => sum + (label.length + 2) * CHARACTER, 0);
    this.boxes.push({ kind, lines: text, gives, labels, reads: drawn, from: drawn.map((name) => this.giver.get(name)!), width: Math.max(60, widest, below), height: text.length * LINE + 2 * PADDING, sink: kind === "output" || kind === "wrong" });
  }

  private addNode(node: GraphNode): void {
    const named = node.inputs.map((name) => (name === "" ? "–" : shortened(name)));
    const constants = [...new Set(node.inputs)].flatMap((name) => this.constants.get(name) ?? []);
    const text: Line[] = [
      { text: operatorText(node), style: "head" },
      ...lines([`of ${named.join(", ")}`, attributesText(node), ...constants.map((value) => `${shortened(value.name)}${typeText(value)}${dataText(value)}`)]),
    ];
    const outputs = node.outputs.filter((name) => name !== "");
    this.add("node", text, node.inputs, outputs, outputs.map((name) => `${name === this.wrongName ? "✗ wrong: " : ""}${shortened(name)}${typeText(this.values.get(name))}`));
  }

  private addOutput(name: string, position: number): void {
    const isWrong = position === this.wrong;
    const head = this.graph.outputs.length === 1 ? "output" : `output ${position}`;
    const text: Line[] = [{ text: `${head} ${shortened(name)}`, style: "head" }];
    if (isWrong) text.push({ text: "✗ wrong", style: "bad" }, ...lines(this.failure()));
    this.add(isWrong ? "wrong" : "output", text, [name], []);
  }

  // Where value `name` leaves its box, as an offset from the box's middle.
  private port(box: Box, name: string): number {
    const slot = box.width / Math.max(1, box.labels.length);
    return box.labels.length === 0 ? 0 : (box.gives.indexOf(name) + 0.5) * slot - box.width / 2;
  }

  private edge(layout: ReturnType<typeof laidOut>, to: number, k: number, name: string): Element {
    const box = this.boxes[to]!;
    const source = box.from[k]!;
    const giver = this.boxes[source]!;
    // From left to right as they come; the box tells the order in which it reads.
    const comesFrom = (edge: number) => layout.bends[to]![edge]!.at(-1)?.[0] ?? layout.places[box.from[edge]!]!.x;
    const rank = box.from.filter((_, other) => comesFrom(other) < comesFrom(k) || (comesFrom(other) === comesFrom(k) && other < k)).length;
    const arrival = box.width * ((rank + 1) / (box.from.length + 1) - 0.5) * 0.6;
    const start: [number, number] = [layout.places[source]!.x + this.port(giver, name), layout.places[source]!.top + giver.height];
    const end: [number, number] = [layout.places[to]!.x + arrival, layout.places[to]!.top];
    const points = [start, ...layout.bends[to]![k]!, end];
    const path = points.slice(1).map(([x, y], i) => {
      const [fromX, fromY] = points[i]!;
      return `C${fromX},${(fromY + y) / 2} ${x},${(fromY + y) / 2} ${x},${y}`;
    });
    const isWrong = box.kind === "wrong";
    return s(
      "g",
      { class: isWrong ? "edge wrong" : "edge", "data-value": name },
      s("path", { class: "line", d: `M${start.join(",")}${path.join("")}` }),
      s("path", { class: "tip", d: `M${end[0] - 4},${end[1] - 8}h8l-4,8z` }),
    );
  }

  private drawnBox(box: Box, { x, top }: { x: number; top: number }): Element {
    return s(
      "g",
      { class: `box ${box.kind}` },
      s("rect", { x: x - box.width / 2, y: top, width: box.width, height: box.height, rx: box.kind === "node" ? 3 : 14 }),
      box.lines.map(({ text, style }, i) => s("text", { class: style ?? "", x, y: top + PADDING + (i + 0.75) * LINE, "text-anchor": "middle" }, text)),
      box.labels.map((text, i) => {
        const name = box.gives[i]!;
        const middle = x + this.port(box, name);
        const width = (text.length + 1) * CHARACTER;
        return [
          s("rect", { class: "paper", x: middle - width / 2, y: top + box.height + 4, width, height: LINE }),
          s("text", { class: name === this.wrongName ? "bad" : "", x: middle, y: top + box.height + LINE, "text-anchor": "middle" }, text),
        ];
      }),
    );
  }
}

function drawn(finding: Finding, graph: Graph, title: string, id: string): HTMLElement {
  const drawing = new Drawing(graph, finding, id, `${finding.id}: ${title}`);
  return h(
    "section.drawn",
    {},
    h("h4", {}, title),
    h("div.scroll", { tabindex: 0, role: "region", "aria-label": title }, drawing.build()),
    fold("The graph as a list", () => drawing.list()),
  );
}

/** Nothing where the finding's case is a single node. Beside the graph stands what the backend computes in its place. */
export function graphOf(finding: Finding): Child {
  const { graph, id, rewritten } = finding.example;
  if (graph === undefined) return null;
  const stated = drawn(finding, graph, `Graph of ${id}`, `graph-${finding.id}`);
  if (rewritten === undefined) return stated;
  return h("div.side-by-side", {}, stated, drawn(finding, rewritten, `As ${finding.backend} computes it`, `rewritten-${finding.id}`));
}

/** The output that is wrong: "y" of a single node. */
export function wrongElement(finding: Finding): string {
  const { worst, example } = finding;
  return worst === undefined ? "" : indexText(example.graph?.outputs[worst.output ?? 0] ?? "y", worst.index);
}
