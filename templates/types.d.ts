// Types for `tsc -p templates`, which are checked and not shipped: the page's calls for scripts (docs/page.md). scripts/page-api
// writes those of the WebAssembly module's calls into the build folder: module.d.ts.

/** The WebAssembly module: its memory and its exported calls, whose first argument is a handle. */
type ModuleExports = { memory: WebAssembly.Memory } & ModuleCalls & Record<string, any>;

/** A small WebAssembly module, gzipped, that esbuild puts into a script in base64. */
declare module "*.wasm.gz" {
    const code: string;
    export default code;
}

/** A frame as the report spells it; innermost first in a stack. */
interface Frame {
    file: string;
    line: number;
    name: string;
}

/** The fields of the filter: words as people write them ("20 MiB", "500", "2 ms"), indices of streams and pools (-1: all). */
interface PageFilter {
    leastBytes: string;
    mostBytes: string;
    leastAge: string;
    mostAge: string;
    stream: number;
    pool: number;
    atPeak: boolean;
    atEnd: boolean;
    /** Made by a line of the user's own code. */
    own: boolean;
    /** Further words of the grammar: "attention category:gradient /conv\\d/". */
    words: string;
}

/** The view, for scripts. Events count from 0; -1 is before the first. */
interface PageView {
    device: number;
    from: number;
    to: number;
    axis: "events" | "time";
    colorBy: string;
    search: string;
    selected: number | null;
    filter: PageFilter;
    /** Selected events [from, to). */
    range: { from: number; to: number } | null;
    /** Order of the map's segments; null: it is folded away. */
    map: string | null;
}

/** The note of torch.fx on a frame of generated code. */
interface FxNode {
    /** "linear: call_function torch.nn.functional.linear". */
    text: string;
    /** The model's code that it was generated from. */
    original: string;
}

interface PagePick {
    allocation: number;
    bytes: number;
    birth: number;
    death: number;
    stream: number;
    stack: Frame[];
}

interface PageAllocation extends PagePick {
    pool: string;
    category: string;
    compileContext: string;
    userMetadata: string;
}

/** A band of the lane in the window: pixels of the timeline, row 0 at the top. */
interface PagePhase {
    name: string;
    row: number;
    from: number;
    to: number;
}

/** A part of a picture, in its pixels. */
interface PagePlace {
    x: number;
    y: number;
    width: number;
    height: number;
}

/** A device beside the others: its events [from_event, to_event) in the window, and its memory at the cursor. */
interface PageRow {
    device: number;
    /** The list and the tabs speak of it. */
    in_hand: boolean;
    from_event: number;
    to_event: number;
    peak_bytes: number;
    cursor: { event: number; bytes: number } | null;
}

interface SearchResult {
    allocations: number;
    bytesAtPeak: number;
}

/** A finding as `strata report --json` has it. */
interface PageFinding {
    kind: string;
    severity: string;
    confidence: string;
    title: string;
    detail: string;
    action: string | null;
    implementation?: string;
    expected_peak_bytes?: number;
    max_entries?: number;
    site: string | null;
    bytes: number;
    count: number;
    per: { unit: string; bytes: number; n: number } | null;
    saves_peak_bytes: number | null;
    from_event: number;
    to_event: number;
    at_event: number;
    view: string;
}

interface PageGroup {
    name: string;
    bytes: number;
    count: number;
}

interface PageTree extends PageGroup {
    children: PageTree[];
}

/** Memory alive after an event, or that of the events [from, to); what: "peak" (the default), "allocated", "freed", "kept" or "through". */
type PageAbout = { at: number | "peak" } | { from: number; to: number; what?: string };

interface PageApi {
    ready: Promise<void>;
    devices(): { device: number; events: number; allocations: number }[];
    summary(): object;
    view(): PageView;
    setView(change: Partial<Omit<PageView, "filter">> & { filter?: Partial<PageFilter> }): Promise<PageView>;
    pick(x: number, y: number): PagePick | null;
    allocation(index: number): PageAllocation;
    rows(): PageRow[];
    phases(): PagePhase[];
    search(text: string): Promise<SearchResult>;
    findings(): (PageFinding & { ids: number[] | null })[];
    lit(): { ids: number[]; count: number; bytes: number; event: number } | null;
    groups(question?: { at?: number | "peak"; from?: number; to?: number; what?: string; by?: string }): PageGroup[];
    tree(question?: { at?: number | "peak"; from?: number; to?: number; what?: string; direction?: "callees" | "callers" | "places"; through?: string; by?: string }): PageTree;
    compare(question: { a: PageAbout; b: PageAbout; by?: string }): { a_bytes: number; b_bytes: number; rows: { name: string; a_bytes: number; b_bytes: number; delta_bytes: number }[] };
    picture(question?: { scale?: 1 | 2; names?: boolean }): Promise<{ url: string; plot: PagePlace; rows: (PagePlace & { device: number })[]; map: PagePlace | null }>;
    lanes(): { unused: number[]; largestHole: number[]; segments: number[]; calls: number[]; host: number[] } | null;
    gap(question?: { at?: number | "peak" }): record_gap;
    blocks(question?: { at?: number | "peak" }): { segments: object[]; blocks: object[] };
    stats(): { allocations: number; drawn: number; merged: number; frameMs: number[]; memoryBytes: number; kept: number; draws: number; mapMs: number[] };
}

type View = import("./session.js").View;
type Session = import("./session.js").Session;
type Pane = import("./canvas.js").Pane;
type Focus = import("./state.js").Focus;
type About = import("./questions.js").About;
type Batch = import("./index/data.js").Batch;
type Context = CanvasRenderingContext2D;

/** A recording as it is shown (state.js). */
type Page = ReturnType<typeof import("./state.js").createPage>;

type PageState = ReturnType<typeof import("./state.js").newState>;

interface Window {
    strata: PageApi;
}
