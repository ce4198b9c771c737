// The findings: what is wrong, why, when, the picture of it, and how to see it again.
import { commandLine } from "./copy";
import { fold, h, replace, section, type Child } from "./dom";
import { graphOf, wrongElement } from "./graph";
import { heatMap } from "./heatmap";
import type { Diagnosis, Finding, Picture, Report } from "./model";
import { count, counted, seconds } from "./text";

function facts(list: [string, Child][]): HTMLElement {
  return h("dl.facts.stacked", {}, list.filter(([, value]) => value !== null && value !== "").map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function defects(diagnosis: Diagnosis): Child {
  if (diagnosis.defects.length === 0) return diagnosis.status;
  return [
    h("strong", {}, diagnosis.status),
    diagnosis.defects.map((defect) =>
      h(
        "div",
        {},
        h("code", {}, defect.id),
        ` ${defect.description}`,
        defect.avoided_by ? [" Lossy by design: ", h("code", {}, defect.avoided_by), " switches it off."] : null,
        h("span.note", {}, ` rule ${defect.rule}; look at ${defect.stages}${defect.evidence ? `; known from ${defect.evidence}` : ""}`),
      ),
    ),
  ];
}

function region(diagnosis: Diagnosis): Child {
  const { conditions, failing, passing, passing_inside } = diagnosis.region;
  const learnt = `all of ${count(failing)} failing cases, ${count(passing_inside)} of ${count(passing)} passing`;
  if (conditions.length === 0) return failing === 0 ? null : h("span.note", {}, `no feature tells failing cases from passing ones (${learnt})`);
  return [conditions.join(", "), h("span.note", {}, ` (${learnt})`)];
}

function evidence(diagnosis: Diagnosis): string {
  const { trial, examined } = diagnosis;
  const tried = trial.cases === 0 ? "" : `; reproduces ${count(trial.reproduced)} of ${counted(trial.cases, "trial case")}, ${count(trial.failing)} of them failing`;
  return `${counted(examined, "failing case")} examined element by element${tried}`;
}

function worst(finding: Finding): Child {
  const element = finding.worst;
  if (element === undefined) return null;
  return `${wrongElement(finding)} got ${element.got}${element.exact ? `, exact ${element.exact}` : ""}, admissible ${element.admissible}`;
}

function shrinking(finding: Finding): string {
  const record = finding.shrinking;
  if (record === undefined) return "not tried";
  const effort = `${counted(record.steps, "step")} in ${counted(record.runs, "run")} of the backend, ${seconds(record.seconds)}`;
  const from = record.original ? `; met as ${record.original.id}: ${record.original.summary}` : "";
  const ending: Record<string, string> = {
    minimal: "minimal: nothing simpler fails likewise",
    runs: "limit of runs reached",
    seconds: "limit of time reached",
    "not-reproduced": "the failure came and went",
  };
  return `${ending[record.ending] ?? record.ending} (${effort})${from}`;
}

function files(finding: Finding): Child {
  const list = [finding.example.file, finding.example.model, finding.example.folder, finding.shrinking?.original?.file, finding.telling?.file, finding.related?.file];
  const names = list.filter((name): name is string => name !== undefined && name !== "");
  if (names.length === 0) return null;
  return [names.map((name, position) => [position > 0 ? ", " : "", h("code", {}, name)]), h("span.note", {}, " beside the report")];
}

function story(finding: Finding): HTMLElement {
  const { diagnosis, waiver } = finding;
  return facts([
    ["what", `${finding.verdict}: ${finding.detail}${finding.rule ? ` (${finding.rule})` : ""}`],
    ["waived", waiver ? `${waiver.id}: ${waiver.reason} ${waiver.reference}` : null],
    ["why", diagnosis ? defects(diagnosis) : null],
    ["arithmetic", diagnosis?.arithmetic ?? null],
    ["when", diagnosis ? region(diagnosis) : null],
    ["where", diagnosis?.where ?? null],
    ["evidence", diagnosis ? evidence(diagnosis) : null],
    ["worst", worst(finding)],
    ["case", h("span", {}, h("code", {}, finding.example.id), ` ${finding.example.summary}`)],
    ["shrunk", shrinking(finding)],
    ["files", files(finding)],
    ["contradicts", finding.related ? finding.related.ids.join(", ") : null],
    ["log", finding.log ? h("pre", {}, finding.log) : null],
  ]);
}

// The shrunk case is the one to understand; the one that was met shows the pattern.
function pictures(finding: Finding): Child {
  const met = finding.shrinking?.original?.picture;
  const choices: [string, Picture][] = [];
  if (finding.picture) choices.push([met ? "shrunk case" : "smallest case", finding.picture]);
  if (met) choices.push(["case as it was met", met]);
  if (finding.telling?.picture) choices.push(["case with the clearest pattern", finding.telling.picture]);
  const first = choices[0];
  if (first === undefined) {
    const reason = finding.verdict === "wrong" ? "the failure did not show again, or the report's bound for pictures was reached" : "no wrong values";
    return h("p.note", {}, `No picture: ${reason}. The replay line shows the failure.`);
  }
  const place = h("div");
  const show = (picture: Picture, name: string) => replace(place, heatMap(picture, `Output of ${finding.id}, ${name}`));
  show(first[1], first[0]);
  if (choices.length === 1) return [h("h4", {}, `Output, ${first[0]}`), place];
  const options = choices.map(([name, picture], position) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name: `picture-${finding.id}`, checked: position === 0, onchange: () => show(picture, name) }),
      ` ${name}`,
    ),
  );
  return [h("fieldset.choice", {}, h("legend", {}, "Output of the"), options), place];
}

