/* An automaton (Aho and Corasick's) over the words of all forms: one look at each byte of a line tells which of them
 * the line has, however many there are. Private to parser/log/. */
#pragma once

#include "base/arena.h"
#include "base/text.h"

/* Bits of the words that a line has, by their ids. */
enum { LOG_WORDS_MOST = 512 };
struct log_hits {
    uint64_t bits[LOG_WORDS_MOST / 64];
    uint16_t form[LOG_WORDS_MOST / 2]; /* the forms whose words are all there, rising (log_forms_find) */
    uint32_t n_forms;
};

static inline bool log_hit(const struct log_hits *hits, uint32_t word) {
    return (hits->bits[word / 64] >> word % 64 & 1) != 0;
}

struct log_words;

/* Makes the automaton of `n` words in the arena; a word that is NULL or "" is in no line. NULL: no memory.
 * O(bytes of all words * different bytes). */
struct log_words *log_words_make(struct arena *arena, const char *const *word, uint32_t n);
void log_words_drop(struct log_words *words, struct arena *arena);

/* Finds all words of a line, even those that overlap. False: it has none. O(line). */
bool log_words_find(const struct log_words *words, struct text line, struct log_hits *hits);
