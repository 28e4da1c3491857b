// A list of any length, for the page and for the index of a batch. All rows have one height, and only those in sight
// are in the document. The focus stays on the list while the keyboard moves an active row (aria-activedescendant), so
// rows may come and go while somebody reads them.

/** Browsers cannot scroll farther than some 17 million pixels. A longer list moves faster than its scroll bar. */
const SCROLL_MOST = 8e6;

/** Rows that are kept beyond the edges, so that a fast scroll shows no gap. */
const ROWS_BEYOND = 4;

/** The most rows on paper. */
const ROWS_PRINTED = 60;

/** @template {{element: HTMLElement}} Row */
export class VirtualList {
    /**
     * @param {HTMLElement} scroll the box that scrolls and has the focus; its first child is the head, which stays
     * in sight
     * @param {HTMLElement} body the box of the rows
     * @param {{make: () => Row, fill: (row: Row, index: number) => void, choose: (index: number) => void, redraw: () =>
     * void}} use
     */
    constructor(scroll, body, use) {
        this.scroll = scroll;
        this.body = body;
        this.use = use;
        /** @type {Row[]} */
        this.rows = [];
        this.count = 0;
        /** The row that the keyboard has reached; -1: none. */
        this.active = -1;
        /** Index of the first row in the document. */
        this.first = 0;
        this.rowHeight = 28;
        this.viewHeight = 0;
        /** The scroll bar's place. Asking the box after its rows have changed would lay out the document at once. */
        this.scrolled = 0;
        /** On paper nothing scrolls, so the first rows are shown. */
        this.paper = false;
        scroll.addEventListener("scroll", () => this.follow(), { passive: true });
        scroll.addEventListener("keydown", (event) => this.pressKey(event));
        scroll.addEventListener("focus", () => this.focus());
        scroll.addEventListener("blur", use.redraw);
        body.addEventListener("click", (event) => this.click(event));
        this.measure();
        new ResizeObserver(() => {
            this.measure();
            use.redraw();
        }).observe(scroll);
    }

    /** Reads the height of a row, which the style sheet sets by the width of the panel. A box that was hidden may come
     * back scrolled elsewhere. */
    measure() {
        this.scrolled = this.scroll.scrollTop;
        this.rowHeight = parseFloat(getComputedStyle(this.body).getPropertyValue("--row")) || 28;
        const head = this.scroll.firstElementChild;
        this.viewHeight = Math.max(
            this.rowHeight,
            this.scroll.clientHeight - (head instanceof HTMLElement ? head.offsetHeight : 0),
        );
    }

    follow() {
        this.scrolled = this.scroll.scrollTop;
        this.use.redraw();
    }

    /** @param {number} top */
    scrollTo(top) {
        if (top === this.scrolled) return;
        this.scroll.scrollTop = top;
        this.scrolled = this.scroll.scrollTop;
    }

    /** The next place of the scroll bar: a list that has become shorter moves it. @param {number} total */
    scrolledOf(total) {
        return Math.max(0, Math.min(this.scrolled, Math.min(total, SCROLL_MOST) - this.viewHeight));
    }

    /** How many of the list's `total` pixels lie above the view. @param {number} total */
    topOf(total) {
        const scrolled = this.scrolledOf(total);
        if (total <= SCROLL_MOST) return scrolled;
        return (scrolled / (SCROLL_MOST - this.viewHeight)) * (total - this.viewHeight);
    }

    /** Puts the rows in sight into the document. @param {number} count */
    draw(count) {
        this.count = count;
        this.active = Math.min(this.active, count - 1);
        const drawn = this.paper ? Math.min(count, ROWS_PRINTED) : count;
        const total = drawn * this.rowHeight;
        this.body.style.height = `${Math.min(total, SCROLL_MOST)}px`;
        this.body.hidden = count === 0;
        this.scroll.setAttribute("aria-rowcount", String(count + 1));
        const top = this.paper ? 0 : this.topOf(total);
        this.first = this.paper ? 0 : Math.max(0, Math.floor(top / this.rowHeight) - ROWS_BEYOND);
        const end = this.paper
            ? drawn
            : Math.min(count, Math.ceil((top + this.viewHeight) / this.rowHeight) + ROWS_BEYOND);
        // Rows lie where the scroll bar is; in a list longer than browsers can scroll, that is not at `top`.
        const shift = this.paper ? 0 : this.scrolledOf(total) - top;
        for (let i = this.rows.length; i < end - this.first; i++) this.addRow(i);
        this.rows.forEach((row, i) => this.place(row, this.first + i, end, shift));
        this.markActive(end);
    }

