// `strata png --view ADDRESS` draws what the page shows under that address.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { colorsOf, folder, run, runsAll, samples, settle, skip, strata, until, withPage, writePage } from "./browser.mjs";
import { recording } from "./simulated.mjs";

/** The margins of the last plot for each kind of picture; they differ little within a kind. @type {Record<string,
 * number[]>} */
const margins = {};

/** The place of a device's plot in a PNG of the command line: of the selected device, or of another one's row. @param
 * {Record<string, string>} text @param {number} [device] */
function placeIn(text, device) {
    const row = device === undefined ? text["strata:plot"] : (text["strata:rows"] ?? "").split(", ").find((one) => one.startsWith(`${device} `))?.replace(/^\d+ /, "");
    assert.ok(row, `a row of device ${device} in ${text["strata:rows"]}`);
    return row.split(" ").map(Number);
}

/** The plot area of the command line's PNG whose plot, or whose row of another device, has the given size. */
function plotOf(/** @type {string} */ input, /** @type {number} */ width, /** @type {number} */ height, /** @type {string} */ address, scale = 1, /** @type {number | undefined} */ device = undefined) {
    // Rows and a map need as much again; beside a row, the selected plot gets two thirds of the picture.
    const more = /all=1|map=/.test(address);
    const kind = `${scale} ${device} ${more ? address : ""}`;
    const share = !address.includes("all=1") ? 1 : device === undefined ? 1.5 : 3;
    const [beside, above] = margins[kind] ?? [200, more ? 500 : 200];
    let [wholeWidth, wholeHeight] = [width / scale + beside, height / scale + above];
    for (let attempt = 0; attempt < 24; attempt++) {
        const file = path.join(folder, "view.png");
        run(strata, "png", "-q", "-f", "--scale", scale, "--view", address, "--width", wholeWidth, "--height", wholeHeight, input, "-o", file);
        const png = decodePng(readFileSync(file));
        const [x, y, plotWidth, plotHeight] = placeIn(png.text, device);
        margins[kind] = [wholeWidth - plotWidth / scale, wholeHeight - plotHeight / scale];
        if (plotWidth === width && plotHeight === height) return cropPng(png, x, y, width, height);
        wholeWidth += (width - plotWidth) / scale;
        const lacks = (height - plotHeight) / scale;
        wholeHeight += share > 1 && Math.abs(lacks) < 3 ? Math.sign(lacks) : Math.round(lacks * share);
    }
    throw new Error(`no PNG has a plot of ${width}x${height}`);
}

/** Recordings that Python makes from a sample. @type {Record<string, [from: string, program: string]>} */
const MADE = {
    no_times: ["train", "for t in data['device_traces']:\n    for e in t: del e['time_us']"],
    // Requests that failed in the middle of the run; live allocations stay as they are.
    failed_in_the_middle: ["oom", "t = data['device_traces'][0]\nfor at in (400, 1500, 3000): t.insert(at, {**t[-1], 'time_us': t[at]['time_us']})"],
};

/** @param {string} name */
function inputOf(name) {
    if (name === "") return recording;
    if (!(name in MADE)) return path.join(samples, `${name}.pickle`);
    const file = path.join(folder, `${name}.pickle`);
    const [from, program] = MADE[name];
    run("python3", "-c", `import pickle, sys\ndata = pickle.load(open(sys.argv[1], "rb"))\n${program}\npickle.dump(data, open(sys.argv[2], "wb"))`, path.join(samples, `${from}.pickle`), file);
    return file;
}

/** The pictures to compare. `input`: a sample, or "" for the simulated recording. @type {[input: string, address:
 * string, scale: number][]} */
