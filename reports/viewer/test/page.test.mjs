// The page in a real browser.
//
// usage: node --test page.test.mjs, with QCONFORM (the program), QCONFORM_CHROMIUM (the browser) and
// QCONFORM_SAMPLES (reports/samples) in the environment
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { launch, openPage } from "./browser.mjs";
import { manyCases, manyFindings } from "./many.mjs";

const { QCONFORM, QCONFORM_CHROMIUM, QCONFORM_SAMPLES } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const sample = (name) => join(QCONFORM_SAMPLES, name);
const report = JSON.parse(readFileSync(sample("report.json"), "utf8"));
const graphs = JSON.parse(readFileSync(sample("graphs.json"), "utf8"));
const campaign = JSON.parse(readFileSync(sample("campaign.json"), "utf8"));

let folder;
let browser;
let file;

function render(source, out, ...options) {
  execFileSync(QCONFORM, ["report", "html", source, "-o", out, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  return out;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "qconform-page-"));
  file = render(sample("report.json"), join(folder, "report.html"), "--bench", sample("bench.json"));
  browser = await launch(QCONFORM_CHROMIUM);
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `body` with the page open, and holds against it what the page did that it must not. */
async function onPage(body, { source = file, ...options } = {}) {
  const opened = await openPage(browser, source, options);
  try {
    await body(opened.page);
    assert.deepEqual(opened.problems, []);
  } finally {
    await opened.close();
  }
}

const pictured = report.findings.find((finding) => finding.picture?.geometry);

async function pageHasMatrix(source) {
  let found = false;
  await onPage(async (page) => (found = (await page.locator("#matrix").count()) > 0), { source });
  return found;
}

/**
 * Holds the page, or the part of it that `within` selects, against the rules of accessibility. `rules`: those alone; a
 * colour scheme changes nothing but contrast.
 */
async function assertAccessible(page, { within, rules } = {}) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(
    ([context, only]) => window.axe.run(context ?? document, only ? { runOnly: { type: "rule", values: only } } : {}), [within, rules]);
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`)]), []);
}
const contrast = ["color-contrast"];

/** Opens a finding and returns its element. */
async function unfold(page, id) {
  const item = page.locator(`#${id}`);
  if (!(await item.locator("> details").evaluate((details) => details.open))) await item.locator("summary").first().click();
  return item;
}

test("renders every part", () =>
  onPage(async (page) => {
    const titles = await page.locator("h2").allTextContents();
    assert.deepEqual(titles, ["Summary", "Findings", "Verdicts", "Coverage", "Errors", "Cases", "Speed", "Environment"]);
    assert.equal(await page.locator("article.finding").count(), report.findings.length);
    for (const backend of report.backends) assert.equal(await page.locator("th.backend .name", { hasText: new RegExp(`^${backend.name}$`) }).count(), 1);
    assert.match(await page.locator(".conclusion").innerText(), /does not conform/);
    const reached = report.corner_cases.filter((cornerCase) => cornerCase.cases > 0).length;
    assert.equal(await page.locator("#coverage table").count(), 0, "each figure has its tables behind it");
    await page.getByText(`${reached} of ${report.corner_cases.length} corner cases reached`, { exact: true }).click();
    await page.locator(".corner-cases").waitFor();
    assert.equal(await page.locator(".corner-cases tbody tr").count(), report.corner_cases.length);
    assert.ok((await page.locator("#errors svg").count()) > 0);
    assert.ok((await page.locator("#speed svg").count()) > 0);
  }));

test("the first screen has the conclusions, with the wrong elements of the first finding", async () => {
  const [finding] = report.findings;
  for (const viewport of [{ width: 1280, height: 860 }, { width: 420, height: 900 }]) {
    await onPage(
      async (page) => {
        const within = async (part, name) => {
          const box = await part.boundingBox();
          assert.ok(box.y + box.height <= viewport.height && box.x + box.width <= viewport.width, `${name} at ${box.x}, ${box.y} of ${viewport.height}`);
        };
        const lead = page.locator(".lead");
        const answers = [["what", finding.worst.got], ["when", finding.diagnosis.region.conditions[0]], ["where", finding.diagnosis.where], ["why", finding.signature], ["do", finding.diagnosis.defects[0].stages]];
        assert.deepEqual(await lead.locator("dt").allInnerTexts(), answers.map(([name]) => name));
        for (const [i, [name, text]] of answers.entries()) {
          const answer = lead.locator("dd").nth(i);
          assert.ok((await answer.innerText()).includes(text), await answer.innerText());
          await within(answer, name);
        }
        assert.equal(await page.locator("h1").innerText(), "✗ does not conform");
        await within(page.locator("h1"), "the conclusion");
        await within(lead.getByText(finding.replay), "the replay line");
        await within(lead.locator("svg"), "the picture");
        const { picture } = finding.telling;
        assert.equal(await lead.locator("rect:not(.right)").count(), picture.wrong.length);
        assert.ok((await lead.locator("svg").getAttribute("aria-label")).includes(`${picture.wrong_elements} of `));
      },
      { viewport },
    );
  }
});

test("says what is wrong, which backends conform, and how sure that is", () =>
  onPage(async (page) => {
    const blocks = await page.locator(".block").allInnerTexts();
    for (const { verdict, signature, diagnosis } of report.findings) {
      assert.ok(blocks[0].includes(`${verdict}, ${signature}`), blocks[0]);
      assert.ok(blocks[0].includes(diagnosis.defects[0].description), blocks[0]);
    }
    for (const backend of report.backends) assert.ok(blocks[1].includes(`${backend.name} ${backend.conforms ? "✓" : "✗"}`), blocks[1]);
    const reached = report.corner_cases.filter((cornerCase) => cornerCase.cases > 0).length;
    assert.ok(blocks[2].includes(`${reached} of ${report.corner_cases.length}`), blocks[2]);
    assert.ok(blocks[2].includes(`seed ${report.seed}`), blocks[2]);
  }));

