#include "parser/formats.h"

#include "base/text.h"

#include "parser/container/html.h"
#include "parser/container/packed.h"
#include "parser/container/zip.h"
#include "parser/json/json.h"
#include "parser/log/log.h"
#include "parser/pickle/pickle.h"
#include "parser/sniff.h"

#include <string.h>

/* ---- recognising an input from its first bytes ---- */

static bool is_one_of(uint8_t byte, const char *bytes) {
    return byte != 0 && strchr(bytes, byte) != NULL;
}

/* The length, with its end, of a line that can be the name of a module or a class; 0: it cannot. */
static size_t name_line(const uint8_t *p, size_t nbytes) {
    size_t i = 0;
    while (i < nbytes && (p[i] == '.' || p[i] == '_' || (p[i] >= '0' && p[i] <= '9') ||
                          (p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z')))
        i++;
    return i != 0 && i < nbytes && p[i] == '\n' ? i + 1 : 0;
}

/* Is this the operand of GLOBAL: a line with a module, a line with a name, and an opcode that uses them? A text can
 * begin with two such lines, so the opcode is checked too. */
static bool is_global(const uint8_t *p, size_t nbytes) {
    size_t module = name_line(p, nbytes), name = name_line(p + module, nbytes - module);
    if (module == 0 || name == 0)
        return false;
    size_t at = module + name;
    return at == nbytes || is_one_of(p[at], "()]}qpRN.\x81\x94");
}

/* Pickles of protocol 2 and later begin with PROTO, older ones with the opcode of a container. */
static bool is_pickle(const uint8_t *p, size_t nbytes) {
    if (nbytes >= 1 && p[0] == 0x80)
        return nbytes == 1 || p[1] >= 2;
    if (nbytes >= 3 && p[0] == '(' && p[1] == 'p' && (p[2] < '0' || p[2] > '9'))
        return false; /* "(pid=12) ..." in a log */
    if (nbytes >= 2 && (p[0] == ']' || p[0] == '}' || p[0] == '('))
        return p[1] == '(' || p[1] == '.' || p[1] == 'q' || p[1] == 'p' || p[1] == 'd' || p[1] == 'l';
    return nbytes >= 1 && p[0] == 'c' && is_global(p + 1, nbytes - 1);
}

static size_t skip_blank(const uint8_t *p, size_t nbytes, size_t at) {
    return at + sniff_blank(p + at, nbytes - at);
}

/* "[1]" and "[1, ", but not "[2026-11-22 10:00:00] ..." */
static bool is_number_of_list(const uint8_t *p, size_t nbytes) {
    size_t i = 0;
    const uint8_t *end = memchr(p, ']', nbytes < 16 ? nbytes : 16);
    if (end != NULL && (size_t)(end - p) + 4 < nbytes &&
        memcmp(end, "]<std", 5) == 0) /* "[1,3]<stdout>:..." of Open MPI */
        return false;
    while (i < nbytes && p[i] >= '0' && p[i] <= '9')
        i++;
    i += sniff_blank(p + i, nbytes - i);
    if (i < nbytes && p[i] == ']') /* "[0] mp: ..." in a log is not JSON */
        return i + 1 + sniff_blank(p + i + 1, nbytes - i - 1) == nbytes;
    return i == nbytes || p[i] == ',';
}

/* Is this a log of JSON lines, as loggers and containers write it? Its first line is a whole object, and either another
 * object begins on the next line or its keys are a logger's. */
static bool is_json_lines(const uint8_t *p, size_t nbytes) {
    static const char *const kinds[] = {"\"segments\"", "_traces\"", "\"traceEvents\"", "\"categories\""},
                             *const loggers[] = {"{\"log\":", "{\"message\":", "{\"msg\":", "\"level\":"};
    bool quoted = false;
    size_t depth = 0, i = 0;
    for (; i < nbytes && (depth != 0 || i == 0); i++) {
        if (p[i] == '\n')
            return false;
        if (p[i] == '\\' && quoted)
            i++;
        else if (p[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += p[i] == '{' ? 1 : p[i] == '}' ? (size_t)-1 : 0;
    }
    size_t next = i < nbytes ? skip_blank(p, nbytes, i) : nbytes;
    struct text one = {p, (uint32_t)i};
    bool more = next < nbytes && p[next] == '{' && memchr(p + i, '\n', next - i) != NULL;
    return (more || (next == nbytes && text_contains_any(one, loggers, sizeof loggers / sizeof *loggers))) &&
           !text_contains_any(one, kinds, sizeof kinds / sizeof *kinds);
}

/* An object, or a list whose first item is JSON: not "[INFO] ..." in a log. */
static bool is_json(const uint8_t *p, size_t nbytes) {
    size_t first = skip_blank(p, nbytes, 0);
    if (first >= nbytes || (p[first] != '{' && p[first] != '['))
        return false;
    size_t second = skip_blank(p, nbytes, first + 1);
    if (p[first] == '{')
        return second >= nbytes || (p[second] != '\'' && /* Python prints "{'loss': 1.5}" */
                                    !is_json_lines(p + first, nbytes - first));
    return second >= nbytes || is_one_of(p[second], "{[]") || is_number_of_list(p + second, nbytes - second);
}

const struct format formats[] = {
    {"pickle", is_pickle, pickle_read, false},
    {"gzip", gzip_recognises, gzip_layer_read, true},
    {"zstd", zstd_recognises, zstd_layer_read, true},
    {"xz", xz_recognises, xz_layer_read, true},
    {"zip", zip_recognises, zip_layer_read, true},
    {"page", html_recognises, html_layer_read, true},
    {"json", is_json, json_read, false},
    {"log", log_recognises, log_read, false},
    {NULL, NULL, NULL, false},
};

const struct format *format_of(const uint8_t *p, size_t nbytes) {
    for (const struct format *format = formats; format->name != NULL; format++)
        if (format->recognise(p, nbytes < FORMAT_NBYTES ? nbytes : FORMAT_NBYTES))
            return format;
    return NULL;
}
