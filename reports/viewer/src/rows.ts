// Only those rows of a list are in the document that are in sight.

export interface Row {
  /** Gives the same element every time: it keeps what one has opened in it. */
  element: () => HTMLElement;
  /** It is an estimate until the element is measured. */
  height: number;
}

// A list of so many rows is in the document as a whole, so that the browser's own search finds all of it.
const WHOLE = 100;
const MARGIN = 800; // pixels beyond what is in sight

export class Rows {
  private rows: Row[] = [];
  private readonly measured = new WeakMap<Element, Row>();
  private readonly sizes = new ResizeObserver((entries) => {
    for (const { target, borderBoxSize } of entries) if (target.isConnected) this.measured.get(target)!.height = borderBoxSize[0]!.blockSize;
    this.draw();
  });

  constructor(private readonly place: HTMLElement) {
    for (const event of ["scroll", "resize"]) window.addEventListener(event, () => this.draw(), { passive: true });
  }

  show(rows: Row[]): void {
    this.rows = rows;
    this.place.classList.toggle("long", rows.length > WHOLE);
    this.draw();
  }

  /** Puts the row into the document, and scrolls to it. */
  reveal(row: Row): void {
    const before = this.rows.slice(0, this.rows.indexOf(row)).reduce((sum, { height }) => sum + height, 0);
    window.scrollBy(0, this.place.getBoundingClientRect().top + before);
    this.draw();
    row.element().scrollIntoView();
  }

  private draw(): void {
    const all = this.rows.length <= WHOLE;
    const top = -this.place.getBoundingClientRect().top;
    const wanted: HTMLElement[] = [];
    let [end, above, below] = [0, 0, 0];
    for (const row of this.rows) {
      end += row.height;
      if (!all && end < top - MARGIN) above = end;
      else if (!all && end - row.height > top + window.innerHeight + MARGIN) below += row.height;
      else {
        const element = row.element();
        this.measured.set(element, row);
        wanted.push(element);
      }
    }
    // An element that stays is not touched, so that it keeps the focus.
    const stay = new Set<Element>(wanted);
    for (const element of [...this.place.children]) {
      if (stay.has(element)) continue;
      this.sizes.unobserve(element);
      element.remove();
    }
    wanted.forEach((element, i) => {
      const there = this.place.children[i];
      if (there === element) return;
      this.place.insertBefore(element, there ?? null);
      this.sizes.observe(element);
    });
    this.place.style.paddingTop = `${above}px`;
    this.place.style.paddingBottom = `${below}px`;
  }
}