test("a report without failures says so, and what it rests on", async () => {
  const passing = structuredClone(report);
  passing.conforms = true;
  passing.conclusion = "conforms";
  passing.findings = [];
  passing.backends = passing.backends.filter((backend) => backend.conforms);
  delete passing.results;
  const source = join(folder, "passing.json");
  writeFileSync(source, JSON.stringify(passing));
  await onPage(
    async (page) => {
      assert.match(await page.locator(".conclusion").innerText(), /✓ conforms/);
      assert.match(await page.locator(".block").nth(0).innerText(), /No failure was found/);
      assert.equal(await page.locator(".lead").count(), 0);
      assert.match(await page.locator(".block").nth(2).innerText(), /no tolerance/);
      assert.equal(await page.locator(".choosing").count(), 0);
    },
    { source: render(source, join(folder, "passing.html")) },
  );
});

test("groups findings by cause, library and operator", () =>
  onPage(async (page) => {
    const headings = () => page.locator("#findings .group:visible > h3").allInnerTexts();
    const causes = [...new Set(report.findings.map((finding) => `${finding.verdict}, ${finding.signature}`))];
    assert.deepEqual((await headings()).map((text) => text.split(/ \d/)[0]), causes);
    const first = report.findings.filter((finding) => finding.signature === report.findings[0].signature);
    const cases = first.reduce((sum, finding) => sum + finding.cases, 0);
    assert.ok((await headings())[0].includes(`${cases} cases`));
    await page.locator(".choosing").getByLabel("Group by").selectOption("operator");
    assert.equal((await headings()).length, new Set(report.findings.map((finding) => finding.operator)).size);
    await page.locator(".choosing").getByLabel("Group by").selectOption("none");
    assert.equal((await headings()).length, 0);
    assert.equal(await page.locator("article.finding").count(), report.findings.length);
    await page.locator(".choosing").getByLabel("Group by").selectOption("cause");
    await page.locator("select[name=cause]").selectOption(causes[1]);
    assert.equal((await headings()).length, 1, "empty groups are hidden");
  }));

// Releases of one library count as that library.
test("groups releases and options of a library", async () => {
  const libraries = structuredClone(report);
  const names = ["lib:1.0", "lib:2.0@opt", "other"];
  libraries.findings = names.map((backend, i) => ({ ...report.findings[0], id: `F${i + 1}`, backend }));
  libraries.backends = names.map((name) => ({ ...report.backends[1], name, kind: "library" }));
  delete libraries.results;
  const source = join(folder, "libraries.json");
  writeFileSync(source, JSON.stringify(libraries));
  await onPage(
    async (page) => {
      await page.locator(".choosing").getByLabel("Group by").selectOption("library");
      const headings = await page.locator("#findings .group > h3").allInnerTexts();
      assert.deepEqual(headings.map((text) => text.split(" ")[0]), ["lib", "other"]);
      await page.locator("select[name=library]").selectOption("lib");
      assert.equal(await page.locator("article.finding:visible").count(), 2);
    },
    { source: render(source, join(folder, "libraries.html")) },
  );
});

