/* The table of options: for each the verbs that have it, its effect on the settings, and its help. */
#include "base/utf8.h"
#include "cli/options_internal.h"

#include "analysis/model/allocator_settings.h"
#include "analysis/plan/plan.h"
#include "base/units.h"
#include "cli/filter.h"
#include "cli/memory.h"
#include "layout/owner.h"

#include <stdio.h>
#include <string.h>

/* Stores a number in a field of 1, 4 or 8 bytes; one too large for the field (a size_t of 32 bits) becomes the largest
 * that fits. */
static void number_store(void *field, size_t nbytes, uint64_t number) {
    uint8_t byte = (uint8_t)number;
    uint32_t word = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    memcpy(field, nbytes == 1 ? (void *)&byte : nbytes == 4 ? (void *)&word : (void *)&number, nbytes);
}

/* Refuses a small size of a device without a unit, because GiB is usually meant. */
static bool unit_is_there(struct settings *settings, const char *value, uint64_t bytes) {
    if (size_lacks_unit(value, bytes))
        snprintf(settings->wrong, sizeof settings->wrong, "%s bytes? write %sGiB", value, value);
    return settings->wrong[0] == '\0';
}

static bool apply_device(struct settings *settings, const char *value) {
    settings->has_device = ordinal_parse(value, &settings->device);
    return settings->has_device;
}

static bool apply_theme(struct settings *settings, const char *value) {
    settings->theme = value;
    return choice_of(value, "light|dark|auto") >= 0;
}

/* Adds a filter. Several filters are one whose words are joined by AND. */
static bool apply_filter(struct settings *settings, const char *value) {
    if (!filter_check(value, settings->wrong, sizeof settings->wrong))
        return false;
    size_t used = strlen(settings->filter), left = sizeof settings->filter - used;
    int n = snprintf(settings->filter + used, left, "%s%s", used != 0 ? " " : "", value);
    if (n >= 0 && (size_t)n < left)
        return true;
    snprintf(settings->wrong, sizeof settings->wrong, "filters are too long, %d bytes at most",
             FILTER_CAPACITY - 1);
    return false;
}

static bool apply_hide_internal(struct settings *settings, const char *value) {
    (void)value;
    return apply_filter(settings, "own:yes");
}

static bool apply_redact(struct settings *settings, const char *value) {
    settings->redact_all = value != NULL;
    settings->redact = true;
    return value == NULL || strcmp(value, "all") == 0;
}

static bool owner_add(struct settings *settings, const char *value, enum frame_owner owner) {
    settings->owners = memory_resize(settings->owners, settings->n_owners + 1, sizeof *settings->owners);
    settings->owners[settings->n_owners++] = (struct owner_pattern){value, owner};
    return *value != '\0' && strlen(value) <= OWNER_PATTERN_MAX_NBYTES;
}

#define COLORING_NAME(NAME, name, title, words) name,
static const char *const color_names[] = {STRATA_COLORINGS(COLORING_NAME)};
#undef COLORING_NAME
#define COLORING_WORD(NAME, name, title, words) "|" name
static const char color_words[] = STRATA_COLORINGS(COLORING_WORD);
#undef COLORING_WORD

const char *options_color_name(enum color_by color_by) {
    return color_names[color_by];
}

static bool apply_color_by(struct settings *settings, const char *value) {
    int choice = choice_of(value, color_words + 1);
    settings->color_by = choice >= 0 ? (enum color_by)choice : settings->color_by;
    return settings->has_color_by = choice >= 0;
}

static bool is_json(enum report_format format) {
    return format == REPORT_JSON || format == REPORT_BRIEF;
}

/* Sets the format; --json and --brief together are the brief report, in either order. */
static bool apply_format(struct settings *settings, enum report_format format) {
    bool both_json = is_json(settings->format) && is_json(format);
    settings->two_formats |= settings->format != REPORT_TEXT && settings->format != format && !both_json;
    settings->format = both_json && settings->format == REPORT_BRIEF ? REPORT_BRIEF : format;
    return settings->has_format = true;
}

