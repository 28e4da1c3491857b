// `strata png --view ADDRESS` draws what the page shows under that address.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { colorsOf, folder, recording, run, samples, settle, skip, strata, until, withPage, writePage } from "./browser.mjs";

/** What last stood beside a plot, by scale: pictures of one scale differ little. @type {Record<number, number[]>} */
const margins = {};

/** The plot area of the command line's PNG whose plot has the given size. */
function plotOf(/** @type {string} */ input, /** @type {number} */ width, /** @type {number} */ height, /** @type {string} */ address, scale = 1) {
    const [beside, above] = margins[scale] ?? [200, 200];
    let [wholeWidth, wholeHeight] = [width / scale + beside, height / scale + above];
    for (let attempt = 0; attempt < 8; attempt++) {
        const file = path.join(folder, "view.png");
        run(strata, "png", "-q", "-f", "--scale", scale, "--view", address, "--width", wholeWidth, "--height", wholeHeight, input, "-o", file);
        const png = decodePng(readFileSync(file));
        const [x, y, plotWidth, plotHeight] = png.text["strata:plot"].split(" ").map(Number);
        margins[scale] = [wholeWidth - plotWidth / scale, wholeHeight - plotHeight / scale];
        if (plotWidth === width && plotHeight === height) return cropPng(png, x, y, width, height);
        wholeWidth += (width - plotWidth) / scale;
        wholeHeight += (height - plotHeight) / scale;
    }
    throw new Error(`no PNG has a plot of ${width}x${height}`);
}

/** Recordings that no sample is, made of one by Python. @type {Record<string, [from: string, program: string]>} */
const MADE = {
    no_times: ["train", "for t in data['device_traces']:\n    for e in t: del e['time_us']"],
    // Requests that failed in mid-run: what was alive then stays as it is.
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

/** Of a recording: a sample, or "" for the simulated one. @type {[input: string, address: string, scale: number][]} */
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
    ["oom", "#device=0&focus=frame_5&marks=10,20,30,40&selected=99999999", 1],
    ["two_devices", "#device=1&view=pool&color=pool&a=e50&b=e90", 1],
]; // prettier-ignore

/** @param {Uint8Array} got @param {Uint8Array} wanted */
function assertSame(got, wanted) {
    const [a, b] = [got, wanted].map((rgba) => new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4));
    const different = a.reduce((count, pixel, i) => count + (pixel === b[i] ? 0 : 1), 0);
    assert.equal(different, 0, `${different} of ${a.length} pixels differ`);
}

describe("Save PNG and the command line", { skip }, () => {
    for (const [name, address, scale] of PICTURES)
        test(`${name || "simulated"} ${address}, ${scale} times`, async () => {
            const input = inputOf(name);
            await withPage(writePage(input), async (page) => {
                await settle(page);
                if (address.includes("search=")) await until(async () => (await page.locator("#found").innerText()).includes("allocation"), "the search");
                const { url, plot } = /** @type {any} */ (await page.evaluate(`strata.picture({ scale: ${scale}, names: false })`));
                const whole = decodePng(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
                const got = cropPng(whole, plot.x, plot.y, plot.width, plot.height);
                assert.ok(whole.height > plot.y + plot.height + 80 * scale, "a legend stands below");
                assert.ok(colorsOf(got) > 6, "the picture is not empty");
                assertSame(got, plotOf(input, plot.width, plot.height, address, scale));
            }, { hash: address });
        });
});

describe("an address as a picture", { skip }, () => {
    test("words that nobody understands are refused", () => {
        const file = path.join(folder, "wrong.png");
        assert.throws(() => run(strata, "png", "-f", "--view", "#search=size:%3Ex", path.join(samples, "train.pickle"), "-o", file), /status 2|Command failed/);
    });
});
