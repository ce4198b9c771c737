// A finding has conclusions, pictures, and all that they rest on.
import { addressOf } from "./address";
import { commandLine, copyButton } from "./copy";
import { h, replace, type Child } from "./dom";
import { graphOf, wrongElement } from "./graph";
import { heatMap, thumbnail } from "./heatmap";
import type { Diagnosis, Finding, Picture } from "./model";
import { causeOf, count, counted, descriptionOf, seconds } from "./text";

function facts(list: [string, Child][]): HTMLElement {
  return h("dl.facts.stacked", {}, list.filter(([, value]) => value !== null && value !== "").map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function defects(diagnosis: Diagnosis): Child {
  if (diagnosis.defects.length === 0) return diagnosis.status;
  return diagnosis.defects.map((defect) =>
    h(
      "div",
      {},
      `${diagnosis.status}: `,
      h("code", {}, defect.id),
      defect.avoided_by ? ", lossy by design" : null,
      h("span.note", {}, ` rule ${defect.rule}${defect.evidence && diagnosis.status === "explained" ? `; resembles ${defect.evidence}` : ""}`),
    ),
  );
}

function region(diagnosis: Diagnosis): Child {
  const { conditions, elements, failing, shown, passing, passing_inside, precision, recall } = diagnosis.region;
  const large = elements ? `of outputs of ${count(elements)} elements and more: ` : "";
  const learnt = `${large}all of ${count(failing)} failing cases${shown ? ` (${count(shown)} of them with other data)` : ""}, ${count(passing_inside)} of ${count(passing)} passing`;
  const measured = `${learnt}; cross-validated: precision ${precision.toFixed(2)}, recall ${recall.toFixed(2)}`;
  if (conditions.length === 0) return failing === 0 ? null : h("span.note", {}, `no feature tells failing cases from passing ones (${learnt})`);
  return [conditions.join(", "), h("span.note", {}, ` (${measured})`)];
}

function place(diagnosis: Diagnosis): Child {
  const { wrong, right, right_elsewhere } = diagnosis.place;
  if (wrong === 0) return diagnosis.where === "no place that is known" ? null : diagnosis.where;
  const there = right === 0 ? `exactly: all ${count(wrong)} elements there are wrong` : `${count(wrong)} wrong and ${count(right)} right ones there`;
  return [diagnosis.where, h("span.note", {}, ` (${there}, none of ${count(right_elsewhere)} elsewhere)`)];
}

function evidence(diagnosis: Diagnosis): string {
  const { trial, examined } = diagnosis;
  const tried = trial.cases === 0 ? "" : `; reproduces ${count(trial.reproduced)} of ${counted(trial.cases, "trial case")}, ${count(trial.failing)} of them failing`;
  const others = diagnosis.contradicting
    ? `; gets ${counted(diagnosis.contradicting, "passing case")} wrong, so the backend has the defect in some of its paths only`
    : "";
  return `${counted(examined, "failing case")} examined element by element${tried}${others}`;
}

function worst(finding: Finding): Child {
  const element = finding.worst;
  if (element === undefined) return finding.detail;
  return [`${wrongElement(finding)} got ${element.got}, admissible ${element.admissible}`, element.exact ? h("span.note", {}, ` exact ${element.exact}`) : null];
}

/** Says in one line, with `beside`, what the finding is, and gives the five answers that one looks for first. */
export function conclusions(finding: Finding, beside: Child): HTMLElement {
  const { diagnosis } = finding;
  const stages = [...new Set(diagnosis?.defects.map((defect) => defect.stages))].join(", ");
  const avoided = [...new Set(diagnosis?.defects.flatMap((defect) => defect.avoided_by ?? []))];
  const cure = diagnosis?.cured_by;
  const toDo: Child = stages || avoided.length > 0 ? [stages ? ["look at ", h("strong", {}, stages)] : null, avoided.map((option) => [stages ? "; " : "", h("code", {}, option), " switches it off"])] : cure ? ["set ", h("code", {}, `@${cure}`), ": each of these cases that was tried is right with it"] : finding.replay ? "replay the smallest case" : null;
  return h(
    "div.conclusions",
    {},
    h("h3", {}, descriptionOf(finding) || causeOf(finding), beside),
    facts([
      ["what", [worst(finding), h("span.note", {}, `; ${counted(finding.cases, "case")} of ${finding.operator} on ${finding.backend}`)]],
      ["when", diagnosis ? region(diagnosis) : null],
      ["where", diagnosis ? place(diagnosis) : null],
      ["why", diagnosis?.where ? (cure && diagnosis.defects.length === 0 ? rewriting(diagnosis) : defects(diagnosis)) : null],
      ["do", toDo],
    ]),
    finding.replay && commandLine(finding.replay, `the replay line of ${finding.id}`),
  );
}

function shrinking(finding: Finding): string {
  const record = finding.shrinking;
  if (record === undefined) return "not tried";
  const effort = `${counted(record.steps, "step")} in ${counted(record.runs, "run")} of the backend, shrinking ${seconds(record.seconds)}`;
  const from = record.original ? `; met as ${record.original.id}: ${record.original.summary}` : "";
  const ending: Record<string, string> = {
    minimal: "minimal: no single step makes it smaller",
    runs: "limit of runs reached",
    seconds: "limit of time reached",
    "not-reproduced": "the failure came and went",
  };
  return `${ending[record.ending] ?? record.ending} (${effort})${from}`;
}

function experiment(made: NonNullable<Diagnosis["experiment"]>): Child {
  const second = made.second === undefined ? "no other name has any of the wrong elements" : `${made.second} computes ${made.predicted_otherwise ?? ""}`;
  return [
    `${made.element} of ${made.summary}: right ${made.right}; ${made.name} computes ${made.predicted}, the backend answers ${made.answered}; ${second}`,
    made.replay ? h("pre", {}, made.replay) : null,
  ];
}

function files(finding: Finding): Child {
  const list = [finding.example.file, finding.example.model, finding.example.folder, finding.shrinking?.original?.file, finding.telling?.file, finding.diagnosis?.experiment?.file, finding.related?.file];
  const names = list.filter((name): name is string => name !== undefined && name !== "");
  if (names.length === 0) return null;
  return [names.map((name, position) => [position > 0 ? ", " : "", h("code", {}, name)]), h("span.note", {}, " beside the report")];
}

function nodes(counts: Record<string, number> | undefined): string {
  const texts = Object.entries(counts ?? {}).map(([name, count]) => (count === 1 ? name : `${count} ${name}`));
  return texts.length === 0 ? "nothing" : texts.join(", ");
}

// The nodes that the switched off parts take out of the example, and those that they put there.
function rewriting(diagnosis: Diagnosis): string | null {
  if (!diagnosis.came && !diagnosis.went) return null;
  return `without these settings the library computes ${nodes(diagnosis.came)} in the place of ${nodes(diagnosis.went)}`;
}

function story(finding: Finding): HTMLElement {
  const { diagnosis, waiver } = finding;
  return facts([
    ["verdict", `${finding.verdict}: ${finding.detail}${finding.rule ? ` (${finding.rule})` : ""}`],
    ["waived", waiver ? `${waiver.id}: ${waiver.reason} ${waiver.reference}` : null],
    ["arithmetic", diagnosis?.arithmetic ?? null],
    ["cured", diagnosis?.cured_by ? ["each of these cases that was tried is right with ", h("code", {}, `@${diagnosis.cured_by}`),
      diagnosis.beside?.length ? `; in some of them off as well: ${diagnosis.beside.join(", ")}` : "",
      diagnosis.own_elements ? `; with the others off, the example has ${counted(diagnosis.own_elements, "wrong element")}` : ""] : null],
    ["rewrites", diagnosis ? rewriting(diagnosis) : null],
    ["there", diagnosis?.behaves ? `behaves as: ${diagnosis.behaves}` : null],
    ["fails for", diagnosis?.thresholds?.join("; ") ?? null],
    ["evidence", diagnosis?.where ? evidence(diagnosis) : null],
    ["shown by", diagnosis?.experiment ? experiment(diagnosis.experiment) : null],
    ["case", h("span", {}, h("code", {}, finding.example.id), ` ${finding.example.summary}`)],
    ["met", finding.met_while_shrinking ? `while shrinking ${finding.met_while_shrinking}; it is not a case of the suites` : ""],
    ["since", finding.history?.join("; ") ?? null],
    ["replayed", finding.replayed ? `in a new process: fails ${finding.replayed}` : null],
    ["shrunk", shrinking(finding)],
    ["files", files(finding)],
    ["contradicts", finding.related ? finding.related.ids.join(", ") : null],
    ["log", finding.log ? h("pre", {}, finding.log) : null],
  ]);
}

// The shrunk case is the one to understand, and comes first; the others show the pattern.
function picturesOf(finding: Finding): [string, Picture][] {
  const met = finding.shrinking?.original?.picture;
  const all: [string, Picture | undefined][] = [[met ? "shrunk case" : "smallest case", finding.picture], ["case as it was met", met], ["case with the clearest pattern", finding.telling?.picture]];
  return all.filter((each): each is [string, Picture] => each[1] !== undefined);
}

/** Draws the picture with the clearest pattern, small. */
export function glance(finding: Finding): Child {
  const last = picturesOf(finding).pop();
  return last === undefined ? null : thumbnail(last[1], `Output of ${finding.id}, ${last[0]}`);
}

function pictures(finding: Finding): Child {
  const choices = picturesOf(finding);
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

/** All of it; its title stands above. */
export function article(finding: Finding): Child {
  return [
    conclusions(finding, null),
    graphOf(finding),
    pictures(finding),
    story(finding),
    copyButton(() => addressOf(finding.id), `link to ${finding.id}`, "Copy link"),
  ];
}
