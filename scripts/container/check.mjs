// Checks a Containerfile without building it: node check.mjs CONTAINERFILE SOURCE_FOLDER
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";

const [file, root] = process.argv.slice(2);
const text = readFileSync(file, "utf8");
const mistakes = [];
const lineOf = (instruction) => instruction.getRange().start.line + 1;
const mistake = (line, rule) => mistakes.push(`${file}:${line}: ${rule}`);

for (const { range, message } of validate(text, {})) mistake(range.start.line + 1, message);

const instructions = DockerfileParser.parse(text).getInstructions();
const stages = [];
for (const one of instructions) {
  const arguments_ = one.getArguments().map((argument) => argument.getValue());
  const stage = stages.at(-1);
  switch (one.getInstruction().toUpperCase()) {
    case "FROM":
      stages.push({ line: lineOf(one), name: one.getBuildStage(), image: one.getImage(), user: "root", command: "" });
      break;
    case "USER":
      stage.user = arguments_[0];
      break;
    case "CMD":
      stage.command = one.getArgumentsContent();
      break;
    case "COPY": {
      const from = one.getFromFlag()?.getValue();
      if (from !== undefined) {
        if (!stages.some(({ name }) => name === from)) mistake(lineOf(one), `no stage is called ${from}`);
        break;
      }
      for (const source of arguments_.slice(0, -1)) {
        if (!existsSync(join(root, source))) mistake(lineOf(one), `${source} is not in the source tree`);
      }
      break;
    }
    case "RUN":
      for (const [script] of one.getArgumentsContent().matchAll(/\bscripts\/[\w/-]+/g)) {
        if (!existsSync(join(root, script))) mistake(lineOf(one), `${script} is not in the source tree`);
      }
      break;
  }
}

const last = stages.at(-1);
if (stages.length < 2) mistake(1, "one stage: the image would hold the compiler and the sources");
for (const { image, line } of stages) {
  if (!/^debian:12(-slim)?$/.test(image)) mistake(line, `the base is ${image}, not Debian 12`);
}
if (/^(root|0)(:|$)/.test(last.user)) mistake(last.line, "the image runs as root");
if (!last.command.includes("quickstart")) mistake(last.line, "the image does not run quickstart");

for (const line of mistakes) console.error(line);
if (mistakes.length > 0) process.exit(1);
console.log(`${stages.length} stages, ${instructions.length} instructions, user ${last.user}: no mistake`);
