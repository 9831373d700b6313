/*
    oracle.c - our stacks against libunwind's, in programs that know of neither

    A library to be loaded before others (LD_PRELOAD): at every so many calls of
    malloc it takes the stack by both, frame for frame. Where they differ, the
    compiler's own unwinder (_Unwind_Backtrace) decides. A line of counts is
    added to the file TS_ORACLE when the process ends:

        STACKS FRAMES EQUAL SHORT LONG OTHERS WRONG

    EQUAL: the same frames. SHORT: ours end before, at code whose table we do
    not read. LONG: libunwind's end before, ours agree with the compiler's.
    OTHERS: they differ, and the compiler's are as ours. WRONG: the rest.
*/
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_UNWIND
#include "tracesmith.h"

#include "backends/ts_stack.h"
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

enum { DEPTH = 200, EQUAL = 2, SHORT, LONG, OTHERS, WRONG, COUNTS };

static uint64_t counts[COUNTS], calls, every = 7, most = 5000;
static __thread bool within __attribute__((tls_model("initial-exec")));

typedef struct frames {
    uint64_t at[DEPTH]; // as ours are told
    uint32_t count;
} frames;

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *user)
{
    frames *const f = user;
    int exact = 0;
    const uint64_t pc = _Unwind_GetIPInfo(context, &exact);
    if (!pc || f->count == DEPTH) return _URC_END_OF_STACK;
    f->at[f->count++] = exact ? pc : pc - 1;
    return _URC_NO_REASON;
}

// How many frames are the same, from the second on: the first is compare's own,
// where each was called at another place.
static uint32_t same(const frames *a, const frames *b)
{
    uint32_t i = 1;
    while (i < a->count && i < b->count && a->at[i] == b->at[i])
        i++;
    return i;
}

static void explain(const frames *ours, const frames *theirs,
                    const frames *compilers)
{
    const uint32_t agreed = same(ours, theirs);
    const bool confirmed = same(ours, compilers) >= ours->count;
    uint32_t what = WRONG;
    if (agreed == ours->count && agreed == theirs->count)
        what = EQUAL;
    else if (agreed == ours->count)
        what = SHORT;
    else if (agreed == theirs->count && confirmed)
        what = LONG;
    else if (confirmed)
        what = OTHERS;
    __atomic_add_fetch(&counts[what], 1, __ATOMIC_RELAXED);
    if (what != WRONG || !getenv("TS_ORACLE_SHOW")) return;
    fprintf(stderr, "agreed %u of ours %u, libunwind %u, compiler %u\n", agreed,
            ours->count, theirs->count, compilers->count);
    for (uint32_t i = agreed; i < agreed + 3; i++) {
        Dl_info about = { NULL, NULL, NULL, NULL };
        if (i < ours->count) dladdr((void *)ours->at[i], &about);
        fprintf(stderr, "  %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n",
                i < ours->count ? ours->at[i] : 0,
                i < theirs->count ? theirs->at[i] : 0,
                i < compilers->count ? compilers->at[i] : 0,
                about.dli_fname ? about.dli_fname : "");
    }
}

static __attribute__((noinline)) void compare(void)
{
    frames ours, theirs = { .count = 0 }, compilers = { .count = 0 };
    unw_context_t context;
    unw_cursor_t at;
    unw_word_t pc;
    bool exact = true;
    ours.count = ts_stack_addresses(ours.at, DEPTH, 0);
    unw_getcontext(&context);
    unw_init_local(&at, &context);
    while (theirs.count < DEPTH && unw_get_reg(&at, UNW_REG_IP, &pc) == 0 &&
           pc) {
        theirs.at[theirs.count++] = exact ? pc : pc - 1;
        exact = unw_is_signal_frame(&at) > 0;
        if (unw_step(&at) <= 0) break;
    }
    _Unwind_Backtrace(take, &compilers);
    if (__atomic_add_fetch(&counts[0], 1, __ATOMIC_RELAXED) > most) {
        __atomic_sub_fetch(&counts[0], 1, __ATOMIC_RELAXED);
        return;
    }
    __atomic_add_fetch(&counts[1], ours.count, __ATOMIC_RELAXED);
    explain(&ours, &theirs, &compilers);
}

void *__libc_malloc(size_t size);
void *malloc(size_t size)
{
    const uint64_t call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (!within && call % every == 0 &&
        __atomic_load_n(&counts[0], __ATOMIC_RELAXED) < most) {
        within = true;
        compare();
        within = false;
    }
    return __libc_malloc(size);
}

__attribute__((constructor)) static void begin(void)
{
    const char *const limit = getenv("TS_ORACLE_MOST");
    if (limit) most = strtoull(limit, NULL, 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *const path = getenv("TS_ORACLE");
    within = true;
    FILE *const file = path && counts[0] ? fopen(path, "a") : NULL;
    if (!file) return;
    for (int i = 0; i < COUNTS; i++)
        fprintf(file, "%" PRIu64 "%c", counts[i], i + 1 < COUNTS ? ' ' : '\n');
    fclose(file);
}
