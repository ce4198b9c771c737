// Charts, each with the same as a table for those who do not see it.
import { axisX, barY, dot, gridX, link, plot, ruleX, ruleY, text as label } from "@observablehq/plot";
import { fold, h, number, numberHead, section, table, type Child } from "./dom";
import type { Bench, ErrorBin, Errors, Interval, Layer, Report, Timing } from "./model";
import { drawn, STYLE } from "./plot";
import { count, counted } from "./text";

interface Bar {
  bin: string;
  elements: number;
  high: boolean;
}

function limit(bin: ErrorBin): string {
  if (bin.up_to === null) return "…";
  if (bin.up_to < 1024) return bin.up_to === 0.5 ? "½" : String(bin.up_to);
  const exponent = String(Math.log2(bin.up_to));
  return `2${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`;
}

// From far too low to far too high; bins between that are empty keep their place.
function bars(errors: Errors): Bar[] {
  const low = errors.bins.filter((bin) => bin.low > 0).map((bin) => ({ bin: `−${limit(bin)}`, elements: bin.low, high: false }));
  const high = errors.bins.filter((bin) => bin.high > 0).map((bin) => ({ bin: `+${limit(bin)}`, elements: bin.high, high: true }));
  const odd = errors.incomparable > 0 ? [{ bin: "NaN, ∞", elements: errors.incomparable, high: true }] : [];
  return [...low.reverse(), ...high, ...odd];
}

function histogram(name: string, errors: Errors): HTMLElement {
  const data = bars(errors);
  const total = data.reduce((sum, bar) => sum + bar.elements, 0);
  const chart = plot({
    ariaLabel: `Errors of ${name}`,
    ariaDescription: data.map((bar) => `${bar.bin}: ${bar.elements}`).join("; "),
    width: Math.max(200, 60 + 38 * data.length),
    height: 170,
    marginLeft: 20,
    marginTop: 24,
    style: STYLE,
    x: { domain: data.map((bar) => bar.bin), label: null, padding: 0.15 },
    y: { type: "sqrt", axis: null },
    marks: [
      barY(data, { x: "bin", y: "elements", fill: (bar: Bar) => (bar.high ? "var(--high)" : "var(--low)") }),
      label(data, { x: "bin", y: "elements", text: (bar: Bar) => count(bar.elements), dy: -8 }),
      ruleY([0], { stroke: "var(--line)" }),
    ],
  });
  const rows = data.map((bar) => h("tr", {}, h("th", { scope: "row" }, bar.bin), number(count(bar.elements))));
  return h(
    "figure",
    {},
    h("figcaption", {}, h("strong", {}, name), h("span.note", {}, ` ${counted(total, "wrong element")}`)),
    drawn(chart),
    fold("as a table", () => table(`Errors of ${name}`, ["Error up to", numberHead("Elements")], rows)),
  );
}

export function errors(report: Report): HTMLElement | null {
  const figures = report.backends.flatMap((backend) =>
    Object.entries(backend.operators)
      .filter(([, result]) => result.errors)
      .map(([operator, result]) => histogram(`${backend.name} · ${operator}`, result.errors!)),
  );
  if (figures.length === 0) return null;
  const note = "Wrong elements by got − expected. A bar holds the distances up to its label and above half of it; heights are by square root, the numbers stand above.";
  return section("errors", "Errors", h("p.note", {}, note), h("div.figures", {}, figures));
}

function interval(speed: Interval | undefined): string {
  return speed === undefined ? "–" : `${speed.value.toFixed(2)} (${speed.low.toFixed(2)} to ${speed.high.toFixed(2)})`;
}

