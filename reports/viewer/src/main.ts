// Puts the page together from the JSON that it carries.
import { follow } from "./address";
import { campaign } from "./campaign";
import { cases } from "./cases";
import { errors, speed } from "./charts";
import { changesOf, comparison } from "./comparison";
import { coverage } from "./coverage";
import { h, section } from "./dom";
import { findings, openFinding } from "./findings";
import { keysButton, listenToKeys } from "./keys";
import { layers } from "./layers";
import { matrix } from "./matrix";
import type { Bench, Gate, Matrix, Report } from "./model";
import { head, verdicts } from "./overview";
import { openForPrint } from "./print";
import { summary } from "./summary";
import { headline, seconds } from "./text";

function embedded<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  return text === "" ? null : (JSON.parse(text) as T);
}

function machine(report: Report): HTMLElement {
  const environment = report.environment;
  const facts: [string, string][] = [
    ["qconform", `${environment.version} (${environment.commit})`],
    ...(environment.judged_commit ? [["commit under test", environment.judged_commit] as [string, string]] : []),
    ["started", environment.started.replace("T", " ").replace("Z", " UTC")],
    ["profile", report.profile],
    ["seed", String(report.seed)],
    ["cpu", environment.cpu],
    ["operating system", environment.operating_system],
    ["compiler", environment.compiler],
    ["kernels", environment.kernels.join(", ")],
    ["kernels not run", environment.kernels_not_run.join(", ") || "none"],
    ["overflow (C17)", report.overflow],
    ...Object.entries(report.seconds).map(([stage, time]): [string, string] => [`time of ${stage}${report.campaign ? ", all jobs together" : ""}`, seconds(time)]),
  ];
  return section("environment", "Environment", h("dl.facts", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

function links(sections: HTMLElement[]): HTMLElement {
  return h("nav", { "aria-label": "Parts of the report" }, sections.map((part) => h("a", { href: `#${part.id}` }, part.querySelector("h2")?.textContent ?? part.id)), keysButton());
}

function start(): void {
  const report = embedded<Report>("report");
  if (report === null) throw new Error("the page carries no report");
  const gate = embedded<Gate>("comparison");
  const changes = changesOf(gate);
  document.title = `qconform: ${headline(report).slice(2)}, ${report.environment.started.slice(0, 10)}`;
  const parts = [summary(report, gate, changes), comparison(gate), layers(report), verdicts(report), matrix(embedded<Matrix>("matrix")), findings(report, changes), campaign(report), coverage(report), errors(report), cases(report), speed(embedded<Bench>("bench")), machine(report)];
  const sections = parts.filter((part): part is HTMLElement => part !== null);
  document.body.replaceChildren(head(report), links(sections), h("main", {}, sections));
  follow((target) => {
    if (target.matches("ol.findings > li")) openFinding(target);
    target.scrollIntoView();
  });
  listenToKeys();
  openForPrint();
}

start();
