// A report with many single cases: those that it has, again and again.
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