#define GROUP_WORD(NAME, name, thing) "|" name
static const char group_words[] = STRATA_GROUPINGS(GROUP_WORD);
#undef GROUP_WORD

#define EXPORT_WORD(NUMBER, name, ending, writer) "|" #name
static const char export_words[] = STRATA_EXPORTS(EXPORT_WORD);
#undef EXPORT_WORD

static bool apply_export(struct settings *settings, const char *value) {
    int format = choice_of(value, export_words + 1);
    return format >= 0 && apply_format(settings, (enum report_format)format);
}

#define EXPORT_KIND_WORD(NUMBER, name, ending, other, text) "|" #name
static const char export_kind_words[] = STRATA_EXPORT_KINDS(EXPORT_KIND_WORD);
#undef EXPORT_KIND_WORD

/* --to names the kind of an export; a second --to ends a window as in every verb. No position has the name of a
 * kind. */
static bool apply_export_to(struct settings *settings, const char *value) {
    enum export_kind kind = export_kind_by_name(value);
    if (kind == EXPORT_KINDS && position_parse(value, &settings->to))
        return true;
    if (kind != EXPORT_KINDS && (settings->export_kind == EXPORT_KINDS || settings->export_kind == kind)) {
        settings->export_kind = kind;
        return true;
    }
    snprintf(settings->wrong, sizeof settings->wrong,
             kind == EXPORT_KINDS ? "\"%.*s\" is neither a kind (%s) nor a position"
                                  : "\"%.*s\" is a second kind; one at a time of %s",
             UTF8_FIT(value, 60), export_kind_words + 1);
    return false;
}

static bool apply_set(struct settings *settings, const char *value) {
    if (!allocator_setting_is_fine(value)) {
        snprintf(settings->wrong, sizeof settings->wrong,
                 "\"%.*s\" is not KEY=VALUE with a value that PyTorch takes; keys: expandable_segments, "
                 "expandable_segments_reserve, garbage_collection_threshold, large_segment_size_mb, "
                 "max_non_split_rounding_mb, "
                 "max_split_size_mb, per_process_memory_fraction, roundup_power2_divisions",
                 UTF8_FIT(value, 60));
        return false;
    }
    if (settings->plan.n_set == SETS_CAPACITY)
        return false;
    settings->plan.set[settings->plan.n_set++] = value;
    return true;
}

/* Reads how much stays free: "10%" or a size. */
static bool apply_kept(struct settings *settings, const char *value) {
    size_t n = strlen(value);
    char digits[8];
    uint64_t percent;
    settings->plan.has_keep = true;
    settings->plan.keep_percent = 0;
    if (n == 0 || value[n - 1] != '%')
        return size_parse(value, &settings->plan.keep_bytes);
    if (n > sizeof digits - 1)
        return false;
    memcpy(digits, value, n - 1);
    digits[n - 1] = '\0';
    settings->plan.keep_bytes = 0;
    if (!number_parse(digits, 0, 99, &percent))
        return false;
    settings->plan.keep_percent = (uint32_t)percent;
    return true;
}

static bool without_add(struct settings *settings, const char *word, size_t n) {
    for (enum plan_word i = WORD_EXPANDABLE; i < PLAN_WORDS; i++)
        if (strlen(plan_word_text[i]) == n && memcmp(plan_word_text[i], word, n) == 0) {
            settings->plan.without |= UINT32_C(1) << i;
            return true;
        }
    snprintf(settings->wrong, sizeof settings->wrong, "\"%.*s\" is none of ", (int)(n < 60 ? n : 60), word);
    for (enum plan_word i = WORD_EXPANDABLE; i < PLAN_WORDS; i++) {
        size_t used = strlen(settings->wrong);
        snprintf(settings->wrong + used, sizeof settings->wrong - used, "%s%s", i > 0 ? ", " : "",
                 plan_word_text[i]);
    }
    return false;
}

