// The findings: by cause or by library, to be filtered, each of which opens.
import { remember } from "./address";
import { changeOf, type Changes } from "./comparison";
import { fold, h, once, section, unfold, type Child } from "./dom";
import { article } from "./finding";
import type { Diagnosis, Finding, Report } from "./model";
import { Rows, type Row } from "./rows";
import { causeOf, count, counted, descriptionOf, grouped, libraryOf, shortList } from "./text";

// Wrong all the same, but on purpose: every defect of a sure diagnosis has an option that switches it off.
function lossyByDesign(diagnosis: Diagnosis | undefined): boolean {
  if (diagnosis === undefined || !["explained", "reproduced"].includes(diagnosis.status)) return false;
  return diagnosis.defects.length > 0 && diagnosis.defects.every((defect) => defect.avoided_by);
}

function title(finding: Finding, changes: Changes): Child {
  const change = changeOf(finding, changes);
  return [
    h("span.id", {}, finding.id),
    h(`span.${finding.waiver ? "aside" : "bad"}`, {}, `${finding.verdict}${lossyByDesign(finding.diagnosis) ? ", lossy by design" : ""}${finding.waiver ? ", waived" : ""}`),
    h("strong", {}, finding.diagnosis?.base ? `${finding.signature} on ${finding.diagnosis.base}` : finding.signature),
    h("span", {}, finding.operator),
    h("span", {}, finding.backend),
    h("span.note", {}, counted(finding.cases, "case") + (finding.between ? `, in all ${count(finding.between.least)} to ${count(finding.between.most)}` : "")),
    change && h(`span.change.${change.tone}`, {}, change.text),
  ];
}

// More are no choice for a person, and take a browser long to lay out: the filter by text finds each.
const MOST_CHOICES = 500;

type Of = (finding: Finding) => string;

/** What findings can be told apart by. */
function features(report: Report, changes: Changes): Record<string, Of> {
  const libraries = new Map(report.backends.map((backend) => [backend.name, libraryOf(backend)]));
  return {
    Library: (finding) => libraries.get(finding.backend) ?? finding.backend,
    Backend: (finding) => finding.backend,
    Operator: (finding) => finding.operator,
    Cause: causeOf,
    Verdict: (finding) => (finding.waiver ? `${finding.verdict}, waived` : finding.verdict),
    Change: (finding) => changeOf(finding, changes)?.text ?? "",
  };
}

class Findings {
  private readonly rows: Map<Finding, Row>;
  private readonly features: Record<string, Of>;
  private readonly filters: { of: Of; control: HTMLSelectElement; name: string }[] = [];
  private readonly grouping = choice(["cause", "library", "operator", "none"]);
  private readonly text = h("input", { type: "search", placeholder: "any word of it", spellcheck: "false" }) as HTMLInputElement;
  private readonly status = h("span.note", { role: "status" });
  private readonly place = h("div.findings");
  private readonly drawn = new Rows(this.place);
  private linked: Finding | undefined;

  constructor(
    private readonly list: Finding[],
    report: Report,
    changes: Changes,
  ) {
    this.features = features(report, changes);
    this.rows = new Map(list.map((finding) => [finding, { height: 32, element: once(() => item(finding, changes)) }]));
    for (const [name, of] of Object.entries(this.features)) {
      const values = [...new Set(list.map(of))].sort();
      const repeats = name === "Library" && values.length === new Set(list.map(this.features.Backend!)).size;
      if (values.length > 1 && values.length <= MOST_CHOICES && !repeats) this.filters.push({ name, of, control: choice([`any ${name.toLowerCase()}`, ...values]) });
    }
  }

  build(): Child {
    this.show();
    if (this.list.length < 2) return this.place;
    for (const { name, control } of this.filters) remember(name.toLowerCase(), control, "findings", () => this.show());
    remember("finding", this.text, "findings", () => this.show());
    remember("group", this.grouping, "findings", () => this.show());
    const labelled = (name: string, control: HTMLElement) => h("label", {}, `${name} `, control);
    return [
      h(
        "form.choosing",
        { onsubmit: (event: Event) => event.preventDefault() },
        this.filters.map(({ name, control }) => labelled(name, control)),
        labelled("Text", this.text),
        labelled("Group by", this.grouping),
        this.status,
      ),
      this.place,
    ];
  }

