/* Call sites at a moment, by the names that rules and baselines give them. */
#pragma once

#include "base/arena.h"
#include "layout/groups.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call site and what it holds. */
struct named_site {
    const char *name;
    uint64_t bytes;
};

/* The call sites of one moment; sorted by name too, from the second question on. */
struct moment_sites {
    struct arena arena;
    uint32_t moment;
    struct group *groups; /* by site, of whoever asks */
    uint32_t n_groups, n_asked;
    struct named_site *by_name; /* [n_groups]; NULL: not yet */
};

/* "attention.py:88": the name of a site in a rule's pattern and in a baseline; cut at `capacity`, with its terminator. */
void rule_site_name(const struct trace *trace, uint32_t frame, char *name, size_t capacity);

/* Does a site's name match the pattern (fnmatch)? */
bool rule_site_meets(const struct trace *trace, uint32_t frame, const char *pattern);

/* Empties `sites` without releasing anything; its memory counts as the parent's. Release it by arena_release. */
void moment_sites_begin(struct moment_sites *sites, struct arena *parent);

/* Bytes of the sites whose name matches the pattern (fnmatch). One question walks all sites; naming and sorting them
 * pays from the second on, when O(log sites + matches). False: no memory, `bytes` unchanged. */
bool moment_sites_sum(struct moment_sites *sites, const struct trace *trace, const char *pattern,
                      uint64_t *bytes);
