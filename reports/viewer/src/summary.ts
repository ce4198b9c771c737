// The first view: does it conform, what is wrong, how sure is that?
import { changeOf, gateVerdict, type Changes } from "./comparison";
import { commandLine } from "./copy";
import { h, type Child } from "./dom";
import { descriptionOf } from "./findings";
import type { Backend, Finding, Gate, Report } from "./model";
import { causeOf, conclusionOf, count, counted, failures, grouped, percent, shellWord, type Tone } from "./text";

// What a block shows; the rest is counted, and stands below.
const MOST = 8;

function block(title: string, ...children: Child[]): HTMLElement {
  return h("div.block", {}, h("h3", {}, title), children);
}

/** The first of `all`, and a link to where the others are. */
function firstOf<T>(all: T[], line: (each: T) => Child, part: string, what: string): Child {
  const rest = all.length - MOST;
  return h("ul.brief", {}, all.slice(0, MOST).map((each) => h("li", {}, line(each))), rest > 0 ? h("li", {}, h("a", { href: `#${part}` }, `and ${counted(rest, what)} more`)) : null);
}

function sum(backend: Backend, of: (result: Backend["operators"][string]) => number): number {
  return Object.values(backend.operators).reduce((all, result) => all + of(result), 0);
}

// On which operators it conforms stands among the verdicts.
function backendLine(backend: Backend): Child {
  const { text, tone } = conclusionOf({ ...backend, scope: undefined });
  const waived = sum(backend, (result) => Object.values(result.waived).reduce((all, cases) => all + cases, 0));
  const numbers: [string, number][] = [
    ["right", sum(backend, (result) => result.verdicts.pass ?? 0)],
    ["failing", sum(backend, (result) => failures(result.verdicts))],
    ["declined", sum(backend, (result) => result.verdicts.unsupported ?? 0)],
  ];
  const counts = numbers.filter(([name, cases]) => cases > 0 || name === "right").map(([name, cases]) => `${count(cases)} ${name}${name === "failing" && waived > 0 ? ` (${count(waived)} waived)` : ""}`);
  return [h("strong", {}, backend.name), h(`span.${tone}`, {}, ` ${text}${backend.decides ? "" : ", not counted"}`), h("span.note", {}, ` ${counts.join(", ")}`)];
}

// What decides, and of that what fails, first.
function backends(report: Report): Child {
  const order: Record<Tone, number> = { bad: 0, good: 1, aside: 2 };
  const rank = (backend: Backend) => (backend.decides ? 0 : 3) + order[conclusionOf(backend).tone];
  return firstOf([...report.backends].sort((a, b) => rank(a) - rank(b)), backendLine, "verdicts", "backend");
}

function causeLine([cause, list]: [string, Finding[]], changes: Changes): Child {
  const names = [...new Set(list.map((finding) => finding.backend))];
  const cases = list.reduce((all, finding) => all + finding.cases, 0);
  const what = descriptionOf(list[0]!) || list[0]!.detail;
  return [
    h("a", { href: `#${list[0]!.id}` }, cause),
    list.some((finding) => changeOf(finding, changes)?.text === "new") && [" ", h("span.change.bad", {}, "new")],
    h("span.note", {}, ` ${counted(cases, "case")} of ${names.slice(0, 2).join(", ")}${names.length > 2 ? ` and ${counted(names.length - 2, "other backend")}` : ""}`),
    what === "" ? null : h("span.what", {}, what),
  ];
}

function causes(report: Report, changes: Changes): Child {
  const waived = report.findings.filter((finding) => finding.waiver).length;
  const list = grouped(report.findings.filter((finding) => !finding.waiver), causeOf);
  return [
    list.length > 0 ? firstOf(list, (each) => causeLine(each, changes), "findings", "cause") : h("p", {}, waived > 0 ? "No failure was found beyond the known ones." : "No failure was found."),
    waived > 0 ? h("p.note", {}, h("a", { href: "#findings" }, counted(waived, "known finding")), " waived, which do not count.") : null,
  ];
}

type Fact = [string, Child];

// Which of the feasible combinations the suites cover.
function combinations(report: Report): Fact[] {
  const parts = report.suites.flatMap((suite) => suite.coverage);
  if (parts.length === 0) return [];
  const all = (of: (part: (typeof parts)[number]) => number) => parts.reduce((total, part) => total + of(part), 0);
  const [covered, feasible] = [all((part) => part.covered), all((part) => part.feasible)];
  return [["parameters", [h("a", { href: "#coverage" }, `${count(covered)} of ${count(feasible)}`), ` feasible combinations (${percent(covered, feasible)})`]]];
}

function explained(report: Report): Fact[] {
  const statuses = grouped(report.findings.flatMap((finding) => (finding.diagnosis?.where ? finding.diagnosis.status : [])), (status) => status);
  if (statuses.length === 0) return [];
  return [["causes", `${statuses.map(([status, list]) => `${count(list.length)} ${status}`).join(", ")} of ${counted(report.findings.length, "finding")}`]];
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

function evidence(report: Report): Child {
  const cases = report.suites.reduce((all, suite) => all + suite.cases, 0);
  const elements = report.backends.reduce((all, backend) => all + sum(backend, (result) => result.elements), 0);
  const reached = report.corner_cases.filter((cornerCase) => cornerCase.cases > 0).length;
  const found = gaps(report);
  const facts: Fact[] = [
    ["judged", `${counted(cases, "case")}, ${counted(elements, "element")} of all backends, each against its set of admissible values: no tolerance`],
    ...(report.corner_cases.length > 0 ? ([["corner cases", [h("a", { href: "#coverage" }, `${count(reached)} of ${count(report.corner_cases.length)}`), " reached: situations in which real kernels go wrong"]]] as Fact[]) : []),
    ...combinations(report),
    ...explained(report),
    ["again", `seed ${report.seed} gives the same cases on every machine`],
    ["gaps", found.length > 0 ? found.join("; ") : "none known; cases that were not asked may fail all the same"],
  ];
  return h("dl.facts.stacked", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function summary(report: Report, gate: Gate | null, changes: Changes): HTMLElement {
  return h(
    "section.summary",
    { id: "summary", "aria-labelledby": "summary-title" },
    h("h2.unseen", { id: "summary-title" }, "Summary"),
    gate && h("p.since", {}, "Since the baseline: ", gateVerdict(gate), " ", h("a", { href: "#compared" }, "what changed")),
    h("div.blocks", {}, block("Does it conform?", backends(report)), block("What is wrong?", causes(report, changes)), block("How sure is that?", evidence(report))),
    commandLine(`qconform ${report.command.map(shellWord).join(" ")}`, "the command of this run"),
  );
}
