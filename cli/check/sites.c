#include "cli/check/sites.h"
#include "base/search.h"
#include "layout/site.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_NAME = 160 };

void rule_site_name(const struct trace *trace, uint32_t frame, char *name, size_t capacity) {
    char text[1024];
    site_text(trace, frame, text, sizeof text);
    char *blank = strchr(text, ' ');
    if (frame != 0 && blank != NULL && trace->frames.frame[frame].line != 0 && blank != text)
        *blank = '\0';
    snprintf(name, capacity, "%.*s", (int)capacity - 1, text);
}

bool rule_site_meets(const struct trace *trace, uint32_t frame, const char *pattern) {
    char name[SITE_NAME];
    rule_site_name(trace, frame, name, sizeof name);
    return fnmatch(pattern, name, 0) == 0;
}

void moment_sites_begin(struct moment_sites *sites, struct arena *parent) {
    *sites = (struct moment_sites){0};
    arena_init(&sites->arena, arena_share(parent), SIZE_MAX);
}

static int names_compare(const void *a, const void *b) {
    return strcmp(((const struct named_site *)a)->name, ((const struct named_site *)b)->name);
}

bool moment_sites_name(struct moment_sites *sites, const struct trace *trace, uint32_t moment,
                       const struct group *groups, uint32_t n_groups) {
    struct named_site *named = arena_column(&sites->arena, n_groups, sizeof *named);
    for (uint32_t i = 0; named != NULL && i < n_groups; i++) {
        char name[SITE_NAME];
        rule_site_name(trace, groups[i].site, name, sizeof name);
        char *own = arena_alloc(&sites->arena, strlen(name) + 1);
        if (own == NULL)
            return false;
        memcpy(own, name, strlen(name) + 1);
        named[i] = (struct named_site){own, groups[i].bytes};
    }
    if (named == NULL)
        return false;
    qsort(named, n_groups, sizeof *named, names_compare);
    sites->moment = moment;
    sites->n = n_groups;
    sites->by_name = named;
    return true;
}

/* Bytes of a pattern before its first special character, with the terminator if it has none: all matching names begin
 * so. */
static size_t pattern_prefix(const char *pattern) {
    size_t length = strcspn(pattern, "*?[\\");
    return pattern[length] == '\0' ? length + 1 : length;
}

/* Names with equal beginnings are adjacent. */
uint64_t moment_sites_sum(const struct moment_sites *sites, const char *pattern) {
    size_t prefix = pattern_prefix(pattern);
    uint32_t low = SEARCH(0, sites->n, i, strncmp(sites->by_name[i].name, pattern, prefix) < 0);
    uint64_t bytes = 0;
    for (uint32_t i = low; i < sites->n && strncmp(sites->by_name[i].name, pattern, prefix) == 0; i++)
        if (fnmatch(pattern, sites->by_name[i].name, 0) == 0)
            bytes += sites->by_name[i].bytes;
    return bytes;
}
