// Which release or processor has which cause of failure: a table for each library that has several.
import { comparisonTable, h, number, section, type Child } from "./dom";
import type { Matrix, MatrixCell, MatrixRow } from "./model";
import { causeOf, count, counted } from "./text";

// "1.14.0" of "onnxruntime:1.14.0", "2.6.3@avx2" of "onednn@avx2".
function column(backend: Matrix["backends"][number]): string {
  const rest = backend.name.slice(backend.library.length);
  return rest.startsWith(":") ? rest.slice(1) : backend.version + rest;
}

const WORDS = { wrong: "fails", right: "right", "no-right-answer": "declines these cases, or fails them for another cause" } as const;

function cell(of: MatrixCell): HTMLElement {
  const attributes = { title: `${of.backend}: ${WORDS[of.state]}` };
  if (of.state === "wrong") return number("", { ...attributes, class: "number bad" }, h("a", { href: `#${of.finding ?? ""}` }, count(of.cases ?? 0)));
  return number(of.state === "right" ? "✓" : "–", { ...attributes, class: `number ${of.state === "right" ? "good" : "aside"}` });
}

function span(row: MatrixRow): Child {
  const version = (backend: string) => backend.slice(row.library.length).replace(/^:/, "") || backend;
  const parts = [row.since ? `since ${version(row.since)}` : "", row.until ? `until ${version(row.until)}` : ""];
  return parts.filter((part) => part !== "").join(", ");
}

function library(name: string, all: Matrix): Child {
  const columns = all.backends.filter((backend) => backend.library === name).map(column);
  const rows = all.rows.filter((row) => row.library === name);
  if (columns.length < 2 || rows.length === 0) return null;
  const line = (row: MatrixRow) =>
    h("tr", {}, h("td", {}, row.operator), h("th", { scope: "row", title: (row.also ?? []).join(", ") }, causeOf(row)), row.cells.map(cell), h("td", {}, span(row)));
  const heads = ["Operator", "Cause", ...columns.map((text) => h("th.number", { scope: "col" }, text)), "Since, until"];
  return [h("h3", {}, `${name}: ${counted(rows.length, "cause")} in ${counted(columns.length, "backend")}`), comparisonTable(`Causes of ${name} by backend`, heads, rows, line)];
}

export function matrix(all: Matrix | null): HTMLElement | null {
  if (all === null) return null;
  const libraries = [...new Set(all.backends.map((backend) => backend.library))];
  return section(
    "matrix",
    "Releases and processors",
    h("p.note", {}, "Numbers: failing cases, with a link to the finding. ✓: right. –: declines these cases, or fails them for another cause. What the newest has stands first."),
    libraries.map((name) => library(name, all)),
  );
}
