// A wrong output as a map of its elements, plane by plane, beside what one of them is computed from.
import { coordinates, elementsOf, positionOf } from "./box";
import { h, replace, s, type Child } from "./dom";
import type { Picture } from "./model";
import { count, counted, shapeText } from "./text";
import { elementDetail, errorAt, isWrong, sentence } from "./window";

/** Up to so many columns and cells have room for their values. */
const VALUE_COLUMNS = 16;
const VALUE_CELLS = 256;
/** Images of up to so many elements are rows of the map. */
const IMAGE_ELEMENTS = 6;

interface Plane {
  label: string;
  first: number; // position of its first element
  wrong: number;
}

interface Shape {
  rows: number;
  columns: number;
  /** The dimension of the rows; those behind it are the columns, those before it the planes. */
  dimension: number;
  planes: Plane[];
}

// Rows and columns are the last two dimensions. Where an image has a handful of elements, channels are the
// rows and its elements the columns, so that many channels are seen at once.
function shapeOf(picture: Picture, wrong: Set<number>): Shape {
  const extent = picture.got.extent;
  const image = elementsOf(extent.slice(2));
  const dimension = picture.geometry !== undefined && image <= IMAGE_ELEMENTS ? 1 : Math.max(0, extent.length - 2);
  const columns = extent.length >= 2 ? elementsOf(extent.slice(dimension + 1)) : (extent[0] ?? 1);
  const rows = extent.length >= 2 ? extent[dimension]! : 1;
  const size = rows * columns;
  const outer = extent.slice(0, dimension);
  const planes: Plane[] = [];
  for (let i = 0; i < elementsOf(outer) && size > 0; ++i) {
    const index = coordinates(i, outer).map((offset, d) => offset + picture.got.begin[d]!);
    let count = 0;
    for (let p = i * size; p < (i + 1) * size; ++p) if (wrong.has(p)) ++count;
    planes.push({ label: `y[${[...index, ...extent.slice(dimension).map(() => ":")].join(",")}]`, first: i * size, wrong: count });
  }
  return { rows, columns, dimension, planes };
}

// What of the output is not shown, in words.
function cutText(picture: Picture): string {
  const { shape, begin, extent } = picture.got;
  const whole = `y ${shapeText(shape)}`;
  if (extent.every((size, d) => size === shape[d])) return `${whole}, all of it`;
  const ranges = extent.map((size, d) => (size === shape[d] ? ":" : `${begin[d]}…${begin[d]! + size - 1}`));
  return `${whole}; shown is [${ranges.join(", ")}], around the worst element: ${count(elementsOf(extent))} of ${counted(elementsOf(shape), "element")}`;
}

function largestError(picture: Picture): number {
  return Math.max(1, ...picture.wrong.map((p) => Math.abs(errorAt(picture, p))).filter((error) => !Number.isNaN(error)));
}

// Glyphs and signs stand beside the colours, so that nobody has to tell these apart.
function lookOf(picture: Picture, position: number, wrong: boolean, largest: number) {
  const error = errorAt(picture, position);
  const kind = !wrong ? "right" : Number.isNaN(error) || error === 0 ? "odd" : error < 0 ? "low" : "high";
  const share = wrong && Number.isFinite(error) ? Math.log2(1 + Math.abs(error)) / Math.log2(1 + largest) : 1;
  return { kind, glyph: { right: "", odd: "×", low: "−", high: "+" }[kind], share };
}

function key(glyph: string, kind: string, text: string): HTMLElement {
  return h("span.key", {}, h(`span.swatch.${kind}`, { "aria-hidden": "true" }, glyph), text);
}

class HeatMap {
  private readonly wrong: Set<number>;
  private readonly shape: Shape;
  private readonly largest: number;
  private readonly map = h("div.map");
  private readonly detail = h("div.detail");
  private readonly select = h("select", { "aria-label": "Plane of the output" }) as HTMLSelectElement;
  private plane = 0;
  private current: number;

  constructor(
    private readonly picture: Picture,
    private readonly title: string,
  ) {
    this.wrong = isWrong(picture);
    this.shape = shapeOf(picture, this.wrong);
    this.current = Math.max(0, positionOf(picture.got, picture.worst));
    this.largest = largestError(picture);
    this.plane = Math.floor(this.current / (this.shape.rows * this.shape.columns));
  }

  build(): HTMLElement {
    const shown = this.picture.wrong.length;
    const total = this.picture.wrong_elements;
    const summary = `${counted(total, "wrong element")}${shown < total ? `, ${count(shown)} of them shown` : ""}`;
    this.map.addEventListener("keydown", (event) => this.key(event));
    this.map.addEventListener("focusin", (event) => this.enter(event.target, true));
    this.map.addEventListener("mouseover", (event) => this.enter(event.target, false));
    this.map.addEventListener("mouseleave", () => this.show(this.current));
    this.draw();
    this.show(this.current);
    return h(
      "div.picture",
      {},
      h(
        "div.where",
        {},
        h("div.note", {}, `${summary}. ${cutText(this.picture)}.`),
        this.planes(),
        this.map,
        this.legend(),
      ),
      this.detail,
    );
  }

