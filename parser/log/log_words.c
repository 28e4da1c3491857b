#include "parser/log/log_words.h"

#include <string.h>

/*
 * States are prefixes of words; state 0 is the empty one. next[state][class of a byte] is the longest suffix of what
 * was read that is a prefix of a word. Bytes that no word has are one class, 0, so the table stays small.
 *
 *     first[state] -> output {word, other} -> output ... -> those of the longest shorter suffix that is a word
 */
struct output {
    uint16_t word;
    uint16_t other; /* 1 + index; 0: no more */
};

struct log_words {
    uint8_t class[256];
    uint32_t shift; /* a row of `next` has 1 << shift places */
    uint16_t *next;
    uint16_t *first;  /* by state: 1 + index of its first output; 0: none */
    uint16_t *suffix; /* by state: the state of its longest proper suffix; while the automaton is made */
    struct output output[LOG_WORDS_MOST];
    uint32_t n_states, n_outputs;
};

static uint16_t *next_of(const struct log_words *words, uint32_t state, uint32_t class) {
    return &words->next[((size_t)state << words->shift) + class];
}

static void word_add(struct log_words *words, const char *word, uint32_t id) {
    uint32_t state = 0;
    for (; *word != '\0'; word++) {
        uint16_t *next = next_of(words, state, words->class[(uint8_t)*word]);
        if (*next == 0)
            *next = (uint16_t)words->n_states++;
        state = *next;
    }
    words->output[words->n_outputs] = (struct output){(uint16_t)id, words->first[state]};
    words->first[state] = (uint16_t)++words->n_outputs;
}

/* Appends the outputs of the suffix to a state's own. */
static void outputs_join(struct log_words *words, uint32_t state, uint32_t suffix) {
    uint16_t *last = &words->first[state];
    while (*last != 0)
        last = &words->output[*last - 1].other;
    *last = words->first[suffix];
}

/* Fills the places that are still 0, from short prefixes to long ones: where a word does not go on, its longest
 * suffix does. `queue` has room for all states. */
static void automaton_close(struct log_words *words, uint16_t *queue) {
    uint32_t head = 0, n = 0, n_classes = 1u << words->shift;
    for (uint32_t class = 1; class < n_classes; class ++)
        if (*next_of(words, 0, class) != 0)
            queue[n++] = *next_of(words, 0, class);
    while (head < n) {
        uint32_t state = queue[head++];
        outputs_join(words, state, words->suffix[state]);
        for (uint32_t class = 0; class < n_classes; class ++) {
            uint16_t *next = next_of(words, state, class),
                     fallen = *next_of(words, words->suffix[state], class);
            if (*next == 0) {
                *next = fallen;
            } else {
                words->suffix[*next] = fallen;
                queue[n++] = *next;
            }
        }
    }
}

struct log_words *log_words_make(struct arena *arena, const char *const *word, uint32_t n) {
    struct log_words *words = arena_alloc(arena, sizeof *words);
    uint32_t n_bytes = 0, n_classes = 1;
    uint16_t *queue = NULL;
    if (words == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        for (const char *at = word[i] != NULL ? word[i] : ""; *at != '\0'; at++, n_bytes++)
            if (words->class[(uint8_t)*at] == 0)
                words->class[(uint8_t)*at] = (uint8_t)n_classes++;
    while (1u << words->shift < n_classes)
        words->shift++;
    words->n_states = 1;
    words->next = arena_zeros(arena, ((uint64_t)n_bytes + 1) << words->shift, sizeof *words->next);
    if (words->next == NULL || !ARENA_ZEROS(arena, n_bytes + 1, words->first, words->suffix, queue)) {
        ARENA_DROP(arena, words->next, words->first, words->suffix, queue);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        if (word[i] != NULL && word[i][0] != '\0')
            word_add(words, word[i], i);
    automaton_close(words, queue);
    ARENA_DROP(arena, words->suffix, queue);
    return words;
}

void log_words_drop(struct log_words *words, struct arena *arena) {
    if (words != NULL)
        ARENA_DROP(arena, words->next, words->first);
}

bool log_words_find(const struct log_words *words, struct text line, struct log_hits *hits) {
    const uint16_t *next = words->next, *first = words->first;
    uint32_t state = 0, shift = words->shift;
    bool any = false;
    for (uint32_t i = 0; i < line.nbytes; i++) {
        state = next[((size_t)state << shift) + words->class[line.at[i]]];
        if (__builtin_expect(first[state] == 0, 1))
            continue;
        if (!any)
            memset(hits->bits, 0, sizeof hits->bits);
        any = true;
        for (uint32_t at = first[state]; at != 0; at = words->output[at - 1].other) {
            uint32_t word = words->output[at - 1].word;
            hits->bits[word / 64] |= UINT64_C(1) << word % 64;
        }
    }
    return any;
}
