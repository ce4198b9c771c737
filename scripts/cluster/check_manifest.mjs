// Holds a Job of Kubernetes to the schemas of its API, and its field names to the types made of them: a field that
// is misspelt satisfies the schemas.
//
// usage: node check_manifest.mjs FILE.yaml      in a folder with the packages of package.json
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Job } from "kubernetes-models/batch/v1";
import ts from "typescript";
import { parse } from "yaml";

function schemaProblems(manifest) {
  try {
    new Job(manifest).validate();
    return [];
  } catch (error) {
    return [String(error.message ?? error)];
  }
}

function fieldProblems(manifest) {
  const source = join(process.cwd(), `manifest-${process.pid}.ts`);
  const text = JSON.stringify(manifest, null, 1);
  writeFileSync(source, `import type { IJob } from "kubernetes-models/batch/v1";\nexport const job: IJob = ${text};\n`);
  try {
    const program = ts.createProgram([source], {
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      types: [],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
    });
    return ts.getPreEmitDiagnostics(program).map((d) => ts.flattenDiagnosticMessageText(d.messageText, "\n  "));
  } finally {
    rmSync(source);
  }
}

const file = process.argv[2];
const manifest = parse(readFileSync(file, "utf8"));
if (manifest.apiVersion !== "batch/v1" || manifest.kind !== "Job") {
  console.error(`${file}: expected a Job of batch/v1, got ${manifest.kind} of ${manifest.apiVersion}`);
  process.exit(1);
}
const problems = [...schemaProblems(manifest), ...fieldProblems(manifest)];
for (const problem of problems) console.error(`${file}: ${problem}`);
console.log(`${file}: ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
