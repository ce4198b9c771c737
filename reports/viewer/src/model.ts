// The JSON that the page shows: reports/schema/report-1.schema.json and bench-1.schema.json. Members that
// older reports lack are optional.

export type Counts = Record<string, number>;

export interface Tiers {
  reached: string | null;
  elements: Counts;
}

export interface ErrorBin {
  up_to: number | null;
  low: number;
  high: number;
}

export interface Errors {
  incomparable: number;
  bins: ErrorBin[];
}

export interface OperatorResult {
  cases: number;
  verdicts: Counts;
  waived: Counts;
  elements: number;
  wrong_elements: number;
  tiers: Tiers | null;
  errors?: Errors;
  unsupported_reasons: Counts;
  mistrusted_reasons: Counts;
}

export interface Relation {
  id: string;
  checked: number;
  held: number;
  broken: number;
  latitude: number;
  refused: number;
  failed: number;
  not_applicable: number;
}

export interface Backend {
  name: string;
  version: string;
  kind: string;
  seconds: number;
  conforms: boolean;
  decides: boolean;
  operators: Record<string, OperatorResult>;
  relations: { failed_bases: number; by_relation: Relation[] } | null;
}

export interface Element {
  index: number[];
  got: string;
  admissible: string;
  exact?: string;
  distance: number | "inf";
}

/** `extent[d]` elements from `begin[d]` on; values in row-major order. */
export interface TensorBox {
  name: string;
  type: string;
  shape: number[];
  begin: number[];
  extent: number[];
  values: string[];
}

export interface Axis {
  input: number;
  kernel: number;
  stride: number;
  dilation: number;
  pad_begin: number;
  pad_end: number;
}

export interface Geometry {
  group_input_channels: number;
  group_output_channels: number;
  axes: Axis[];
}

export interface Picture {
  got: TensorBox;
  expected: string[];
  exact: string[];
  /** null: the expected value alone. */
  admissible: (string | null)[];
  /** Positions in the lists above. */
  wrong: number[];
  wrong_elements: number;
  worst: number[];
  geometry?: Geometry;
  parameter?: number[];
  inputs: TensorBox[];
}

export interface Defect {
  id: string;
  description: string;
  rule: string;
  stages: string;
  evidence: string;
}

export interface Diagnosis {
  status: string;
  defects: Defect[];
  arithmetic: string;
  examined: number;
  trial: { cases: number; failing: number; reproduced: number };
  where: string;
  region: { conditions: string[]; failing: number; passing: number; passing_inside: number };
}

export interface Finding {
  id: string;
  backend: string;
  operator: string;
  verdict: string;
  signature: string;
  /** Of a campaign: index of its first case. */
  first_case?: number;
  cases: number;
  detail: string;
  elements: number;
  wrong_elements: number;
  rule?: string;
  log?: string;
  worst?: Element;
  example: { id: string; summary: string; file: string; model: string; folder: string };
  replay: string;
  related?: { ids: string[]; file: string };
  waiver?: { id: string; reason: string; reference: string };
  diagnosis?: Diagnosis;
  shrinking?: {
    ending: string;
    runs: number;
    steps: number;
    seconds: number;
    original?: { id: string; summary: string; file: string; picture?: Picture };
  };
  picture?: Picture;
  telling?: { id: string; summary: string; file: string; picture?: Picture };
}

export interface Coverage {
  model: string;
  strength: number;
  parameters: number;
  classes: number;
  cases: number;
  feasible: number;
  infeasible: number;
  covered: number;
}

export interface Suite {
  name: string;
  cases: number;
  digest: string;
  expectations: Counts;
  elements: number;
  exact_ties: number;
  near_ties: number;
  skipped: Counts;
  disputed: string[];
  coverage: Coverage[];
}

export interface Hazard {
  id: string;
  cases: number;
  elements: number;
  by: { operator: string; types: string; cases: number; elements: number }[];
}

/** Columns of one length; `suite`, `operator`, `verdict` and `tier` are positions in the lists of names. */
export interface Results {
  cases: number;
  failing: number;
  suites: string[];
  operators: string[];
  verdicts: string[];
  tiers: string[];
  suite: number[];
  operator: number[];
  id: string[];
  summary: string[];
  backends: {
    name: string;
    verdict: number[];
    tier: (number | null)[];
    failures: { row: number[]; wrong_elements: number[]; finding: string[] };
  }[];
}

export interface CampaignRun {
  machine: string;
  started: string;
  seconds: number;
  jobs: number;
  shard: string;
  cases: number;
  ended: string;
}

/** In the order of the blocks: the same whoever ran them, and when. */
export interface Course {
  group_blocks: number;
  groups: { first: number; cases: number; failures: number; seconds: number }[];
  /** Index of the first case that reached it. */
  hazards: { id: string; case: number }[];
}

export interface Campaign {
  block_cases: number;
  blocks: [number, number][];
  parts: { block: number; cases: number }[];
  runs: CampaignRun[];
  /** By elapsed time; empty for a merged campaign. */
  progress: { seconds: number; cases: number; failures: number; findings: number }[];
  /** Of a campaign that coverage guides; it has no blocks. */
  engine?: { name: string; executions: number; edges: number; features: number; kept: number; crashes: number };
  course?: Course;
}

export interface Environment {
  version: string;
  commit: string;
  compiler: string;
  cpu: string;
  operating_system: string;
  started: string;
  kernels: string[];
  kernels_not_run: string[];
}

export interface Report {
  format: string;
  version: number;
  conforms: boolean;
  environment: Environment;
  command: string[];
  seed: number;
  profile: string;
  overflow: string;
  suites: Suite[];
  hazards: Hazard[];
  backends: Backend[];
  findings: Finding[];
  results?: Results;
  campaign?: Campaign;
  seconds: Record<string, number>;
}

export interface Interval {
  value: number;
  low: number;
  high: number;
}

export interface Timing {
  backend: string;
  verdict: string;
  detail: string;
  layout: string;
  threads: number;
  runs: number;
  seconds?: { minimum: number; median: number; lower_quartile: number; upper_quartile: number };
  gmacs?: number;
  bytes_per_second?: number;
  peak_share?: number;
}

export interface Layer {
  name: string;
  set: string;
  operator: string;
  kind: string;
  macs: number;
  bytes: number;
  timings: Timing[];
  ratios: { against: string; counts: boolean; speed: Interval }[];
}

export interface Bench {
  environment: Environment;
  command: string[];
  layout: string;
  threads: number;
  cpus: number[];
  backends: { name: string; version: string; kind: string; peak: string }[];
  layers: Layer[];
  means: { layers: string; against: string; counted: number; left_out: number; speed?: Interval }[];
}
