/* Opcodes of protocol 0, which are lines of text. */
#include "parser/pickle/pickle_machine.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINE_NBYTES = 16 << 20,
    MAX_NUMBER_NBYTES = 1024 /* integers: 19 digits are the most that mean anything here */
};

static bool decimal_push(struct machine *machine, const char *text) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || (*end != '\0' && strcmp(end, "L") != 0))
        return machine_fail(machine, READ_BAD_VALUE, "an integer is not a number");
    if (errno != ERANGE || *text == '-')
        return machine_push_bits(machine, VALUE_INT, (uint64_t)value);
    return machine_push_bits(machine, VALUE_BIG, strtoull(text, &end, 10));
}

/* A line as text; numbers are short. */
static bool number_line(struct machine *machine, char text[64]) {
    text[0] = '\0';
    const uint8_t *line;
    size_t nbytes;
    if (!cursor_line(machine->cursor, MAX_NUMBER_NBYTES, &line, &nbytes))
        return false;
    if (nbytes >= 64)
        return machine_fail(machine, READ_BAD_LENGTH, "a number is longer than 63 digits");
    memcpy(text, line, nbytes);
    text[nbytes] = '\0';
    return true;
}

bool op_int_line(struct machine *machine) {
    char text[64] = {0};
    if (!number_line(machine, text))
        return false;
    if (strcmp(text, "00") == 0 || strcmp(text, "01") == 0)
        return machine_push_bits(machine, VALUE_BOOL, text[1] == '1');
    return decimal_push(machine, text);
}

bool op_float_line(struct machine *machine) {
    char text[64], *end;
    if (!number_line(machine, text))
        return false;
    double number = strtod(text, &end);
    if (end == text || *end != '\0')
        return machine_fail(machine, READ_BAD_VALUE, "a float is not a number");
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return machine_push_bits(machine, VALUE_FLOAT, bits);
}

/* Value of `digits` hexadecimal digits, or UINT32_MAX. */
static uint32_t hex_value(const uint8_t *text, size_t digits) {
    static const char alphabet[] = "0123456789abcdef";
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *digit =
            text[i] == 0 ? NULL : strchr(alphabet, text[i] >= 'A' && text[i] <= 'F' ? text[i] | 32 : text[i]);
        if (digit == NULL)
            return UINT32_MAX;
        value = value << 4 | (uint32_t)(digit - alphabet);
    }
    return value;
}

/* UNICODE of protocol 0: raw-unicode-escape, that is Latin-1 with \uXXXX and \UXXXXXXXX. */
bool op_unicode_line(struct machine *machine) {
    const uint8_t *line;
    size_t nbytes, out = 0;
    if (!cursor_line(machine->cursor, MAX_LINE_NBYTES, &line, &nbytes))
        return false;
    uint8_t *text = NULL;
    uint32_t capacity = 0;
    if (!ARENA_GROW(machine->arena, text, capacity, nbytes * 2 + 1))
        return machine_fail_memory(machine);
    for (size_t i = 0; i < nbytes;) {
        size_t digits = line[i] == '\\' && i + 1 < nbytes ? line[i + 1] == 'u'   ? 4
                                                            : line[i + 1] == 'U' ? 8
                                                                                 : 0
                                                          : 0;
        uint32_t code =
            digits != 0 && nbytes - i - 2 >= digits ? hex_value(line + i + 2, digits) : UINT32_MAX;
        if (code <= 0x10FFFF) {
            i += 2 + digits;
        } else {
            code = line[i++];
        }
        out += utf8_put(code, (char *)text + out);
    }
    bool done = machine_push_string(machine, text, out);
    ARENA_DROP(machine->arena, text);
    return done;
}

/* STRING of protocol 0: a quoted Python 2 literal; escapes are left as they are. */
bool op_string_line(struct machine *machine) {
    const uint8_t *line;
    size_t nbytes;
    if (!cursor_line(machine->cursor, MAX_LINE_NBYTES, &line, &nbytes))
        return false;
    if (nbytes < 2 || (line[0] != '\'' && line[0] != '"') || line[nbytes - 1] != line[0])
        return machine_fail(machine, READ_BAD_VALUE, "a string has no quotes");
    return machine_push_string(machine, line + 1, nbytes - 2);
}

static bool memo_line(struct machine *machine, uint32_t *index) {
    char text[64], *end;
    if (!number_line(machine, text))
        return false;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || value > UINT32_MAX)
        return machine_fail(machine, READ_BAD_VALUE, "a memo index is not a number");
    *index = (uint32_t)value;
    return true;
}

bool op_get_line(struct machine *machine) {
    uint32_t index = 0;
    return memo_line(machine, &index) && memo_get(machine, index);
}

bool op_put_line(struct machine *machine) {
    uint32_t index = 0;
    return memo_line(machine, &index) && memo_put(machine, index);
}
