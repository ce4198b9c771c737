// Bundles the viewer into one page, and writes that as C++ source for qconform.
//
// usage: node build.mjs OUT.cc
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (out === undefined) {
  console.error("usage: node build.mjs OUT.cc");
  process.exit(2);
}

async function bundled(file, options = {}) {
  const result = await build({
    entryPoints: [join(folder, "src", file)],
    bundle: true,
    minify: true,
    write: false,
    charset: "ascii",
    legalComments: "none",
    logLevel: "warning",
    ...options,
  });
  return result.outputFiles[0].text.trim();
}

// Returns the text before and behind the documents, which C++ puts there.
function pieces(template, parts) {
  const filled = template.replace(/@(STYLE|SCRIPT)@/g, (_, name) => parts[name]);
  const around = filled.split("@DOCUMENTS@");
  if (around.length !== 2) throw new Error("the template lacks the place for the documents");
  return around;
}

// Compilers limit the length of one literal.
function literals(text) {
  const lines = [];
  for (let i = 0; i < text.length; i += 8000) {
    const chunk = text.slice(i, i + 8000).replace(/[\\"?]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t");
    lines.push(`    std::string_view("${chunk}"),`);
  }
  return lines.join("\n");
}

function source(parts) {
  const list = (name, text) => `constexpr std::string_view ${name}[] = {\n${literals(text)}\n};`;
  return `// Written by reports/viewer/build.mjs.
#include "reports/render/viewer.h"

namespace qconform::report {
namespace {

${["kBegin", "kEnd"].map((name, i) => list(name, parts[i])).join("\n\n")}

constexpr Viewer kViewer{kBegin, kEnd};

}  // namespace

const Viewer* viewer() {
  return &kViewer;
}

std::string_view why_no_viewer() {
  return "";
}

}  // namespace qconform::report
`;
}

const [style, script, template] = await Promise.all([
  bundled("style.css"),
  bundled("main.ts", { format: "iife", target: "es2022" }),
  readFile(join(folder, "template.html"), "utf8"),
]);
// "</script" ends the element wherever it stands.
const parts = pieces(template, { STYLE: style, SCRIPT: script.replaceAll("</script", "<\\/script") });
await writeFile(out, source(parts));
