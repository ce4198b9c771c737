// A campaign: its runs, and how it went. Charts have their numbers as tables beside them.
import { axisX, axisY, dot, gridY, line, plot, ruleX, text as label } from "@observablehq/plot";
import { fold, h, number, numberHead, section, table, type Child } from "./dom";
import type { Campaign, Timeline, Finding, Report } from "./model";
import { drawn, STYLE } from "./plot";
import { causeOf, clock, compact, count, counted, descriptionOf, grouped, seconds } from "./text";

const WIDTH = 560;
const HEIGHT = 220;
const RUNS_SHOWN = 12;
const CAUSES_SHOWN = 6;

interface Point {
  x: number;
  y: number;
  title: string;
}

interface Step {
  cases: number;
  what: string;
}

/** How many cases the campaign has up to and including the one of that index. */
function casesUpTo(timeline: Timeline, index: number, blockCases: number): number {
  let cases = 0;
  for (const group of timeline.groups) {
    const before = index - group.first * blockCases;
    if (before >= timeline.group_blocks * blockCases) cases += group.cases;
    else if (before >= 0) return cases + Math.min(group.cases, before + 1);
  }
  return cases;
}

function figure(title: string, note: string, chart: Element, heads: Child[], rows: HTMLElement[]): HTMLElement {
  return h(
    "figure",
    {},
    h("figcaption", {}, h("strong", {}, title), h("span.note", {}, ` ${note}`)),
    drawn(chart),
    fold(`${title} as a table`, () => table(title, heads, rows)),
  );
}

function chartOf(title: string, description: string, marks: unknown[], x: object): Element {
  return plot({
    ariaLabel: title,
    ariaDescription: description,
    width: WIDTH,
    height: HEIGHT,
    marginLeft: 52,
    marginRight: 24,
    marginTop: 18,
    style: STYLE,
    x: { labelAnchor: "right", labelArrow: "none", ...x },
    y: { zero: true, nice: true, label: null },
    marks: [gridY({ stroke: "var(--line)", strokeOpacity: 1 }), axisY({ ticks: 5, tickFormat: (value: number) => (Number.isInteger(value) ? compact(value) : ""), tickSize: 0 }), ...marks] as never,
  });
}

const IN_ORDER = "cases, in the order of the blocks";

// Elapsed time where the campaign noted it; of a merged one the time that its jobs took, block after block.
function timeline(campaign: Campaign): { points: Point[]; note: string } {
  if (campaign.progress.length > 0) {
    const points = campaign.progress.map((at) => ({ x: at.seconds, y: at.cases, title: `${clock(at.seconds)}: ${counted(at.cases, "case")}, ${counted(at.failures, "failure")}` }));
    return { points, note: "by elapsed time, pauses between runs left out" };
  }
  let time = 0;
  let cases = 0;
  const points = (campaign.course?.groups ?? []).map((group) => {
    time += group.seconds;
    cases += group.cases;
    return { x: time, y: cases, title: `${clock(time)}: ${counted(cases, "case")}` };
  });
  return { points, note: "by the time that jobs took, block after block: the campaign was merged" };
}

function casesOverTime(campaign: Campaign): HTMLElement | null {
  const { points, note } = timeline(campaign);
  const last = points[points.length - 1];
  if (last === undefined || last.x === 0) return null;
  const unit = last.x >= 7200 ? { name: "hours", seconds: 3600 } : last.x >= 120 ? { name: "minutes", seconds: 60 } : { name: "seconds", seconds: 1 };
  const drawnPoints = [{ x: 0, y: 0, title: "" }, ...points].map((point) => ({ ...point, x: point.x / unit.seconds }));
  const chart = chartOf(
    "Cases over time",
    `${counted(last.y, "case")} in ${seconds(last.x)}`,
    [
      axisX({ ticks: 6 }),
      line(drawnPoints, { x: "x", y: "y", stroke: "var(--ink)", strokeWidth: 2 }),
      dot(drawnPoints.slice(1), { x: "x", y: "y", r: points.length > 60 ? 1 : 2.5, fill: "var(--ink)", title: "title" }),
    ],
    { label: unit.name },
  );
  const rows = points.map((point) => h("tr", {}, h("th", { scope: "row" }, clock(point.x)), number(count(point.y))));
  return figure("Cases over time", note, chart, ["Time", numberHead("Cases")], rows);
}