function article(finding: Finding): Child {
  return [
    finding.replay && commandLine(finding.replay, `the replay line of ${finding.id}`),
    story(finding),
    graphOf(finding),
    pictures(finding),
  ];
}

// Wrong all the same, but on purpose: every defect of a sure diagnosis has an option that switches it off.
function lossyByDesign(diagnosis: Diagnosis | undefined): boolean {
  if (diagnosis === undefined || !["explained", "reproduced"].includes(diagnosis.status)) return false;
  return diagnosis.defects.length > 0 && diagnosis.defects.every((defect) => defect.avoided_by);
}

function title(finding: Finding): Child {
  return [
    h("span.id", {}, finding.id),
    h(`span.${finding.waiver ? "aside" : "bad"}`, {}, `${finding.verdict}${lossyByDesign(finding.diagnosis) ? ", lossy by design" : ""}${finding.waiver ? ", waived" : ""}`),
    h("span", {}, finding.backend),
    h("span", {}, finding.operator),
    h("strong", {}, finding.diagnosis?.base ? `${finding.signature} on ${finding.diagnosis.base}` : finding.signature),
    h("span.note", {}, counted(finding.cases, "case")),
  ];
}

function open(id: string): void {
  const item = document.getElementById(id);
  const details = item?.querySelector("details");
  if (!item || !details) return;
  item.hidden = false;
  details.open = true;
  details.querySelector("summary")?.focus({ preventScroll: true });
  item.scrollIntoView();
}

// Which findings are shown; few need no choice.
const FEW = 8;

function choosing(list: Finding[], items: HTMLElement[]): Child {
  if (list.length <= FEW) return null;
  const status = h("span.note", { role: "status" });
  const choices = ([["Backend", (f) => f.backend], ["Operator", (f) => f.operator], ["Verdict", (f) => (f.waiver ? `${f.verdict}, waived` : f.verdict)]] as [string, (f: Finding) => string][]).map(([name, of]) => {
    const values = [...new Set(list.map(of))].sort();
    const control = h("select", {}, [`any ${name.toLowerCase()}`, ...values].map((value) => h("option", {}, value))) as HTMLSelectElement;
    return { name, control, fits: (finding: Finding) => control.selectedIndex === 0 || of(finding) === values[control.selectedIndex - 1] };
  });
  const filter = () => {
    let shown = 0;
    list.forEach((finding, position) => {
      const fits = choices.every((choice) => choice.fits(finding));
      items[position]!.hidden = !fits;
      if (fits) ++shown;
    });
    status.textContent = `${count(shown)} of ${counted(list.length, "finding")}`;
  };
  for (const { control } of choices) control.addEventListener("input", filter);
  filter();
  return h("form.choosing", { onsubmit: (event: Event) => event.preventDefault() }, choices.map(({ name, control }) => h("label", {}, `${name} `, control)), status);
}

export function findings(report: Report): HTMLElement {
  const list = report.findings;
  const waived = list.filter((finding) => finding.waiver).length;
  const note = list.length === 0 ? "Nothing failed." : `${counted(list.length, "finding")}${waived > 0 ? `, ${count(waived)} of them waived` : ""}. One finding stands for all cases with the same cause.`;
  const items = list.map((finding, position) => h("li", { id: finding.id }, fold(h("span.title", {}, title(finding)), () => article(finding), position === 0)));
  window.addEventListener("hashchange", () => open(location.hash.slice(1)));
  if (location.hash) requestAnimationFrame(() => open(location.hash.slice(1)));
  return section("findings", "Findings", h("p.note", {}, note), choosing(list, items), h("ol.findings", {}, items));
}
