/*
    test_record_live.c - the line that ts-record shows while a program runs
*/
#define _GNU_SOURCE
#include "tools/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "tests/unit.h"
#include "tests/tools/terminal.h"

static const cli_tool tool = { .name = "ts-record" };
static ts_inject_control control;

typedef struct run {
    record_options options;
    ts_inject_process figures;
} run;

static void show(void *user)
{
    const run *const r = user;
    record_job job = { .tool = &tool,
                       .options = r->options,
                       .control = &control };
    control.processes[0] = r->figures;
    control.processes[0].process = (uint32_t)getpid();
    record_live(&job, false);
    record_live(&job, true);
}

// What the line says, which is shown on a terminal only.
static void shown(record_options options, ts_inject_process figures, char *said,
                  size_t room)
{
    run r = { options, figures };
    terminal_run(said, room, 24, 200, "", show, &r);
}

static void assert_says(const char *said, const char *words)
{
    if (!strstr(said, words))
        fail_msg("'%s' says nothing of '%s'", said, words);
}

UNIT_TEST(a_capture_that_waits_for_a_frame_says_so)
{
    char said[1000];
    shown((record_options){ .live = true, .capture = "all" },
          (ts_inject_process){ .state = TS_INJECT_RECORDS,
                               .capturing = TS_INJECT_FRAME,
                               .kept = 12,
                               .records = 3456 },
          said, sizeof said);
    assert_says(said, "ts-record: will capture the next frame, 12 captured | ");
    assert_says(said, "1 process, 3,456 records, 0 B ");
    assert_says(said, "\r\033[K"); // it is taken away at the end
}

UNIT_TEST(many_captured_operations_are_estimated)
{
    char said[1000];
    const record_options options = { .estimate = true, .capture = "all" };
    control.start_ns = INT64_MAX; // as if it had just begun
    shown(options,
          (ts_inject_process){ .state = TS_INJECT_RECORDS,
                               .capturing = TS_INJECT_ON,
                               .kept = 2000 },
          said, sizeof said);
    assert_says(said,
                "ts-record: 2,000 operations captured, 2,000,000 per second; "
                "count:3 or operations:1000 capture fewer ");
    shown(options,
          (ts_inject_process){ .state = TS_INJECT_RECORDS, .kept = 999 }, said,
          sizeof said);
    assert_string_equal(said, ""); // too few to tell
}

int main(void)
{
    return unit_run(NULL, NULL);
}