static bool apply_without(struct settings *settings, const char *value) {
    for (;;) {
        size_t n = strcspn(value, ",");
        if (!without_add(settings, value, n))
            return false;
        if (value[n] == '\0')
            return true;
        value += n + 1;
    }
}

static bool apply_host(struct settings *settings, const char *value) {
    settings->hosts = memory_resize(settings->hosts, settings->n_hosts + 1, sizeof *settings->hosts);
    settings->hosts[settings->n_hosts++] = value;
    return *value != '\0';
}

static bool apply_rule(struct settings *settings, const char *value) {
    settings->check.rules =
        memory_resize(settings->check.rules, settings->check.n_rules + 1, sizeof *settings->check.rules);
    settings->check.rules[settings->check.n_rules++] = value;
    return *value != '\0';
}

static bool apply_every(struct settings *settings, const char *value) {
    struct decimal decimal;
    uint32_t length = word_length(value);
    return length < 20 && decimal_read(&decimal, word_text(value)) == length && length != 0 &&
           decimal_times(&decimal, 1000000, &settings->run.every_us) && settings->run.every_us >= 10000 &&
           settings->run.every_us <= UINT64_C(3600000000);
}

bool option_set(struct settings *settings, const struct option *option, const char *value) {
    const struct option_field *field = &option->field;
    void *at = (char *)settings + field->offset;
    uint64_t number = field->low;
    int choice = 0;
    switch (field->kind) {
    case FIELD_CALL: return field->call(settings, value);
    case FIELD_FORMAT: return apply_format(settings, (enum report_format)field->low);
    case FIELD_OWNER: return owner_add(settings, value, (enum frame_owner)field->low);
    case FIELD_POSITION: return position_parse(value, at);
    case FIELD_TEXT: memcpy(at, &value, sizeof value); return strlen(value) >= field->low;
    case FIELD_SET: break;
    case FIELD_NUMBER:
        if (!number_parse(value, field->low, field->high, &number))
            return false;
        break;
    case FIELD_BYTES:
    case FIELD_DEVICE_BYTES:
        if (!size_parse(value, &number) || number == 0)
            return false;
        if (field->kind == FIELD_DEVICE_BYTES && !unit_is_there(settings, value, number))
            return false;
        break;
    case FIELD_WORD:
        if ((choice = choice_of(value, option->value)) < 0)
            return false;
        number = (uint64_t)choice;
        break;
    }
    number_store(at, field->nbytes, number);
    return true;
}

/* ---- the table, in the order of the help ---- */

