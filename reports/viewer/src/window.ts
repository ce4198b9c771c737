// One element of a picture in words and numbers: what was got, what is right, and what it is computed from.
import { channelValue, coordinates, elementsOf, indexAt, valueAt, windowOf, type Tap, type Window } from "./box";
import { fold, h, type Child } from "./dom";
import type { Geometry, Picture } from "./model";
import { count, counted, indexText } from "./text";

/** Channels of a window that are shown at once. */
const CHANNELS = 4;

export function isWrong(picture: Picture): Set<number> {
  return new Set(picture.wrong);
}

/** got - expected; NaN where one of them is no finite number. */
export function errorAt(picture: Picture, position: number): number {
  const error = Number(picture.got.values[position]) - Number(picture.expected[position]);
  return Number.isFinite(error) ? error : NaN;
}

export function errorText(error: number): string {
  if (Number.isNaN(error)) return "not comparable";
  const text = Number.isInteger(error) ? count(Math.abs(error)) : String(Math.abs(error));
  return error === 0 ? "0" : `${error < 0 ? "−" : "+"}${text}`;
}

export function admissibleText(picture: Picture, position: number): string {
  return picture.admissible[position] ?? `{${picture.expected[position]}}`;
}

/** In one sentence, for those who do not see the map. */
export function sentence(picture: Picture, position: number, wrong: boolean): string {
  const place = indexText("y", indexAt(picture.got, position));
  const exact = picture.exact[position];
  return (
    `${place} ${wrong ? "wrong" : "right"}: got ${picture.got.values[position]}, expected ${picture.expected[position]}` +
    `${exact ? `, exact ${exact}` : ""}, admissible ${admissibleText(picture, position)}`
  );
}

function grid(name: string, rows: Tap[][], cell: (tap: Tap) => Child, labelled: boolean): HTMLElement {
  const first = rows[0] ?? [];
  const last = (tap: Tap) => tap.input[tap.input.length - 1];
  const row = (tap: Tap) => tap.input[tap.input.length - 2];
  const heads = [h("td", {}, name), ...first.map((tap) => h("th", { scope: "col" }, labelled ? last(tap) : tap.kernel[tap.kernel.length - 1]))];
  return h(
    "table.taps",
    {},
    h("thead", {}, h("tr", {}, heads)),
    h(
      "tbody",
      {},
      rows.map((taps) => {
        const head = taps[0];
        const label = head === undefined || head.kernel.length < 2 ? "" : labelled ? row(head) : head.kernel[head.kernel.length - 2];
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, label),
          taps.map((tap) => h(tap.padding ? "td.padding" : "td", tap.padding ? { title: "in the padding: contributes 0" } : {}, cell(tap))),
        );
      }),
    ),
  );
}

// Three tables side by side: x under the window, the filter, their products.
function plane(taps: Tap[], columns: number): HTMLElement {
  const rows: Tap[][] = [];
  for (let i = 0; i < taps.length; i += columns) rows.push(taps.slice(i, i + columns));
  const missing = "…";
  return h(
    "div.planes",
    {},
    grid("x", rows, (tap) => (tap.padding ? "pad" : (tap.x ?? missing)), true),
    grid("w", rows, (tap) => tap.w ?? missing, false),
    grid("product", rows, (tap) => (tap.product === undefined ? missing : count(tap.product)), false),
  );
}

function channelBlock(taps: Tap[], geometry: Geometry): HTMLElement {
  const kernel = geometry.axes.map((axis) => axis.kernel);
  const columns = kernel[kernel.length - 1] ?? 1;
  const perPlane = elementsOf(kernel.slice(-2));
  const planes: Child[] = [];
  for (let i = 0; i < taps.length; i += perPlane) {
    const depth = coordinates(i, kernel).slice(0, -2);
    if (depth.length > 0) planes.push(h("div.note", {}, `kernel ${depth.join(",")}`));
    planes.push(plane(taps.slice(i, i + perPlane), columns));
  }
  return h("div.channel", {}, h("div.note", {}, `channel ${taps[0]?.channel ?? 0}`), planes);
}

function products(window: Window, geometry: Geometry): Child {
  const perChannel = elementsOf(geometry.axes.map((axis) => axis.kernel));
  const blocks = (from: number, to: number) => {
    const list: HTMLElement[] = [];
    for (let c = from; c < to; ++c) list.push(channelBlock(window.taps.slice(c * perChannel, (c + 1) * perChannel), geometry));
    return list;
  };
  const channels = geometry.group_input_channels;
  return [
    blocks(0, Math.min(channels, CHANNELS)),
    channels > CHANNELS && fold(`${counted(channels - CHANNELS, "further channel")}`, () => blocks(CHANNELS, channels)),
  ];
}

function less(zeroPoint: number): string {
  return zeroPoint < 0 ? `+ ${-zeroPoint}` : `− ${zeroPoint}`;
}

function sumText(window: Window): string {
  const padded = window.taps.filter((tap) => tap.padding).length;
  const zero = `Σ (x ${less(window.xZeroPoint)})(w ${less(window.wZeroPoint)}) over ${counted(window.taps.length, "tap")}`;
  const pads = padded > 0 ? `, ${count(padded)} in the padding` : "";
  const bias = window.bias === undefined ? "" : ` + bias ${count(window.bias)}`;
  const sum = window.sum === undefined ? "not all values are in the report" : count(window.sum);
  return `${zero}${pads}${bias} = ${sum}`;
}

function scaleText(picture: Picture, channel: number): string | null {
  const [x, w, y] = ["x_scale", "w_scale", "y_scale"].map((name) => channelValue(picture, name, channel));
  if (x === undefined || y === undefined) return null;
  return `the sum × ${x} × ${w ?? "?"} / ${y}`;
}

function convolution(picture: Picture, index: number[]): Child {
  const window = windowOf(picture, index);
  if (window === undefined || picture.geometry === undefined) return null;
  const scales = scaleText(picture, index[1] ?? 0);
  return [
    h("p.sum", {}, sumText(window), scales && h("span", {}, `; before rounding: ${scales}`)),
    products(window, picture.geometry),
  ];
}

function elementWise(picture: Picture, position: number): Child {
  const parameter = picture.parameter?.[position] ?? 0;
  const index = indexAt(picture.got, position);
  const rows = picture.inputs.map((input, order) => {
    const value = order === 0 ? valueAt(input, index) : input.values[elementsOf(input.shape) === 1 ? 0 : parameter];
    const where = order === 0 ? indexText(input.name, index) : elementsOf(input.shape) === 1 ? input.name : `${input.name} ${parameter}`;
    return h("div", {}, h("dt", {}, where), h("dd", {}, value ?? "not in the report"));
  });
  return h("dl.facts", {}, rows);
}

/** Everything the report knows of one element. */
export function elementDetail(picture: Picture, position: number, wrong: boolean): Child {
  const index = indexAt(picture.got, position);
  const error = errorAt(picture, position);
  const fact = (name: string, value: Child) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return [
    h("h5", {}, indexText("y", index), " ", h(wrong ? "span.bad" : "span.good", {}, wrong ? "✗ wrong" : "✓ right")),
    h(
      "dl.facts.element",
      {},
      fact("got", picture.got.values[position]),
      fact("expected", picture.expected[position]),
      picture.exact[position] ? fact("exact", picture.exact[position]) : null,
      fact("admissible", admissibleText(picture, position)),
      fact("error", errorText(error)),
    ),
    picture.geometry === undefined ? elementWise(picture, position) : convolution(picture, index),
  ];
}
