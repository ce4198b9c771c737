// Puts the page together from the JSON that it carries.
import { campaign } from "./campaign";
import { cases } from "./cases";
import { errors, speed } from "./charts";
import { coverage } from "./coverage";
import { h, section } from "./dom";
import { findings } from "./findings";
import { matrix } from "./matrix";
import type { Bench, Matrix, Report } from "./model";
import { head, verdicts } from "./overview";
import { seconds } from "./text";

function embedded<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  return text === "" ? null : (JSON.parse(text) as T);
}

function machine(report: Report): HTMLElement {
  const environment = report.environment;
  const facts: [string, string][] = [
    ["cpu", environment.cpu],
    ["operating system", environment.operating_system],
    ["compiler", environment.compiler],
    ["kernels", environment.kernels.join(", ")],
    ["kernels not run", environment.kernels_not_run.join(", ") || "none"],
    ["overflow (C17)", report.overflow],
    ...Object.entries(report.seconds).map(([stage, time]): [string, string] => [`time: ${stage}`, seconds(time)]),
  ];
  return section("environment", "Environment", h("dl.facts", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

function links(sections: HTMLElement[]): HTMLElement {
  return h("nav", { "aria-label": "Parts of the report" }, sections.map((part) => h("a", { href: `#${part.id}` }, part.querySelector("h2")?.textContent ?? part.id)));
}

function start(): void {
  const report = embedded<Report>("report");
  if (report === null) throw new Error("the page carries no report");
  document.title = `qconform: ${report.conforms ? "conforms" : "does not conform"}, ${report.environment.started.slice(0, 10)}`;
  const parts = [verdicts(report), matrix(embedded<Matrix>("matrix")), findings(report), campaign(report), coverage(report), errors(report), cases(report), speed(embedded<Bench>("bench")), machine(report)];
  const sections = parts.filter((part): part is HTMLElement => part !== null);
  document.body.replaceChildren(head(report), links(sections), h("main", {}, sections));
}

start();