test("the address keeps what is shown: finding, part and filters", async () => {
  const backend = report.findings[1].backend;
  let kept;
  await onPage(async (page) => {
    await page.locator(".choosing").getByLabel("Backend").selectOption(backend);
    await page.locator(".filters").getByLabel("Verdict").selectOption("any failure");
    await page.locator(".filters").getByLabel("Text").fill("x [1");
    kept = await page.evaluate(() => location.hash);
    assert.match(kept, /^#cases\?/);
    await page.locator("nav").getByText("Coverage").click();
    await page.waitForFunction(() => location.hash.startsWith("#coverage?"), null, { timeout: 5000 });
    assert.equal(await page.locator(".choosing").getByLabel("Backend").inputValue(), backend, "a link keeps the filters");
  });
  await onPage(async (page) => {
    await page.evaluate((hash) => (location.hash = hash), kept);
    await page.waitForFunction(() => document.querySelector(".filters input").value === "x [1");
    assert.equal(await page.locator(".choosing").getByLabel("Backend").inputValue(), backend);
    assert.equal(await page.locator(".filters").getByLabel("Verdict").inputValue(), "any failure");
    assert.equal(await page.locator("article.finding:visible").count(), report.findings.filter((f) => f.backend === backend).length);
    await page.evaluate(() => (location.hash = "#cases?case-verdict=no+such+verdict"));
    await page.waitForFunction(() => document.querySelector(".filters input").value === "");
    assert.equal(await page.locator(".filters").getByLabel("Verdict").inputValue(), "any verdict");
  });
});

test("copies a link to a finding, which opens it", () =>
  onPage(
    async (page) => {
      const { id } = report.findings[2];
      const item = await unfold(page, id);
      await item.getByRole("button", { name: `Copy link to ${id}` }).click();
      await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
      const link = await page.evaluate(() => navigator.clipboard.readText());
      assert.ok(link.endsWith(`.html#${id}`), link);
      await page.goto("about:blank");
      await page.goto(link);
      await page.locator(`#${id} > details[open]`).waitFor();
      await page.waitForFunction((id) => document.activeElement.closest("article")?.id === id, id);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("single keys lead through the findings, and can be switched off", () =>
  onPage(async (page) => {
    const at = () => page.evaluate(() => document.activeElement.closest("article.finding")?.id);
    const order = await page.locator("article.finding").evaluateAll((items) => items.map((item) => item.id));
    for (const id of order.slice(0, 2)) {
      await page.keyboard.press("j");
      assert.equal(await at(), id);
    }
    await page.keyboard.press("o");
    await page.locator(`#${order[1]} > details[open]`).waitFor();
    await page.keyboard.press("k");
    assert.equal(await at(), order[0]);
    await page.keyboard.press("/");
    await page.keyboard.type("jk");
    assert.equal(await page.locator(".choosing").getByLabel("Text").inputValue(), "jk", "no keys while one types");
    await page.locator(".choosing").getByLabel("Text").fill("");
    await page.getByRole("button", { name: "Keys" }).click();
    await page.getByLabel("single keys work").uncheck();
    await page.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("j");
    assert.equal(await at(), undefined);
  }));

test("prints what is shown: findings opened, light, no controls", () =>
  onPage(
    async (page) => {
      await page.locator(".choosing").getByLabel("Backend").selectOption(report.findings[0].backend);
      const shown = report.findings.filter((finding) => finding.backend === report.findings[0].backend);
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.notEqual(await paper(), "rgb(255, 255, 255)");
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      for (const { id, diagnosis } of shown) assert.ok((await page.locator(`#${id}`).innerText()).includes(diagnosis.where), id);
      assert.equal(await page.locator("article.finding:visible").count(), shown.length);
      for (const selector of ["nav", ".choosing", ".filters", "button.copy"]) assert.equal(await page.locator(`${selector}:visible`).count(), 0, selector);
      assert.equal(await paper(), "rgb(255, 255, 255)");
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      assert.equal(await page.locator("article.finding > details[open]").count(), 0);
    },
    { colorScheme: "dark" },
  ));

/** The report before: one cause less, another with fewer cases, and one that is repaired since. */
function baselineOf(report) {
  const before = structuredClone(report);
  const [added, grown, , , , kept] = report.findings;
  before.findings = before.findings.filter((finding) => finding.id !== added.id);
  before.findings.find((finding) => finding.id === grown.id).cases -= 2;
  before.findings.push({ ...structuredClone(kept), id: "F9", signature: "another-cause" });
  before.environment.commit = "before";
  delete before.results;
  return before;
}

test("compares with a baseline: what is new, gone and stayed", async () => {
  const source = join(folder, "baseline.json");
  writeFileSync(source, JSON.stringify(baselineOf(report)));
  const compared = render(sample("report.json"), join(folder, "compared.html"), "--compare", source);
  const [added, grown] = report.findings;
  for (const [colorScheme, width] of [["light", 1400], ["dark", 420]]) {
    await onPage(
      async (page) => {
        const part = page.locator("#compared");
        assert.match(await part.innerText(), /got worse/);
        assert.ok((await part.innerText()).includes("(before)"), "the baseline's commit");
        assert.match(await page.locator("#summary .since").innerText(), /got worse/);
        const rows = (name) => part.getByRole("region", { name: `${name}, by cause` }).locator("tbody tr").allInnerTexts();
        const fresh = await rows("New");
        assert.equal(fresh.length, 1);
        assert.ok(fresh[0].includes(added.signature) && fresh[0].includes(added.id), fresh[0]);
        const gone = await rows("Gone");
        assert.equal(gone.length, 1);
        assert.ok(gone[0].includes("another-cause"), gone[0]);
        const stayed = await rows("Stayed");
        assert.equal(stayed.length, report.findings.length - 1);
        assert.ok(stayed.some((text) => text.includes(`\t${grown.cases - 2}\t${grown.cases}`)), stayed.join("; "));
        assert.equal(await page.locator(`#${added.id} .change`).innerText(), "new");
        assert.equal(await page.locator(`#${grown.id} .change`).innerText(), "grew");
        await page.locator("select[name=change]").selectOption("new");
        assert.equal(await page.locator("article.finding:visible").count(), 1);
        await assertAccessible(page, { within: "#compared", rules: colorScheme === "dark" ? contrast : undefined });
        const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= screen, `${content} > ${screen}`);
      },
      { source: compared, colorScheme, viewport: { width, height: 900 }, bypassCSP: true },
    );
  }
  await onPage(async (page) => assert.equal(await page.locator("#compared").count(), 0, "no baseline, no comparison"));
});

test("shows an element on hover and on focus, with what feeds it", () =>
  onPage(async (page) => {
    const item = await unfold(page, pictured.id);
    const position = pictured.picture.wrong[0];
    const { picture } = pictured;
    const detail = item.locator(".detail");
    const shows = async () => {
      const text = await detail.innerText();
      assert.match(text, /wrong/);
      assert.ok(text.includes(picture.got.values[position]), text);
      assert.ok(text.includes(picture.expected[position]), text);
      assert.ok(text.includes(picture.admissible[position] ?? `{${picture.expected[position]}}`), text);
      assert.match(text, /Σ \(x [−+] /);
      assert.ok((await detail.locator("table.taps").count()) >= 3);
    };
    const cell = item.locator(`[data-position="${position}"]`);
    await cell.hover();
    await shows();
    await page.mouse.move(0, 0);
    await cell.focus();
    await shows();
    assert.ok((await cell.getAttribute("aria-label")).includes(`got ${picture.got.values[position]}, expected ${picture.expected[position]}`));
  }));

test("the sum over the window is the accumulator of the exact value", () =>
  onPage(async (page) => {
    // Scales 1 make the exact value the sum itself.
    for (const { id, picture } of report.findings.filter((f) => f.operator === "ConvInteger" && f.picture)) {
      const item = await unfold(page, id);
      const position = picture.wrong[0];
      await item.locator(`[data-position="${position}"]`).focus();
      const sum = (await item.locator(".sum").innerText()).match(/= (-?[\d,]+)/)[1].replaceAll(",", "");
      assert.equal(sum, picture.expected[position], id);
    }
  }));

test("the keyboard moves over the map and turns to wrong elements", () =>
  onPage(async (page) => {
    const wide = report.findings.find((f) => (f.picture?.got.extent.at(-1) ?? 0) > 1 || (f.shrinking?.original?.picture?.got.extent.at(-1) ?? 0) > 1);
    const item = await unfold(page, wide.id);
    if (!(wide.picture.got.extent.at(-1) > 1)) await item.locator("input[type=radio]").nth(1).check();
    const at = () => page.evaluate(() => Number(document.activeElement.dataset.position));
    await item.locator("[role=gridcell][tabindex='0']").focus();
    await page.keyboard.press("Home");
    const start = await at();
    await page.keyboard.press("ArrowRight");
    assert.equal(await at(), start + 1);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await at(), start);
    await page.keyboard.press("n");
    assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), / wrong: /);
    assert.equal(await item.locator("[role=gridcell][tabindex='0']").count(), 1, "one stop for the Tab key");
  }));

test("copies the replay line", () =>
  onPage(
    async (page) => {
      const item = await unfold(page, report.findings[0].id);
      await item.getByRole("button", { name: /Copy the replay line/ }).click();
      await item.getByRole("button", { name: "Copied" }).or(item.getByText("Copied", { exact: true })).first().waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), report.findings[0].replay);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("filters findings, and a link to one that is hidden shows it", async () => {
  const many = structuredClone(report);
  const [first] = many.findings;
  many.findings = [...Array(12).keys()].map((i) => ({ ...first, id: `F${i + 1}`, backend: i < 3 ? "one" : "other", verdict: i % 2 ? "crashed" : "wrong" }));
  const source = join(folder, "findings.json");
  writeFileSync(source, JSON.stringify(many));
  await onPage(
    async (page) => {
      const shown = () => page.locator("article.finding:visible").count();
      assert.equal(await shown(), 12);
      await page.locator(".choosing").getByLabel("Backend").selectOption("one");
      assert.equal(await shown(), 3);
      await page.locator(".choosing").getByLabel("Verdict").selectOption("crashed");
      assert.equal(await shown(), 1);
      assert.equal(await page.locator(".choosing [role=status]").innerText(), "1 of 12 findings");
      await page.evaluate(() => (location.hash = "F12"));
      await page.locator("#F12 > details[open]").waitFor();
    },
    { source: render(source, join(folder, "findings.html")) },
  );
});

test("filters cases by backend, operator, verdict and text", () =>
  onPage(async (page) => {
    const status = page.locator(".filters [role=status]");
    const all = report.results.id.length;
    assert.equal(await status.innerText(), `${all.toLocaleString("en-US")} of ${all.toLocaleString("en-US")} cases`);
    const shown = async () => Number((await status.innerText()).split(" ")[0].replaceAll(",", ""));
    await page.locator(".filters").getByLabel("Verdict").selectOption("any failure");
    assert.equal(await shown(), report.results.failing);
    const backend = report.results.backends.find((b) => b.failures.row.length > 0);
    await page.locator(".filters").getByLabel("Backend").selectOption(backend.name);
    assert.equal(await shown(), backend.failures.row.length);
    assert.equal(await page.locator(".cases .head [role=columnheader]").count(), 5);
    const row = backend.failures.row[0];
    await page.locator(".filters").getByLabel("Text").fill(report.results.id[row]);
    assert.ok((await shown()) >= 1);
    assert.ok((await page.locator(".cases .body").innerText()).includes(report.results.id[row]));
    await page.locator(".filters").getByLabel("Text").fill("no case is called this");
    assert.equal(await shown(), 0);
    await page.locator(".filters").getByLabel("Text").fill("");
    await page.locator(".filters").getByLabel("Operator").selectOption(report.results.operators[0]);
    const expected = backend.failures.row.filter((r) => report.results.operator[r] === 0).length;
    assert.equal(await shown(), expected);
  }));

test("says on what a backend conforms, and which cases have a reason", async () => {
  const told = structuredClone(report);
  const backend = told.backends.find((b) => b.conforms);
  backend.scope = "on QLinearConv (69 of 3,259 valid cases computed); ConvInteger not implemented";
  told.results.reasons = ["only 2-D"];
  for (const each of told.results.backends) each.reasons = { row: [], reason: [] };
  const results = told.results.backends.find((b) => b.name === backend.name);
  const row = results.verdict.findIndex((verdict) => ["unsupported", "vacuous"].includes(told.results.verdicts[verdict]));
  results.reasons = { row: [row], reason: [0] };
  const source = join(folder, "told.json");
  writeFileSync(source, JSON.stringify(told));
  await onPage(
    async (page) => {
      const head = page.locator("th.backend", { has: page.locator(".name", { hasText: new RegExp(`^${backend.name}$`) }) });
      assert.ok((await head.innerText()).includes(`✓ conforms ${backend.scope}`));
      await page.locator(".filters").getByLabel("Text").fill("only 2-D");
      const rows = page.locator(".cases .body [role=row]");
      assert.equal(await rows.count(), 1);
      assert.ok((await rows.innerText()).includes(told.results.id[row]));
      assert.ok((await rows.innerText()).includes(": only 2-D"));
    },
    { source: render(source, join(folder, "told.html")) },
  );
});

test("shows which quantized nodes of a model were judged", async () => {
  const whole = structuredClone(report);
  const uncovered = [{ operator: "QLinearSoftmax", reason: "no rule states it", nodes: 3 }];
  for (const backend of whole.backends) backend.quantized_nodes = [{ suite: "model", quantized: 12, covered: 9, uncovered, others: 0, others_covered: 0 }];
  const source = join(folder, "nodes.json");
  writeFileSync(source, JSON.stringify(whole));
  await onPage(
    async (page) => {
      await page.getByText("75 % of the quantized nodes of whole models judged, by backend", { exact: true }).click();
      const rows = (name) => page.getByRole("region", { name }).locator("tbody tr");
      await rows("Quantized nodes judged, by backend").first().waitFor();
      assert.deepEqual(await rows("Quantized nodes judged, by backend").allInnerTexts(), whole.backends.map(({ name }) => `model\t${name}\t9 of 12\t75 %`));
      assert.ok((await rows("Quantized nodes not judged").first().innerText()).endsWith("QLinearSoftmax\t3\tno rule states it"));
    },
    { source: render(source, join(folder, "nodes.html")) },
  );
});

// Two defects as two releases of one library: the one has causes that the other lacks.
test("shows which release has which cause", async () => {
  assert.equal(await pageHasMatrix(file), false);
  const two = JSON.parse(JSON.stringify(report).replaceAll("defect:half-away", "lib:1.0").replaceAll("defect:axis-ignored", "lib:2.0"));
  for (const backend of two.backends) if (backend.name.startsWith("lib:")) Object.assign(backend, { kind: "library", version: backend.name.slice(4) });
  const source = join(folder, "releases.json");
  writeFileSync(source, JSON.stringify(two));
  await onPage(
    async (page) => {
      const part = page.locator("#matrix");
      assert.ok((await part.innerText()).includes("lib: "));
      assert.deepEqual(await part.locator("thead th.number").allInnerTexts(), ["1.0", "2.0"]);
      const cell = part.locator("tbody tr").first().locator("a").first();
      const target = await cell.getAttribute("href");
      await cell.click();
      await page.waitForFunction((id) => document.getElementById(id)?.querySelector("details").open, target.slice(1));
    },
    { source: render(source, join(folder, "releases.html")) },
  );
});

test("a case leads to its finding", () =>
  onPage(async (page) => {
    await page.locator(".filters").getByLabel("Verdict").selectOption("any failure");
    // In one step: rows of another choice may still be there, and go away between a button's press and its release.
    await page.locator(".cases .body a").last().waitFor();
    await page.evaluate(() => [...document.querySelectorAll(".cases .body a")].at(-1).click());
    await page.waitForFunction(() => location.hash && document.getElementById(location.hash.slice(1).split("?")[0])?.querySelector("details")?.open);
  }));

test("has no serious violation of accessibility rules, light and dark, wide and narrow", async () => {
  for (const [colorScheme, width] of [["light", 1400], ["dark", 1400], ["light", 420]]) {
    await onPage(
      async (page) => {
        for (const finding of report.findings.slice(0, 3)) await unfold(page, finding.id);
        await assertAccessible(page, { rules: colorScheme === "dark" ? contrast : undefined });
      },
      { colorScheme, viewport: { width, height: 900 }, bypassCSP: true },
    );
  }
});

test("follows the colour scheme", async () => {
  const colours = [];
  for (const colorScheme of ["light", "dark"]) {
    await onPage(async (page) => colours.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)), { colorScheme });
  }
  assert.notEqual(colours[0], colours[1]);
});

