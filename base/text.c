#include "base/text.h"

#include "base/bytes.h"

void text_words_init(struct text_words *table, const struct text_word *words, uint32_t count) {
    bytes_zero(table, sizeof *table);
    table->words = words;
    table->count = (uint8_t)(count < 255 ? count : 255);
    for (uint32_t i = table->count; i-- > 0;) {
        uint8_t first = (uint8_t)words[i].word[0];
        if (words[i].how != WORD_INSIDE)
            continue;
        table->next[i] = table->first[first];
        table->first[first] = (uint8_t)(i + 1);
    }
}

static bool word_fits(const struct text_word *word, struct text text) {
    return word->how == WORD_WHOLE    ? text_is(text, word->word)
           : word->how == WORD_BEGINS ? text_begins(text, word->word)
                                      : text_ends(text, word->word);
}

uint32_t text_marks(const struct text_words *table, struct text text) {
    uint32_t marks = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->words[i].how != WORD_INSIDE && word_fits(&table->words[i], text))
            marks |= table->words[i].marks;
    for (uint32_t at = 0; at < text.nbytes; at++) {
        uint8_t byte = text.at[at] == '\\' ? '/' : text.at[at];
        for (uint32_t i = table->first[byte]; i != 0; i = table->next[i - 1])
            if (text_has_at(text, at, table->words[i - 1].word))
                marks |= table->words[i - 1].marks;
    }
    return marks;
}