function speedOfJobs(campaign: Campaign, timeline: Timeline): HTMLElement | null {
  let cases = 0;
  const points = timeline.groups
    .filter((group) => group.seconds > 0)
    .map((group) => {
      const begin = cases;
      cases += group.cases;
      const rate = group.cases / group.seconds;
      return { begin, end: cases, x: (begin + cases) / 2, rate, failures: group.failures };
    });
  if (points.length === 0) return null;
  const steps = points.flatMap((point) => [{ x: point.begin, y: point.rate }, { x: point.end, y: point.rate }]);
  const rates = points.map((point) => point.rate);
  const chart = chartOf(
    "Cases a second of one job",
    `from ${compact(Math.min(...rates))} to ${compact(Math.max(...rates))}`,
    [axisX({ ticks: 5, tickFormat: compact }), line(steps, { x: "x", y: "y", stroke: "var(--ink)", strokeWidth: 1.5 })],
    { label: IN_ORDER, domain: [0, cases] },
  );
  const rows = points.map((point) =>
    h("tr", {}, number(`${count(point.begin)} to ${count(point.end)}`), number(count(Math.round(point.rate))), number(count(point.failures))),
  );
  const width = `${counted(timeline.group_blocks, "block")} of ${counted(campaign.block_cases, "case")} each`;
  return figure("Cases a second of one job", `by groups of ${width}`, chart, [numberHead("Cases"), numberHead("Cases a second"), numberHead("Failures")], rows);
}

interface Rule {
  x: number;
  name: string;
}

// The dots of a longer line would be one band.
const MOST_DOTS = 200;

// The line rises by one with each thing that was met for the first time; the table has the newest first.
function discoveries(title: string, note: string, of: string, steps: Step[], total: number, colour: string, rules: Rule[] = []): HTMLElement {
  const points = steps.map((step, position) => ({ x: step.cases, y: position + 1, title: `${step.what}: within ${counted(step.cases, "case")}` }));
  const stairs = [{ x: 1, y: 0 }, ...points.flatMap((point, position) => [{ x: point.x, y: position }, point]), { x: total, y: points.length }];
  const chart = chartOf(
    title,
    steps.map((step) => `${step.what} ${count(step.cases)}`).join("; "),
    [
      axisX({ ticks: 5, tickFormat: compact }),
      ruleX(rules, { x: "x", stroke: "var(--line)", strokeDasharray: "3 3" }),
      label(rules, { x: "x", text: "name", frameAnchor: "top", dy: -10, fill: "var(--note)" }),
      line(stairs, { x: "x", y: "y", stroke: colour, strokeWidth: 2 }),
      points.length <= MOST_DOTS ? dot(points, { x: "x", y: "y", r: 3, fill: colour, title: "title" }) : null,
      ruleX([total], { stroke: "var(--line)" }),
    ],
    { type: "log", label: IN_ORDER, domain: [1, Math.max(total, 2)] },
  );
  const rows = [...steps].reverse().map((step) => h("tr", {}, h("th", { scope: "row" }, step.what), number(count(step.cases))));
  return figure(title, note, chart, [of, numberHead("Within cases")], rows);
}

function byFirst(steps: Step[]): Step[] {
  return steps.sort((a, b) => a.cases - b.cases);
}

interface Cause extends Step {
  finding: Finding;
}

/** Returns each cause where it was met first. */
function causesMet(report: Report, at: (index: number) => number): Cause[] {
  const met = report.findings.filter((finding) => finding.first_case !== undefined && !finding.waiver);
  return grouped(met, causeOf)
    .map(([what, list]) => ({ what, cases: at(Math.min(...list.map((finding) => finding.first_case!))), finding: list[0]! }))
    .sort((a, b) => a.cases - b.cases);
}

// If one machine continued a campaign night after night, returns the cases behind each night, and its date.
function nights(campaign: Campaign): Rule[] {
  if (campaign.progress.length === 0 || campaign.runs.some((run) => run.shard !== "")) return [];
  let cases = 0;
  return campaign.runs.map((run) => ({ x: (cases += run.cases), name: run.started.slice(5, 10) }));
}

function newestFirst(causes: Cause[], ends: Rule[]): HTMLElement {
  const night = (cause: Cause) => ends.findIndex(({ x }) => cause.cases <= x);
  const newest = [...causes].reverse().slice(0, CAUSES_SHOWN);
  return h(
    "div.block",
    {},
    h("h3", {}, "Newest causes first"),
    h("ul.brief", {}, newest.map((cause) => h("li", {}, h("a", { href: `#${cause.finding.id}` }, cause.what), ends.length > 1 && night(cause) === ends.length - 1 ? [" ", h("span.change.bad", {}, "new")] : null, h("span.what", {}, descriptionOf(cause.finding) || cause.finding.detail), h("span.note", {}, `met within ${counted(cause.cases, "case")}${ends.length > 1 && ends[night(cause)] ? `, in the run of ${ends[night(cause)]!.name}` : ""}`)))),
    causes.length > newest.length ? h("p.note", {}, `and ${counted(causes.length - newest.length, "older one")}`) : null,
  );
}

