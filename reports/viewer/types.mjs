// Writes the type of a document that the page shows, from the document's JSON Schema.
//
// usage: node types.mjs SCHEMA.json NAME OUT.ts
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const [schema, name, out] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: node types.mjs SCHEMA.json NAME OUT.ts");
  process.exit(2);
}

// json-schema-to-typescript lets what stands beside a $ref replace the target's members of the same name, and
// gives the result a type of its own ("Element1"). From allOf it makes the intersection of both types.
function separate(_, value) {
  if (value?.$ref === undefined || Object.keys(value).length === 1) return value;
  const { $ref, ...beside } = value;
  return { ...beside, allOf: [{ $ref }] };
}

// Either of the first two would become the type's name.
const { $id, title, ...rules } = JSON.parse(await readFile(schema, "utf8"), separate);
const types = await compile(rules, name, {
  additionalProperties: false,
  bannerComment: "// Written by reports/viewer/types.mjs.",
});
await writeFile(out, types);
