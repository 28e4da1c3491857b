#include "base/words.h"

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

void words_number(struct words *words, uint64_t number) {
    char digits[21];
    uint32_t first = sizeof digits - 1;
    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    words_say(words, digits + first);
}

/* The length of the character that starts with `lead`; 1 if none does. */
static uint32_t character_nbytes(uint8_t lead) {
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

uint32_t words_end(struct words *words) {
    if (words->capacity == 0)
        return words->nbytes;
    uint32_t end = words->nbytes;
    if (end >= words->capacity) {
        end = words->capacity - 1;
        for (uint32_t back = 1; back <= 3 && back <= end; back++) {
            uint8_t byte = (uint8_t)words->text[end - back];
            if ((byte & 0xc0) == 0x80)
                continue;
            if (character_nbytes(byte) > back)
                end -= back;
            break;
        }
    }
    words->text[end] = '\0';
    return words->nbytes;
}
