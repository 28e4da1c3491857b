// Types for `tsc -p templates`: what the WebAssembly module exports (render/page/page_host.h is the contract) and what the page
// offers to scripts (docs/page.md). Only checked, never shipped.

interface HostExports {
    memory: WebAssembly.Memory;

    page_reserve(nbytes: number): number;
    page_open(): number;
    page_piece_count(): number;
    page_piece_packed(piece: number): number;
    page_piece_packed_nbytes(piece: number): number;
    page_piece_target(piece: number): number;
    page_piece_raw_nbytes(piece: number): number;
    page_unpack(): number;

    page_string(id: number): number;
    page_string_nbytes(id: number): number;
    page_meta(): number;
    page_settings(): number;
    page_diagnostic_count(): number;
    page_diagnostic_code(i: number): number;
    page_diagnostic_message(i: number): number;
    page_diagnostic_device(i: number): number;
    page_frame_file(frame: number): number;
    page_frame_name(frame: number): number;
    page_frame_line(frame: number): number;
    page_frame_kind(frame: number): number;
    page_frame_fx(frame: number): number;
    page_fx_op(fx: number): number;
    page_fx_name(fx: number): number;
    page_fx_target(fx: number): number;
    page_fx_original(fx: number): number;
    page_stack_site(stack: number): number;
    page_stack_frames(stack: number): number;
    page_stack_depth(stack: number): number;
    page_stack_parent(stack: number): number;
    page_stack_frame(stack: number): number;
    page_site_text(site: number): number;
    page_site_text_nbytes(): number;
    page_site_color(site: number, dark: number): number;
    page_context_compile(context: number): number;
    page_context_metadata(context: number): number;
    page_context_category(context: number): number;
    page_context_forward(context: number): number;

    page_device_count(): number;
    page_device_ordinal(index: number): number;
    page_device_name(index: number): number;
    page_device_capacity(index: number): number;
    page_kind(): number;
    page_rank(): number;
    page_device_events(index: number): number;
    page_device_lives(index: number): number;
    page_device(index: number): number;

    page_events(): number;
    page_lives(): number;
    page_preexisting(): number;
    page_start_bytes(): number;
    page_peak_bytes(): number;
    page_peak_event(): number;
    page_end_bytes(): number;
    page_live_at_peak(): number;
    page_reserved_start(): number;
    page_reserved_peak(): number;
    page_reserved_end(): number;
    page_reserved_shift(): number;
    page_headroom(from: number, to: number, capacityBytes: number): number;
    page_has_time(): number;
    page_first_us(): number;
    page_fit_from(axis: number): number;
    page_fit_to(axis: number): number;
    page_event_us(event: number): number;
    page_live_at(event: number): number;
    page_reserved_at(event: number): number;
    page_event_at_us(us: number): number;
    page_peak_in(from: number, to: number): number;
    page_oom_count(): number;
    page_oom_event(i: number): number;
    page_oom_size(i: number): number;
    page_oom_free(i: number): number;

    page_snapshot_count(): number;
    page_snapshot_event(i: number): number;
    page_snapshot_bytes(i: number): number;
    page_stream_count(): number;
    page_stream_high(stream: number): number;
    page_stream_low(stream: number): number;
    page_pool_count(): number;
    page_pool_first(pool: number): number;
    page_pool_second(pool: number): number;

    page_phase_count(internal: number): number;
    page_phase_rows(internal: number): number;
    page_phase_name(phase: number): number;
    page_phase_start_us(phase: number): number;
    page_phase_end_us(phase: number): number;
    page_phase_internal(phase: number): number;
    page_phase_marks(internal: number, most_rows: number): number;
    page_phase_mark_rows(): number;

    page_life_bytes(life: number): number;
    /** How many allocations the band stands for: more than 1 only in a page that was made smaller. */
    page_life_allocations(life: number): number;
    page_life_birth(life: number): number;
    page_life_death(life: number): number;
    page_life_request(life: number): number;
    page_life_stack(life: number): number;
    page_life_context(life: number): number;
    page_life_stream(life: number): number;
    page_life_pool_first(life: number): number;
    page_life_pool_second(life: number): number;
    page_life_address_high(life: number): number;
    page_life_address_low(life: number): number;
    page_life_flags(life: number): number;

    page_draw(
        axis: number,
        from: number,
        to: number,
        width: number,
        height: number,
        bottom_bytes: number,
        top_bytes: number,
        flags: number,
        color_by: number,
        capacity_bytes: number,
    ): number;
    page_drawn(): number;
    page_merged(): number;
    page_pick(x: number, y: number): number;
    page_picked_event(): number;
    page_x_of_event(event: number): number;
    page_event_of_x(x: number): number;
    page_outline(life: number): number;
    page_outline_first(): number;
    page_outline_edges(): number;
    page_curve(axis: number, from: number, to: number, width: number, kept: number): number;

    page_groups(event: number, by: number): number;
    page_range_groups(from: number, to: number, what: number, by: number): number;
    page_group_bytes(i: number): number;
    page_group_count(i: number): number;
    page_group_site(i: number): number;
    page_group_stack(i: number): number;
    page_stack_count(): number;
    page_frame_count(): number;
    page_string_count(): number;
    page_mask(): number;
    page_context_count(): number;
    page_context_mask(): number;
    page_next_match(life: number, step: number): number;
    page_mask_lives(): number;
    page_mask_peak_bytes(): number;
    page_site_lives(site: number): number;
    page_site_bytes_at(site: number, event: number): number;

    page_filter(
        least_bytes: number,
        most_bytes: number,
        least_age: number,
        most_age: number,
        age_in_us: number,
        stream: number,
        pool: number,
        at_peak: number,
        at_end: number,
        own: number,
    ): number;
    page_filter_off(): void;
    page_kept(): number;
    page_kept_peak_bytes(): number;
    page_kept_highest(): number;

    page_key_color(by: number, key: number, dark: number): number;
    page_key_from(by: number, key: number): number;
    page_category_name(category: number): number;
    page_key_bytes(by: number, key: number, event: number): number;
    page_life_category(life: number): number;
    page_pending_count(): number;

    page_ticks_decimal(low: number, high: number, most: number): number;
    page_ticks_bytes(low: number, high: number, most: number): number;
    page_ticks(): number;
}

/** A frame as the report spells it; innermost first in a stack. */
interface Frame {
    file: string;
    line: number;
    name: string;
}

/** What passes the filter: words as people write them ("20 MiB", "500", "2 ms"), indices of streams and pools (-1: all). */
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
}

/** The window and what is shown in it, as scripts see it. Events count from 0; -1 is before the first. */
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
}

/** What torch.fx noted with a frame of generated code. */
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

interface SearchResult {
    allocations: number;
    bytesAtPeak: number;
}

interface PageApi {
    ready: Promise<void>;
    devices(): { device: number; events: number; allocations: number }[];
    summary(): object;
    view(): PageView;
    setView(change: Partial<Omit<PageView, "filter">> & { filter?: Partial<PageFilter> }): PageView;
    pick(x: number, y: number): PagePick | null;
    allocation(index: number): PageAllocation;
    phases(): PagePhase[];
    search(text: string): SearchResult;
    stats(): { allocations: number; drawn: number; merged: number; frameMs: number[]; memoryBytes: number; kept: number; draws: number };
}

interface Window {
    strata: PageApi;
}
