// The documents that the page shows. types.mjs writes their types from the JSON Schemas when tests are built;
// this file names the parts to which the schemas give no name.
import type { Gate } from "../schema/gate";
import type { Matrix } from "../schema/matrix";
import type { Backend, Campaign, Errors, Finding, Picture } from "../schema/report";

export type * from "../schema/report";
export type { Gate } from "../schema/gate";
export type { Matrix } from "../schema/matrix";
export type { Bench, Interval, Layer, Timing } from "../schema/bench";

export type Axis = Geometry["axes"][number];
export type Timeline = NonNullable<Campaign["course"]>;
export type ErrorBin = Errors["bins"][number];
export type Graph = NonNullable<Finding["example"]["graph"]>;
export type GraphNode = Graph["nodes"][number];
export type Geometry = NonNullable<Picture["geometry"]>;
export type OperatorResult = Backend["operators"][string];
export type Change = Gate["changes"][number];
export type ComparedCause = Gate["causes"][number];
export type MatrixRow = Matrix["rows"][number];
export type MatrixCell = MatrixRow["cells"][number];
