/* All kinds of findings in one table, and what their files share. */
#include "analysis/findings/finder.h"

#include "base/bytes.h"
#include "base/search.h"
#include "base/sort.h"
#include "layout/site.h"

#define ROW(KIND, name) &kind_##name,
static const struct kind *const kinds[FINDING_KINDS] = {STRATA_FINDINGS(ROW)};

const char *finding_kind_name(enum finding_kind kind) {
    return kinds[kind]->name;
}

const char *finding_change(enum finding_kind kind) {
    return kinds[kind]->change;
}

const char *const finding_severity_name[] = {"info", "low", "medium", "high"};
const char *const finding_confidence_name[] = {"possible", "likely", "certain"};
const char *const finding_unit_name[] = {NULL, "step", "turn", "layer"};

enum finding_severity severity_of_saving(uint64_t saves, uint64_t peak) {
    return is_percent(saves, peak, 10)  ? SEVERITY_HIGH
           : is_percent(saves, peak, 3) ? SEVERITY_MEDIUM
                                        : SEVERITY_LOW;
}

enum finding_confidence confidence_of_turns(uint32_t turns) {
    return turns >= 4 ? CONFIDENCE_CERTAIN : turns == 3 ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE;
}

uint32_t finder_forward(const struct finder *finder, const struct turn *turn) {
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    uint32_t side = turn->end;
    for (uint32_t k = turn->first; k < turn->end; k++) {
        if (letter[k] == PHASE_FORWARD)
            return k;
        if (side == turn->end && side_of_letter(letter[k]) == SIDE_FORWARD)
            side = k;
    }
    return side;
}

uint32_t finder_first_forward(const struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        if (finder->verdicts->runs.letter[i] == PHASE_FORWARD)
            return allocations->birth[i];
    return UINT32_MAX;
}

uint64_t finder_counted(const struct finder *finder, uint8_t what, struct finding *finding) {
    const struct device_trace *device = finder->timeline->device;
    uint64_t most = 0;
    for (uint32_t i = 0; i < device->n_notes; i++)
        if (device->notes[i].what == what && device->notes[i].number > most) {
            most = device->notes[i].number;
            finding->from_moment = finding->to_moment = finding->at_moment = device->notes[i].event + 1;
        }
    return most;
}

/* ---- adding ---- */

void finder_count(struct finder *finder, struct finding *finding, uint32_t allocation) {
    const struct allocations *allocations = finder->allocations;
    if (allocations->birth[allocation] > finding->at_moment ||
        allocations->death[allocation] <= finding->at_moment || finder->failed)
        return;
    finding->bytes += allocations->size[allocation];
    finding->count += allocation_stands_for(allocations, allocation);
    if (finding->set == 0)
        finding->set = ++finder->sets.n_sets;
    if (!ARENA_GROW(finder->arena, finder->sets.row, finder->sets.capacity, (uint64_t)finder->sets.count + 1))
        finder->failed = true;
    else
        finder->sets.row[finder->sets.count++] = (struct sort_row){allocation, finding->set};
}

/* Sorts the sets one after the other, each rising: two stable sorts, the lesser key first. */
static bool sets_sort(struct finder *finder) {
    struct sort_row *rows = finder->sets.row;
    uint32_t n = finder->sets.count;
    struct sort_row *spare = arena_column(finder->arena, n, sizeof *spare);
    if (spare == NULL)
        return false;
    sort_rows(rows, spare, n);
    for (uint32_t i = 0; i < n; i++)
        rows[i] = (struct sort_row){rows[i].value, (uint32_t)rows[i].key};
    sort_rows(rows, spare, n);
    ARENA_DROP(finder->arena, spare);
    return true;
}

