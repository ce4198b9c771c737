// What the theme leaves out for keyboards and screen readers: a name of the search dialog, and focus for whatever scrolls.
const scrolling = ".md-search__scrollwrap, pre > code, .md-typeset__scrollwrap, .md-sidebar__scrollwrap";

function makeFocusable(element) {
  if (element.matches?.(scrolling) && element.getAttribute("tabindex") !== "0") element.setAttribute("tabindex", "0");
}

document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
document.querySelectorAll(scrolling).forEach(makeFocusable);
// The theme puts tables into boxes later, and takes the focus from code that scrolls by less than a pixel.
new MutationObserver((changes) => {
  for (const change of changes) [change.target, ...change.addedNodes].forEach(makeFocusable);
}).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["tabindex"] });
