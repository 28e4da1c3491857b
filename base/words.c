#include "base/words.h"

#include "base/utf8.h"

static void add_byte(struct words *words, char byte) {
    if (words->nbytes + 1 < words->capacity)
        words->text[words->nbytes] = byte;
    words->nbytes++;
}

void words_add(struct words *words, struct text text) {
    for (uint32_t i = 0; i < text.nbytes; i++) {
        if (text.at[i] != 0)
            add_byte(words, (char)text.at[i]);
        else
            words_say(words, "\xef\xbf\xbd");
    }
}

void words_say(struct words *words, const char *text) {
    for (; *text != '\0'; text++)
        add_byte(words, *text);
}

uint32_t digits_put(uint64_t number, char *digits) {
    char reversed[20];
    uint32_t n = 0;
    do
        reversed[n++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    for (uint32_t i = 0; i < n; i++)
        digits[i] = reversed[n - 1 - i];
    return n;
}

void words_number(struct words *words, uint64_t number) {
    char digits[21];
    digits[digits_put(number, digits)] = '\0';
    words_say(words, digits);
}

uint32_t words_end(struct words *words) {
    if (words->capacity == 0)
        return words->nbytes;
    bool cut = words->nbytes >= words->capacity;
    size_t end = cut ? utf8_whole(words->text, words->capacity - 1) : words->nbytes;
    words->text[end] = '\0';
    return words->nbytes;
}

/* Adds one of the two parts of "is|are)"; returns the address of the bracket that ends them. */
static const char *choice_add(struct words *words, const char *at, bool first) {
    for (bool own = first; *at != ')'; at++) {
        if (*at == '|')
            own = !own;
        else if (own)
            add_byte(words, *at);
    }
    return at;
}

void words_tell(struct words *words, const char *sentence, const uint64_t *figures,
                bool (*other)(void *context, char mark), void *context) {
    const uint64_t *next = figures;
    uint64_t count = 0;
    for (const char *at = sentence; *at != '\0'; at++) {
        bool named = *at == '%' && at[1] >= '0' && at[1] <= '9';
        const uint64_t *figure = named ? &figures[at[1] - '0'] : next;
        char mark = *at == '%' ? at[1 + named] : '\0';
        bool choice = mark == 's' || mark == '(';
        if (choice && named)
            count = *figure;
        switch (mark) {
        case 'b': words_add_bytes(words, *figure); break;
        case 'n': words_add_count(words, count = *figure); break;
        case 'd': words_number(words, *figure); break;
        case 'p': words_say(words, format_share(figure[0], figure[1]).text); break;
        case 's': words_say(words, count == 1 ? "" : "s"); break;
        case '(': at = choice_add(words, at + 2 + named, count == 1) - 1 - named; break;
        default:
            if (mark != '\0' && !named && other != NULL && other(context, mark))
                break;
            add_byte(words, *at);
            continue;
        }
        if (!named && !choice)
            next += mark == 'p' ? 2 : mark == 'b' || mark == 'n' || mark == 'd';
        at += 1 + named; /* to the mark */
    }
}