test("does not scroll sideways on a narrow screen", () =>
  onPage(
    async (page) => {
      const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(content <= screen, `${content} > ${screen}`);
    },
    { viewport: { width: 420, height: 900 } },
  ));

test("keeps few rows of 10,000 cases in the document", async (context) => {
  const source = join(folder, "many.json");
  writeFileSync(source, JSON.stringify(manyCases(report, 10_000)));
  const many = render(source, join(folder, "many.html"));
  await onPage(
    async (page) => {
      const rows = () => page.locator(".cases [role=row]").count();
      assert.ok((await rows()) < 100, `${await rows()} rows`);
      await page.locator(".cases").evaluate((table) => (table.scrollTop = table.scrollHeight));
      await page.locator(".cases [aria-rowindex='10001']").waitFor();
      assert.ok((await rows()) < 100);
      const loaded = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
      context.diagnostic(`loaded in ${Math.round(loaded)} ms`);
    },
    { source: many },
  );
});

test("12,000 findings make a small page, and few of them are in the document", async (context) => {
  const source = join(folder, "many-findings.json");
  writeFileSync(source, JSON.stringify(manyFindings(report, 12_000)));
  const many = render(source, join(folder, "many-findings.html"));
  const { size } = statSync(many);
  context.diagnostic(`${size} bytes`);
  assert.ok(size <= 8_000_000, `${size} bytes`);
  await onPage(
    async (page) => {
      const findings = page.locator("article.finding");
      const status = page.locator(".choosing [role=status]");
      assert.equal(await status.innerText(), "12,000 of 12,000 findings");
      assert.ok((await findings.count()) < 100, `${await findings.count()} findings`);
      assert.ok((await page.locator("*").count()) < 5_000, `${await page.locator("*").count()} elements`);
      await page.locator("select[name=group]").selectOption("none");
      await page.waitForFunction(() => {
        document.querySelector("#findings").scrollIntoView({ block: "end" });
        return document.querySelector("#F12000") !== null;
      });
      assert.ok((await findings.count()) < 100);
      await page.evaluate(() => (location.hash = "F6000"));
      await page.locator("#F6000 > details[open]").waitFor();
      const box = await page.locator("#F6000").boundingBox();
      assert.ok(box.y >= 0 && box.y < 900, `at ${box.y}`);
      assert.equal(await page.locator("#F6001").count(), 1, "its neighbours are there");
      await page.locator("select[name=operator]").selectOption(report.findings[4].operator);
      assert.equal(await page.locator("#F12000").count(), 0);
      await page.locator("select[name=operator]").selectOption("any operator");
      assert.equal(await status.innerText(), "12,000 of 12,000 findings");
      await page.locator(".choosing").getByLabel("Text").fill("F11111");
      assert.equal(await status.innerText(), "2 of 12,000 findings", "beside the one that the address leads to");
      await page.locator("#F11111").waitFor();
      const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
      context.diagnostic(`first paint after ${Math.round(paint)} ms`);
    },
    { source: many },
  );
});