/** All causes of the campaigns of this folder, by the night in which each was met first. */
function overNights(campaign: Campaign): HTMLElement | null {
  const known = [...(campaign.causes ?? [])].sort((a, b) => b.first_seen.localeCompare(a.first_seen));
  const times = [...new Set(known.flatMap((cause) => [cause.first_seen, cause.last_seen]))].sort();
  if (times.length < 2) return null;
  const points = times.map((time) => {
    const met = known.filter((cause) => cause.first_seen <= time).length;
    return { x: new Date(time), y: met, title: `${time.slice(0, 10)}: ${counted(met, "cause")} so far` };
  });
  const chart = chartOf(
    "Causes over nights",
    points.map((point) => point.title).join("; "),
    [axisX({ ticks: Math.min(points.length, 6) }), line(points, { x: "x", y: "y", stroke: "var(--bad)", strokeWidth: 2, curve: "step-after" }), dot(points, { x: "x", y: "y", r: 3, fill: "var(--bad)", title: "title" })],
    { label: "reports of this folder", type: "utc" },
  );
  const rows = known.map((cause) => h("tr", {}, h("th", { scope: "row" }, `${cause.operator}: ${cause.signature}`), h("td", {}, cause.first_seen.slice(0, 10)), h("td", {}, cause.last_seen.slice(0, 10))));
  return figure("Causes over nights", "distinct ones, each since the report that met it first", chart, ["Cause", "First met", "Last met"], rows);
}

function charts(report: Report, campaign: Campaign): (HTMLElement | null)[] {
  const timeline = campaign.course;
  const overTime = casesOverTime(campaign);
  const allNights = overNights(campaign);
  if (timeline === undefined) return [allNights, overTime];
  const at = (index: number) => casesUpTo(timeline, index, campaign.block_cases);
  const total = timeline.groups.reduce((sum, group) => sum + group.cases, 0);
  const cornerCases = byFirst(timeline.corner_cases.map((cornerCase) => ({ cases: at(cornerCase.case), what: cornerCase.id })));
  const causes = causesMet(report, at);
  const ends = nights(campaign);
  return [
    causes.length > 0 ? discoveries("Causes", "distinct ones, each where it was met first", "Cause", causes, total, "var(--bad)", ends.slice(0, -1)) : null,
    causes.length > 0 ? newestFirst(causes, ends) : null,
    allNights,
    cornerCases.length > 0 ? discoveries("Corner cases reached", `${cornerCases.length} of ${report.corner_cases.length}`, "Corner case", cornerCases, total, "var(--good)") : null,
    overTime,
    speedOfJobs(campaign, timeline),
  ];
}

const ENDINGS: Record<string, string> = {
  cases: "all cases done",
  time: "time over",
  interrupted: "interrupted",
  fault: "fault",
  running: "killed, or still runs",
};

function runs(campaign: Campaign): Child {
  const rows = campaign.runs.map((run) =>
    h(
      "tr",
      {},
      h("td", {}, run.started.replace("T", " ").replace("Z", " UTC")),
      h("td", {}, run.machine),
      h("td", {}, run.shard || "all"),
      number(count(run.jobs)),
      number(seconds(run.seconds)),
      number(count(run.cases)),
      number(run.seconds > 0 ? count(Math.round(run.cases / run.seconds)) : "–"),
      h(run.ended === "fault" ? "td.bad" : "td", {}, ENDINGS[run.ended] ?? run.ended),
    ),
  );
  const heads = ["Started", "Machine", "Shard", numberHead("Jobs"), numberHead("Took"), numberHead("Cases"), numberHead("Cases/s"), "Ended"];
  const all = table("Runs of the campaign", heads, rows);
  return rows.length > RUNS_SHOWN ? fold(counted(rows.length, "run"), () => all) : all;
}

function extent(campaign: Campaign): string {
  const { engine } = campaign;
  if (engine) return `Guided by coverage (${engine.name}): ${counted(engine.executions, "input")} run, ${counted(engine.kept, "input")} kept and judged, ${counted(engine.edges, "edge")} and ${counted(engine.features, "feature")} of the code covered, ${counted(engine.crashes, "crash", "crashes")} of the fuzz target.`;
  const whole = campaign.blocks.reduce((sum, [first, end]) => sum + end - first, 0);
  const parts = campaign.parts.length > 0 ? `, and the first cases of ${count(campaign.parts.length)} more` : "";
  return `${counted(whole, "block")} of ${counted(campaign.block_cases, "case")}${parts}.`;
}

export function campaign(report: Report): HTMLElement | null {
  const state = report.campaign;
  if (state === undefined) return null;
  const figures = charts(report, state).filter((part): part is HTMLElement => part !== null);
  const note = state.engine ? "" : " What was found when is told by the order of the blocks, which is the same whoever ran them.";
  return section("campaign", "Campaign", h("p.note", {}, extent(state) + note), h("div.figures", {}, figures), h("h3", {}, "Runs"), runs(state));
}
