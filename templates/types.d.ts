// Types for `tsc -p templates`, which are checked and not shipped. Those of the WebAssembly module's calls are in module.d.ts
// of the build folder, which scripts/page-api writes.

/** The WebAssembly module: its memory and its exported calls, whose first argument is a handle. */
type ModuleExports = { memory: WebAssembly.Memory } & ModuleCalls & Record<string, any>;

/** A small WebAssembly module, gzipped, that esbuild puts into a script in base64. */
declare module "*.wasm.gz" {
    const code: string;
    export default code;
}

type Frame = ReturnType<Session["frame"]>;
type PageFilter = ReturnType<typeof import("./state.js").emptyFilter>;
type PageFinding = ReturnType<typeof import("./questions.js").askFindings>[number];

interface PageTree {
    name: string;
    bytes: number;
    count: number;
    children: PageTree[];
}

/** The page's calls for scripts (docs/page.md). */
type PageApi = { ready: Promise<void> } & ReturnType<typeof import("./scripts.js").callsOf>;

type View = import("./session.js").View;
type Session = import("./session.js").Session;
type Pane = import("./canvas.js").Pane;
type Focus = import("./state.js").Focus;
type About = import("./questions.js").About;
type Batch = import("./index/data.js").Batch;
type Context = CanvasRenderingContext2D;

/** A recording as it is shown (state.js). */
interface Page extends ReturnType<typeof import("./page.js").newPage> {
    gutter: ReturnType<typeof import("./canvas.js").newGutter>;
    lane: import("./lane.js").Lane;
    map: ReturnType<typeof import("./map_view.js").newMap>;
    plot: ReturnType<typeof import("./canvas.js").newPlot>;
    search: ReturnType<typeof import("./search.js").newSearch>;
}

type PageState = import("./state.js").PageState;

/** Browsers of 2025. */
interface Uint8Array {
    setFromBase64?: (text: string) => { written: number };
}

interface Window {
    strata: PageApi;
}