test("shows how a campaign went, in charts and in tables", async () => {
  const source = render(sample("campaign.json"), join(folder, "campaign.html"));
  for (const colorScheme of ["light", "dark"]) {
    await onPage(
      async (page) => {
        const part = page.locator("#campaign");
        const { course, runs } = campaign.campaign;
        const titles = await part.locator("figcaption strong").allTextContents();
        assert.deepEqual(titles, ["Causes", "Corner cases reached", "Cases over time", "Cases a second of one job"]);
        assert.equal(await part.locator("svg[role=img][aria-label]").count(), titles.length);
        assert.equal(await part.getByRole("region", { name: "Runs of the campaign" }).locator("tbody tr").count(), runs.length);
        const rows = async (title) => {
          const summary = part.getByText(`${title} as a table`, { exact: true });
          await summary.focus();
          await page.keyboard.press("Enter");
          const rows = part.getByRole("region", { name: title, exact: true }).locator("tbody tr");
          await rows.first().waitFor();
          return rows.allInnerTexts();
        };
        assert.equal((await rows("Cases a second of one job")).length, course.groups.length);
        const cornerCases = await rows("Corner cases reached");
        assert.equal(cornerCases.length, course.corner_cases.length);
        const causes = await rows("Causes");
        assert.equal(causes.length, new Set(campaign.findings.map((finding) => finding.signature)).size);
        const within = causes.map((text) => Number(text.split("\t").pop().replaceAll(",", "")));
        assert.deepEqual(within, [...within].sort((a, b) => b - a), "the newest first");
        assert.ok(within.every((cases) => cases > 0 && cases <= campaign.results.cases));
        await assertAccessible(page, { within: "#campaign", rules: colorScheme === "dark" ? contrast : undefined });
      },
      { source, colorScheme, bypassCSP: true },
    );
  }
});

