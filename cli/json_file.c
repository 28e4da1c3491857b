#include "cli/json_file.h"

#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that a batch writes are far smaller. */
static const off_t nbytes_most = 64 << 20;

/* ---- a tree in bounded memory: two bytes of text can become a node of a hundred bytes ---- */

static size_t memory_left;

static void *tree_alloc(size_t nbytes) {
    if (nbytes > memory_left) {
        errno = E2BIG;
        return NULL;
    }
    void *block = malloc(nbytes);
    if (block != NULL)
        memory_left -= malloc_usable_size(block) < memory_left ? malloc_usable_size(block) : memory_left;
    return block;
}

static void tree_free(void *block) {
    memory_left += malloc_usable_size(block);
    free(block);
}

static void fault_note(struct json_fault *fault, const char *what, const char *key, size_t offset) {
    if (fault != NULL)
        snprintf(fault->text, sizeof fault->text, ": %s%.*s%s (offset %zu)", what,
                 UTF8_FIT(key != NULL ? key : "", 60), key != NULL ? "\" is there twice" : "", offset);
}

/* ---- numbers, characters and escapes that are not JSON but that cJSON accepts ---- */

/* The end of the digits at `at`; NULL: there are none. */
static const char *digits_end(const char *at) {
    size_t n = strspn(at, "0123456789");
    return n != 0 ? at + n : NULL;
}

/* The end of a number; NULL: JSON does not allow its form ("01", "1."), or a double cannot hold it. */
static const char *number_end(const char *at) {
    const char *digits = at + (*at == '-'), *end = digits_end(digits);
    if (end != NULL && *digits == '0' && end != digits + 1)
        return NULL;
    if (end != NULL && *end == '.')
        end = digits_end(end + 1);
    if (end != NULL && (*end | 0x20) == 'e')
        end = digits_end(end + 1 + (end[1] == '-' || end[1] == '+'));
    return isfinite(strtod(at, NULL)) ? end : NULL;
}

/* Moves `*at` from a string's quote past its end. False: `*at` is at a byte or escape that JSON forbids. */
static bool string_skip(const char *text, size_t nbytes, size_t *at) {
    for (size_t next = ++*at; *at < nbytes && text[*at] != '"'; *at = next) {
        uint32_t code = utf8_next(text, nbytes, &next);
        bool invalid = code == UTF8_REPLACEMENT && next == *at + 1, escape = code == '\\';
        if (invalid || code < ' ' ||
            (escape && text[next] == 'u' && strspn(text + next + 1, "0123456789ABCDEFabcdef") < 4))
            return false;
        next += escape;
    }
    ++*at;
    return true;
}

/* The offset of the first such fault; `nbytes`: none. cJSON has accepted the text; a NUL follows it. */
static size_t words_check(const char *text, size_t nbytes) {
    for (size_t at = 0; at < nbytes;) {
        char c = text[at];
        const char *end = (c >= '0' && c <= '9') || c == '-' ? number_end(text + at) : text + at + 1;
        bool control = c >= 0 && c < ' ' && memchr("\t\r\n", c, 3) == NULL;
        if (end == NULL || control || (c == '"' && !string_skip(text, nbytes, &at)))
            return at;
        at = c == '"' ? at : (size_t)(end - text);
    }
    return nbytes;
}

/* ---- keys that occur twice, and text after the end, which cJSON accepts too ---- */

