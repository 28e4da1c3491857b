/* The table of options. Private to options_table.c (the table), options.c (the command line), options_help.c and
 * manual.c. */
#pragma once

#include "cli/options.h"

enum {
    VERB_PICTURE = VERB_HTML | VERB_PNG,
    VERB_MANY = VERB_BATCH | VERB_DIFF | VERB_CHECK, /* verbs that take several operands */
    VERB_ALL = VERB_PICTURE | VERB_REPORT | VERB_MANY | VERB_EXPORT,
    VERB_ANY = VERB_ALL | VERB_PLAN
};

/* Bits beside those of the verbs: the option is listed in settings->flags, which --resume compares; its value is the path
 * of a file. */
enum { SHAPES = 1 << 16, NAMES_FILE = 1 << 17 };

/* How a value changes the settings. */
struct option_field {
    enum {
        FIELD_CALL,         /* `call` stores it */
        FIELD_SET,          /* stores `low` */
        FIELD_NUMBER,       /* a number of [low, high] */
        FIELD_TEXT,         /* a text of at least `low` bytes */
        FIELD_WORD,         /* a word of the option's `value`, "text|json"; its place there is stored */
        FIELD_BYTES,        /* a size other than 0 */
        FIELD_DEVICE_BYTES, /* the same, but less than 1 MiB needs a unit */
        FIELD_POSITION,
        FIELD_FORMAT, /* a format of the report: `low` */
        FIELD_OWNER   /* a pattern of files whose owner is `low`, an enum frame_owner */
    } kind;
    size_t offset, nbytes; /* of the field in struct settings */
    uint64_t low, high;
    bool (*call)(struct settings *settings, const char *value); /* false: the value was not understood */
};

struct option {
    char letter;    /* 0: none */
    unsigned where; /* the verbs that have the option (enum verb_bit), SHAPES, NAMES_FILE */
    const char *name;
    /* the value's name in the help; NULL: the option takes none; "[=WORD]": the value is optional */
    const char *value;
    struct option_field field;
    const char *help;
};

/* The option of these verbs (bits) that follows `option` in the order of the help. `option` NULL: the first. Returns
 * NULL after the last. */
const struct option *option_behind(const struct option *option, unsigned verbs);

/* The option of these verbs (bits) with this name. NULL: none. */
const struct option *option_by_name(unsigned verbs, const char *name, size_t length);

/* Puts the option's value (NULL: none) into the settings. False: it was not understood; settings->wrong may say why. */
bool option_set(struct settings *settings, const struct option *option, const char *value);
