// The page says what the cases reached: each kind of coverage is one figure, with its tables behind it.
import { figureFold, h, number, numberHead, section, table, type Child } from "./dom";
import type { Coverage, CornerCase, Report, Suite } from "./model";
import { byFrequency, count, counted, percent } from "./text";

function expectations(suite: Suite): string {
  return byFrequency(suite.expectations).map(([name, cases]) => `${name} ${count(cases)}`).join(", ");
}

function suites(report: Report): HTMLElement {
  const rows = report.suites.map((suite) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, suite.name),
      number(count(suite.cases)),
      h("td", {}, expectations(suite)),
      number(count(suite.elements)),
      number(count(suite.exact_ties)),
      number(count(suite.near_ties)),
      number(count(Object.values(suite.skipped).reduce((a, b) => a + b, 0))),
      h("td", {}, h("code", {}, suite.digest)),
    ),
  );
  const heads = ["Suite", numberHead("Cases"), "Expectation", numberHead("Elements"), numberHead("Exact ties"),
    numberHead("Near ties"), numberHead("No cases"), "Digest"];
  const cases = report.suites.reduce((all, suite) => all + suite.cases, 0);
  return figureFold(count(cases), `${cases === 1 ? "case" : "cases"} of ${counted(rows.length, "suite")}`, () => table("Suites", heads, rows));
}

// Of whole models: which share of the quantized nodes each backend was judged on, and why not on the others.
function quantizedNodes(report: Report): Child {
  const judged = report.backends.flatMap((backend) => (backend.quantized_nodes ?? []).map((model) => ({ name: backend.name, model })));
  if (judged.length === 0) return null;
  const rows = judged.map(({ name, model }) =>
    h("tr", {}, h("td", {}, model.suite), h("th", { scope: "row" }, name), number(`${count(model.covered)} of ${count(model.quantized)}`), number(percent(model.covered, model.quantized))));
  const reasons = judged.flatMap(({ name, model }) =>
    model.uncovered.map((part) => h("tr", {}, h("td", {}, model.suite), h("th", { scope: "row" }, name), h("td", {}, part.operator), number(count(part.nodes)), h("td", {}, part.reason))));
  const all = (of: (model: (typeof judged)[number]["model"]) => number) => judged.reduce((total, { model }) => total + of(model), 0);
  return figureFold(percent(all((model) => model.covered), all((model) => model.quantized)), "of the quantized nodes of whole models judged, by backend", () => [
    table("Quantized nodes judged, by backend", ["Suite", "Backend", numberHead("Judged"), numberHead("Share")], rows),
    reasons.length > 0 && table("Quantized nodes not judged", ["Suite", "Backend", "Operator", numberHead("Nodes"), "Reason"], reasons),
  ]);
}

function coverageRow(suite: string, part: Coverage): HTMLElement {
  const complete = part.covered === part.feasible;
  return h(
    "tr",
    {},
    h("td", {}, suite),
    h("th", { scope: "row" }, part.model),
    number(count(part.parameters)),
    number(count(part.classes)),
    number(count(part.strength)),
    number(count(part.cases)),
    number(`${count(part.covered)} of ${count(part.feasible)}`, { class: `number ${complete ? "good" : "bad"}` }),
    number(percent(part.covered, part.feasible)),
    number(count(part.infeasible)),
  );
}

// What is covered of it by the cases that each backend computed.
function computedSpace(report: Report): Child {
  const rows = report.backends.flatMap((backend) =>
    (backend.coverage ?? []).map((part) =>
      h(
        "tr",
        {},
        h("td", {}, backend.name),
        h("th", { scope: "row" }, part.model),
        number(count(part.cases)),
        number(`${count(part.covered)} of ${count(part.feasible)}`),
        number(percent(part.covered, part.feasible)),
      ),
    ),
  );
  if (rows.length === 0) return null;
  const heads = ["Backend", "Model", numberHead("Cases computed"), numberHead("Combinations in them"), numberHead("Share")];
  return [h("h3", {}, "In computed cases, by backend"), table("Parameter space covered by computed cases", heads, rows)];
}

function parameterSpace(report: Report): Child {
  const rows = report.suites.flatMap((suite) => suite.coverage.map((part) => coverageRow(suite.name, part)));
  if (rows.length === 0) return null;
  const heads = ["Suite", "Model", numberHead("Parameters"), numberHead("Classes"), numberHead("Strength"), numberHead("Cases"),
    numberHead("Combinations covered"), numberHead("Share"), numberHead("Proved infeasible")];
  const space = report.suites.flatMap((suite) => suite.coverage);
  const [covered, feasible] = [space.reduce((all, part) => all + part.covered, 0), space.reduce((all, part) => all + part.feasible, 0)];
  return figureFold(`${count(covered)} of ${count(feasible)}`, `feasible combinations of parameters covered (${percent(covered, feasible)})`, () => [table("Parameter space covered by the suite", heads, rows), computedSpace(report)]);
}

