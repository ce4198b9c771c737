// The verdicts: each backend on each operator.
import { figureFold, h, number, numberHead, section, table, type Child } from "./dom";
import type { Backend, OperatorResult, Report, Tiers } from "./model";
import { bar } from "./summary";
import { byFrequency, conclusionOf, count, counted, failures, percent, seconds, toneOf } from "./text";

function kinds(result: OperatorResult, tone: "aside" | "bad"): Child {
  const list = byFrequency(result.verdicts).filter(([kind, cases]) => toneOf(kind) === tone && cases > 0);
  if (list.length === 0) return "–";
  return list.map(([kind, cases], position) => {
    const waived = result.waived[kind] ?? 0;
    return [position > 0 ? ", " : "", `${kind} ${count(cases)}`, waived > 0 ? ` (${count(waived)} waived)` : ""];
  });
}

function tierText(tiers: Tiers): Child {
  if (tiers === null) return "–";
  const parts = Object.entries(tiers.elements)
    .filter(([, elements]) => elements > 0)
    .map(([tier, elements]) => `${tier} ${count(elements)}`);
  return [h(tiers.reached === null ? "strong.bad" : "strong", {}, tiers.reached ?? "none"), ` (${parts.join(", ")})`];
}

function row(backend: Backend, name: string, result: OperatorResult, position: number, of: number): HTMLElement {
  const failed = failures(result.verdicts);
  const conclusion = conclusionOf(backend);
  const label =
    position > 0
      ? null
      : h(
          "th.backend",
          { scope: "rowgroup", rowspan: of },
          h("span.name", {}, backend.name),
          h("span.note", {}, `${backend.version} · ${backend.kind} · backend ${seconds(backend.seconds)}`),
          backend.pinned ? h("span.note", {}, `pinned: ${backend.pinned.join(", ")}`) : "",
          ...Object.entries(backend.lost ?? {}).map(([how, runs]) =>
            h("span.note", {}, `lost: ${counted(runs, "run")} ${how}; judged by a second run (${(backend.lost_cases ?? []).join("; ")})`)),
          ...(backend.not_offered ?? []).map((subject) => h("span.note", {}, `not offered: ${subject}`)),
          h(
            `span.note.${conclusion.tone}`,
            {},
            conclusion.text,
            backend.decides ? "" : " (does not count)",
          ),
        );
  return h(
    "tr",
    position === 0 ? { class: "group" } : {},
    label,
    h("th.operator", { scope: "row" }, name),
    number(count(result.cases)),
    number(count(result.verdicts.pass ?? 0), { class: "number good" }),
    h(
      failed > 0 ? "td.bad" : "td",
      {},
      kinds(result, "bad"),
      result.undetermined ? h("span.note", {}, ` ${count(result.undetermined)} further, not examined far enough to name a cause`) : null,
    ),
    h("td.aside", {}, kinds(result, "aside")),
    h("td", {}, bar(result.verdicts)),
    h("td", {}, tierText(result.tiers)),
    number(result.wrong_elements === 0 ? "0" : count(result.wrong_elements), {
      title: `${percent(result.wrong_elements, result.elements)} of ${count(result.elements)} judged`,
    }),
    number(count(result.elements)),
  );
}

function reasons(report: Report): HTMLElement | null {
  const rows = report.backends.flatMap((backend) =>
    Object.entries(backend.operators).flatMap(([operator, result]) =>
      [
        ...byFrequency(result.unsupported_reasons).map(([reason, cases]) => ["unsupported", reason, cases] as const),
        ...byFrequency(result.vacuous_reasons).map(([reason, cases]) => ["vacuous", reason, cases] as const),
        ...byFrequency(result.not_judged_reasons ?? {}).map(([reason, cases]) => ["not judged", reason, cases] as const),
      ].map(([kind, reason, cases]) =>
        h("tr", {}, h("td", {}, backend.name), h("td", {}, operator), h("td", {}, kind), number(count(cases)), h("td", {}, reason)),
      ),
    ),
  );
  if (rows.length === 0) return null;
  return figureFold(count(rows.length), `${rows.length === 1 ? "reason" : "reasons"} why cases are unsupported, vacuous or not judged`, () => [
    h("p.note", {}, "Unsupported: declined, a clean refusal of a valid case, never a pass. Vacuous: right, but the output would prove nothing. Not judged: of an operator that qconform does not know, or beyond its limits. The words of a reason, as text of the filter, list its cases below."),
    table("Reasons", ["Backend", "Operator", "Verdict", numberHead("Cases"), "Reason"], rows),
  ]);
}

function relations(report: Report): Child {
  const rows = report.backends.flatMap((backend) =>
    (backend.relations?.by_relation ?? []).map((relation) =>
      h(
        "tr",
        {},
        h("td", {}, backend.name),
        h("th", { scope: "row" }, relation.id),
        ...[relation.checked, relation.held].map((value) => number(count(value))),
        number(count(relation.broken), relation.broken > 0 ? { class: "number bad" } : {}),
        ...[relation.implementation_defined, relation.refused, relation.failed, relation.not_applicable].map((v) => number(count(v))),
      ),
    ),
  );
  if (rows.length === 0) return null;
  const heads = ["Checked", "Held", "Broken", "Implementation-defined", "Refused", "Failed", "Not applicable"].map(numberHead);
  return [h("h3", {}, "Relations between a backend's own answers"), table("Relations", ["Backend", "Relation", ...heads], rows)];
}

export function verdicts(report: Report): HTMLElement {
  const rows = report.backends.flatMap((backend) => {
    const operators = Object.entries(backend.operators);
    return operators.map(([name, result], position) => row(backend, name, result, position, operators.length));
  });
  const heads = [
    "Backend",
    "Operator",
    numberHead("Cases"),
    numberHead("Right"),
    "Failures",
    "Not counted",
    h("th", { scope: "col", "aria-hidden": "true" }, "Share"),
    "Tier (elements)",
    numberHead("Wrong elements"),
    numberHead("Elements"),
  ];
  return section("verdicts", "Verdicts", table("Verdicts by backend and operator", heads, rows, "verdicts"), reasons(report), relations(report));
}
