// The findings of a report as SARIF have the types of SARIF 2.1.0, which @types/sarif states; other members are refused.
//
// usage: QCONFORM=PROGRAM QCONFORM_SAMPLES=FOLDER node sarif.mjs
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";

const report = join(process.env.QCONFORM_SAMPLES, "report.json");
const sarif = (...source) => execFileSync(process.env.QCONFORM, ["report", "sarif", report, ...source], { encoding: "utf8" });
const text = sarif("--source", "src/my kernel.cc:7");

// Returns the compiler's errors; an empty text where the document is right.
function problems(document) {
  const folder = mkdtempSync(join(process.cwd(), "sarif-"));
  try {
    writeFileSync(join(folder, "sample.ts"), `import type { Log } from "sarif";\nexport const log: Log = ${JSON.stringify(document, null, 1)};\n`);
    const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, module: "esnext", moduleResolution: "bundler" };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["sample.ts"] }));
    return spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", folder], { encoding: "utf8" }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a report's SARIF has the types of SARIF 2.1.0", () => {
  const document = JSON.parse(text);
  assert.equal(problems(document), "");
  assert.ok(document.runs[0].results.length > 0);
  for (const result of document.runs[0].results) {
    assert.equal(document.runs[0].tool.driver.rules[result.ruleIndex].id, result.ruleId);
    assert.equal(result.locations[0].physicalLocation.artifactLocation.uri, "src/my%20kernel.cc");
    assert.equal(result.locations[0].physicalLocation.region.startLine, 7);
  }
});

test("without a source, no file is invented", () => {
  const document = JSON.parse(sarif());
  assert.equal(problems(document), "");
  for (const result of document.runs[0].results) {
    const file = result.locations[0].physicalLocation?.artifactLocation.uri ?? "";
    assert.doesNotMatch(file, /^\/|[:@]/);
    assert.ok(result.locations[0].logicalLocations[0].fullyQualifiedName.length > 0);
  }
});

test("a document that is not SARIF is refused", () => {
  for (const spoil of [
    (result) => (result.level = "worse"),
    (result) => (result.colour = "red"),
    (result) => (result.message = "text"),
  ]) {
    const document = JSON.parse(text);
    spoil(document.runs[0].results[0]);
    assert.match(problems(document), /sample\.ts\(\d+,\d+\): error/);
  }
});
