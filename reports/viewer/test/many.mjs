// Reports with much in them, made from one with little.

/** Repeats the single cases of the report. */
export function manyCases(report, count) {
  const { results } = report;
  const rows = [...Array(count).keys()].map((row) => row % results.id.length);
  const repeated = (column) => rows.map((row) => column[row]);
  const backends = results.backends.map((backend) => {
    const failures = new Map(backend.failures.row.map((row, i) => [row, i]));
    const failing = [...rows.keys()].filter((row) => failures.has(rows[row]));
    const taken = (column) => failing.map((row) => column[failures.get(rows[row])]);
    return {
      name: backend.name,
      verdict: repeated(backend.verdict),
      tier: repeated(backend.tier),
      failures: { row: failing, wrong_elements: taken(backend.failures.wrong_elements), finding: taken(backend.failures.finding) },
      reasons: { row: [], reason: [] },
    };
  });
  return {
    ...report,
    results: {
      ...results,
      cases: count,
      suite: repeated(results.suite),
      operator: repeated(results.operator),
      id: rows.map((row, i) => `${results.id[row]}/${i}`),
      summary: repeated(results.summary),
      backends,
    },
  };
}

// A finding would contradict itself with other numbers in these.
const KEPT = new Set(["shape", "begin", "extent", "wrong", "worst", "index", "geometry", "wrong_elements", "type", "name", "admissible"]);
// The program bounds the values in the maps of a report so.
const MOST_VALUES = 400_000;

function valuesIn({ got, inputs }) {
  return got.values.length + inputs.reduce((sum, input) => sum + input.values.length, 0);
}

/** Makes findings like those of the report, with other backends and causes, and other digits in every text and number. */
export function manyFindings(report, count) {
  let state = 1;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const digits = (text) => text.replace(/\d+/g, (run) => String(random(10 ** Math.min(run.length, 9))));
  const varied = (value, key) => {
    if (KEPT.has(key)) return value;
    if (typeof value === "string") return digits(value);
    if (typeof value === "number") return Number.isInteger(value) ? value && 1 + random(2 * value) : (value * random(2 ** 31)) / 2 ** 31;
    if (Array.isArray(value)) return value.map((each) => varied(each, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, name === "values" ? each.map(digits) : varied(each, name)]));
  };
  let values = 0;
  const bounded = (part) => {
    values += part.picture ? valuesIn(part.picture) : 0;
    return values > MOST_VALUES ? { ...part, picture: undefined } : part;
  };
  const findings = [...Array(count).keys()].map((i) => {
    const from = report.findings[i % report.findings.length];
    const { shrinking, telling } = from;
    const id = `F${i + 1}`;
    const backend = `library:${random(40)}.${random(10)}@${["avx2", "avx512", "neon", "scalar"][random(4)]}`;
    const finding = varied({ ...bounded(from), shrinking: { ...shrinking, original: bounded(shrinking.original) }, telling: bounded(telling) });
    return {
      ...finding,
      id,
      backend,
      operator: from.operator,
      verdict: from.verdict,
      signature: `${from.signature}-${random(900)}`,
      example: { ...finding.example, file: `${id}.json`, model: `${id}.onnx`, folder: id },
      replay: `qconform replay run/${id}.json --backend ${backend}`,
    };
  });
  return { ...report, findings };
}