/* Stores every finding's set in one column. An allocation that was counted twice is in it once. */
static bool sets_hand_out(struct finder *finder, struct findings *findings) {
    const struct sort_row *rows = finder->sets.row;
    uint32_t n = 0;
    uint32_t *ids = arena_column(finder->arena, finder->sets.count, sizeof *ids);
    if (ids == NULL || !sets_sort(finder))
        return false;
    for (uint32_t f = 0; f < findings->count; f++) {
        struct finding *finding = &findings->finding[f];
        uint32_t low = SEARCH(0, finding->set == 0 ? 0 : finder->sets.count, i, rows[i].key < finding->set);
        uint32_t first = n;
        for (; finding->set != 0 && low < finder->sets.count && rows[low].key == finding->set; low++)
            if (n == first || ids[n - 1] != rows[low].value)
                ids[n++] = rows[low].value;
        finding->n_ids = n - first;
        finding->ids = kinds[finding->kind]->flags & KIND_OF_SET ? ids + first : NULL;
    }
    ARENA_DROP(finder->arena, finder->sets.row);
    return true;
}

/* What saves nothing at the peak is no finding, unless it grows, which makes later steps fail. A ten thousandth of the peak
 * in each step is what programs keep that are right: predictions, losses. */
static bool is_worth_it(const struct finder *finder, const struct finding *finding) {
    uint64_t peak = finder->timeline->peak_bytes;
    bool grows = finding->grows && finding->per_bytes >= peak / 10000;
    return grows || !finding->saves_known || is_percent(finding->saves, peak, 1);
}

void finder_add(struct finder *finder, const struct finding *finding) {
    if (finder->failed)
        return;
    if (!is_worth_it(finder, finding)) {
        finder->spared[finding->kind] += finding->per_bytes;
        return;
    }
    if (!ARENA_GROW(finder->arena, finder->finding, finder->capacity, (uint64_t)finder->count + 1))
        finder->failed = true;
    else
        finder->finding[finder->count++] = *finding;
}

/* Few changes of the curve are kept as a list. Many, as in one finding of a thousand, are kept as a difference for
 * each moment, which takes as much memory as the curve. */
enum { MOMENTS_A_CHANGE = 256, CHANGES_LEAST = 1024 };

static bool removed_init(struct removed *removed, uint32_t n_moments, struct arena *arena) {
    removed->most = n_moments / MOMENTS_A_CHANGE + CHANGES_LEAST;
    return ARENA_COLUMNS(arena, removed->most, removed->change, removed->spare, removed->bytes);
}

/* Turns the list into a difference for each moment. False: no memory. */
static bool removed_spread(struct finder *finder) {
    struct removed *removed = &finder->removed;
    size_t n = (size_t)finder->timeline->n_moments + 1;
    if (removed->each == NULL) {
        removed->each = arena_zeros(finder->arena, n, sizeof *removed->each);
        if (removed->each == NULL)
            return false;
    }
    for (uint32_t i = 0; i < removed->count; i++)
        removed->each[removed->change[i].key] += removed->bytes[i];
    removed->count = removed->most;
    return true;
}

static void removed_add(struct finder *finder, uint32_t moment, uint64_t bytes) {
    struct removed *removed = &finder->removed;
    if (removed->count + 1 == removed->most && !removed_spread(finder)) {
        finder->failed = true;
        return;
    }
    if (removed->count == removed->most) {
        removed->each[moment] += bytes;
        return;
    }
    removed->change[removed->count] = (struct sort_row){moment, removed->count};
    removed->bytes[removed->count++] = bytes;
}

static void cut_note(struct finder *finder, uint32_t allocation, uint32_t from, uint32_t to) {
    if (!finder->verdicts->with_cuts)
        return;
    if (!ARENA_GROW(finder->arena, finder->cut, finder->cut_capacity, (uint64_t)finder->n_cuts + 1))
        finder->failed = true;
    else
        finder->cut[finder->n_cuts++] = (struct finding_cut){allocation, from, from, to};
}

void finder_remove(struct finder *finder, uint32_t allocation, uint32_t from, uint32_t to) {
    uint32_t n = finder->timeline->n_moments, until = to < n ? to : n;
    uint64_t bytes = finder->allocations->size[allocation];
    if (from >= until || finder->failed)
        return;
    cut_note(finder, allocation, from, to);
    removed_add(finder, from, bytes);
    removed_add(finder, until, 0 - bytes);
}

