/*
    fuzz_execution.c - execution traces of any bytes, joined with a profile of
    one process; see fuzz_import.h
*/
#include "tests/fuzz/fuzz_import.h"
#include "tools/import/execution/execution.h"

extern const import_format import_kineto;

static const cli_tool tool = { .name = "fuzz" };
static const char profile[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,"
    "\"args\":{\"Record function id\":1}},"
    "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":4,\"dur\":2,"
    "\"args\":{\"Record function id\":2}}]}";

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_begin();
    return 0;
}

static import_input *open_with(const void *bytes, size_t size,
                               import_source **source)
{
    const int fd = open(fuzz_source, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size,
               "no room for the source");
    close(fd);
    import_input *const input = import_input_open(&tool, fuzz_source);
    *source = input ? import_input_next(input) : NULL;
    return input;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    import_executions all = { 0 };
    import_source *source;
    ts_result result;
    if (size > 1 << 16) return 0;
    import_input *input = open_with(bytes, size, &source);
    if (source) import_executions_add(&all, &tool, source);
    if (input) import_input_close(input);
    import_executions_drop(&all);
    input = open_with(profile, sizeof profile - 1, &source);
    import_job *const job =
        import_job_open(&tool, source, &import_kineto, fuzz_output, &result);
    fuzz_check(job != NULL, "no job");
    job->executions = &all;
    fuzz_check(import_kineto.import(job), "the profile is refused");
    import_executions_end(job);
    fuzz_check(import_job_end(job, true) == TS_OK, "the writer failed");
    import_job_close(job);
    fuzz_trace(0);
    import_input_close(input);
    import_executions_close(&all);
    return 0;
}
