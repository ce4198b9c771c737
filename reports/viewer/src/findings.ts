// The findings: by cause or by library, to be filtered, each of which opens.
import { remember } from "./address";
import { changeOf, type Changes } from "./comparison";
import { fold, h, replace, section, unfold, type Child } from "./dom";
import { article } from "./finding";
import type { Diagnosis, Finding, Report } from "./model";
import { causeOf, count, counted, grouped, libraryOf } from "./text";

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
    h("span", {}, finding.backend),
    h("span", {}, finding.operator),
    h("strong", {}, finding.diagnosis?.base ? `${finding.signature} on ${finding.diagnosis.base}` : finding.signature),
    h("span.note", {}, counted(finding.cases, "case") + (finding.between ? `, in all ${count(finding.between.least)} to ${count(finding.between.most)}` : "")),
    change && h(`span.change.${change.tone}`, {}, change.text),
  ];
}

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
  private readonly items: Map<Finding, HTMLElement>;
  private readonly features: Record<string, Of>;
  private readonly filters: { of: Of; control: HTMLSelectElement; name: string }[] = [];
  private readonly grouping = choice(["cause", "library", "operator", "none"]);
  private readonly text = h("input", { type: "search", placeholder: "any word of it", spellcheck: "false" }) as HTMLInputElement;
  private readonly words: Map<Finding, string>;
  private readonly status = h("span.note", { role: "status" });
  private readonly place = h("div");

  constructor(
    private readonly list: Finding[],
    report: Report,
    changes: Changes,
  ) {
    this.features = features(report, changes);
    this.items = new Map(list.map((finding, position) => [finding, h("li", { id: finding.id }, fold(h("span.title", {}, title(finding, changes)), () => article(finding), position === 0))]));
    this.words = new Map(list.map((finding) => [finding, wordsOf(finding)]));
    for (const [name, of] of Object.entries(this.features)) {
      const values = [...new Set(list.map(of))].sort();
      const repeats = name === "Library" && values.length === new Set(list.map(this.features.Backend!)).size;
      if (values.length > 1 && !repeats) this.filters.push({ name, of, control: choice([`any ${name.toLowerCase()}`, ...values]) });
    }
  }

  build(): Child {
    this.arrange();
    if (this.list.length < 2) return this.place;
    for (const { name, control } of this.filters) remember(name.toLowerCase(), control, "findings", () => this.filter());
    remember("finding", this.text, "findings", () => this.filter());
    remember("group", this.grouping, "findings", () => this.arrange());
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

  private arrange(): void {
    const of = { cause: this.features.Cause!, library: this.features.Library!, operator: this.features.Operator! }[this.grouping.value];
    const groups = of === undefined ? [] : grouped(this.list, of);
    // Headings of one finding each would say everything twice.
    const alone = groups.length === this.list.length;
    replace(this.place, alone || of === undefined ? h("ol.findings", {}, this.list.map((finding) => this.items.get(finding))) : groups.map(([name, list]) => this.group(name, list)));
    this.filter();
  }

  private group(name: string, list: Finding[]): HTMLElement {
    const { Library, Operator, Cause } = this.features;
    const by = this.grouping.value;
    const others = ([["cause", Cause!], ["library", Library!], ["operator", Operator!]] as [string, Of][]).filter(([feature]) => feature !== by);
    const parts = others.map(([, of]) => [...new Set(list.map(of))]).map((names) => (names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ")));
    const cases = list.reduce((sum, finding) => sum + finding.cases, 0);
    return h(
      "div.group",
      {},
      h("h3", {}, name, h("span.note", {}, ` ${counted(cases, "case")} · ${parts.join(" · ")}`)),
      by === "cause" && descriptionOf(list[0]!) !== "" ? h("p.note", {}, descriptionOf(list[0]!)) : null,
      h("ol.findings", {}, list.map((finding) => this.items.get(finding))),
    );
  }

  private filter(): void {
    const words = this.text.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let shown = 0;
    for (const [finding, item] of this.items) {
      const fits = this.filters.every(({ of, control }) => control.selectedIndex === 0 || of(finding) === control.value) && words.every((word) => this.words.get(finding)!.includes(word));
      item.hidden = !fits;
      if (fits) ++shown;
    }
    for (const group of this.place.querySelectorAll<HTMLElement>(".group")) group.hidden = group.querySelector("li:not([hidden])") === null;
    this.status.textContent = `${count(shown)} of ${counted(this.list.length, "finding")}`;
  }
}

function choice(values: string[]): HTMLSelectElement {
  return h("select", {}, values.map((value) => h("option", { value }, value))) as HTMLSelectElement;
}

/** What the defects of a diagnosis do: "a padded tap is raw 0, not the zero point". */
export function descriptionOf(finding: Finding): string {
  return (finding.diagnosis?.defects ?? []).map((defect) => defect.description).join("; ");
}

function wordsOf(finding: Finding): string {
  const { diagnosis, example } = finding;
  return [finding.id, finding.backend, finding.operator, finding.verdict, finding.signature, finding.detail, finding.rule, descriptionOf(finding), diagnosis?.where, ...(diagnosis?.region.conditions ?? []), example.id, example.summary, finding.waiver?.id]
    .join(" ")
    .toLowerCase();
}

/** Opens a finding that may be folded, or hidden by the filters. */
export function openFinding(item: HTMLElement): void {
  const details = item.querySelector("details");
  if (!details) return;
  item.hidden = false;
  const group = item.closest<HTMLElement>(".group");
  if (group !== null) group.hidden = false;
  unfold(details);
  details.querySelector("summary")?.focus({ preventScroll: true });
}

export function findings(report: Report, changes: Changes): HTMLElement {
  // What a baseline lacks comes first.
  const isNew = (finding: Finding) => changeOf(finding, changes)?.text === "new";
  const list = [...report.findings.filter(isNew), ...report.findings.filter((finding) => !isNew(finding))];
  const waived = list.filter((finding) => finding.waiver).length;
  const note = list.length === 0 ? "Nothing failed." : `${counted(list.length, "finding")}${waived > 0 ? `, ${count(waived)} of them waived` : ""}. One finding stands for all cases of a backend and an operator that have the same cause.`;
  return section("findings", "Findings", h("p.note", {}, note), list.length > 0 ? new Findings(list, report, changes).build() : null);
}