/* The highest total of the remaining memory, by a walk over all moments. */
static uint64_t highest_of_each(const struct finder *finder) {
    const uint64_t *live = finder->timeline->live;
    uint64_t removed = 0, highest = 0;
    for (uint32_t m = 0; m < finder->timeline->n_moments; m++) {
        removed += finder->removed.each[m];
        uint64_t left = live[m] - removed;
        highest = left > highest ? left : highest;
    }
    return highest;
}

/* The same for the stretch between two changes, in which the curve's own maximum is the highest. */
static uint64_t highest_between(struct finder *finder) {
    struct removed *removed = &finder->removed;
    const struct timeline *timeline = finder->timeline;
    uint64_t bytes = 0, highest = 0;
    uint32_t from = 0;
    sort_rows(removed->change, removed->spare, removed->count);
    for (uint32_t i = 0; i <= removed->count; i++) {
        uint32_t to = i < removed->count ? (uint32_t)removed->change[i].key : timeline->n_moments;
        if (from < to) {
            uint64_t left = timeline->live[timeline_peak_in(timeline, from, to)] - bytes;
            highest = left > highest ? left : highest;
        }
        bytes += i < removed->count ? removed->bytes[removed->change[i].value] : 0;
        from = to;
    }
    return highest;
}

void finder_saves(struct finder *finder, struct finding *finding) {
    struct removed *removed = &finder->removed;
    bool spread = removed->count == removed->most;
    uint64_t highest = spread ? highest_of_each(finder) : highest_between(finder);
    uint64_t peak = finder->timeline->peak_bytes;
    if (spread)
        bytes_zero(removed->each, ((size_t)finder->timeline->n_moments + 1) * sizeof *removed->each);
    removed->count = 0;
    finding->saves = peak > highest ? peak - highest : 0;
    finding->saves_known = true;
    finding->first_cut = finder->first_cut;
    finding->n_cuts = finder->n_cuts - finder->first_cut;
    finder->first_cut = finder->n_cuts;
}

/* ---- what the search needs ---- */

static bool finder_init(struct finder *finder, const struct verdicts *verdicts, struct arena *arena) {
    const struct timeline *timeline = verdicts->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n_recorded = allocations->count - allocations->preexisting;
    *finder = (struct finder){.verdicts = verdicts,
                              .timeline = timeline,
                              .allocations = allocations,
                              .arena = arena,
                              .made = n_recorded > 0 ? allocations->birth[allocations->count - 1] : 0};
    return removed_init(&finder->removed, timeline->n_moments, arena) &&
           lives_begin(&finder->lives, timeline, &verdicts->runs, &verdicts->turns, arena);
}

/* ---- order ---- */

/* By falling severity, then falling bytes, then as found. */
static uint64_t finding_key(const void *record, uint32_t nth) {
    const struct finding *finding = record;
    return nth == 0 ? (uint64_t)(SEVERITY_HIGH - finding->severity) : ~finding->bytes;
}

static bool findings_sort(struct finder *finder, struct findings *findings) {
    if (!sort_records(finder->finding, finder->count, sizeof *finder->finding, finding_key, 2, finder->arena))
        return false;
    findings->finding = finder->finding;
    findings->count = finder->count;
    findings->cut = finder->cut;
    bytes_copy(findings->looked, finder->looked, sizeof findings->looked);
    bytes_copy(findings->spared, finder->spared, sizeof findings->spared);
    findings->gradients_unsure = finder->gradients_unsure;
    return true;
}

static bool findings_begin(struct verdicts *verdicts, struct arena *arena) {
    verdicts->finder = arena_alloc(arena, sizeof *verdicts->finder);
    return verdicts->finder != NULL && finder_init(verdicts->finder, verdicts, arena);
}

static bool findings_end(struct verdicts *verdicts, struct arena *arena) {
    struct finder *finder = verdicts->finder;
    bool done = findings_sort(finder, &verdicts->findings) && sets_hand_out(finder, &verdicts->findings);
    lives_drop(&finder->lives, arena);
    ARENA_DROP(arena, verdicts->runs.stack_bits); /* no longer needed */
    ARENA_DROP(arena, finder->removed.each, finder->removed.bytes, finder->removed.spare,
               finder->removed.change);
    verdicts->finder = NULL;
    return done;
}

