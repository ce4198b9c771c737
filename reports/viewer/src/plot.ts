// What all charts of the page have in common.

export const STYLE = { background: "transparent", color: "var(--ink)", fontSize: "11px", overflow: "visible" };

/** One picture with a name, for those who do not see it; the names of its groups mean nothing to them. */
export function drawn(chart: Element): Element {
  for (const svg of chart instanceof SVGSVGElement ? [chart] : chart.querySelectorAll("svg")) {
    svg.setAttribute("role", "img");
    if (!svg.hasAttribute("aria-label")) svg.setAttribute("aria-label", "legend");
    for (const group of svg.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
  }
  return chart;
}
