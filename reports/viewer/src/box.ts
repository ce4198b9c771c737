// Places in tensors of which the report holds a part.
import type { Axis, Box, Picture } from "./model";

/** Row-major coordinates of position `flat` in a box of this extent. */
export function coordinates(flat: number, extent: number[]): number[] {
  const result = new Array<number>(extent.length).fill(0);
  for (let d = extent.length - 1; d >= 0; --d) {
    const size = extent[d]!;
    result[d] = flat % size;
    flat = Math.floor(flat / size);
  }
  return result;
}

/** The index in the whole tensor of position `flat` in the box. */
export function indexAt(box: Box, flat: number): number[] {
  return coordinates(flat, box.extent).map((offset, d) => offset + box.begin[d]!);
}

/** Where the tensor's element `index` is in the box; -1 where the box does not reach. */
export function positionOf(box: Box, index: number[]): number {
  let flat = 0;
  for (let d = 0; d < index.length; ++d) {
    const offset = index[d]! - box.begin[d]!;
    if (offset < 0 || offset >= box.extent[d]!) return -1;
    flat = flat * box.extent[d]! + offset;
  }
  return flat;
}

export function valueAt(box: Box, index: number[]): string | undefined {
  return box.values[positionOf(box, index)];
}

export function elementsOf(extent: number[]): number {
  return extent.reduce((product, size) => product * size, 1);
}

/** One product of a convolution's sum. */
export interface Tap {
  channel: number;
  kernel: number[];
  /** Index into x; beyond its borders where the tap is in the padding. */
  input: number[];
  padding: boolean;
  x?: number;
  w?: number;
  /** (x - zero point) * (w - zero point); undefined where the report lacks a value. */
  product?: number;
}

export interface Window {
  taps: Tap[];
  xZeroPoint: number;
  wZeroPoint: number;
  bias: number | undefined;
  /** Products and bias together; undefined where a value is missing. */
  sum: number | undefined;
}

function inputNamed(picture: Picture, name: string): Box | undefined {
  return picture.inputs.find((input) => input.name === name);
}

/** An input with one value, or with one for each output channel. */
export function channelValue(picture: Picture, name: string, channel: number): string | undefined {
  const box = inputNamed(picture, name);
  if (box === undefined) return undefined;
  return elementsOf(box.shape) === 1 ? box.values[0] : valueAt(box, [channel]);
}

function inputPosition(axis: Axis, output: number, kernel: number): number {
  return output * axis.stride - axis.pad_begin + kernel * axis.dilation;
}

/** What output element `index` = [n, m, ...] of a convolution is computed from. */
export function windowOf(picture: Picture, index: number[]): Window | undefined {
  const geometry = picture.geometry;
  const x = inputNamed(picture, "x");
  const w = inputNamed(picture, "w");
  if (geometry === undefined || x === undefined || w === undefined) return undefined;
  const [image = 0, channel = 0, ...outputs] = index;
  const xZeroPoint = Number(channelValue(picture, "x_zero_point", 0) ?? 0);
  const wZeroPoint = Number(channelValue(picture, "w_zero_point", channel) ?? 0);
  const biasText = channelValue(picture, "B", channel);
  const bias = biasText === undefined ? undefined : Number(biasText);
  const firstInput = Math.floor(channel / geometry.group_output_channels) * geometry.group_input_channels;
  const kernel = geometry.axes.map((axis) => axis.kernel);
  const taps: Tap[] = [];
  let sum: number | undefined = bias ?? 0;
  for (let c = 0; c < geometry.group_input_channels; ++c) {
    for (let flat = 0; flat < elementsOf(kernel); ++flat) {
      const k = coordinates(flat, kernel);
      const spatial = geometry.axes.map((axis, d) => inputPosition(axis, outputs[d]!, k[d]!));
      const padding = spatial.some((position, d) => position < 0 || position >= geometry.axes[d]!.input);
      const tap: Tap = { channel: firstInput + c, kernel: k, input: spatial, padding };
      const wText = valueAt(w, [channel, c, ...k]);
      const xText = padding ? undefined : valueAt(x, [image, firstInput + c, ...spatial]);
      if (wText !== undefined) tap.w = Number(wText);
      if (xText !== undefined) tap.x = Number(xText);
      if (padding) tap.product = 0;
      else if (tap.x !== undefined && tap.w !== undefined) tap.product = (tap.x - xZeroPoint) * (tap.w - wZeroPoint) + 0; // never -0
      sum = sum === undefined || tap.product === undefined ? undefined : sum + tap.product;
      taps.push(tap);
    }
  }
  return { taps, xZeroPoint, wZeroPoint, bias, sum };
}