static bool kind_fits(const struct verdicts *verdicts, const struct kind *kind) {
    return verdicts->timeline->device->ordinal == ORDINAL_HOST
               ? !(kind->flags & KIND_OF_CACHE)
               : (kind->flags & KIND_OF_LEVELS) || trace_has_allocations(verdicts->timeline->trace);
}

bool findings_step(struct verdicts *verdicts, uint32_t step, struct arena *arena) {
    if (step == 0)
        return findings_begin(verdicts, arena);
    if (step == FINDINGS_STEPS - 1)
        return findings_end(verdicts, arena);
    if (kind_fits(verdicts, kinds[step - 1]))
        kinds[step - 1]->find(verdicts->finder);
    return !verdicts->finder->failed;
}

bool finding_has_bytes(const struct finding *finding) {
    return !(kinds[finding->kind]->flags & KIND_NO_BYTES);
}

bool finding_set(const struct finding *finding, uint64_t *bitmap) {
    for (uint32_t i = 0; i < finding->n_ids; i++)
        bitmap[finding->ids[i] / 64] |= UINT64_C(1) << finding->ids[i] % 64;
    return finding->ids != NULL;
}

/* ---- sentences ---- */

void tell_frame(struct telling *telling, uint32_t frame) {
    char text[512];
    uint32_t length = site_text(telling->verdicts->timeline->trace, frame, text, sizeof text);
    words_say(telling->words, text);
    if (length >= sizeof text)
        words_say(telling->words, "\xe2\x80\xa6");
}

static const char *telling_unit(const struct telling *telling) {
    const char *name = finding_unit_name[telling->finding->unit];
    return name != NULL ? name : turns_unit(&telling->verdicts->turns);
}

static bool tell_mark(void *context, char mark) {
    struct telling *telling = context;
    if (mark == 'S')
        tell_frame(telling, telling->finding->site);
    else if (mark == 'U')
        words_say(telling->words, telling_unit(telling));
    return mark == 'S' || mark == 'U';
}

void tell_figures(struct telling *telling, const char *sentence, const uint64_t *figures) {
    words_tell(telling->words, sentence, figures, tell_mark, telling);
}

void tell_saving(struct telling *telling, const char *without) {
    const struct finding *finding = telling->finding;
    uint64_t peak = telling->verdicts->timeline->peak_bytes;
    if (!finding->saves_known)
        return;
    if (finding->saves == 0) {
        tell(telling, " But the peak would not fall, because something else is as high.");
        return;
    }
    tell(telling, " ");
    tell(telling, without);
    if (is_percent(finding->saves, peak, 1))
        TELL(telling, " %b off the peak (%p).", finding->saves, finding->saves, peak);
    else
        TELL(telling, " only %b off the peak.", finding->saves);
}

uint32_t finding_title(const struct verdicts *verdicts, const struct finding *finding, char *text,
                       uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct telling telling = {verdicts, finding, &words};
    kinds[finding->kind]->title(&telling);
    return words_end(&words);
}

static void tell_action(struct telling *telling, const char *before) {
    const struct kind *kind = kinds[telling->finding->kind];
    struct advice advice = kind->advise != NULL ? kind->advise(telling) : kind->advice;
    if (advice.action == NULL)
        return;
    words_say(telling->words, before);
    tell_figures(telling, advice.action, &advice.figure);
}

uint32_t finding_detail(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct telling telling = {verdicts, finding, &words};
    kinds[finding->kind]->detail(&telling);
    tell_action(&telling, " ");
    return words_end(&words);
}

uint32_t finding_facts(const struct verdicts *verdicts, const struct finding *finding, char *text,
                       uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct telling telling = {verdicts, finding, &words};
    kinds[finding->kind]->detail(&telling);
    return words_end(&words);
}

uint32_t finding_action(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct telling telling = {verdicts, finding, &words};
    tell_action(&telling, "");
    return words_end(&words);
}

