// A page with several timelines, which views_test.mjs bundles: recordings and views are handles, so any number of
// them live side by side in one module.
import { loadModule, loadSession } from "../../templates/load.js";
import { View } from "../../templates/session.js";
import { Matcher, selectWords } from "../../templates/words.js";

/** Draws a view into a canvas of its own. @param {View} view @param {{from: number, to: number, color: number}} window */
function draw(view, { from, to, color }) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [400, 150];
    const top = view.c.headroom(-1, view.facts.events, 0);
    view.request({ axis: 0, from, to, width: 400, height: 150, bottom_bytes: 0, top_bytes: top, flags: 4, color_by: color, capacity_bytes: 0 });
    const image = view.image(view.c.draw(), 400, 150);
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    document.body.append(canvas);
    let hash = 2166136261;
    for (const byte of image.data) hash = Math.imul(hash ^ byte, 16777619);
    return hash >>> 0;
}

/** @param {string} id */
const carried = (id) => document.getElementById(id)?.textContent ?? "";
const quiet = () => {};
const whole = (/** @type {View} */ view) => ({ ...view.c.whole(0), color: 0 });

/** Each view alone, in a module of its own. @param {string} payload @param {number} device @param {(view: View) => any} use */
async function alone(payload, device, use) {
    const session = await loadSession(await loadModule(), carried(payload), quiet);
    return use(new View(session, device));
}

async function together() {
    const module = await loadModule();
    const first = await loadSession(module, carried("payload"), quiet);
    const second = await loadSession(module, carried("second"), quiet);
    const views = [new View(first, 0), new View(first, 1), new View(first, 0), new View(second, 0)];
    // One has a filter, another window and other colours; none of it may show in the others.
    await selectWords(views[2], new Matcher(first), 0, "size:>1MiB /./", () => true, () => {});
    const kept = views[2].c.kept();
    draw(views[2], { from: 10, to: 90, color: 5 });
    const hashes = [0, 3, 1, 0].map((i) => draw(views[i], whole(views[i])));
    views[0].groups(views[0].facts.peak_event, "site");
    views[3].groups(views[3].facts.peak_event, "stack");
    const groups = [views[0].c.group(0), views[3].c.group(0)].map(({ bytes, count }) => ({ bytes, count }));
    const picks = [views[0].pick(200, 140).allocation, views[2].pick(200, 140).allocation];
    for (const view of views) view.c.release();
    first.c.release();
    const again = draw(new View(second, 0), whole(new View(second, 0)));
    return { hashes, groups, kept: kept.allocations, facts: views.map(({ facts }) => facts), picks, again };
}

Object.assign(window, {
    ready: (async () => ({
        ...(await together()),
        alone: [
            await alone("payload", 0, (view) => draw(view, whole(view))),
            await alone("second", 0, (view) => draw(view, whole(view))),
            await alone("payload", 1, (view) => draw(view, whole(view))),
        ],
    }))(),
});
