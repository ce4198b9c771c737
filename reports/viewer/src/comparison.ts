// What changed since a baseline: the gate's comparison of both reports.
import { comparisonTable, h, number, numberHead, section, type Child } from "./dom";
import type { Change, ComparedCause, Finding, Gate } from "./model";
import { causeOf, count, counted, grouped, type Tone } from "./text";

interface Mark {
  text: string;
  tone: Tone | "note";
}

/** By the id of a finding of the new report; empty where no baseline is compared with. */
export type Changes = Map<string, Mark>;

// Of the gate's kinds of change those that say more of a finding than that it stayed.
const MARKS: Record<string, Mark> = {
  "finding-grew": { text: "grew", tone: "bad" },
  "finding-shrank": { text: "shrank", tone: "good" },
  "region-moved": { text: "other conditions", tone: "bad" },
  "waiver-expired": { text: "waiver expired", tone: "bad" },
  "waiver-unknown": { text: "waiver unknown", tone: "bad" },
};

export function changesOf(gate: Gate | null): Changes {
  const changes: Changes = new Map();
  for (const { state, findings } of gate?.causes ?? []) {
    for (const id of findings) changes.set(id, state === "new" ? { text: "new", tone: "bad" } : { text: "stayed", tone: "note" });
  }
  for (const { finding, what } of gate?.changes ?? []) {
    const mark = MARKS[what];
    if (finding !== "" && mark !== undefined) changes.set(finding, mark);
  }
  return changes;
}

export function changeOf(finding: Finding, changes: Changes): Mark | undefined {
  return changes.get(finding.id);
}

const TONES: Record<Change["effect"], Tone | "note"> = { worse: "bad", better: "good", waived: "aside", note: "note" };

/** "✗ got worse: 2 worse, 1 better" */
export function gateVerdict(gate: Gate): HTMLElement {
  const effects = grouped(gate.changes, (change) => change.effect).map(([effect, list]) => (effect === "note" ? counted(list.length, "note") : `${count(list.length)} ${effect}`));
  return h(`strong.${gate.passes ? "good" : "bad"}`, {}, `${gate.passes ? "✓ nothing got worse" : "✗ got worse"}${effects.length > 0 ? `: ${effects.join(", ")}` : ""}`);
}

/** "1 new cause, 17 met again, 3 not met" */
export function newsOf(gate: Gate): string {
  const of = (state: ComparedCause["state"]) => gate.causes.filter((cause) => cause.state === state).length;
  return `${counted(of("new"), "new cause")}, ${count(of("stayed"))} met again, ${count(of("gone"))} not met`;
}

function links(ids: string[]): Child {
  return ids.map((id, position) => [position > 0 ? ", " : "", h("a", { href: `#${id}` }, id)]);
}

function causeRow(cause: ComparedCause): HTMLElement {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, causeOf(cause)),
    h("td", {}, links(cause.findings)),
    h("td", {}, cause.backend),
    h("td", {}, cause.operator),
    number(cause.findings_before.length > 0 ? count(cause.cases_before) : "–"),
    number(cause.findings.length > 0 ? count(cause.cases) : "–"),
  );
}

const STATES: [ComparedCause["state"], string, string][] = [
  ["new", "New", "The baseline has no such finding."],
  ["gone", "Gone", "The baseline has it; the same backend was asked for cases of the operator, and none fails like that."],
  ["stayed", "Stayed", "Both reports have it."],
  ["not-tested", "Not tested any more", "The baseline has it; the new report asks that backend for no case of the operator."],
];

// Campaigns draw other cases each time.
const OF_CAMPAIGNS: typeof STATES = [
  ["new", "New", "No campaign before has such a finding."],
  ["gone", "Not met", "A campaign before has it. It may be rare."],
  ["stayed", "Met again", "A campaign before has it, too."],
  ["not-tested", "Not tested any more", "A campaign before has it; this one asks that backend for no case of the operator."],
];

function causes(gate: Gate, states: typeof STATES): Child {
  return states.map(([state, title, note]) => {
    const list = gate.causes.filter((cause) => cause.state === state);
    if (list.length === 0) return h("h3", {}, `${title}: none`);
    const heads = ["Cause", "Finding", "Backend", "Operator", numberHead("Before"), numberHead("Now")];
    return [h("h3", {}, `${title}: ${counted(list.length, "cause")}`), h("p.note", {}, `${note} Numbers: failing cases.`), comparisonTable(`${title}, by cause`, heads, list, causeRow)];
  });
}

function changeRow(change: Change): HTMLElement {
  const about = [change.backend, change.operator, change.signature].filter((part) => part !== "").join(" ");
  return h(
    "tr",
    {},
    h(`td.${TONES[change.effect]}`, {}, change.effect),
    h("th", { scope: "row" }, change.what),
    h("td", {}, about),
    h("td", {}, change.text),
    h("td", {}, change.finding === "" ? null : links([change.finding])),
  );
}

export function comparison(gate: Gate | null, isCampaign: boolean): HTMLElement | null {
  if (gate === null) return null;
  const { baseline } = gate;
  const day = (started: string) => started.replace("T", " ").replace("Z", " UTC");
  const counts = gate.same_cases
    ? "Both reports are of the same cases, so one more failing case is worse."
    : "The reports are of other cases, so shares of cases are compared; they differ where chance would do that in fewer than 1 of 1,000 runs.";
  return section(
    "compared",
    "Changes",
    isCampaign
      ? h("p", {}, h("strong", {}, newsOf(gate)), h("span.note", {}, ` since the campaign at ${day(baseline.started)}, judged by qconform ${baseline.version} (${baseline.commit}).`))
      : h("p", {}, gateVerdict(gate), h("span.note", {}, ` against ${baseline.file}${baseline.judged_commit ? ` of your commit ${baseline.judged_commit}` : ""}, judged by qconform ${baseline.version} (${baseline.commit}) at ${day(baseline.started)}, which ${baseline.conforms ? "conforms" : "does not conform"}. ${counts}`)),
    causes(gate, isCampaign ? OF_CAMPAIGNS : STATES),
    isCampaign ? null : h("h3", {}, `What the gate counts: ${gate.changes.length === 0 ? "nothing changed" : counted(gate.changes.length, "change")}`),
    !isCampaign && gate.changes.length > 0 ? comparisonTable("What the gate counts", ["Effect", "Change", "Of", "What", "Finding"], gate.changes, changeRow) : null,
  );
}