  /** Opens a finding that may be folded, out of sight, or left out by the filters. */
  open(id: string): boolean {
    const finding = this.list.find((each) => each.id === id);
    if (finding === undefined) return false;
    this.linked = finding;
    this.show();
    const row = this.rows.get(finding)!;
    const details = row.element().querySelector("details")!;
    unfold(details);
    this.drawn.reveal(row);
    details.querySelector("summary")!.focus({ preventScroll: true });
    return true;
  }

  private show(): void {
    const words = this.text.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fits = (finding: Finding) => this.filters.every(({ of, control }) => control.selectedIndex === 0 || of(finding) === control.value) && (words.length === 0 || words.every((word) => wordsOf(finding).includes(word)));
    const list = this.list.filter((finding) => finding === this.linked || fits(finding));
    const of = { cause: this.features.Cause!, library: this.features.Library!, operator: this.features.Operator! }[this.grouping.value];
    const groups = of === undefined ? [] : grouped(list, of);
    // Headings of one finding each would say everything twice.
    const alone = new Set(this.list.map((finding) => of?.(finding))).size === this.list.length;
    const rowsOf = (findings: Finding[]) => findings.map((finding) => this.rows.get(finding)!);
    this.drawn.show(alone || of === undefined ? rowsOf(list) : groups.flatMap(([name, findings]) => [{ height: 60, element: once(() => this.group(name, findings)) }, ...rowsOf(findings)]));
    this.status.textContent = `${count(list.length)} of ${counted(this.list.length, "finding")}`;
  }

  private group(name: string, list: Finding[]): HTMLElement {
    const { Library, Operator, Cause } = this.features;
    const by = this.grouping.value;
    const others = ([["cause", Cause!], ["library", Library!], ["operator", Operator!]] as [string, Of][]).filter(([feature]) => feature !== by);
    const parts = others.map(([, of]) => shortList([...new Set(list.map(of))], 3));
    const cases = list.reduce((sum, finding) => sum + finding.cases, 0);
    return h(
      "div.group",
      {},
      h("h3", {}, name, h("span.note", {}, ` ${counted(cases, "case")} · ${parts.join(" · ")}`)),
      by === "cause" && descriptionOf(list[0]!) !== "" ? h("p.note", {}, descriptionOf(list[0]!)) : null,
    );
  }
}

function item(finding: Finding, changes: Changes): HTMLElement {
  return h("article.finding", { id: finding.id }, fold(h("span.title", {}, title(finding, changes)), () => article(finding)));
}

function choice(values: string[]): HTMLSelectElement {
  return h("select", {}, values.map((value) => h("option", { value }, value))) as HTMLSelectElement;
}

function wordsOf(finding: Finding): string {
  const { diagnosis, example } = finding;
  return [finding.id, finding.backend, finding.operator, finding.verdict, finding.signature, finding.detail, finding.rule, descriptionOf(finding), diagnosis?.where, ...(diagnosis?.region.conditions ?? []), example.id, example.summary, finding.waiver?.id]
    .join(" ")
    .toLowerCase();
}

/** Findings that a baseline lacks come first. */
export function newFirst(report: Report, changes: Changes): Finding[] {
  const isNew = (finding: Finding) => changeOf(finding, changes)?.text === "new";
  return [...report.findings.filter(isNew), ...report.findings.filter((finding) => !isNew(finding))];
}

/** Returns the section, and a function that opens a finding by its id and says whether there is one. */
export function findings(report: Report, changes: Changes): [HTMLElement, (id: string) => boolean] {
  const list = newFirst(report, changes);
  const waived = list.filter((finding) => finding.waiver).length;
  const note = list.length === 0 ? "Nothing failed." : `${counted(list.length, "finding")}${waived > 0 ? `, ${count(waived)} of them waived` : ""}. One finding stands for all cases of a backend and an operator that have the same cause.`;
  const shown = new Findings(list, report, changes);
  return [section("findings", "Findings", h("p.note", {}, note), list.length > 0 ? shown.build() : null), (id) => shown.open(id)];
}