static int names_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name that two members of the object share. "": there is none. NULL: no memory. */
static const char *name_twice(const cJSON *object) {
    const cJSON *item;
    size_t n = 0;
    cJSON_ArrayForEach(item, object) n++;
    const char **names = malloc((n + 1) * sizeof *names), *found = names != NULL ? "" : NULL;
    if (names == NULL)
        return NULL;
    n = 0;
    cJSON_ArrayForEach(item, object) names[n++] = item->string;
    qsort(names, n, sizeof *names, names_compare);
    for (size_t i = 1; i < n && *found == '\0'; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            found = names[i];
    free(names);
    return found;
}

/* The first key, in order of the text, that an object has twice. `*n_keys` is raised by the number of keys before its
 * second place. "": there is none. NULL: no memory. */
static const char *key_twice(const cJSON *value, size_t *n_keys) {
    const char *name = cJSON_IsObject(value) ? name_twice(value) : "";
    const cJSON *item;
    bool met = false;
    if (name == NULL)
        return NULL;
    cJSON_ArrayForEach(item, value) {
        if (*name != '\0' && strcmp(item->string, name) == 0) {
            if (met)
                return name;
            met = true;
        }
        *n_keys += cJSON_IsObject(value) ? 1 : 0;
        const char *inside = key_twice(item, n_keys);
        if (inside == NULL || *inside != '\0')
            return inside;
    }
    return "";
}

/* The offset of key number `index` in valid JSON. */
static size_t key_offset(const char *text, size_t nbytes, size_t index) {
    for (size_t at = 0; at < nbytes; at++) {
        size_t begin = at;
        if (text[at] != '"')
            continue;
        for (at++; at < nbytes && text[at] != '"'; at++)
            at += text[at] == '\\';
        size_t after = at + 1;
        while (after < nbytes && text[after] > 0 && text[after] <= ' ')
            after++;
        if (after < nbytes && text[after] == ':' && index-- == 0)
            return begin;
    }
    return nbytes;
}

/* Takes over the document. NULL: it is faulty, or there is no memory to check it. */
static cJSON *document_check(cJSON *document, const char *text, size_t nbytes, const char *end,
                             struct json_fault *fault) {
    size_t n_keys = 0;
    while (end < text + nbytes && strchr(" \t\r\n", *end) != NULL && *end != '\0')
        end++;
    size_t n_sound = words_check(text, (size_t)(end - text));
    errno = 0; /* strtod's */
    const char *twice = n_sound == nbytes ? key_twice(document, &n_keys) : "";
    if (twice == NULL)
        errno = ENOMEM;
    else if (n_sound != (size_t)(end - text))
        fault_note(fault, "it is not JSON", NULL, n_sound);
    else if (end != text + nbytes)
        fault_note(fault, "something follows the JSON", NULL, (size_t)(end - text));
    else if (*twice != '\0')
        fault_note(fault, "the key \"", twice, key_offset(text, nbytes, n_keys));
    else
        return document;
    cJSON_Delete(document);
    return NULL;
}

/* Parses within a limit on memory. The limit ends with this call, because others use cJSON too; the tree is plain
 * memory. */
static cJSON *parse_within(const char *text, size_t nbytes, size_t memory_nbytes, struct json_fault *fault) {
    const char *end = text;
    memory_left = memory_nbytes;
    cJSON_InitHooks(&(cJSON_Hooks){tree_alloc, tree_free});
    errno = 0;
    cJSON *document = cJSON_ParseWithLengthOpts(text, nbytes, &end, 0);
    cJSON_InitHooks(NULL);
    if (document != NULL)
        return document_check(document, text, nbytes, end, fault);
    errno = errno == ERANGE ? 0 : errno; /* a number's */
    if (errno == 0)
        fault_note(fault, "it is not JSON", NULL, end != NULL ? (size_t)(end - text) : 0);
    return NULL;
}

static bool read_all(int fd, char *text, size_t nbytes) {
    size_t have = 0;
    for (ssize_t n; have < nbytes && (n = read(fd, text + have, nbytes - have)) > 0;)
        have += (size_t)n;
    return have == nbytes;
}

/* O_NONBLOCK: the path may be a pipe or a device, and opening it must not wait. */
cJSON *json_file_read(const char *path, size_t memory_nbytes, struct json_fault *fault) {
    if (fault != NULL)
        fault->text[0] = '\0';
    struct stat status;
    cJSON *document = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    bool plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= nbytes_most;
    size_t nbytes = plain ? (size_t)status.st_size : 0;
    char *text = plain ? malloc(nbytes + 1) : NULL;
    errno = plain && text == NULL ? ENOMEM : 0;
    if (text != NULL && read_all(fd, text, nbytes)) {
        text[nbytes] = '\0';
        document = parse_within(text, nbytes, memory_nbytes, fault);
    }
    int error = errno;
    free(text);
    close(fd);
    errno = error;
    return document;
}

int64_t json_file_number(const cJSON *object, const char *name, int64_t missing) {
    const cJSON *item = json_member(object, name);
    bool number = cJSON_IsNumber(item) && item->valuedouble > -0x1p62 && item->valuedouble < 0x1p62;
    return number ? (int64_t)item->valuedouble : missing;
}

int64_t json_file_bounded(const cJSON *item, int64_t least, int64_t most) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble > (double)least))
        return least;
    return item->valuedouble >= (double)most ? most : (int64_t)item->valuedouble;
}

const char *json_file_text(const cJSON *object, const char *name, const char *missing) {
    const char *text = cJSON_GetStringValue(json_member(object, name));
    return text != NULL ? text : missing;
}