// Of plugins that say which of their code runs.
function executedCode(report: Report): Child {
  const rows = report.backends.flatMap(({ name, code }) =>
    code
      ? [h("tr", {}, h("th", { scope: "row" }, name), number(`${count(code.executed)} of ${count(code.edges)}`),
          number(percent(code.executed, code.edges)))]
      : [],
  );
  if (rows.length === 0) return null;
  return figureFold(counted(rows.length, "backend"), "that say which of their code runs", () => [
    h("p.note", {}, "Edges of an instrumented plugin's control flow that some case executed. `qconform cover` lists the lines that none does."),
    table("Code executed, by backend", ["Backend", numberHead("Edges"), numberHead("Share")], rows),
  ]);
}

// One column for each operator: how many cases got there, darker the more there are.
function cornerCaseRow(cornerCase: CornerCase, operators: string[], most: number): HTMLElement {
  const cells = operators.map((operator) => {
    const by = cornerCase.by.filter((entry) => entry.operator === operator);
    const cases = by.reduce((sum, entry) => sum + entry.cases, 0);
    const share = cases === 0 ? 0 : 0.08 + (0.32 * Math.log1p(cases)) / Math.log1p(most);
    const types = by.map((entry) => `${entry.types}: ${count(entry.cases)}`).join("\n");
    return number(cases === 0 ? "–" : count(cases), { class: "number reach", style: `--reach: ${share.toFixed(2)}`, title: types });
  });
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, cornerCase.id),
    h(cornerCase.cases > 0 ? "td.good" : "td.bad", {}, cornerCase.cases > 0 ? "✓ reached" : "✗ not reached"),
    number(count(cornerCase.cases)),
    number(count(cornerCase.elements)),
    cells,
    number(count(new Set(cornerCase.by.map((entry) => `${entry.operator} ${entry.types}`)).size)),
  );
}

// Beside what the cases reach stands what each backend computed of it.
function cornerCasesByBackend(report: Report): Child {
  const rows = report.backends.map((backend) => {
    const computed = new Set(Object.values(backend.operators).flatMap((result) => Object.keys(result.corner_cases)));
    return h("tr", {}, h("th", { scope: "row" }, backend.name), number(`${computed.size} of ${report.corner_cases.length}`));
  });
  return table("Corner cases in computed cases, by backend", ["Backend", numberHead("Corner cases")], rows);
}

function cornerCases(report: Report): Child {
  if (report.corner_cases.length === 0) return null;
  const reached = report.corner_cases.filter((cornerCase) => cornerCase.cases > 0).length;
  const operators = [...new Set(report.corner_cases.flatMap((cornerCase) => cornerCase.by.map((entry) => entry.operator)))].sort();
  const most = Math.max(1, ...report.corner_cases.map((cornerCase) => cornerCase.cases));
  const heads = ["Corner case", "", numberHead("Cases"), numberHead("Elements"), ...operators.map(numberHead), numberHead("Type mixes")];
  return figureFold(`${reached} of ${report.corner_cases.length}`, "corner cases reached", () => [
    h("p.note", {}, "Where real kernels go wrong, told by the values of a case. `qconform list corner-cases` explains each. Columns of operators count cases."),
    cornerCasesByBackend(report),
    table("Corner cases reached, cases by operator", heads, report.corner_cases.map((cornerCase) => cornerCaseRow(cornerCase, operators, most)), "corner-cases"),
  ]);
}

function leftAside(report: Report): Child {
  const skipped = report.suites.flatMap((suite) => byFrequency(suite.skipped).map(([reason, cases]) => [suite.name, reason, cases] as const));
  const disputed = report.suites.flatMap((suite) => suite.disputed.map((text) => h("li", {}, text)));
  return [
    skipped.length > 0 &&
      figureFold(count(skipped.reduce((all, [, , cases]) => all + cases, 0)), `skipped, for ${counted(skipped.length, "reason")}`, () =>
        table("Skipped", ["Suite", numberHead("Number"), "Reason"],
          skipped.map(([suite, reason, cases]) => h("tr", {}, h("td", {}, suite), number(count(cases)), h("td", {}, reason)))),
      ),
    disputed.length > 0 &&
      figureFold(count(disputed.length), "disputed: recorded output or expectation contradicts the rules", () => h("ul", {}, disputed)),
  ];
}

export function coverage(report: Report): HTMLElement {
  return section("coverage", "Coverage", cornerCases(report), parameterSpace(report), suites(report), quantizedNodes(report), executedCode(report), leftAside(report));
}