test("marks the causes that the last night of a campaign found", async () => {
  const nightly = structuredClone(campaign);
  const [run] = nightly.campaign.runs;
  const half = run.cases / 2;
  nightly.campaign.runs = ["2026-11-25", "2026-11-26"].map((day) => ({ ...run, started: `${day}T01:00:00Z`, cases: half }));
  const late = nightly.findings.pop();
  nightly.findings.push({ ...late, signature: "met-late", first_case: half + 100 });
  const source = join(folder, "nightly.json");
  writeFileSync(source, JSON.stringify(nightly));
  await onPage(
    async (page) => {
      const newest = await page.locator("#campaign .brief > li").allInnerTexts();
      assert.match(newest[0], /met-late new\n.*\n.*in the run of 11-26$/);
      assert.ok(newest.slice(1).every((text) => !text.includes(" new") && text.endsWith("in the run of 11-25")), newest.join("; "));
      assert.ok((await page.locator("#campaign svg").first().textContent()).includes("11-25"), "where the first night ended");
    },
    { source: render(source, join(folder, "nightly.html")) },
  );
});

/** A chain of `count` nodes, each of which also reads what some earlier one gives; two outputs. */
function longGraph(count) {
  const value = (i) => ({ name: `value_with_a_long_name_${i}`, type: "float", shape: [1, 2, 3] });
  const name = (i) => value(i).name;
  const nodes = [...Array(count).keys()].map((i) => ({ op_type: "Add", attributes: { pads: "[1,0,1,0]" }, inputs: [name(i), "c", name(Math.max(0, i - 1 - (i % 5)))], outputs: [name(i + 1)] }));
  return { nodes, inputs: [value(0)], initializers: [{ ...value(0), name: "c", shape: [], data: ["0.5"] }], computed: nodes.map((_, i) => value(i + 1)), outputs: [name(count), name(count >> 1)] };
}

// What is wrong in a drawing: boxes that touch, arrows that do not end at a box below, text beside its box.
const faults = (svg) => {
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const boxes = [...svg.querySelectorAll(".box")].map((box) => ({ shape: box.querySelector("rect").getBoundingClientRect(), texts: [...box.querySelectorAll("text:not(rect.paper + text)")].map((text) => text.getBoundingClientRect()) }));
  const result = [];
  boxes.forEach(({ shape, texts }, i) => {
    if (boxes.some(({ shape: other }, k) => k < i && shape.left < other.right && other.left < shape.right && shape.top < other.bottom && other.top < shape.bottom)) result.push(`box ${i} lies on another`);
    if (texts.some((text) => text.left < shape.left || text.right > shape.right || text.top < shape.top || text.bottom > shape.bottom)) result.push(`text beside box ${i}`);
  });
  for (const edge of svg.querySelectorAll(".edge")) {
    const [line, tip] = [...edge.children].map((child) => child.getBoundingClientRect());
    const [x] = middle(tip);
    if (!boxes.some(({ shape }) => shape.left <= x && x <= shape.right && Math.abs(shape.top - tip.bottom) < 1.5)) result.push(`${edge.dataset.value} ends nowhere`);
    if (tip.bottom < line.bottom - 1.5) result.push(`${edge.dataset.value} goes up`);
  }
  return result;
};