const PICTURES = [
    ["", "#device=0", 1],
    ["", "#device=1&theme=dark", 1],
    ["", "#device=0&window=200.25_500.5", 1],
    ["", "#device=0&window=200_200.5", 2],
    ["", "#device=0&axis=time&window=1000_9000", 1],
    ["", "#device=0&color=category&search=attention&theme=dark", 1],
    ["", "#device=0&search=size%3A%3E1M+alive%3Apeak&window=100_700", 1],
    ["", "#device=0&filter=size%3A%3C%3D100K", 1],
    ["", "#device=0&window=300_600&bytes=10000000_40000000&color=size", 1],
    ["", "#device=0&color=age&window=-5_99999", 1],
    ["", "#tab=tree&tree=callers&device=0&unknown=1&window=nonsense&color=pool", 1],
    ["", "#device=1&view=segments", 2],
    ["train", "#device=0&selected=300&focus=site_3&at=1200", 1],
    ["train", "#device=0&selected=40&window=100_900&theme=dark", 2],
    ["train", "#device=0&marks=400~before+the+loss,900,2000", 1],
    ["train", "#device=0&range=500.5_800&window=300_1200&theme=dark", 1],
    ["train", "#device=0&axis=time&range=9000_20000&marks=100", 2],
    ["train", "#device=0&search=attention&only=1&window=0_1500", 1],
    ["train", "#device=0&focus=category_4&color=category", 1],
    ["train", "#device=0&focus=stack_30&search=attention", 1],
    ["train", "#device=0&focus=module_6", 1],
    ["train", "#device=0&focus=frame_300", 1],
    ["train", "#device=0&focus=line_attention.py%3A53+forward", 1],
    ["train", "#device=0&view=category&color=category&selected=300&at=939", 1],
    ["train", "#device=0&view=category&color=category&window=900_1000&theme=dark", 2],
    ["train", "#device=0&view=segments&focus=site_3&window=100_400", 1],
    ["train", "#device=0&tab=compare", 1],
    ["train", "#device=0&tab=compare&a=s1&b=s3&axis=time&theme=dark", 2],
    ["train", "#device=0&tab=compare&a=r100_600&b=s2&filter=size%3A%3E1M&window=50_900", 1],
    ["train", "#device=0&tab=compare&a=s1&b=peak&map=free", 1],
    ["no_times", "#device=0&axis=time", 1],
    ["failed_in_the_middle", "#device=0", 1],
    ["failed_in_the_middle", "#device=0&axis=time&theme=dark&window=1000_20000", 2],
    ["failed_in_the_middle", "#device=0&window=3540_3556", 1],
    ["oom", "#device=0", 1],
    ["oom", "#device=0&view=stream&color=stream&filter=size%3A%3E1M", 2],
    ["leak_two_per_layer", "#device=0&finding=1&window=200_3000", 1],
    ["leak_two_per_layer", "#device=0&finding=0&theme=dark", 2],
    ["leak_two_per_layer", "#device=0&finding=1&search=attention&at=100", 1],
    ["oom", "#device=0&focus=frame_5&marks=10,20,30,40&selected=99999999", 1],
    ["two_devices", "#device=0&all=1", 1],
    ["two_devices", "#device=1&all=1&theme=dark&window=-5000_20000&marks=100~here,300&at=200", 2],
    ["two_devices", "#device=0&all=1&range=4000_30000&filter=size%3A%3E1M&search=attention&map=age", 1],
    ["two_devices", "#device=1&all=1&view=category&color=category&selected=30&focus=site_3", 1],
    ["two_devices", "#device=1&view=pool&color=pool&a=e50&b=e90", 1],
]; // prettier-ignore

/** @param {Uint8Array} got @param {Uint8Array} wanted */
function assertSame(got, wanted) {
    const [a, b] = [got, wanted].map((rgba) => new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4));
    const different = a.reduce((count, pixel, i) => count + (pixel === b[i] ? 0 : 1), 0);
    assert.equal(different, 0, `${different} of ${a.length} pixels differ`);
}

describe("Save PNG and the command line", { skip }, () => {
    for (const [name, address, scale] of PICTURES.filter((_, i) => runsAll || i % 3 === 0))
        test(`${name || "simulated"} ${address}, ${scale} times`, async () => {
            const input = inputOf(name);
            await withPage(writePage(input), async (page) => {
                await settle(page);
                if (address.includes("search=")) await until(async () => (await page.locator("#found").innerText()).includes("allocation"), "the search");
                const { url, plot, rows } = /** @type {any} */ (await page.evaluate(`strata.picture({ scale: ${scale}, names: false })`));
                const whole = decodePng(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
                const got = cropPng(whole, plot.x, plot.y, plot.width, plot.height);
                assert.ok(whole.height > plot.y + plot.height + 80 * scale, "a legend stands below");
                assert.ok(colorsOf(got) > 6, "the picture is not empty");
                assertSame(got, plotOf(input, plot.width, plot.height, address, scale));
                assert.equal(rows.length, address.includes("all=1") ? 2 : 0);
                for (const row of rows.filter((/** @type {any} */ { device }) => device !== plot.device)) {
                    const other = cropPng(whole, row.x, row.y, row.width, row.height);
                    assert.ok(colorsOf(other) > 6, "the row is not empty");
                    assertSame(other, plotOf(input, row.width, row.height, address, scale, row.device));
                }
            }, { hash: address });
        });
});

describe("an address as a picture", { skip }, () => {
    test("unknown words are refused", () => {
        const file = path.join(folder, "wrong.png");
        assert.throws(() => run(strata, "png", "-f", "--view", "#search=size:%3Ex", path.join(samples, "train.pickle"), "-o", file), /status 2|Command failed/);
    });
});
