/* The functions that the page's JavaScript calls, declared from the list in page_api.def; JavaScript finds
 * each export under its function's name. Freestanding. */
#pragma once

#include <stdint.h>

typedef uint32_t u32;
typedef int32_t i32;
typedef double f64;
typedef uintptr_t place; /* in the module's memory */

struct page_session;
struct page_view;

#ifdef __wasm__
#define PAGE_EXPORT(name) __attribute__((export_name(#name)))
#else
#define PAGE_EXPORT(name)
#endif

#define CONSTANT(name, value) enum { PAGE_##name = (value) };
#define FLAG(name, value)     enum { name = (value) };
#define RECORD(name)          struct record_##name {
#define FIELD(name)           double name;
#define RECORD_END \
    }              \
    ;
#define MODULE0(result, name)       PAGE_EXPORT(name) result name(void);
#define MODULE2(result, name, a, b) PAGE_EXPORT(name) result name(a, b);
#define SESSION0(result, name)      PAGE_EXPORT(session_##name) result session_##name(struct page_session *);
#define SESSION1(result, name, a)   PAGE_EXPORT(session_##name) result session_##name(struct page_session *, a);
#define SESSION2(result, name, a, b) \
    PAGE_EXPORT(session_##name) result session_##name(struct page_session *, a, b);
#define SESSION3(result, name, a, b, c) \
    PAGE_EXPORT(session_##name) result session_##name(struct page_session *, a, b, c);
#define SESSION0_RECORD(record, name)    SESSION0(place, name)
#define SESSION1_RECORD(record, name, a) SESSION1(place, name, a)
#define VIEW0(result, name)              PAGE_EXPORT(view_##name) result view_##name(struct page_view *);
#define VIEW1(result, name, a)           PAGE_EXPORT(view_##name) result view_##name(struct page_view *, a);
#define VIEW2(result, name, a, b)        PAGE_EXPORT(view_##name) result view_##name(struct page_view *, a, b);
#define VIEW3(result, name, a, b, c)     PAGE_EXPORT(view_##name) result view_##name(struct page_view *, a, b, c);
#define VIEW4(result, name, a, b, c, d) \
    PAGE_EXPORT(view_##name) result view_##name(struct page_view *, a, b, c, d);
#define VIEW5(result, name, a, b, c, d, e) \
    PAGE_EXPORT(view_##name) result view_##name(struct page_view *, a, b, c, d, e);
#define VIEW0_RECORD(record, name)                VIEW0(place, name)
#define VIEW1_RECORD(record, name, a)             VIEW1(place, name, a)
#define VIEW2_RECORD(record, name, a, b)          VIEW2(place, name, a, b)
#define VIEW5_RECORD(record, name, a, b, c, d, e) VIEW5(place, name, a, b, c, d, e)
#include "render/page/page_api.def"
#undef CONSTANT
#undef FLAG
#undef RECORD
#undef FIELD
#undef RECORD_END