uint32_t finding_code(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity) {
    struct words words = {text, capacity, 0};
    struct telling telling = {verdicts, finding, &words};
    const struct kind *kind = kinds[finding->kind];
    struct advice advice = kind->advise != NULL ? kind->advise(&telling) : kind->advice;
    tell_figures(&telling, advice.code != NULL ? advice.code : "", &advice.figure);
    return words_end(&words);
}

const char *kind_title(const char *kind) {
    struct text name = {(const uint8_t *)kind, word_length(kind)};
    for (uint32_t i = 0; i < FINDING_KINDS; i++)
        if (text_is(name, kinds[i]->name))
            return kinds[i]->heading;
    return text_is(name, "rank_odd") ? "Differs" : kind;
}

void finding_capitalize(char *title) {
    const char *end = title;
    while (*end >= 'a' && *end <= 'z')
        end++;
    if (end != title && *end == ' ')
        *title = (char)(*title - 'a' + 'A');
}

uint32_t finding_headline(const struct verdicts *verdicts, const struct finding *finding, char *text,
                          uint32_t capacity) {
    static const char kind[] = "out of memory: ";
    uint32_t length = finding_title(verdicts, finding, text, capacity), skipped = 0;
    struct text title = {(const uint8_t *)text, length < capacity ? length : capacity - 1};
    if (finding->kind == FINDING_OUT_OF_MEMORY && text_has_at(title, 0, kind))
        skipped = sizeof kind - 1;
    for (uint32_t i = 0; skipped != 0 && i + skipped <= title.nbytes; i++)
        text[i] = text[i + skipped];
    finding_capitalize(text);
    return length - skipped;
}

uint32_t finding_amount(const struct finding *finding, char *text, uint32_t capacity) {
    struct words words = {text, capacity, 0};
    bool each = (kinds[finding->kind]->flags & KIND_EACH) && finding->unit != UNIT_NONE;
    if (each && finding->kind == FINDING_LEAK && finding->per_n != finding->leak.n_turns)
        WORDS_TELL(&words, "%n \xc3\x97 %b", finding->per_n, finding->per_bytes);
    else if (each) {
        WORDS_TELL(&words, "+%b a ", finding->per_bytes);
        words_say(&words, finding_unit_name[finding->unit]);
    } else if (finding_has_bytes(finding) && finding->bytes != 0)
        words_add_bytes(&words, finding->bytes);
    return words_end(&words);
}

enum { VIEW_SITE_NBYTES = 400 };

static void view_number(struct words *words, const char *name, int64_t number) {
    words_say(words, name);
    if (number < 0)
        words_say(words, "-");
    words_number(words, (uint64_t)(number < 0 ? -number : number));
}

/* Writes a call site into an address by name, which is the same in every file of the recording; frame numbers
 * differ from page to page. */
static void view_site(struct words *words, const struct trace *trace, uint32_t site) {
    static const char hex[] = "0123456789ABCDEF";
    char text[VIEW_SITE_NBYTES];
    uint32_t length = site_text(trace, site, text, sizeof text);
    if (length >= sizeof text)
        return;
    words_say(words, "&focus=line_");
    for (uint32_t i = 0; i < length; i++) {
        uint8_t byte = (uint8_t)text[i];
        bool plain = (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
                     byte == '.' || byte == '_' || byte == '-' || byte == ':';
        char code[4] = {plain ? (char)byte : '%', plain ? '\0' : hex[byte >> 4], hex[byte & 15], '\0'};
        words_say(words, code);
    }
}

uint32_t finding_view(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity) {
    struct words words = {text, capacity, 0};
    const struct timeline *timeline = verdicts->timeline;
    bool whole = finding->from_moment <= 1 && finding->to_moment + 1 >= timeline->n_moments;
    view_number(&words, "#device=", timeline->device->ordinal);
    view_number(&words, "&at=", (int64_t)finding->at_moment - 1);
    if (finding->site != 0)
        view_site(&words, timeline->trace, finding->site);
    if (!whole && finding->to_moment > finding->from_moment) {
        view_number(&words, "&range=", finding->from_moment > 0 ? (int64_t)finding->from_moment - 1 : 0);
        view_number(&words, "_", finding->to_moment);
    }
    return words_end(&words);
}
