// Puts the page together from the JSON that it carries.
import { follow } from "./address";
import { campaign } from "./campaign";
import { cases } from "./cases";
import { errors, speed } from "./charts";
import { changesOf, comparison } from "./comparison";
import { coverage } from "./coverage";
import { documents } from "./documents";
import { h, section } from "./dom";
import { findings } from "./findings";
import { keysButton, listenToKeys } from "./keys";
import { layers } from "./layers";
import { matrix } from "./matrix";
import type { Report } from "./model";
import { verdicts } from "./overview";
import { openForPrint } from "./print";
import { head, summary } from "./summary";
import { headline, seconds } from "./text";

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

async function start(): Promise<void> {
  const { report, bench, matrix: releases, comparison: gate } = await documents();
  const changes = changesOf(gate);
  document.title = `qconform: ${headline(report).slice(2)}, ${report.environment.started.slice(0, 10)}`;
  const [list, openFinding] = findings(report, changes);
  const parts = [summary(report, gate, changes), comparison(gate, report.campaign !== undefined), layers(report), campaign(report), list, verdicts(report), matrix(releases ?? null), coverage(report), errors(report), cases(report), speed(bench), machine(report)];
  const sections = parts.filter((part): part is HTMLElement => part !== null);
  document.body.replaceChildren(links(sections), head(report), h("main", {}, sections));
  follow((target) => {
    if (openFinding(target)) return true;
    const part = document.getElementById(target);
    part?.scrollIntoView();
    return part !== null;
  });
  listenToKeys();
  openForPrint();
}

start().catch((error: unknown) => document.body.append(`The report cannot be shown: ${String(error)}`));
