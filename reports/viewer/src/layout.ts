// Where the boxes of a small graph stand: in layers from top to bottom, each below all that it comes from.

export interface Item {
  width: number;
  height: number;
  /** What it comes from: positions in the list, all before its own. */
  from: number[];
  /** Stands right below what it comes from; others as low as what comes from them lets them. */
  sink?: boolean;
}

export interface Place {
  /** Of the middle. */
  x: number;
  top: number;
}

export interface Layout {
  places: Place[];
  /** By item, then by what it comes from: the way down, [x, y] where it enters and leaves a layer between. */
  bends: [number, number][][][];
  width: number;
  height: number;
}

const COLUMN_GAP = 22;
const LAYER_GAP = 52;
const PASSING_WIDTH = 10; // of a line on its way through a layer
const ROUNDS = 12;

// What stands in a layer: an item, or a line that passes.
interface Slot {
  width: number;
  above: Slot[];
  below: Slot[];
  layer: number;
  x: number;
}

function layersOf(items: Item[]): number[] {
  const layers = items.map(() => 0);
  items.forEach(({ from }, i) => (layers[i] = Math.max(-1, ...from.map((source) => layers[source]!)) + 1));
  const least = items.map(({ sink }, i) => (sink ? layers[i]! : Infinity));
  for (let i = items.length - 1; i >= 0; --i) {
    if (least[i] === Infinity) least[i] = layers[i]!;
    for (const source of items[i]!.from) least[source] = Math.min(least[source]!, least[i]! - 1);
  }
  return least;
}

function joined(above: Slot, below: Slot): void {
  above.below.push(below);
  below.above.push(above);
}

function mean(values: number[], otherwise: number): number {
  return values.length === 0 ? otherwise : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function crossings(layers: Slot[][]): number {
  let result = 0;
  for (const layer of layers) {
    const ends = layer.flatMap((slot, from) => slot.below.map((below) => [from, layers[below.layer]!.indexOf(below)] as const));
    for (const [from, to] of ends) result += ends.filter(([otherFrom, otherTo]) => otherFrom < from && otherTo > to).length;
  }
  return result;
}

// Each layer in the order of its neighbours' middles, downwards and upwards in turn; the best order counts.
function ordered(layers: Slot[][]): Slot[][] {
  let best = layers;
  let current = layers.map((layer) => [...layer]);
  for (let round = 0; round < ROUNDS && crossings(best) > 0; ++round) {
    const down = round % 2 === 0;
    const position = (slot: Slot) => current[slot.layer]!.indexOf(slot);
    for (const layer of down ? current : [...current].reverse()) {
      const wanted = new Map(layer.map((slot, i) => [slot, mean((down ? slot.above : slot.below).map(position), i)]));
      layer.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
    }
    if (crossings(current) < crossings(best)) best = current.map((layer) => [...layer]);
  }
  return best;
}

// As near to where each wants to be as the others of its layer allow: least squares, by pooling neighbours that are too
// close.
function settle(layer: Slot[], wanted: number[]): void {
  const offsets: number[] = [];
  layer.forEach((slot, i) => offsets.push(i === 0 ? 0 : offsets[i - 1]! + (layer[i - 1]!.width + slot.width) / 2 + COLUMN_GAP));
  const pools: { sum: number; count: number }[] = [];
  wanted.forEach((x, i) => {
    pools.push({ sum: x - offsets[i]!, count: 1 });
    while (pools.length > 1) {
      const last = pools[pools.length - 1]!;
      const before = pools[pools.length - 2]!;
      if (before.sum / before.count <= last.sum / last.count) break;
      pools.splice(-2, 2, { sum: before.sum + last.sum, count: before.count + last.count });
    }
  });
  let i = 0;
  for (const { sum, count } of pools) for (let k = 0; k < count; ++k, ++i) layer[i]!.x = sum / count + offsets[i]!;
}

function place(layers: Slot[][]): void {
  for (const layer of layers) settle(layer, layer.map(() => 0));
  for (let round = 0; round < ROUNDS; ++round) {
    const down = round % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      settle(layer, layer.map((slot) => mean((down ? slot.above : slot.below).map(({ x }) => x), slot.x)));
    }
  }
}

export function laidOut(items: Item[]): Layout {
  const layerOf = layersOf(items);
  const layers: Slot[][] = Array.from({ length: Math.max(-1, ...layerOf) + 1 }, () => []);
  const added = (width: number, layer: number): Slot => {
    const slot = { width, above: [], below: [], layer, x: 0 };
    layers[layer]!.push(slot);
    return slot;
  };
  const slots = items.map(({ width }, i) => added(width, layerOf[i]!));
  const passing = items.map(({ from }, i) =>
    from.map((source) => {
      const way: Slot[] = [];
      for (let layer = layerOf[source]! + 1; layer < layerOf[i]!; ++layer) way.push(added(PASSING_WIDTH, layer));
      [slots[source]!, ...way].forEach((slot, k) => joined(slot, way[k] ?? slots[i]!));
      return way;
    }),
  );
  const order = ordered(layers);
  place(order);
  const left = Math.min(0, ...order.flat().map(({ x, width }) => x - width / 2));
  const heights = layers.map((_, layer) => Math.max(0, ...items.filter((__, i) => layerOf[i] === layer).map(({ height }) => height)));
  const tops = heights.map((_, layer) => heights.slice(0, layer).reduce((sum, height) => sum + height + LAYER_GAP, 0));
  return {
    places: slots.map(({ x, layer }) => ({ x: x - left, top: tops[layer]! })),
    bends: passing.map((ways) => ways.map((way) => way.flatMap(({ x, layer }): [number, number][] => [[x - left, tops[layer]!], [x - left, tops[layer]! + heights[layer]!]]))),
    width: Math.max(0, ...order.flat().map(({ x, width }) => x + width / 2)) - left,
    height: tops.length === 0 ? 0 : tops[tops.length - 1]! + heights[heights.length - 1]!,
  };
}