#define FIELD(KIND, name, low, high) \
    { FIELD_##KIND, offsetof(struct settings, name), sizeof((struct settings *)NULL)->name, low, high, NULL }
#define SET(name, value)         FIELD(SET, name, value, 0)
#define NUMBER(name, low, high)  FIELD(NUMBER, name, low, high)
#define TEXT(name, least_nbytes) FIELD(TEXT, name, least_nbytes, 0)
#define WORD(name)               FIELD(WORD, name, 0, 0) /* the words are those of the option's `value` */
#define BYTES(name)              FIELD(BYTES, name, 0, 0)
#define DEVICE_BYTES(name)       FIELD(DEVICE_BYTES, name, 0, 0)
#define POSITION(name)           FIELD(POSITION, name, 0, 0)
#define FORMAT(format) \
    { FIELD_FORMAT, 0, 0, format, 0, NULL }
#define OWNER(owner) \
    { FIELD_OWNER, 0, 0, owner, 0, NULL }
#define CALL(function) \
    { FIELD_CALL, 0, 0, 0, 0, function }

static const struct option options[] = {
    {'o', VERB_PICTURE, "output", "PATH", TEXT(output, 1),
     "a file, a directory, or - for standard output\n(default: the input's name with the new ending, beside "
     "it)"},
    {'o', VERB_REPORT, "output", "PATH", TEXT(output, 1),
     "a file, a directory, or - for standard output\n(default: standard output)"},
    {'o', VERB_EXPORT, "output", "PATH", TEXT(output, 1),
     "a file, whose ending may choose the format, a directory,\nor - for standard output (default: beside "
     "the input)"},
    {0, VERB_EXPORT, "to", "KIND|POSITION", CALL(apply_export_to),
     "csv, sqlite, pprof, folded or perfetto; a\nsecond --to: where the window ends"},
    {0, VERB_EXPORT | SHAPES, "from", "POSITION", POSITION(from),
     "where the window begins: an event's index, 12.5s, peak,\npeak-500, oom (default: all is exported)"},
    {0, VERB_EXPORT | SHAPES, "at", "POSITION", POSITION(at),
     "folded, pprof: the moment whose memory is\nexported: peak (default), oom or an event"},
    {0, VERB_EXPORT, "allocated", NULL, SET(allocated, 1),
     "folded, pprof: all memory that was allocated\nin the window instead"},
    {'o', VERB_BATCH, "output", "DIR", TEXT(output, 1),
     "directory for the results; created if it is missing"},
    {'o', VERB_RUN, "out", "DIR", TEXT(output, 1),
     "folder for everything; one that exists is\nused as it is, so that several runs share it\n"
     "(default: strata-run, strata-run-2, ...)"},
    {0, VERB_RUN, "steps", "N", NUMBER(run.n_steps, 0, 1000000000),
     "dump after N optimizer steps (default: 5; 0: do not)"},
    {0, VERB_RUN, "stop", NULL, SET(run.stops, 1), "stop recording after these steps (default: go on)"},
    {0, VERB_RUN, "max-entries", "N", NUMBER(run.max_entries, 1, INT32_MAX),
     "events that each process keeps; the oldest are\ndropped first (default: 1000000)"},
    {0, VERB_RUN, "stacks", "python|all", WORD(run.all_stacks),
     "all: C++ frames too; the dump of a large model may then\ntake minutes (default: python)"},
    {0, VERB_RUN, "keep", "N", NUMBER(run.keep, 1, 1000000), "dumps that each process keeps (default: 8)"},
    {0, VERB_RUN, "every", "SECONDS", CALL(apply_every), "seconds between samples of the host (default: 1)"},
    {0, VERB_RUN, "no-report", NULL, SET(run.no_report, 1), "write no pages at the end"},
    {'j', VERB_BATCH, "jobs", "N", NUMBER(batch.jobs, 1, 4096),
     "files at once (default: as many as there are cores and\nas --max-memory has room for)"},
    {0, VERB_BATCH, "max-time", "SECONDS", NUMBER(batch.max_seconds, 1, 10000000),
     "a file that takes longer fails (default: 1800)"},
    {0, VERB_BATCH, "png", NULL, SET(batch.png, 1), "write a picture of each file too"},
    {0, VERB_BATCH, "pages", "all|odd|none", WORD(batch.pages),
     "odd: only of recordings that the index calls odd, and of\nthose that they are compared with (default: "
     "all)"},
    {0, VERB_BATCH | SHAPES, "export", export_kind_words + 1, WORD(export_kind),
     "write an export of each file too (docs/export.md)"},
    {0, VERB_BATCH, "no-recursive", NULL, SET(batch.flat, 1), "take only the files of the named directories"},
    {0, VERB_BATCH, "resume", NULL, SET(batch.resume, 1),
     "skip files whose results are up to date (same size,\nmodification time and options)"},
    {0, VERB_BATCH, "rank-regex", "REGEX", TEXT(batch.rank_regex, 1),
     "finds the rank in a file's path: its first group, or the\none named rank; a second one, or step, is "
     "the step"},
    {0, VERB_BATCH, "shard", "I/N|auto", TEXT(batch.shard, 1),
     "do part I of N (from 1), or the part that the scheduler's\nenvironment gives; writes no index, which "
     "--resume without\n--shard makes of all parts"},
    {'o', VERB_DIFF, "output", "PATH", TEXT(output, 1),
     "a file, whose ending chooses the format: .txt, .md, .json,\n.png or .html; - for standard output "
     "(default: text on standard output)"},
    {'o', VERB_PLAN, "output", "PATH", TEXT(output, 1),
     "a file, whose ending chooses the format: .txt, .md, .json or\n.html; - for standard output (default: "
     "text on standard output)"},
    {0, VERB_CHECK, "rule", "RULE", CALL(apply_rule),
     "a limit such as 'peak < 75GiB'; as many as you like\n(docs/ci.md)"},
    {0, VERB_CHECK, "config", "FILE", TEXT(check.config, 1),
     "rules, patterns of files and the baseline: strata.json"},
    {0, VERB_CHECK, "baseline", "FILE", TEXT(check.baseline, 1), "figures that rules may compare with"},
    {0, VERB_CHECK, "update-baseline", NULL, SET(check.update_baseline, 1),
     "write the baseline again; refused if CI=true"},
    {0, VERB_CHECK, "format", "text|github|junit|json", WORD(check.format),
     "format of standard output (default: text)"},
    {0, VERB_CHECK, "skip-steps", "N", NUMBER(check.skip_steps, 0, 1000000),
     "leave the first N steps, the warm-up, out of peaks"},
    {0, VERB_DIFF, "align", "peak|step|annotation", WORD(align),
     "compare each at its peak (default), or at the peak of\nthe same step or annotation"},
    {'d', VERB_DIFF, "device", "N", CALL(apply_device), "ordinal of the device (default: as strata html)"},
    {'d', VERB_CHECK, "device", "N", CALL(apply_device),
     "judge this device alone (default: all but the CPU)"},
    {0, VERB_DIFF, "json", NULL, FORMAT(REPORT_JSON), "for programs: JSON, \"schema\": 1"},
    {0, VERB_DIFF, "markdown", NULL, FORMAT(REPORT_MARKDOWN), "to paste into an issue"},
    {0, VERB_DIFF, "top", "N", NUMBER(top, 0, UINT32_MAX),
     "number of call sites listed, 0: all (default: 20)"},
    {'f', VERB_ANY & ~(unsigned)VERB_CHECK, "force", NULL, SET(force, 1), "replace an existing output file"},
    {'d', VERB_PICTURE | SHAPES, "device", "N", CALL(apply_device),
     "ordinal of the device (default: one that ran out of\nmemory, else the one with most events)"},
    {'d', VERB_BATCH | SHAPES, "device", "N", CALL(apply_device),
     "ordinal of the device to show (default: as strata html)"},
    {'d', VERB_REPORT | VERB_PLAN | VERB_EXPORT | SHAPES, "device", "N", CALL(apply_device),
     "ordinal of the device (default: all)"},
    {0, VERB_REPORT, "json", NULL, FORMAT(REPORT_JSON), "for programs: JSON, \"schema\": 3"},
    {0, VERB_REPORT, "brief", NULL, FORMAT(REPORT_BRIEF),
     "JSON of one screen, at most 4 KB: what ran out, the\nparts of the peak, findings, the plan's first "
     "lines"},
    {0, VERB_REPORT, "full", NULL, FORMAT(REPORT_FULL), "all sections, not one screen"},
    {0, VERB_PLAN, "json", NULL, FORMAT(REPORT_JSON), "for programs: JSON, \"schema\": 1"},
    {0, VERB_REPORT | VERB_PLAN, "markdown", NULL, FORMAT(REPORT_MARKDOWN), "to paste into an issue"},
    {0, VERB_PLAN, "set", "KEY=VALUE", CALL(apply_set),
     "a setting as PYTORCH_ALLOC_CONF spells it; all of them\nare one more change"},
    {0, VERB_PLAN, "keep", "SIZE|N%", CALL(apply_kept),
     "leave this much of --gpu to other libraries (default: 2%)"},
    {0, VERB_PLAN, "without", "WORD,...", CALL(apply_without),
     "exclude changes: expandable_segments, max_split_size_mb,\n"
     "garbage_collection_threshold, roundup_power2_divisions,\nfindings, fused, checkpoint, eight_bit, "
     "offload"},
    {0, VERB_PLAN, "gpu", "SIZE", DEVICE_BYTES(plan.gpu_bytes),
     "the memory that the process may use, such as 80GiB\n(default: the limit that the recording shows)"},
    {0, VERB_PICTURE | VERB_REPORT | VERB_BATCH | SHAPES, "gpu", "SIZE", DEVICE_BYTES(plan.gpu_bytes),
     "plan what would make the run fit a device of this size,\nas strata plan does (default: after running "
     "out of memory)"},
    {0, VERB_PICTURE | VERB_REPORT | VERB_BATCH | SHAPES, "no-plan", NULL, SET(plan.unwanted, 1),
     "do not compute that plan"},
    {0, VERB_REPORT, "format", export_words + 1, CALL(apply_export),
     "--json, --markdown, --brief and the default, text, by name"},
    {0, VERB_REPORT | SHAPES, "top", "N", NUMBER(top, 0, UINT32_MAX),
     "number of groups at the peak, 0: all (default: 20)"},
    {0, VERB_REPORT | VERB_DIFF | SHAPES, "group", group_words + 1, WORD(group),
     "sum by call site (default), identical stack (not in diff),\nfile, category, stream, pool, module (the "
     "layers that "
     "repeat\ninside of a forward), or metadata (the user's)"},
    {0, VERB_PICTURE | SHAPES, "title", "TEXT", TEXT(title, 0), "title (default: the input's name)"},
    {0, VERB_HTML | VERB_BATCH | SHAPES, "theme", "light|dark|auto", CALL(apply_theme),
     "colours of the page (default: auto, as the system)"},
    {0, VERB_PNG | VERB_DIFF | VERB_PLAN | SHAPES, "theme", "light|dark|auto", CALL(apply_theme),
     "colours of the picture (default: auto, which is light;\na page of diff or plan follows the system)"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES, "capacity", "SIZE", DEVICE_BYTES(capacity_bytes),
     "draw a line at the device's capacity, such as 80GiB\n(default: the one that the file names)"},
    {0, VERB_HTML | VERB_BATCH | VERB_DIFF | SHAPES, "max-html-size", "SIZE", BYTES(max_html_nbytes),
     "merge the smallest allocations until the page fits\n(default: 100MiB)"},
    {0, VERB_PNG | SHAPES, "map", NULL, SET(map, 1),
     "draw segments and blocks below the timeline, at the\nmoment of --at (default: the peak)"},
    {0, VERB_PNG | SHAPES, "no-names", NULL, SET(no_names, 1),
     "write no call sites on the bands that have room for them"},
    {0, VERB_PNG | VERB_BATCH | VERB_DIFF | SHAPES, "width", "PIXELS", NUMBER(width, 320, 7680),
     "320 to 7680 (default: 1600)"},
    {0, VERB_PNG | VERB_BATCH | VERB_DIFF | SHAPES, "height", "PIXELS", NUMBER(height, 240, 4320),
     "240 to 4320 (default: 900)"},
    {0, VERB_PNG | VERB_BATCH | VERB_DIFF | SHAPES, "scale", "N", NUMBER(scale, 1, 4),
     "everything this many times larger, 1 to 4 (default: 1);\nthe plot has at most 16,384 pixels a side"},
    {0, VERB_PICTURE | SHAPES, "from", "POSITION", POSITION(from),
     "where the window begins: an event's index, 12.5s after\nthe first event, peak, peak-500, oom, oom-200"},
    {0, VERB_PICTURE | SHAPES, "to", "POSITION", POSITION(to),
     "where the window ends, like --from; peak and oom\ninclude the event itself, an index does not"},
    {0, VERB_HTML | SHAPES, "at", "POSITION", POSITION(at),
     "the moment that the list shows: peak, oom or an event\n(default: the cursor's, at first the "
     "peak)"},
    {0, VERB_PNG | SHAPES, "at", "POSITION", POSITION(at),
     "the moment that the legend shows: peak, oom or an event\n(default: the highest point shown)"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES, "axis", "events|time", WORD(axis),
     "unit of the horizontal axis (default: events)"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES, "color-by", "WHAT", CALL(apply_color_by),
     "site (default), size, age, stream, pool, category\n(default for memory timelines) or each allocation"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES | NAMES_FILE, "host", "FILE", CALL(apply_host),
     "the host's memory meanwhile, as a lane: the host.log of\nstrata run; as many as you like, each for the "
     "dumps it names"},
    {0, VERB_ALL | SHAPES, "filter", "WORDS", CALL(apply_filter),
     "show only allocations that match all words: a text, /regex/, size:>1GiB,\nphase:backward, alive:peak "
     "... "
     "(docs/filter.md)"},
    {0, VERB_ALL | SHAPES, "hide-internal", NULL, CALL(apply_hide_internal),
     "leave out allocations not made by your own code:\n--filter own:yes"},
    {0, VERB_ANY | SHAPES, "own", "PATTERN", OWNER(OWNER_USER),
     "files that are your own code: a glob such as '*/lib/mine/*',\nor the name of a folder or module; as "
     "many as you like"},
    {0, VERB_ANY | SHAPES, "library", "PATTERN", OWNER(OWNER_LIBRARY),
     "files that call sites skip, as they skip torch\n(docs/report.md, Call sites)"},
    {0, VERB_ANY | SHAPES, "redact", "[=all]", CALL(apply_redact),
     "base names instead of paths, and none of the user's\nmetadata; all: no names of annotations either"},
    {0, VERB_ANY, "max-unpacked", "SIZE", BYTES(max_unpacked_nbytes),
     "the most that a packed file may unpack to (default: 1,000\ntimes its size, or 64 MiB if that is more)"},
    {0, VERB_ANY, "max-memory", "SIZE", BYTES(max_memory_nbytes),
     "the most memory that the recording may take\n(default: three quarters of the machine's)"},
    {0, VERB_HTML | VERB_BATCH | VERB_DIFF | VERB_PLAN, "open", NULL, SET(open, 1),
     "open the page that was written in the browser ($BROWSER,\nxdg-open)"},
    {0, VERB_ANY, "color", "auto|always|never", WORD(color),
     "colour in text and messages (default: auto, on a terminal\nwithout NO_COLOR)"},
    {'q', VERB_ANY | VERB_RUN, "quiet", NULL, SET(quiet, 1), "no notes and no progress on standard error"},
    {'v', VERB_ANY, "verbose", NULL, SET(verbose, 1), "more notes: what was read, how far to trust it"},
    {'V', VERB_ANY | VERB_RUN, "version", NULL, CALL(NULL), "print the version"},
    {'h', VERB_ANY | VERB_RUN, "help", NULL, CALL(NULL), "print this help"},
};

const struct option *option_behind(const struct option *option, unsigned verbs) {
    const struct option *end = options + sizeof options / sizeof options[0];
    for (option = option == NULL ? options : option + 1; option < end; option++)
        if ((option->where & verbs) != 0)
            return option;
    return NULL;
}

const struct option *option_by_name(unsigned verbs, const char *name, size_t length) {
    const struct option *option = NULL;
    while ((option = option_behind(option, verbs)) != NULL)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            break;
    return option;
}
