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
#define MODULE0(result, name)      PAGE_EXPORT(name) result name(void);
#define MODULE2(result, name, ...) PAGE_EXPORT(name) result name(__VA_ARGS__);
#define SESSION0(result, name)     PAGE_EXPORT(session_##name) result session_##name(struct page_session *);
#define SESSION1(result, name, ...) \
    PAGE_EXPORT(session_##name) result session_##name(struct page_session *, __VA_ARGS__);
#define SESSION2                      SESSION1
#define SESSION0_RECORD(record, name) SESSION0(place, name)
#define SESSION1_RECORD(record, ...)  SESSION1(place, __VA_ARGS__)
#define VIEW0(result, name)           PAGE_EXPORT(view_##name) result view_##name(struct page_view *);
#define VIEW1(result, name, ...)      PAGE_EXPORT(view_##name) result view_##name(struct page_view *, __VA_ARGS__);
#define VIEW2                         VIEW1
#define VIEW3                         VIEW1
#define VIEW4                         VIEW1
#define VIEW5                         VIEW1
#define VIEW0_RECORD(record, name)    VIEW0(place, name)
#define VIEW1_RECORD(record, ...)     VIEW1(place, __VA_ARGS__)
#define VIEW2_RECORD                  VIEW1_RECORD
#define VIEW4_RECORD                  VIEW1_RECORD
#define VIEW5_RECORD                  VIEW1_RECORD
#define SESSION0_ROWS                 SESSION0_RECORD
#define SESSION4_ROWS                 SESSION1_RECORD
#define VIEW0_ROWS                    VIEW0_RECORD
#define VIEW2_ROWS                    VIEW1_RECORD
#define VIEW3_ROWS                    VIEW1_RECORD
#include "render/page/page_api.def"
#undef CONSTANT
#undef FLAG
#undef RECORD
#undef FIELD
#undef RECORD_END