test("draws what the backend computes beside the graph as stated", async () => {
  const shown = structuredClone(graphs);
  const { example } = shown.findings[0];
  example.rewritten = structuredClone(example.graph);
  example.rewritten.nodes.forEach((node) => (node.op_type = "Fused"));
  const changed = join(folder, "rewritten.json");
  writeFileSync(changed, JSON.stringify(shown));
  await onPage(
    async (page) => {
      const item = await unfold(page, "F1");
      assert.equal(await item.locator("svg.graph").count(), 2);
      const svg = item.getByRole("img", { name: `As ${shown.findings[0].backend} computes it` });
      assert.equal(await svg.locator(".box.node").count(), example.rewritten.nodes.length);
      assert.ok((await svg.textContent()).includes("Fused"));
      assert.deepEqual(await svg.evaluate(faults), []);
    },
    { source: render(changed, join(folder, "rewritten.html")) },
  );
});

test("draws the graph of a finding and marks the output that is wrong, by a word too", async () => {
  const shown = structuredClone(graphs);
  Object.assign(shown.findings[1].example, { graph: longGraph(26) });
  Object.assign(shown.findings[1].worst, { output: 1 });
  const changed = join(folder, "graphs.json");
  writeFileSync(changed, JSON.stringify(shown));
  const source = render(changed, join(folder, "graphs.html"));
  for (const [colorScheme, width] of [["light", 1400], ["dark", 420]]) {
    await onPage(
      async (page) => {
        for (const { id, worst, example } of shown.findings) {
          const item = await unfold(page, id);
          const svg = item.getByRole("img", { name: `${id}: Graph of ${example.id}` });
          await svg.waitFor();
          const { nodes, computed, outputs } = example.graph;
          const wrong = outputs[worst.output ?? 0];
          assert.equal(await svg.locator(".box.node").count(), nodes.length);
          const text = await svg.textContent();
          for (const value of computed) assert.ok(text.includes(`${value.name} ${value.type} [${value.shape.join(",")}]`), value.name);
          assert.deepEqual(await svg.locator(".edge.wrong").evaluateAll((edges) => edges.map((edge) => edge.dataset.value)), [wrong]);
          const marked = await svg.locator(".box.wrong").textContent();
          for (const part of [wrong, "✗ wrong", `got ${worst.got}`, `admissible ${worst.admissible}`]) assert.ok(marked.includes(part), part);
          assert.ok(text.includes(`✗ wrong: ${wrong}`));
          assert.deepEqual(await svg.evaluate(faults), [], id);
          await item.getByText("The graph as a list", { exact: true }).click();
          await item.locator("ol.values").waitFor();
          const lines = await item.locator("ol.values li").allInnerTexts();
          assert.equal(lines.length, nodes.length + outputs.length + example.graph.inputs.length + example.graph.initializers.length);
          assert.ok(lines.some((line) => line.startsWith(`output ${wrong}`) && line.includes(`✗ wrong: at [${worst.index.join(",")}], got ${worst.got}`)));
          assert.ok((await item.locator(".conclusions").innerText()).includes(`${wrong}[${worst.index.join(",")}] got`));
        }
        const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= screen, `${content} > ${screen}`);
        await assertAccessible(page, { within: "#findings", rules: colorScheme === "dark" ? contrast : undefined });
      },
      { source, colorScheme, viewport: { width, height: 900 }, bypassCSP: true },
    );
  }
  await onPage(async (page) => {
    await unfold(page, report.findings[0].id);
    assert.equal(await page.locator("svg.graph").count(), 0, "none of a single node");
  });
});

test("shows when the causes of a folder's campaigns were met", async () => {
  const nightly = structuredClone(campaign);
  const [cause] = nightly.findings;
  const known = { backend: cause.backend, operator: cause.operator, verdict: cause.verdict, signature: cause.signature, text: "wrong" };
  nightly.campaign.causes = [
    { ...known, first_seen: "2026-11-20T01:00:00Z", last_seen: "2026-11-26T01:00:00Z" },
    { ...known, signature: "gone-since", first_seen: "2026-11-20T01:00:00Z", last_seen: "2026-11-21T01:00:00Z" },
    { ...known, signature: "of-today", first_seen: "2026-11-26T01:00:00Z", last_seen: "2026-11-26T01:00:00Z" },
  ];
  const file = join(folder, "known.json");
  writeFileSync(file, JSON.stringify(nightly));
  await onPage(
    async (page) => {
      const figure = page.locator("#campaign figure", { hasText: "Causes over nights" });
      await figure.locator("summary").click();
      const rows = await figure.locator("tbody tr").allInnerTexts();
      assert.equal(rows.length, 3);
      assert.ok(rows[0].includes("of-today") && rows[0].includes("2026-11-26"), "the newest comes first");
      assert.ok((await figure.locator("svg").first().getAttribute("aria-description")).includes("2026-11-20: 2 causes so far"));
    },
    { source: render(file, join(folder, "known.html")) },
  );
});