  private planes(): Child {
    if (this.shape.planes.length < 2) return null;
    this.shape.planes.forEach((plane, position) =>
      this.select.append(h("option", { value: position, selected: position === this.plane }, `${plane.label}  ${count(plane.wrong)} wrong`)),
    );
    this.select.addEventListener("change", () => this.turn(Number(this.select.value) - this.plane));
    return h("label.plane", {}, "plane ", this.select);
  }

  private legend(): HTMLElement {
    return h(
      "div.legend",
      {},
      key("−", "low", "too low"),
      key("+", "high", "too high"),
      hasOdd(this.picture) ? key("×", "odd", "not comparable") : null,
      key("", "right", "right"),
      h("span.note", {}, "Arrow keys move, N and Shift+N go to the next and previous wrong element, Page Up and Page Down turn planes."),
    );
  }

  private cell(position: number, values: boolean): HTMLElement {
    const wrong = this.wrong.has(position);
    const { kind, glyph, share } = lookOf(this.picture, position, wrong, this.largest);
    return h(
      `td.${kind}`,
      {
        role: "gridcell",
        "data-position": position,
        tabindex: position === this.current ? 0 : -1,
        style: wrong ? `--share: ${share.toFixed(2)}` : undefined,
        "aria-label": sentence(this.picture, position, wrong),
      },
      values ? [this.picture.got.values[position], glyph && h("sup", { "aria-hidden": "true" }, glyph)] : glyph,
    );
  }

  private draw(): void {
    const { rows, columns, dimension, planes } = this.shape;
    const plane = planes[this.plane];
    if (plane === undefined) return;
    const values = columns <= VALUE_COLUMNS && rows * columns <= VALUE_CELLS;
    const { begin, extent } = this.picture.got;
    const rank = extent.length;
    const heads = [...Array(columns).keys()].map((c) => h("th", { scope: "col", "aria-hidden": "true" }, this.columnTick(c, values)));
    const body = [...Array(rows).keys()].map((r) =>
      h(
        "tr",
        { role: "row" },
        h("th", { scope: "row", "aria-hidden": "true" }, rank >= 2 ? this.tick(r + begin[dimension]!, values) : ""),
        [...Array(columns).keys()].map((c) => this.cell(plane.first + r * columns + c, values)),
      ),
    );
    replace(
      this.map,
      h(
        "table",
        { role: "grid", class: values ? "values" : "dense", "aria-label": `${this.title}, ${plane.label}, ${counted(plane.wrong, "wrong element")}` },
        h("thead", { role: "presentation" }, h("tr", { "aria-hidden": "true" }, h("th"), heads)),
        h("tbody", { role: "rowgroup" }, body),
      ),
    );
  }

  private columnTick(column: number, values: boolean): string {
    const { begin, extent } = this.picture.got;
    const first = extent.length >= 2 ? this.shape.dimension + 1 : 0;
    const index = coordinates(column, extent.slice(first)).map((offset, d) => offset + begin[first + d]!);
    return index.length === 1 || values ? index.map((coordinate) => this.tick(coordinate, values)).join(",") : "";
  }

  // Dense maps have room for every eighth coordinate.
  private tick(coordinate: number, values: boolean): string {
    return values || coordinate % 8 === 0 ? String(coordinate) : "";
  }

  private cellAt(position: number): HTMLElement | null {
    return this.map.querySelector(`[data-position="${position}"]`);
  }

  private enter(target: EventTarget | null, focus: boolean): void {
    const cell = target instanceof HTMLElement ? target.closest<HTMLElement>("[data-position]") : null;
    if (cell === null) return;
    const position = Number(cell.dataset.position);
    if (focus) this.settle(position);
    this.show(position);
  }

  private settle(position: number): void {
    this.cellAt(this.current)?.setAttribute("tabindex", "-1");
    this.current = position;
    this.cellAt(position)?.setAttribute("tabindex", "0");
  }

  private show(position: number): void {
    this.map.querySelector(".shown")?.classList.remove("shown");
    this.cellAt(position)?.classList.add("shown");
    replace(this.detail, elementDetail(this.picture, position, this.wrong.has(position)));
  }

  private go(position: number): void {
    const size = this.shape.rows * this.shape.columns;
    const plane = Math.floor(position / size);
    this.settle(position);
    if (plane !== this.plane) {
      this.plane = plane;
      this.select.value = String(plane);
      this.draw();
    }
    this.cellAt(position)?.focus();
  }

  private turn(by: number): void {
    const size = this.shape.rows * this.shape.columns;
    const target = Math.min(this.shape.planes.length - 1, Math.max(0, this.plane + by));
    const held = document.activeElement;
    this.settle(target * size + (this.current % size));
    this.plane = target;
    this.select.value = String(target);
    this.draw();
    this.show(this.current);
    if (held !== this.select) this.cellAt(this.current)?.focus();
  }

