// Single cases: a table of which only the rows in sight exist, and its filters.
import { remember } from "./address";
import { h, replace, section, type Child } from "./dom";
import type { Report, Results } from "./model";
import { count, counted, toneOf } from "./text";

const ROW_HEIGHT = 24; // as in style.css
const MARGIN_ROWS = 8; // beyond what is in sight

interface Failure {
  wrong: number;
  finding: string;
}

class Cases {
  private readonly failures: Map<number, Failure>[];
  private readonly reasons: Map<number, string>[];
  private readonly searched: string[];
  private rows: number[] = [];
  private columns: number[];
  private readonly head = h("div.row.head", { role: "row" });
  private readonly body = h("div.body", { role: "rowgroup" });
  private readonly table = h("div.cases", { role: "table", "aria-label": "Cases", tabindex: 0 });
  private readonly status = h("span.note", { role: "status" });
  private readonly backend: HTMLSelectElement;
  private readonly operator: HTMLSelectElement;
  private readonly suite: HTMLSelectElement;
  private readonly verdict: HTMLSelectElement;
  private readonly text = h("input", { type: "search", placeholder: "id, shape, reason", spellcheck: "false" }) as HTMLInputElement;

  constructor(private readonly results: Results) {
    this.failures = results.backends.map(({ failures }) => new Map(failures.row.map((row, i) => [row, { wrong: failures.wrong_elements[i]!, finding: failures.finding[i]! }])));
    this.reasons = results.backends.map(({ reasons }) => new Map(reasons.row.map((row, i) => [row, results.reasons[reasons.reason[i]!]!])));
    this.searched = results.id.map((id, row) => [id, results.summary[row], ...this.reasons.map((reasons) => reasons.get(row))].join(" ").toLowerCase());
    this.columns = results.backends.map((_, position) => position);
    this.backend = choice(["any backend", ...results.backends.map((backend) => backend.name)]);
    this.operator = choice(["any operator", ...results.operators]);
    this.suite = choice(["any suite", ...results.suites]);
    this.verdict = choice(["any verdict", "any failure", ...results.verdicts]);
  }

  build(): Child {
    const named = (name: string, control: HTMLElement) => h("label", {}, `${name} `, control);
    const controls = { backend: this.backend, operator: this.operator, suite: this.suite, verdict: this.verdict, text: this.text };
    for (const [name, control] of Object.entries(controls)) remember(`case-${name}`, control, "cases", () => this.filter());
    this.table.append(h("div", { role: "rowgroup", class: "heads" }, this.head), this.body);
    this.table.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.table);
    this.filter();
    return [
      h(
        "form.filters",
        { onsubmit: (event: Event) => event.preventDefault() },
        named("Backend", this.backend),
        named("Operator", this.operator),
        this.results.suites.length > 1 ? named("Suite", this.suite) : null,
        named("Verdict", this.verdict),
        named("Text", this.text),
        this.status,
      ),
      this.table,
    ];
  }

  private matches(row: number): boolean {
    const { results } = this;
    if (this.operator.selectedIndex > 0 && results.operator[row] !== this.operator.selectedIndex - 1) return false;
    if (this.suite.selectedIndex > 0 && results.suite[row] !== this.suite.selectedIndex - 1) return false;
    const verdict = this.verdict.selectedIndex;
    if (verdict === 0) return true;
    return this.columns.some((b) => (verdict === 1 ? this.failures[b]!.has(row) : results.backends[b]!.verdict[row] === verdict - 2));
  }

  private filter(): void {
    const words = this.text.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const chosen = this.backend.selectedIndex;
    this.columns = chosen === 0 ? this.results.backends.map((_, position) => position) : [chosen - 1];
    this.rows = [];
    for (let row = 0; row < this.results.id.length; ++row) {
      if (this.matches(row) && words.every((word) => this.searched[row]!.includes(word))) this.rows.push(row);
    }
    this.status.textContent = `${count(this.rows.length)} of ${counted(this.results.id.length, "case")}`;
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.table.style.setProperty("--backends", String(this.columns.length));
    this.body.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    const names = ["Case", "Operator", "Suite", "Shapes and attributes", ...this.columns.map((b) => this.results.backends[b]!.name)];
    replace(this.head, names.map((name) => h("span", { role: "columnheader", title: name }, name)));
    this.head.setAttribute("aria-rowindex", "1");
    this.table.scrollTop = 0;
    this.draw();
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.table.scrollTop / ROW_HEIGHT) - MARGIN_ROWS);
    const last = Math.min(this.rows.length, first + Math.ceil(this.table.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS);
    const lines: HTMLElement[] = [];
    for (let i = first; i < last; ++i) lines.push(this.line(i, this.rows[i]!));
    if (lines.length === 0) lines.push(h("div.row", { role: "row" }, h("span", { role: "cell" }, "No case fits.")));
    replace(this.body, lines);
  }

  private line(position: number, row: number): HTMLElement {
    const { results } = this;
    const cell = (text: string | undefined) => h("span", { role: "cell", title: text }, text);
    return h(
      "div.row",
      { role: "row", "aria-rowindex": position + 2, style: `top: ${position * ROW_HEIGHT}px` },
      cell(results.id[row]),
      cell(results.operators[results.operator[row]!]),
      cell(results.suites[results.suite[row]!]),
      cell(results.summary[row]),
      this.columns.map((b) => this.verdictCell(b, row)),
    );
  }

  private verdictCell(b: number, row: number): HTMLElement {
    const backend = this.results.backends[b]!;
    const verdict = this.results.verdicts[backend.verdict[row]!] ?? "";
    const tier = backend.tier[row];
    const failure = this.failures[b]!.get(row);
    const text = failure === undefined ? `${verdict}${typeof tier === "number" ? ` ${this.results.tiers[tier]}` : ""}` : `${verdict}${failure.wrong > 0 ? ` ${count(failure.wrong)}` : ""}`;
    const reason = this.reasons[b]!.get(row);
    return h(`span.${toneOf(verdict)}`, { role: "cell", title: reason }, reason ? `${text}: ${reason}` : text, failure?.finding ? [" ", h("a", { href: `#${failure.finding}` }, failure.finding)] : null);
  }
}

function choice(names: string[]): HTMLSelectElement {
  return h("select", {}, names.map((name) => h("option", { value: name }, name))) as HTMLSelectElement;
}

export function cases(report: Report): HTMLElement {
  const { results } = report;
  if (results === undefined) return section("cases", "Cases", h("p.note", {}, "The report does not list single cases."));
  const left = results.cases - results.id.length;
  const note =
    `Each verdict with the tier (QLinearConv), the number of wrong elements, or the reason. ` +
    (left > 0 ? `${counted(left, "case")} of ${count(results.cases)} are left out, passing ones first; ${count(results.failing)} fail on some backend.` : `All ${counted(results.cases, "case")}; ${count(results.failing)} fail on some backend.`);
  return section("cases", "Cases", h("p.note", {}, note), results.id.length > 0 ? new Cases(results).build() : null);
}