test("a merged campaign, and one without blocks, have a page", async () => {
  const merged = structuredClone(campaign);
  merged.campaign.progress = [];
  const empty = structuredClone(campaign);
  delete empty.campaign.course;
  delete empty.results;
  for (const finding of empty.findings) delete finding.first_case;
  for (const [name, changed, charts] of [["merged", merged, 4], ["empty", empty, 1]]) {
    const source = join(folder, `${name}.json`);
    writeFileSync(source, JSON.stringify(changed));
    await onPage(async (page) => assert.equal(await page.locator("#campaign svg").count(), charts), { source: render(source, join(folder, `${name}.html`)) });
  }
});

/** The report with a whole model of so many layers: the 17th, or the last, is wrong, and some behind it. */
function withModel(layers) {
  const first = Math.min(16, layers - 1);
  const [finding] = report.findings;
  const layer = (_, position) => {
    const id = report.results.id[position] ?? `layer${position}`;
    if (position < first) return { id, state: position % 11 === 10 ? "not-judged" : "right", elements: 64 };
    if (position > first && position % 7 !== 0) return { id, state: "fed-wrong", elements: 64 };
    return { id, state: position === first ? "wrong" : "wrong-behind", elements: 144, wrong_elements: 8, worst: { index: [0], got: "3", admissible: "{5}", distance: 2 }, finding: finding.id };
  };
  return { ...structuredClone(report), model: { backend: "mine", origin: "activations of a run", disturbed: "1 Gemm instead of 2", layers: Array.from({ length: layers }, layer), first_wrong: first } };
}

test("shows the layers of a whole model, and leads to the wrong ones", async () => {
  for (const [layers, width, colorScheme] of [[1, 420, "light"], [60, 1400, "light"], [1000, 420, "dark"]]) {
    const model = withModel(layers);
    const source = join(folder, `model-${layers}.json`);
    writeFileSync(source, JSON.stringify(model));
    const [finding] = model.findings;
    const first = model.model.first_wrong;
    await onPage(
      async (page) => {
        const part = page.locator("#layers");
        assert.equal(await part.locator(".layers a").count(), layers);
        for (const { state } of model.model.layers) assert.ok((await part.locator(`.layers a.layer-${state}`).count()) > 0, state);
        assert.ok((await part.innerText()).includes(`The first wrong layer: ${first + 1} of ${layers.toLocaleString("en-US")}, ${model.model.layers[first].id}`));
        assert.equal(await part.locator(".layers a.first").getAttribute("data-position"), String(first));
        assert.equal(await part.locator(".layers a[tabindex='0']").count(), 1, "one stop for the Tab key");
        const detail = part.locator(".layer-detail");
        const says = `${model.model.layers[first].id}: wrong itself; 5.6 % of 144 elements wrong, greatest distance 2; ${finding.id}: ${finding.verdict}, ${finding.signature}`;
        assert.ok((await detail.innerText()).includes(says), await detail.innerText());
        if (layers > 1) {
          await part.locator(".layers a").nth(3).hover();
          assert.ok((await detail.innerText()).includes(`${model.model.layers[3].id}: right; 64 elements judged`));
          await part.locator(".layers a").first().focus();
          await page.keyboard.press("n");
          assert.ok((await page.evaluate(() => document.activeElement.getAttribute("aria-label"))).includes(says));
        }
        await part.getByText("Wrong layers as a table").click();
        const wrong = model.model.layers.filter(({ state }) => state.startsWith("wrong")).length;
        await part.getByRole("region", { name: "Wrong layers" }).locator("tbody tr").first().waitFor();
        assert.equal(await part.getByRole("region", { name: "Wrong layers" }).locator("tbody tr").count(), wrong);
        await assertAccessible(page, { within: "#layers", rules: colorScheme === "dark" ? contrast : undefined });
        const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= screen, `${content} > ${screen}`);
        await part.locator(".layers a.first").click();
        await page.locator(`#${finding.id} > details[open]`).waitFor();
        if (layers === 1) return;
        await part.locator(".layers a").nth(3).click();
        await page.waitForFunction((id) => document.querySelector(".filters input").value === id, model.model.layers[3].id);
      },
      { source: render(source, join(folder, `model-${layers}.html`)), viewport: { width, height: 900 }, colorScheme, bypassCSP: true },
    );
  }
  await onPage(async (page) => assert.equal(await page.locator("#layers").count(), 0, "no model, no layers"));
});

test("embedded text cannot end its element", async () => {
  const hostile = structuredClone(report);
  const text = "</script><script>window.broken = true</script><!-- \u2028\u2029";
  hostile.findings[0].detail = text;
  hostile.findings[0].example.id = text;
  const source = join(folder, "hostile.json");
  writeFileSync(source, JSON.stringify(hostile));
  await onPage(
    async (page) => {
      assert.equal(await page.evaluate(() => window.broken), undefined);
      await unfold(page, hostile.findings[0].id);
      assert.ok((await page.locator("#findings").textContent()).includes(text));
    },
    { source: render(source, join(folder, "hostile.html")) },
  );
});

test("a report without pictures has a page", async () => {
  const plain = structuredClone(report);
  delete plain.results;
  for (const backend of plain.backends) for (const result of Object.values(backend.operators)) delete result.errors;
  for (const finding of plain.findings) {
    delete finding.picture;
    delete finding.telling;
    delete finding.shrinking?.original?.picture;
  }
  const source = join(folder, "plain.json");
  writeFileSync(source, JSON.stringify(plain));
  await onPage(
    async (page) => {
      await unfold(page, plain.findings[0].id);
      assert.match(await page.locator("#findings").innerText(), /No picture/);
    },
    { source: render(source, join(folder, "plain.html")) },
  );
});
