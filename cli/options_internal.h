/*
 * The table of options. Private to options_table.c (the table), options.c (the command line), options_flags.c
 * (options shown in results) and options_help.c.
 */
#pragma once

#include "cli/options.h"

enum {
    VERB_PICTURE = VERB_HTML | VERB_PNG,
    VERB_MANY = VERB_BATCH | VERB_DIFF | VERB_CHECK, /* take several operands */
    VERB_ALL = VERB_PICTURE | VERB_REPORT | VERB_MANY | VERB_EXPORT,
    VERB_ANY = VERB_ALL | VERB_WHATIF | VERB_PLAN
};

/* Beside the verbs: the option belongs into settings->flags. */
enum { SHAPES = 1 << 16 };

/* The effect of a value on the settings. */
struct option_field {
    enum {
        FIELD_CALL,         /* `call` says it */
        FIELD_SET,          /* stores `low` */
        FIELD_NUMBER,       /* of [low, high] */
        FIELD_TEXT,         /* at least `low` bytes */
        FIELD_WORD,         /* the place of the word among those of the option's `value`, "text|json" */
        FIELD_BYTES,        /* a size, not 0 */
        FIELD_DEVICE_BYTES, /* the same; of less than 1 MiB it needs a unit */
        FIELD_POSITION,
        FIELD_FORMAT, /* of a report: `low` */
        FIELD_OWNER   /* a pattern of files that are `low`, an enum frame_owner */
    } kind;
    size_t offset, nbytes; /* of the field in struct settings */
    uint64_t low, high;
    bool (*call)(struct settings *settings, const char *value); /* false: value not understood */
};

struct option {
    char letter;    /* 0: none */
    unsigned where; /* verbs that have it, of enum verb_bit, and SHAPES */
    const char *name;
    /* the value's name in the help; NULL: it takes none; "[=WORD]": it is optional */
    const char *value;
    struct option_field field;
    const char *help;
};

/* ---- options_table.c ---- */

/* The next option of these verbs (bits) in the order of the help; the first after NULL, NULL after the last. */
const struct option *option_behind(const struct option *option, unsigned verbs);

/* The option of these verbs (bits) with this name. NULL: none. */
const struct option *option_by_name(unsigned verbs, const char *name, size_t length);

/* Puts the option's value (NULL: none) into the settings. False: not understood; settings->wrong may say why. */
bool option_set(struct settings *settings, const struct option *option, const char *value);

/* --own and --library, which are noted together; and an option whose value is the path of a file. */
bool option_is_owner(const struct option *option);
bool option_names_file(const struct option *option);

/* ---- options_flags.c ---- */

/* Notes an option that shapes the result, and its value (NULL: none). Those of whose files they are wait until all options
 * are known. */
void options_note(struct settings *settings, const struct option *option, const char *value);

/* Notes --own and --library, once all options are known: of a result without paths, what they hash to. */
void options_note_owners(struct settings *settings);
