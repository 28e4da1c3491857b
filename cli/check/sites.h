/* Call sites at a moment, by the names that rules and baselines give them. */
#pragma once

#include "base/arena.h"
#include "layout/groups.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call site and the bytes that it holds. */
struct named_site {
    const char *name;
    uint64_t bytes;
};

/* The call sites of one moment. */
struct moment_sites {
    struct arena arena;
    uint32_t moment, n;
    struct named_site *by_name; /* [n], sorted; NULL: not found yet */
};

/* "attention.py:88": the name of a site in a rule's pattern and in a baseline; cut at `capacity`, with its
 * terminator. */
void rule_site_name(const struct trace *trace, uint32_t frame, char *name, size_t capacity);

/* Does a site's name match the pattern (fnmatch)? */
bool rule_site_meets(const struct trace *trace, uint32_t frame, const char *pattern);

/* Empties `sites` without releasing anything; its memory counts as the parent's. Release it by arena_release. */
void moment_sites_begin(struct moment_sites *sites, struct arena *parent);

/* Names and sorts the sites of groups at a moment. False: no memory. O(groups log groups). */
bool moment_sites_name(struct moment_sites *sites, const struct trace *trace, uint32_t moment,
                       const struct group *groups, uint32_t n_groups);

/* Bytes of the sites whose name matches the pattern (fnmatch). O(log sites + names that begin like the pattern). */
uint64_t moment_sites_sum(const struct moment_sites *sites, const char *pattern);
