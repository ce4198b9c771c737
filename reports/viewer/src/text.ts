// Numbers, verdicts and commands as text.
import type { Backend, Counts, Finding, Report } from "./model";

const grouping = new Intl.NumberFormat("en-US");

/** 12,345 */
export function count(value: number): string {
  return grouping.format(value);
}

/** "1 case", "12 cases" */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function seconds(value: number): string {
  if (value >= 5400) return `${(value / 3600).toFixed(1)} h`;
  if (value >= 90) return `${(value / 60).toFixed(1)} min`;
  return value >= 1 ? `${value.toFixed(1)} s` : `${(value * 1000).toFixed(value < 0.01 ? 2 : 0)} ms`;
}

/** "1:02:03" of seconds; of less than a minute "12.3 s" */
export function clock(value: number): string {
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

const compacted = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

/** "1.2M", "640K", "12": for axes, where numbers are round. */
export function compact(value: number): string {
  return compacted.format(value);
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return "0 %";
  const share = (100 * part) / whole;
  if (part < whole && share > 99.9) return "> 99.9 %";
  return part > 0 && share < 0.1 ? "< 0.1 %" : `${share.toFixed(share >= 10 ? 0 : 1)} %`;
}

export function indexText(tensor: string, index: number[]): string {
  return `${tensor}[${index.join(",")}]`;
}

export function shapeText(shape: number[]): string {
  return `[${shape.join(",")}]`;
}

export type Tone = "good" | "aside" | "bad";

/** A verdict decides what it looks like, and never by colour alone: the word stands beside it. */
export function toneOf(verdict: string): Tone {
  if (verdict === "pass") return "good";
  return ["unsupported", "vacuous", "refused", "not-asked", "not-judged"].includes(verdict) ? "aside" : "bad";
}

export function failures(verdicts: Counts): number {
  return Object.entries(verdicts)
    .filter(([kind]) => toneOf(kind) === "bad")
    .reduce((sum, [, cases]) => sum + cases, 0);
}

/** "✓ conforms", "– agrees on 2 of 141 quantized nodes", "✗ does not conform"; what is neither good nor bad has a dash. */
function marked({ conforms, conclusion }: { conforms: boolean; conclusion: string }): string {
  const mark = conforms ? (conclusion === "conforms" ? "✓" : "–") : conclusion === "nothing was judged" ? "–" : "✗";
  return `${mark} ${conclusion}`;
}

/** What became of a backend: nothing is judged of one that computed nothing, which is no failure of its own. */
export function conclusionOf(backend: Backend): { text: string; tone: Tone } {
  if (!backend.conforms && backend.looser_terms) return { text: `✗ does not conform: ${backend.looser_terms}`, tone: "bad" };
  const text = [marked(backend), backend.conforms ? backend.scope : ""].filter(Boolean).join(" ");
  if (backend.conforms) return { text, tone: backend.conclusion === "conforms" ? "good" : "aside" };
  return { text, tone: backend.conclusion === "nothing was judged" ? "aside" : "bad" };
}

/** What became of all backends that decide, in the head of the page. */
export function headline(report: Report): string {
  return marked(report);
}

/** "onnxruntime" of "onnxruntime:1.14.0@all". A plugin, a process or a defect is a library of its own. */
export function libraryOf(backend: Backend): string {
  return ["library", "in-tree"].includes(backend.kind) ? (backend.name.split(/[:@[]/, 1)[0] ?? backend.name) : backend.name;
}

/** "wrong, pad-raw-zero"; a verdict that says all is not said twice: "crashed: SIGSEGV in kernel". */
export function causeOf({ verdict, signature }: { verdict: string; signature: string }): string {
  return signature === verdict || signature.startsWith(`${verdict}:`) ? signature : `${verdict}, ${signature}`;
}

/** Says what the defects of a diagnosis do: "a padded tap is raw 0, not the zero point". */
export function descriptionOf(finding: Finding): string {
  return (finding.diagnosis?.defects ?? []).map((defect) => defect.description).join("; ");
}

/** "a, b, c and 4 more" */
export function shortList(names: string[], most: number): string {
  return names.length <= most + 1 ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${count(names.length - most)} more`;
}

/** What `key` gives with all for which it gives that, in the order of the first of each. */
export function grouped<T>(list: T[], key: (each: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const each of list) {
    const group = groups.get(key(each));
    if (group === undefined) groups.set(key(each), [each]);
    else group.push(each);
  }
  return [...groups];
}

/** Most frequent first. */
export function byFrequency(counts: Counts): [string, number][] {
  return Object.entries(counts).sort((a, b) => b[1] - a[1]);
}

/** As a POSIX shell takes it. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
