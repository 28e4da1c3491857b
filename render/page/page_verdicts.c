/* The verdicts of analysis/ for the page, made once: steps, categories, findings. */
#include "analysis/findings/peak_made.h"
#include "render/page/page_state.h"

const struct verdicts *session_verdicts(struct page_session *session, struct page_device *device,
                                        uint32_t until) {
    return session_device_steps(session, device, until) ? &device->verdicts : NULL;
}

const uint8_t *session_categories(struct page_session *session, struct page_device *device) {
    const struct verdicts *verdicts = session_verdicts(session, device, DEVICE_CATEGORIZED);
    return verdicts == NULL ? NULL : verdicts->category;
}

bool session_column(struct page_session *session, struct page_device *device, uint32_t by,
                    const uint8_t **column) {
    *column = NULL;
    if (by != COMPARE_BY_CATEGORY && by != COMPARE_BY_MODULE)
        return true;
    const struct verdicts *verdicts = session_verdicts(session, device, DEVICE_CATEGORIZED);
    if (verdicts != NULL && by == COMPARE_BY_MODULE && device->modules == NULL)
        device->modules =
            modules_find(&device->timeline, &verdicts->runs, verdicts->category, &session->arena);
    if (verdicts != NULL && by == COMPARE_BY_MODULE)
        *column = device->modules == NULL ? NULL : device->modules->key;
    else if (verdicts != NULL)
        *column = verdicts->category;
    return *column != NULL;
}

static const struct verdicts *verdicts_of(const struct page_view *view) {
    return session_verdicts(view->session, view_now(view), DEVICE_FOUND);
}

static const struct verdicts *spans_of(const struct page_view *view) {
    return session_verdicts(view->session, view_now(view), DEVICE_SPANNED);
}

place view_steps(struct page_view *view) {
    const struct verdicts *verdicts = spans_of(view);
    const struct span *span = verdicts == NULL ? NULL : verdicts->steps.span;
    return FILL_ROWS(view, step, verdicts == NULL ? 0 : verdicts->steps.count, i,
                     (double)span[i].from_moment - 1, (double)span[i].to_moment,
                     (double)span[i].peak_moment - 1, (double)span[i].begin_bytes, (double)span[i].peak_bytes,
                     (double)span[i].end_bytes, (double)turns_number(&verdicts->turns, span[i].step));
}

u32 view_findings(struct page_view *view) {
    const struct verdicts *verdicts = verdicts_of(view);
    return verdicts == NULL ? 0 : verdicts->findings.count;
}

/* Annotations are left to their own lane. */
place view_parts(struct page_view *view) {
    const struct verdicts *verdicts = spans_of(view);
    const struct span *span = verdicts == NULL ? NULL : verdicts->phases.span;
    uint32_t count = 0;
    while (verdicts != NULL && count < verdicts->phases.count && span[count].kind != SPAN_ANNOTATION)
        count++;
    return FILL_ROWS(view, part, count, i, (double)span[i].from_moment - 1, (double)span[i].to_moment,
                     span[i].kind, span[i].step == SPAN_NO_STEP ? -1.0 : (double)span[i].step);
}

static bool session_blocks(struct page_session *session, struct page_device *device) {
    const struct verdicts *verdicts = session_verdicts(session, device, DEVICE_CATEGORIZED);
    if (verdicts != NULL && !device->blocked)
        device->blocked = blocks_find(&device->blocks, &device->timeline, &verdicts->runs, verdicts->category,
                                      &session->arena);
    return device->blocked;
}

uint32_t session_layers(struct page_session *session, struct page_device *device) {
    const struct verdicts *verdicts = &device->verdicts;
    if (device->layer == NULL && session_blocks(session, device))
        (void)layer_spans_find(&device->layer, &device->n_layers, &device->blocks, &device->timeline,
                               &verdicts->runs, verdicts->category, &session->arena);
    return device->n_layers;
}

place view_layers(struct page_view *view, f64 from, f64 to, u32 most) {
    uint32_t n = session_layers(view->session, view_now(view)), count = 0;
    const struct layer_span *span = view_now(view)->layer;
    struct record_part *row = rows_make(&view->rows, &view->arena, n < most ? n : most, sizeof *row);
    if (row == NULL)
        return 0;
    for (uint32_t i = 0; i < n && count < most; i++)
        if (span[i].to_moment >= from && span[i].from_moment - 1.0 <= to)
            row[count++] =
                (struct record_part){span[i].from_moment - 1.0, span[i].to_moment,
                                     span[i].backward ? SPAN_BACKWARD : SPAN_FORWARD, span[i].layer};
    view->rows.number[0] = count;
    return (place)view->rows.number;
}