  private nextWrong(forward: boolean): number | undefined {
    const list = this.picture.wrong;
    return forward ? (list.find((p) => p > this.current) ?? list[0]) : (list.findLast((p) => p < this.current) ?? list[list.length - 1]);
  }

  private key(event: KeyboardEvent): void {
    const { rows, columns } = this.shape;
    const inPlane = this.current % (rows * columns);
    const [row, column] = [Math.floor(inPlane / columns), inPlane % columns];
    const step: Record<string, () => number | undefined> = {
      ArrowLeft: () => (column > 0 ? this.current - 1 : undefined),
      ArrowRight: () => (column + 1 < columns ? this.current + 1 : undefined),
      ArrowUp: () => (row > 0 ? this.current - columns : undefined),
      ArrowDown: () => (row + 1 < rows ? this.current + columns : undefined),
      Home: () => this.current - column,
      End: () => this.current - column + columns - 1,
      n: () => this.nextWrong(true),
      N: () => this.nextWrong(false),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "PageUp" || event.key === "PageDown") this.turn(event.key === "PageDown" ? 1 : -1);
    else if (event.key in step) {
      const target = step[event.key]!();
      if (target !== undefined) this.go(target);
    } else return;
    event.preventDefault();
  }
}

function hasOdd(picture: Picture): boolean {
  return picture.wrong.some((position) => {
    const error = errorAt(picture, position);
    return Number.isNaN(error) || error === 0;
  });
}

export function heatMap(picture: Picture, title: string): HTMLElement {
  return new HeatMap(picture, title).build();
}

/** A thumbnail has at most so many planes and pixels; smaller cells have no room for glyphs or values. */
const GLANCED = 24;
const GLANCE_WIDTH = 560;
const GLANCE_HEIGHT = 300;
const GLYPH_CELL = 11;
const VALUE_CELL = 40;

/** Draws the planes with wrong elements side by side, as large as they fit. */
export function thumbnail(picture: Picture, title: string): HTMLElement {
  const wrong = isWrong(picture);
  const { rows, columns, planes } = shapeOf(picture, wrong);
  const largest = largestError(picture);
  const all = planes.filter((plane) => plane.wrong > 0);
  const shown = all.slice(0, GLANCED);
  const cellFor = (across: number) => Math.min(GLANCE_WIDTH / (across * (columns + 1)), GLANCE_HEIGHT / (Math.ceil(shown.length / across) * (rows + 1)), 64);
  const across = shown.map((_, i) => i + 1).reduce((best, each) => (cellFor(each) > cellFor(best) ? each : best), 1);
  const size = cellFor(across);
  const cells = shown.flatMap((plane, i) => {
    const [left, top] = [(i % across) * (columns + 1), Math.floor(i / across) * (rows + 1)];
    return [...Array(rows * columns).keys()].map((k) => {
      const position = plane.first + k;
      const { kind, glyph, share } = lookOf(picture, position, wrong.has(position), largest);
      const [x, y] = [(left + (k % columns)) * size, (top + Math.floor(k / columns)) * size];
      const text = (dx: number, dy: number, of: string, font: number) => s("text", { x: (x + size * dx).toFixed(1), y: (y + size * dy).toFixed(1), "font-size": font.toFixed(1) }, of);
      return [
        s("rect", { class: kind, x: x.toFixed(1), y: y.toFixed(1), width: (size * 0.92).toFixed(1), height: (size * 0.92).toFixed(1), style: `--share: ${share.toFixed(2)}` }),
        size >= VALUE_CELL ? [text(0.46, 0.56, picture.got.values[position] ?? "", 14), text(0.8, 0.18, glyph, 12)] : size >= GLYPH_CELL ? text(0.46, 0.46, glyph, size * 0.8) : null,
      ];
    });
  });
  const [width, height] = [(across * (columns + 1) - 1) * size, (Math.ceil(shown.length / across) * (rows + 1) - 1) * size];
  const counts = (["low", "high", "odd"] as const).map((kind) => [kind, picture.wrong.filter((p) => lookOf(picture, p, true, largest).kind === kind).length] as const);
  const words = { low: ["−", "too low"], high: ["+", "too high"], odd: ["×", "not comparable"] } as const;
  const note = `${title}: ${count(picture.wrong_elements)} of ${count(elementsOf(picture.got.shape))} wrong${shown.length < all.length ? `; ${count(shown.length)} of ${count(all.length)} planes with wrong elements` : ""}`;
  return h(
    "figure.glance",
    {},
    s("svg", { role: "img", class: size >= VALUE_CELL ? "values" : "dense", "aria-label": note, viewBox: `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`, width: width.toFixed(0) }, cells),
    h("figcaption.legend", {}, counts.filter(([, number]) => number > 0).map(([kind, number]) => key(words[kind][0], kind, `${count(number)} ${words[kind][1]}`)), h("span.note", {}, note)),
  );
}