function speedText(timing: Timing | undefined): string {
  if (timing === undefined || timing.seconds === undefined) return timing === undefined ? "–" : timing.verdict;
  const rate = timing.gmacs !== undefined ? `${timing.gmacs.toFixed(1)} GMAC/s` : `${((timing.bytes_per_second ?? 0) / 1e9).toFixed(1)} GB/s`;
  const right = timing.verdict === "pass" || timing.verdict === "vacuous" ? "" : ` ✗ ${timing.verdict}`;
  const code = timing.implementation === undefined ? "" : ` (${timing.implementation})`;
  return `${rate}${code}${right}`;
}

interface Ratio {
  layer: string;
  against: string;
  value: number;
  low: number;
  high: number;
}

function ratios(layers: Layer[]): Ratio[] {
  return layers.flatMap((layer) => layer.ratios.filter((ratio) => ratio.counts).map((ratio) => ({ layer: layer.name, against: ratio.against, ...ratio.speed })));
}

// Shapes tell the backends apart: no colour means a backend.
function ratioChart(bench: Bench): Child {
  const data = ratios(bench.layers);
  if (data.length === 0) return null;
  const first = bench.backends[0]?.name ?? "";
  const layers = [...new Set(data.map((ratio) => ratio.layer))];
  const against = [...new Set(data.map((ratio) => ratio.against))];
  const longest = Math.max(...layers.map((layer) => layer.length));
  return drawn(plot({
    ariaLabel: `Speed of ${first} against each other backend, by layer`,
    width: 900,
    height: 60 + 20 * layers.length,
    marginLeft: 16 + 6.5 * longest,
    marginTop: 30,
    style: STYLE,
    x: { type: "log", label: `times as fast as the other (${first})`, labelAnchor: "left" },
    y: { domain: layers, label: null },
    symbol: { domain: against, legend: true },
    marks: [
      gridX({ stroke: "var(--line)", strokeOpacity: 1 }),
      axisX({ anchor: "top", tickFormat: (value: number) => String(value) }),
      ruleX([1], { stroke: "var(--ink)" }),
      link(data, { x1: "low", x2: "high", y1: "layer", y2: "layer", stroke: "var(--ink)", strokeWidth: 2 }),
      dot(data, { x: "value", y: "layer", symbol: "against", stroke: "var(--ink)", fill: "var(--page)", r: 4, title: (r: Ratio) => `${r.layer}: ${interval(r)} times ${r.against}` }),
    ],
  }));
}

function speedTable(bench: Bench): HTMLElement {
  const [first, ...others] = bench.backends.map((backend) => backend.name);
  const rows = bench.layers.map((layer) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, layer.name),
      h("td", {}, layer.kind),
      number((layer.macs / 1e6).toFixed(1)),
      [first, ...others].map((name) => number(speedText(layer.timings.find((timing) => timing.backend === name)))),
      others.map((name) => number(interval(layer.ratios.find((ratio) => ratio.against === name && ratio.counts)?.speed))),
    ),
  );
  const heads = ["Layer", "Kind", numberHead("MMAC"), ...[first, ...others].map((name) => numberHead(name ?? "")), ...others.map((name) => numberHead(`times ${name}`))];
  return table("Speed by layer", heads, rows);
}

function means(bench: Bench): HTMLElement {
  const rows = bench.means.map((mean) =>
    h("tr", {}, h("th", { scope: "row" }, mean.layers), h("td", {}, mean.against), number(interval(mean.speed)), number(count(mean.counted)), number(count(mean.left_out))),
  );
  return table("Geometric means", ["Layers", "Against", numberHead("Times as fast"), numberHead("Layers"), numberHead("Left out")], rows);
}

export function speed(bench: Bench | null): HTMLElement | null {
  if (bench === null) return null;
  const setting = `${bench.environment.cpu}; ${counted(bench.threads, "thread")}, ${bench.layout} asked for; ${bench.environment.started}. Ratios are of medians of rounds in which the backends took turns, with the bounds of 95 of 100 bootstrap resamples.`;
  return section("speed", "Speed", h("p.note", {}, setting), ratioChart(bench), means(bench), h("h3", {}, "By layer"), speedTable(bench));
}
