#include "cli/operand.h"

#include "cli/memory.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool device_read(struct operand *operand, const char *value) {
    operand->has_device = ordinal_parse(value, &operand->device);
    return operand->has_device;
}

static bool key_read(struct operand *operand, const char *key, const char *value) {
    if (strcmp(key, "device") == 0)
        return device_read(operand, value);
    if (strcmp(key, "at") == 0)
        return position_parse(value, &operand->at);
    operand->has_step = strcmp(key, "step") == 0;
    return operand->has_step && number_parse(value, 0, UINT32_MAX, &operand->step);
}

/* Reads "device=1#step=3", in place. NULL: understood; otherwise the part that is not. */
static const char *keys_read(struct operand *operand, char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, "#&");
        char *next = text + length + (text[length] != '\0'), *value = strchr(text, '=');
        text[length] = '\0';
        if (value == NULL)
            return text;
        *value = '\0';
        if (!key_read(operand, text, value + 1)) {
            *value = '=';
            return text;
        }
        text = next;
    }
    return NULL;
}

/* The first # after the last slash, where the keys begin. NULL: there are no keys. */
static char *keys_of(char *path) {
    char *slash = strrchr(path, '/');
    return strchr(slash != NULL ? slash : path, '#');
}

bool operand_parse(struct operand *operand, const char *word) {
    *operand = (struct operand){.word = word, .path = memory_text("%s", word)};
    char *keys = access(word, F_OK) == 0 ? NULL : keys_of(operand->path);
    if (keys == NULL)
        return true;
    *keys = '\0';
    const char *wrong = keys_read(operand, keys + 1);
    if (wrong != NULL)
        terminal_error(word, "\"%s\" is not one of #step=3, #at=peak (or an event) and #device=1", wrong);
    if (wrong == NULL && operand->has_step && operand->at.base != POSITION_NONE) {
        terminal_error(word, "#step and #at are two moments; give one");
        wrong = "";
    }
    if (wrong != NULL)
        operand_release(operand);
    return wrong == NULL;
}

void operand_release(struct operand *operand) {
    free(operand->path);
    operand->path = NULL;
}
