/*
 * The calls of render/page/page_api.def by their number of arguments, each as
 *
 *     CALL(handle, result, kind of record or "", name, number of arguments, , argument...)
 *
 * where TAKE(parameter, i) makes an argument of a parameter. No guard: it is read once for each meaning of CALL.
 */
#undef SESSION0
#undef SESSION0_RECORD
#define SESSION0(result, name)        CALL(session, result, "", name, 0, )
#define SESSION0_RECORD(record, name) CALL(session, place, #record, name, 0, )
#undef SESSION1
#undef SESSION1_RECORD
#define SESSION1(result, name, a)        CALL(session, result, "", name, 1, , TAKE(a, 0))
#define SESSION1_RECORD(record, name, a) CALL(session, place, #record, name, 1, , TAKE(a, 0))
#undef SESSION2
#undef SESSION2_RECORD
#define SESSION2(result, name, a, b)        CALL(session, result, "", name, 2, , TAKE(a, 0), TAKE(b, 1))
#define SESSION2_RECORD(record, name, a, b) CALL(session, place, #record, name, 2, , TAKE(a, 0), TAKE(b, 1))
#undef SESSION3
#undef SESSION3_RECORD
#define SESSION3(result, name, a, b, c) \
    CALL(session, result, "", name, 3, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2))
#define SESSION3_RECORD(record, name, a, b, c) \
    CALL(session, place, #record, name, 3, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2))
#undef SESSION4
#undef SESSION4_RECORD
#define SESSION4(result, name, a, b, c, d) \
    CALL(session, result, "", name, 4, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3))
#define SESSION4_RECORD(record, name, a, b, c, d) \
    CALL(session, place, #record, name, 4, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3))
#undef SESSION5
#undef SESSION5_RECORD
#define SESSION5(result, name, a, b, c, d, e) \
    CALL(session, result, "", name, 5, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3), TAKE(e, 4))
#define SESSION5_RECORD(record, name, a, b, c, d, e) \
    CALL(session, place, #record, name, 5, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3), TAKE(e, 4))
#undef SESSION0_ROWS
#undef SESSION4_ROWS
#undef VIEW0_ROWS
#undef VIEW2_ROWS
#undef VIEW3_ROWS
#define SESSION0_ROWS(record, name)             SESSION0(place, name)
#define SESSION4_ROWS(record, name, a, b, c, d) SESSION4(place, name, a, b, c, d)
#define VIEW0_ROWS(record, name)                VIEW0(place, name)
#define VIEW2_ROWS(record, name, a, b)          VIEW2(place, name, a, b)
#define VIEW3_ROWS(record, name, a, b, c)       VIEW3(place, name, a, b, c)
#undef VIEW0
#undef VIEW0_RECORD
#define VIEW0(result, name)        CALL(view, result, "", name, 0, )
#define VIEW0_RECORD(record, name) CALL(view, place, #record, name, 0, )
#undef VIEW1
#undef VIEW1_RECORD
#define VIEW1(result, name, a)        CALL(view, result, "", name, 1, , TAKE(a, 0))
#define VIEW1_RECORD(record, name, a) CALL(view, place, #record, name, 1, , TAKE(a, 0))
#undef VIEW2
#undef VIEW2_RECORD
#define VIEW2(result, name, a, b)        CALL(view, result, "", name, 2, , TAKE(a, 0), TAKE(b, 1))
#define VIEW2_RECORD(record, name, a, b) CALL(view, place, #record, name, 2, , TAKE(a, 0), TAKE(b, 1))
#undef VIEW3
#undef VIEW3_RECORD
#define VIEW3(result, name, a, b, c) CALL(view, result, "", name, 3, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2))
#define VIEW3_RECORD(record, name, a, b, c) \
    CALL(view, place, #record, name, 3, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2))
#undef VIEW4
#undef VIEW4_RECORD
#define VIEW4(result, name, a, b, c, d) \
    CALL(view, result, "", name, 4, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3))
#define VIEW4_RECORD(record, name, a, b, c, d) \
    CALL(view, place, #record, name, 4, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3))
#undef VIEW5
#undef VIEW5_RECORD
#define VIEW5(result, name, a, b, c, d, e) \
    CALL(view, result, "", name, 5, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3), TAKE(e, 4))
#define VIEW5_RECORD(record, name, a, b, c, d, e) \
    CALL(view, place, #record, name, 5, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3), TAKE(e, 4))
#undef VIEW6
#undef VIEW6_RECORD
#define VIEW6(result, name, a, b, c, d, e, f) \
    CALL(view, result, "", name, 6, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3), TAKE(e, 4), TAKE(f, 5))
#define VIEW6_RECORD(record, name, a, b, c, d, e, f)                                                  \
    CALL(view, place, #record, name, 6, , TAKE(a, 0), TAKE(b, 1), TAKE(c, 2), TAKE(d, 3), TAKE(e, 4), \
         TAKE(f, 5))
