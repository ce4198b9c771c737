// The first screen: the conclusion, the first finding with its picture, all causes and backends, and how sure that is.
import { changeOf, gateVerdict, newsOf, type Changes } from "./comparison";
import { commandLine } from "./copy";
import { h, type Child } from "./dom";
import { conclusions, glance } from "./finding";
import { newFirst } from "./findings";
import type { Backend, Finding, Gate, Report } from "./model";
import { causeOf, conclusionOf, count, counted, descriptionOf, failures, grouped, headline, percent, seconds, shellWord, shortList, toneOf, type Tone } from "./text";

// A block shows so many; the rest is counted, and stands below.
const MOST = 8;

function sum(backend: Backend, of: (result: Backend["operators"][string]) => number): number {
  return Object.values(backend.operators).reduce((all, result) => all + of(result), 0);
}

function reason(report: Report, causes: number): string {
  if (report.conclusion === "disputed") return "A suite states what the rules do not admit.";
  const deciding = report.backends.filter((backend) => backend.decides);
  const failing = deciding.filter((backend) => !backend.conforms);
  if (report.conforms) return "Every backend that decides computed cases right, and failed nothing that is not waived.";
  if (failing.length === 0) return "No backend computed anything.";
  const cases = failing.reduce((all, backend) => all + sum(backend, (result) => failures(result.verdicts)), 0);
  const found = causes > 0 ? `, for ${counted(causes, "cause")}` : "";
  return `${count(failing.length)} of ${counted(deciding.length, "backend")} failed ${counted(cases, "case")}${found}: ${shortList(failing.map((backend) => backend.name), 4)}.`;
}

function causesOf(report: Report, changes: Changes): [string, Finding[]][] {
  return grouped(newFirst(report, changes).filter((finding) => !finding.waiver), causeOf);
}

export function head(report: Report): HTMLElement {
  const { environment } = report;
  const started = environment.started.replace("T", " ").replace("Z", " UTC");
  const tone = !report.conforms ? "bad" : report.conclusion === "conforms" ? "good" : "aside";
  return h(
    "header",
    {},
    h(`h1.conclusion.${tone}`, {}, headline(report)),
    h("p.reason", {}, reason(report, causesOf(report, new Map()).length)),
    h("p.note", {}, `${started} · profile ${report.profile} · qconform ${environment.version} (${environment.commit}) · ${report.campaign ? "all jobs together" : "run"} ${seconds(report.seconds.total ?? 0)}`),
    report.stopped ? h("p.bad", {}, h("strong", {}, "Stopped: "), report.stopped) : null,
    report.backends.filter((backend) => backend.stopped).map((backend) => h("p.bad", {}, h("strong", {}, `${backend.name} was stopped: `), backend.stopped)),
  );
}

function fresh(list: Finding[], changes: Changes): Child {
  return list.some((finding) => changeOf(finding, changes)?.text === "new") && [" ", h("span.change.bad", {}, "new")];
}

function lead([cause, list]: [string, Finding[]], changes: Changes): HTMLElement {
  const finding = list[0]!;
  return h(
    "div.lead",
    {},
    conclusions(finding, [h("a", { href: `#${finding.id}` }, descriptionOf(finding) ? `${finding.id} ${cause}` : finding.id), fresh(list, changes)]),
    glance(finding),
  );
}

function causeLine([cause, list]: [string, Finding[]], changes: Changes): Child {
  const cases = list.reduce((all, finding) => all + finding.cases, 0);
  return [
    h("a", { href: `#${list[0]!.id}` }, cause),
    fresh(list, changes),
    h("span.what", {}, descriptionOf(list[0]!) || list[0]!.detail),
    h("span.note", {}, `${counted(cases, "case")} · ${shortList([...new Set(list.map((finding) => finding.backend))], 2)}`),
  ];
}

/** Draws shares of the cases; numbers stand beside. */
export function bar(verdicts: Record<string, number>): HTMLElement {
  const order: Tone[] = ["good", "aside", "bad"];
  const parts = Object.entries(verdicts).filter(([, cases]) => cases > 0).sort(([a], [b]) => order.indexOf(toneOf(a)) - order.indexOf(toneOf(b)));
  return h("div.bar", { "aria-hidden": "true" }, parts.map(([kind, cases]) => h(`span.${toneOf(kind)}`, { style: `flex-grow: ${cases}`, title: `${kind} ${count(cases)}` })));
}

// On which operators it conforms stands among the verdicts.
function backendLine(backend: Backend): Child {
  const { text, tone } = conclusionOf({ ...backend, scope: undefined });
  const verdicts: Record<string, number> = {};
  for (const result of Object.values(backend.operators)) for (const [kind, cases] of Object.entries(result.verdicts)) verdicts[kind] = (verdicts[kind] ?? 0) + cases;
  const waived = sum(backend, (result) => Object.values(result.waived).reduce((all, cases) => all + cases, 0));
  const numbers: [string, number][] = [["right", verdicts.pass ?? 0], ["failing", failures(verdicts)], ["declined", verdicts.unsupported ?? 0]];
  const counts = numbers.filter(([name, cases]) => cases > 0 || name === "right").map(([name, cases]) => `${count(cases)} ${name}${name === "failing" && waived > 0 ? ` (${count(waived)} waived)` : ""}`);
  return [h("strong", {}, backend.name), h(`span.${tone}`, {}, ` ${text}${backend.decides ? "" : ", not counted"}`), h("span.note", {}, ` ${counts.join(", ")}`), bar(verdicts)];
}

