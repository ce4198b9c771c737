// The page carries its documents deflated and in base64.
import type { Bench, Gate, Matrix, Report } from "./model";

interface Documents {
  report: Report;
  bench: Bench | null;
  matrix?: Matrix | null;
  comparison: Gate | null;
}

export async function documents(): Promise<Documents> {
  const text = atob(document.getElementById("documents")!.textContent!);
  // Uint8Array.from() would take a second for a large report.
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