place view_part_name(struct page_view *view, u32 kind, u32 nth) {
    if (kind >= SPAN_KINDS)
        return 0;
    const char *whole = span_kind_name[kind];
    struct text name = phase_name(word_text(whole), nth);
    return FILL(view, text, (double)(place)name.at, name.nbytes);
}

place view_peak_made(struct page_view *view) {
    const struct verdicts *verdicts = verdicts_of(view);
    struct peak_made made;
    if (verdicts == NULL || !trace_has_allocations(verdicts->timeline->trace))
        return 0;
    peak_made_of(&made, verdicts);
    peak_made_text(&made, verdicts, view->name, sizeof view->name);
    return made.n_parts == 0 ? 0 : view_text(view, view->name);
}

place view_judged_text(struct page_view *view) {
    const struct verdicts *verdicts = verdicts_of(view);
    if (verdicts == NULL)
        return 0;
    verdicts_judged_text(verdicts, view->name, sizeof view->name);
    return view_text(view, view->name);
}

place view_check(struct page_view *view, u32 index) {
    const struct verdicts *verdicts = verdicts_of(view);
    if (verdicts == NULL || index >= verdicts_checks(verdicts))
        return 0;
    enum check_state state = verdicts_check(verdicts, index, view->name, sizeof view->name).state;
    return FILL(view, check, state, (double)(place)view->name, word_length(view->name));
}

static const struct finding *finding_at(const struct verdicts *verdicts, uint32_t index) {
    return verdicts == NULL || index >= verdicts->findings.count ? NULL : &verdicts->findings.finding[index];
}

place view_finding(struct page_view *view, u32 index) {
    const struct finding *finding = finding_at(verdicts_of(view), index);
    if (finding == NULL)
        return 0;
    return FILL(view, finding, finding->site, finding->stack,
                finding->unit == UNIT_NONE ? -1.0 : (double)finding->per_bytes, finding->per_n,
                finding_has_bytes(finding) ? (double)finding->bytes : -1.0, finding->count,
                finding->saves_known ? (double)finding->saves : -1.0, (double)finding->from_moment - 1,
                (double)finding->to_moment - 1, (double)finding->at_moment - 1,
                finding->kind == FINDING_HISTORY_FULL ? (double)finding->max_entries : -1.0);
}

place view_finding_ids(struct page_view *view, u32 index) {
    const struct finding *finding = finding_at(verdicts_of(view), index);
    if (finding == NULL)
        return 0;
    return FILL(view, ids, (double)(place)finding->ids, finding->ids == NULL ? -1.0 : (double)finding->n_ids);
}

/* A text of a finding; `which` counts as in the comment of page_api.def. */
place view_finding_text(struct page_view *view, u32 index, u32 which) {
    const struct verdicts *verdicts = verdicts_of(view);
    const struct finding *finding = finding_at(verdicts, index);
    if (finding == NULL)
        return 0;
    const char *unit = finding_unit_name[finding->unit];
    switch (which) {
    case 0: return view_text(view, finding_kind_name((enum finding_kind)finding->kind));
    case 1: return view_text(view, finding_severity_name[finding->severity]);
    case 2: return view_text(view, finding_confidence_name[finding->confidence]);
    case 3: return view_text(view, unit == NULL ? "" : unit);
    case 4: finding_title(verdicts, finding, view->name, sizeof view->name); break;
    case 5: finding_detail(verdicts, finding, view->name, sizeof view->name); break;
    case 7: finding_action(verdicts, finding, view->name, sizeof view->name); break;
    case 8:
        return view_text(
            view, finding->kind == FINDING_OPTIMIZER_TEMPORARIES ? finding_way_name[finding->variant] : "");
    case 9: return view_text(view, kind_title(finding_kind_name((enum finding_kind)finding->kind)));
    case 10: finding_headline(verdicts, finding, view->name, sizeof view->name); break;
    case 11: finding_amount(finding, view->name, sizeof view->name); break;
    case 12: finding_facts(verdicts, finding, view->name, sizeof view->name); break;
    case 13: finding_code(verdicts, finding, view->name, sizeof view->name); break;
    default: finding_view(verdicts, finding, view->name, sizeof view->name);
    }
    return view_text(view, view->name);
}