// Shows the first of them, and a link to where the others are.
function block<T>(title: string, all: T[], line: (each: T) => Child, part: string, what: string, note: Child): HTMLElement {
  const rest = all.length - MOST;
  return h("div.block", {}, h("h3", {}, title), h("ul.brief", {}, all.slice(0, MOST).map((each) => h("li", {}, line(each))), rest > 0 ? h("li", {}, h("a", { href: `#${part}` }, `and ${counted(rest, what)} more`)) : null), note);
}

// Backends that decide come first, and among them those that fail.
function backendsOf(report: Report): Backend[] {
  const order: Record<Tone, number> = { bad: 0, good: 1, aside: 2 };
  const rank = (backend: Backend) => (backend.decides ? 0 : 3) + order[conclusionOf(backend).tone];
  return [...report.backends].sort((a, b) => rank(a) - rank(b));
}

function gaps(report: Report): string[] {
  const disputed = report.suites.reduce((all, suite) => all + suite.disputed.length, 0);
  const stopped = report.backends.filter((backend) => backend.stopped).length;
  const vacuous = report.backends.reduce((all, backend) => all + sum(backend, (result) => result.verdicts.vacuous ?? 0), 0);
  const missing = report.environment.kernels_not_run;
  return [
    report.stopped ? "the run was stopped" : "",
    stopped > 0 ? `${counted(stopped, "backend")} stopped before the end` : "",
    disputed > 0 ? `${counted(disputed, "case")} expect what the rules do not admit` : "",
    vacuous > 0 ? `${counted(vacuous, "right answer")} of all backends would prove nothing` : "",
    missing.length > 0 ? `this processor cannot run ${missing.join(", ")}` : "",
  ].filter((gap) => gap !== "");
}

// Each figure stands with what it counts.
function evidence(report: Report): [Child, string][] {
  const cases = report.suites.reduce((all, suite) => all + suite.cases, 0);
  const elements = report.backends.reduce((all, backend) => all + sum(backend, (result) => result.elements), 0);
  const reached = report.corner_cases.filter((cornerCase) => cornerCase.cases > 0).length;
  const space = report.suites.flatMap((suite) => suite.coverage);
  const covered = space.reduce((all, part) => all + part.covered, 0);
  const feasible = space.reduce((all, part) => all + part.feasible, 0);
  const examined = report.findings.filter((finding) => finding.diagnosis?.where);
  const statuses = grouped(examined.map((finding) => finding.diagnosis!.status), (status) => status).sort((a, b) => b[1].length - a[1].length);
  const link = (text: string) => h("a", { href: "#coverage" }, text);
  return [
    [count(elements), `elements of ${counted(cases, "case")} judged, each against its set of admissible values: no tolerance`],
    ...(report.corner_cases.length > 0 ? [[link(`${count(reached)} of ${count(report.corner_cases.length)}`), "corner cases reached: situations in which real kernels go wrong"] as [Child, string]] : []),
    ...(feasible > 0 ? [[link(percent(covered, feasible)), `of ${count(feasible)} feasible combinations of parameters`] as [Child, string]] : []),
    ...(statuses[0] ? [[`${count(statuses[0][1].length)} of ${count(report.findings.length)}`, `findings ${statuses.map(([status, list], i) => (i > 0 ? `${count(list.length)} ${status}` : status)).join(", ")}`] as [Child, string]] : []),
    [`seed ${report.seed}`, "gives the same cases on every machine"],
  ];
}

export function summary(report: Report, gate: Gate | null, changes: Changes): HTMLElement {
  const waived = report.findings.filter((finding) => finding.waiver).length;
  const causes = causesOf(report, changes);
  const found = gaps(report);
  const none = causes.length > 0 ? null : h("p", {}, waived > 0 ? "No failure was found beyond the known ones." : "No failure was found.");
  const known = waived > 0 ? h("p.note", {}, h("a", { href: "#findings" }, counted(waived, "known finding")), " waived, which do not count.") : null;
  return h(
    "section.summary",
    { id: "summary", "aria-labelledby": "summary-title" },
    h("h2.unseen", { id: "summary-title" }, "Summary"),
    gate && h("p.since", {}, report.campaign ? ["Since the campaign before: ", h("strong", {}, newsOf(gate))] : ["Since the baseline: ", gateVerdict(gate)], " ", h("a", { href: "#compared" }, "what changed")),
    causes[0] && lead(causes[0], changes),
    h(
      "div.blocks",
      {},
      block("What is wrong?", causes, (each) => causeLine(each, changes), "findings", "cause", [none, known]),
      block("Does it conform?", backendsOf(report), backendLine, "verdicts", "backend", null),
      h("div.block", {}, h("h3", {}, "How sure is that?"), h("dl.tiles", {}, evidence(report).map(([figure, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, figure)))), h("p.note", {}, `Gaps: ${found.length > 0 ? found.join("; ") : "none known; cases that were not asked may fail all the same"}.`)),
    ),
    commandLine(`qconform ${report.command.map(shellWord).join(" ")}`, "the command of this run"),
  );
}
