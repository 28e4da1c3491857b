/* Builds text piece by piece in a caller's buffer: sentences, names of places. No C library. Text that does not fit
 * is counted but not written, so a caller can ask for the length first. */
#pragma once

#include "base/format.h"
#include "base/text.h"

#include <stddef.h>

/* Starts as {text, capacity, 0}. */
struct words {
    char *text;
    uint32_t capacity, nbytes; /* nbytes: length of all that was added, written or not */
};

/* Adds bytes as they are, but U+FFFD for NUL. */
void words_add(struct words *words, struct text text);

/* Adds a C string. */
void words_say(struct words *words, const char *text);

/* The digits of a number, at most 20, not terminated. Returns how many there are. */
uint32_t digits_put(uint64_t number, char *digits);

/* Digits without separators. */
void words_number(struct words *words, uint64_t number);

/* Terminates the text; removes a character of which the cut left only a part. Returns the full length. */
uint32_t words_end(struct words *words);

/*
 * Adds a sentence, with figures in the places of its marks:
 *
 *     %b    bytes: "3.2 GiB"                     %n          a count: "18,204"
 *     %p    a share, of two figures: "31 %"      %s          "s", unless the last count was 1
 *     %d    digits: "18204"                      %(is|are)   the first if the last count was 1, else the second
 *
 * A digit before the mark says which figure, from 0 on, instead of the next one: "%1b", "%0(is|are)", "%0s".
 *
 * `other` (NULL: none) is asked about every other mark. True: it has added what stands for the mark; otherwise the
 * sentence has a percent sign there.
 */
void words_tell(struct words *words, const char *sentence, const uint64_t *figures,
                bool (*other)(void *context, char mark), void *context);

/* WORDS_TELL(words, "%n allocation%s of %b", count, bytes) */
#define WORDS_TELL(words, sentence, ...) \
    words_tell((words), (sentence), (const uint64_t[]){__VA_ARGS__}, NULL, NULL)

static inline void words_add_bytes(struct words *words, uint64_t bytes) {
    words_say(words, format_bytes(bytes).text);
}

static inline void words_add_count(struct words *words, uint64_t count) {
    words_say(words, format_count(count).text);
}

/* "1 step", "18,204 steps". */
static inline void words_add_things(struct words *words, uint64_t count, const char *thing) {
    words_add_count(words, count);
    words_say(words, " ");
    words_say(words, thing);
    words_say(words, count == 1 ? "" : "s");
}
