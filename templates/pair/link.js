// Makes two pages move together: what is chosen in one is chosen in the other, at the matching place.
import { axisOfX, xOfAxis } from "../canvas.js";
import { setFilter } from "../filter.js";
import { setSearch } from "../search.js";
import { axisOfEvent, change, eventOfAxis, invalidate, OVERLAY } from "../state.js";
import { setAxis, setWindow } from "../window.js";
import { align, ALIGNMENTS, belongs } from "./axes.js";

/** The fields of the state that both pages share. */
const SAME = /** @type {(keyof PageState)[]} */ (
    (
        "bottom top colorBy viewBy groupBy theme only order rangeOf tab sortBy laneSize treeDirection treeDepth " +
        "compareBy compareWhat mapOpen mapOrder internals"
    ).split(" ")
);

/** @param {unknown} one @param {unknown} other */
const differs = (one, other) => JSON.stringify(one) !== JSON.stringify(other);

/**
 * @param {Page} a @param {Page} b
 * @param {{site: string, a_site: string}[]} matches call sites with another name in A
 * @param {import("../state.js").Beside} beside of both
 */
export function createLink(a, b, matches, beside) {
    const names = [
        new Map(matches.map(({ a_site, site }) => [a_site, site])),
        new Map(matches.map(({ a_site, site }) => [site, a_site])),
    ];
    const link = { alignment: align(a.view, b.view, ALIGNMENTS[0]), linked: true };
    let follows = false;
    /** The devices that are aligned. */
    let devices = `${a.view.device} ${b.view.device}`;
    const sideOf = (/** @type {Page} */ page) => (page === a ? 0 : 1);
    const other = (/** @type {Page} */ page) => (page === a ? b : a);
    /** The place of an event of one page in the other. @param {Page} page @param {number} event */
    const mapped = (page, event) => belongs(link.alignment.anchors, event, sideOf(page));
    /** A place along the axis of one page as a place in the other. @param {Page} page @param {number} place */
    const placed = (page, place) => axisOfEvent(other(page), mapped(page, eventOfAxis(page, place)));
    /** The event of the other page whose state belongs to an event's state. @param {Page} page @param {number} event */
    const momentOf = (page, event) =>
        Math.min(other(page).view.facts.events - 1, Math.max(-1, Math.floor(mapped(page, event))));

    beside.whole = (page) => {
        const own = page.view.c.whole(0);
        if (!link.linked) return own;
        const its = other(page).view.c.whole(0);
        const [from, to] = [its.from, its.to].map((event) => mapped(other(page), event));
        return { from: Math.min(own.from, from), to: Math.max(own.to, to) };
    };

    /** The name that the other page has for a call site. @param {Page} page @param {string} name */
    const nameOf = (page, name) => names[sideOf(page)].get(name) ?? name;
    /** @param {Page} page @param {Focus | null} focus @returns {Focus | null} */
    const focusOf = (page, focus) => {
        if (focus?.by === "category") return focus;
        if (focus?.by !== "site") return null;
        const id = other(page).view.siteOfText(nameOf(page, page.session.siteText(focus.id)));
        return id < 0 ? null : { by: "site", id };
    };

    /** Moves the other page to the place of this one. @param {Page} page */
    const follow = (page) => {
        if (follows) return;
        follows = true;
        const now = `${a.state.device} ${b.state.device}`;
        if (now !== devices) link.alignment = align(a.view, b.view, link.alignment.by);
        devices = now;
        const [{ state }, its] = [page, other(page)];
        if (state.axis !== its.state.axis) setAxis(its, state.axis);
        change(its, Object.fromEntries(SAME.map((field) => [field, state[field]])));
        if (state.search !== its.state.search) setSearch(its, state.search);
        if (differs(state.filter, its.state.filter)) setFilter(its, state.filter);
        const focus = focusOf(page, state.focus);
        if (differs(focus, its.state.focus)) change(its, { focus, selected: null });
        if (link.linked) {
            setWindow(its, placed(page, state.from), placed(page, state.to));
            change(its, { moment: state.moment === null ? null : momentOf(page, state.moment) });
        }
        follows = false;
    };

    /** Shows the cursor of one page in the other. @param {Page} page */
    const point = (page) => {
        const [its, { pointer }] = [other(page), page.state];
        const plot = its.plot;
        const there = link.linked && pointer && !page.plot.left;
        const x = there ? xOfAxis(its, placed(page, axisOfX(page, pointer.x))) : -1;
        const pointed = x >= 0 && x < plot.width ? x : null;
        if (pointed === plot.pointed) return;
        plot.pointed = pointed;
        invalidate(its, OVERLAY);
    };

    return {
        link,
        mapped,
        nameOf,
        follow,
        point,
        /** Highlights a call site, named as in B, in both pages; null: highlights nothing.
         * @param {string | null} name */
        lightSite(name) {
            const id = name === null ? -1 : b.view.siteOfText(name);
            const idInA = name === null ? -1 : a.view.siteOfText(nameOf(b, name));
            change(id < 0 ? a : b, { focus: null, selected: null });
            if (id >= 0) change(b, { focus: { by: "site", id }, selected: null });
            else if (idInA >= 0) change(a, { focus: { by: "site", id: idInA }, selected: null });
        },
        /** @param {string} by of ALIGNMENTS @param {Page} page which stays where it is */
        alignBy(by, page) {
            link.alignment = align(a.view, b.view, by);
            follow(page);
        },
        /** @param {boolean} linked @param {Page} page which stays where it is */
        setLinked(linked, page) {
            link.linked = linked;
            follow(page);
        },
    };
}