    /** @param {number} i */
    addRow(i) {
        const row = this.use.make();
        row.element.setAttribute("role", "row");
        row.element.id = `${this.body.id}-${i}`;
        this.rows.push(row);
        this.body.append(row.element);
    }

    /** @param {Row} row @param {number} index @param {number} end @param {number} shift */
    place(row, index, end, shift) {
        row.element.hidden = index >= end;
        if (index >= end) return;
        row.element.style.transform = `translateY(${Math.round(index * this.rowHeight + shift)}px)`;
        row.element.setAttribute("aria-rowindex", String(index + 2));
        this.use.fill(row, index);
    }

    /** @param {number} end */
    markActive(end) {
        const shown = document.activeElement === this.scroll && this.active >= this.first && this.active < end;
        this.rows.forEach(({ element }, i) =>
            element.classList.toggle("active", shown && this.first + i === this.active),
        );
        if (shown) this.scroll.setAttribute("aria-activedescendant", this.rows[this.active - this.first].element.id);
        else this.scroll.removeAttribute("aria-activedescendant");
    }

    /** Scrolls just far enough to show a row whole. @param {number} index */
    reveal(index) {
        const total = this.count * this.rowHeight;
        const top = this.topOf(total);
        const wanted = Math.min(Math.max(top, (index + 1) * this.rowHeight - this.viewHeight), index * this.rowHeight);
        if (wanted === top) return;
        const height = Math.min(total, SCROLL_MOST);
        this.scrollTo(height === total ? wanted : (wanted / (total - this.viewHeight)) * (height - this.viewHeight));
    }

    /** Activates a row, so that whoever comes by the keyboard sees where the arrows begin. */
    focus() {
        if (this.active < 0 && this.count > 0 && this.scroll.matches(":focus-visible")) this.active = this.firstSeen();
        this.use.redraw();
    }

    /** The first row that is in sight as a whole. */
    firstSeen() {
        return Math.min(this.count - 1, Math.ceil(this.topOf(this.count * this.rowHeight) / this.rowHeight));
    }

    /** @param {KeyboardEvent} event */
    pressKey(event) {
        // Buttons and links inside of the list have keys of their own.
        if (event.target !== this.scroll || event.ctrlKey || event.metaKey || event.altKey || this.count === 0) return;
        const page = Math.max(1, Math.floor(this.viewHeight / this.rowHeight) - 1);
        const at = this.active < 0 ? this.firstSeen() - 1 : this.active;
        /** @type {Record<string, number>} */
        const goals = {
            ArrowDown: at + 1,
            ArrowUp: Math.max(0, at - 1),
            PageDown: at + page,
            PageUp: at - page,
            Home: 0,
            End: this.count - 1,
        };
        if (event.key in goals) this.active = Math.min(Math.max(goals[event.key], 0), this.count - 1);
        else if ((event.key === "Enter" || event.key === " ") && this.active >= 0) this.use.choose(this.active);
        else return;
        event.preventDefault();
        event.stopPropagation();
        this.reveal(this.active);
        this.use.redraw();
    }

    /** @param {MouseEvent} event */
    click(event) {
        if (event.target instanceof Element && event.target.closest("a, button")) return;
        const hit = this.rows.findIndex(
            ({ element }) => event.target instanceof Node && element.contains(event.target),
        );
        if (hit < 0) return;
        this.active = this.first + hit;
        this.use.choose(this.active);
    }

    /** Starts anew, for another list in the same place. */
    restart() {
        this.active = -1;
        this.scrollTo(0);
    }
}
