/* Writes down the options that shape a result, so that the result can name them: as given, but without paths and
 * endless texts. */
#include "cli/options_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number of bytes of a value that are kept: all of a usual value, the beginning of a long title, in whole
 * characters. */
static int value_kept_nbytes(const char *value) {
    enum { MOST = 512 };
    size_t kept = strlen(value);
    if (kept <= MOST)
        return (int)kept;
    for (kept = MOST; kept > 0 && ((unsigned char)value[kept] & 0xc0) == 0x80;)
        kept--;
    return (int)kept;
}

/* Adds an option. "..." stands for the rest of a value that was shortened, and once, at the end, for the options that
 * did not fit. */
static void flags_add(struct settings *settings, const struct option *option, const char *value) {
    static const char omission[] = " ...";
    size_t used = strlen(settings->flags), left = sizeof settings->flags - used;
    if (settings->flags_are_cut)
        return;
    const char *text = value != NULL ? value : "";
    int kept = value_kept_nbytes(text);
    int length = snprintf(settings->flags + used, left, "%s--%s%s%.*s%s", used != 0 ? " " : "", option->name,
                          value != NULL ? " " : "", kept, text, text[kept] != '\0' ? "..." : "");
    settings->flags_are_cut = length < 0 || (size_t)length + sizeof omission > left;
    if (settings->flags_are_cut)
        snprintf(settings->flags + used, left, "%s", omission);
}

/* The value that a result shows: of a file that shaped it the name, but not where it lies. */
static const char *flag_value(const struct option *option, const char *value) {
    const char *slash = option_names_file(option) && value != NULL ? strrchr(value, '/') : NULL;
    return slash != NULL ? slash + 1 : value;
}

void options_note(struct settings *settings, const struct option *option, const char *value) {
    if ((option->where & SHAPES) != 0 && !option_is_owner(option))
        flags_add(settings, option, flag_value(option, value));
}

/* Adds hashes (FNV-1a) of the patterns, which are enough to see whether other patterns were given. */
void options_note_owners(struct settings *settings) {
    for (uint32_t i = 0; i < settings->n_owners; i++) {
        const struct owner_pattern *pattern = &settings->owners[i];
        const char *name = pattern->owner == OWNER_USER ? "own" : "library";
        uint32_t hash = 2166136261u;
        char hashed[16];
        for (const char *at = pattern->text; *at != '\0'; at++)
            hash = (hash ^ (uint8_t)*at) * 16777619u;
        snprintf(hashed, sizeof hashed, "#%08" PRIx32, hash);
        flags_add(settings, option_by_name(VERB_ANY, name, strlen(name)),
                  settings->redact ? hashed : pattern->text);
    }
}
