/*
 * Text without a terminator, such as a recording's strings, and questions about it. Freestanding.
 *
 * In every comparison a slash in `word` also stands for the backslash of Windows' paths.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct text {
    const uint8_t *at;
    uint32_t nbytes;
};

/* What a value of an enum is called in files, JSON and rules, and what people read. */
struct wording {
    const char *name, *title;
};

/* Does the text have `word` at index `at`? */
static inline bool text_has_at(struct text text, uint32_t at, const char *word) {
    for (; *word != '\0'; word++, at++) {
        if (at >= text.nbytes)
            return false;
        uint8_t byte = text.at[at];
        if (byte != (uint8_t)*word && !(*word == '/' && byte == '\\'))
            return false;
    }
    return true;
}

static inline uint32_t word_length(const char *word) {
    uint32_t n = 0;
    while (word[n] != '\0')
        n++;
    return n;
}

/* Does word a come before word b in byte order? */
static inline bool word_is_before(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a < (unsigned char)*b;
}

static inline bool is_digit(int byte) {
    return byte >= '0' && byte <= '9';
}

static inline int lower(int byte) {
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

/* The rest of a text from `at` on. */
static inline struct text text_from(struct text text, uint32_t at) {
    return (struct text){text.at + at, text.nbytes - at};
}

static inline struct text word_text(const char *word) {
    return (struct text){(const uint8_t *)word, word_length(word)};
}

static inline bool text_begins(struct text text, const char *word) {
    return text_has_at(text, 0, word);
}

static inline bool text_ends(struct text text, const char *word) {
    uint32_t n = word_length(word);
    return text.nbytes >= n && text_has_at(text, text.nbytes - n, word);
}

/* Does a word end with another, with something before it? */
static inline bool word_ends(const char *word, const char *end) {
    return word_length(word) > word_length(end) && text_ends(word_text(word), end);
}

static inline bool text_is(struct text text, const char *word) {
    return text.nbytes == word_length(word) && text_begins(text, word);
}

static inline bool text_equals(struct text a, struct text b) {
    uint32_t i = 0;
    while (i < a.nbytes && i < b.nbytes && a.at[i] == b.at[i])
        i++;
    return a.nbytes == b.nbytes && i == a.nbytes;
}

/* In either case; `word` is in lower case. */
static inline bool text_is_lower(struct text text, const char *word) {
    uint32_t i = 0;
    while (i < text.nbytes && word[i] != '\0' && lower(text.at[i]) == word[i])
        i++;
    return i == text.nbytes && word[i] == '\0';
}

static inline bool text_is_any(struct text text, const char *const *words, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++)
        if (text_is(text, words[i]))
            return true;
    return false;
}

static inline bool text_contains(struct text text, const char *word) {
    for (uint32_t i = 0; i < text.nbytes; i++)
        if (text_has_at(text, i, word))
            return true;
    return false;
}

static inline bool text_contains_any(struct text text, const char *const *words, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++)
        if (text_contains(text, words[i]))
            return true;
    return false;
}

/* The part of a path after its last separator. */
static inline struct text text_base_name(struct text path) {
    uint32_t begin = path.nbytes;
    if (begin == 0)
        return path; /* an empty text may have no address */
    while (begin > 0 && path.at[begin - 1] != '/' && path.at[begin - 1] != '\\')
        begin--;
    return (struct text){path.at + begin, path.nbytes - begin};
}

/* ---- many words at once ---- */

/* A word to look for, and the marks that a text with it gets. */
struct text_word {
    const char *word;
    enum { WORD_INSIDE, WORD_WHOLE, WORD_BEGINS, WORD_ENDS } how;
    uint32_t marks;
};

/* A table of words by first byte, so that one walk over a text finds all of them. */
struct text_words {
    const struct text_word *words;
    uint8_t count;
    uint8_t first[256]; /* index + 1 of a WORD_INSIDE word that begins with this byte; 0: none */
    uint8_t next[255];  /* the same for the next word with that byte */
};

/* At most 255 words, which must outlive the table. */
void text_words_init(struct text_words *table, const struct text_word *words, uint32_t count);

/* All marks of the words that the text contains. O(length * words that begin alike). */
uint32_t text_marks(const struct text_words *table, struct text text);
