/*
    vendors.c - the tools of vendors: how each is called, what it writes

    Sources: Nsight Systems User Guide 2024 to 2026, `nsys profile`; rocprofv3
    of ROCm 6 and 7, source/bin/rocprofv3.py; CANN 8 and 9, "msprof: general
    profiling command"; mcTracer 3.3 to 3.7 of MACA as scripts of its users call
    it; `xctrace help record`. None was run here: tests have doubles of them.
*/
#include "tools/record/with/with.h"

#define WORDS(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }

// rocprofv3 writes what its version has by default: databases, or CSV.
static const with_vendor vendors[] = {
    { .name = "nsys",
      .program = "nsys",
      .product = "Nsight Systems",
      .command = WORDS("profile", "--output=%F/report",
                       "--force-overwrite=true", "%A", "%C"),
      .files = WORDS("*.nsys-rep", "*.qdrep") },
    { .name = "rocprofv3",
      .program = "rocprofv3",
      .product = "ROCm, in /opt/rocm/bin",
      .command = WORDS("--output-directory", "%F", "%A", "--", "%C"),
      .defaults = WORDS("--runtime-trace"),
      .files = WORDS("*.db", "*.json", "*.csv", "*.pftrace") },
    { .name = "xctrace",
      .program = "xctrace",
      .product = "Xcode",
      .command =
          WORDS("record", "--output", "%F/run.trace", "--target-stdin", "-",
                "--target-stdout", "-", "%A", "--launch", "--", "%C"),
      .defaults = WORDS("--template", "Metal System Trace"),
      .instead = WORDS("--template", "--instrument"),
      .files = WORDS("tables.xml"),
      .convert = with_xctrace_convert },
    { .name = "mctracer",
      .program = "mcTracer",
      .product = "MACA, in /opt/maca/bin",
      .command = WORDS("%A", "--odname", "%F/out", "%C"),
      .defaults = WORDS("--mctx"),
      .files = WORDS("*tracer_out-*.json"),
      .drops_status = true,
      .relative = true },
    { .name = "msprof",
      .program = "msprof",
      .product = "CANN, in /usr/local/Ascend/ascend-toolkit/latest/bin",
      .command = WORDS("--output=%F", "%A", "%C"),
      .files = WORDS("*/mindstudio_profiler_output/msprof_*.json",
                     "PROF_*/timeline/msprof_*.json", "*/msprof_*.db"),
      .drops_status = true,
      .splits = true },
};
enum { VENDORS = sizeof vendors / sizeof *vendors };

const with_vendor *with_vendor_find(const cli_tool *tool, const char *name)
{
    for (size_t i = 0; i < VENDORS; i++)
        if (!strcmp(vendors[i].name, name)) return &vendors[i];
    FILE *const out = cli_error_begin(tool, NULL);
    fputs("--with: '", out);
    cli_put_text(out, name, strlen(name));
    fputs("' is not a known tool; use", out);
    for (size_t i = 0; i < VENDORS; i++)
        fprintf(out, "%s %s", i ? i + 1 < VENDORS ? "," : " or" : "",
                vendors[i].name);
    cli_error_end();
    return NULL;
}

/* ---- The command --------------------------------------------------------- */

static void add_args(with_run *run)
{
    const with_vendor *const v = run->vendor;
    const bool own = v->instead ? with_words_have(&run->args, v->instead)
                                : run->args.count != 0;
    for (const char *const *word = v->defaults; word && *word && !own; word++)
        with_word_add(&run->words, *word);
    for (size_t i = 0; i < run->args.count; i++)
        with_word_add(&run->words, run->args.items[i]);
}

// Writes a word so that a shell reads it as it is.
static void put_quoted(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputs("' ", out);
}

static bool write_script(const char *path, const with_words *program)
{
    FILE *const file = fopen(path, "w");
    if (!file) return false;
    fputs("exec ", file);
    for (size_t i = 0; i < program->count; i++)
        put_quoted(file, program->items[i]);
    fputc('\n', file);
    const bool written = !ferror(file);
    return fclose(file) == 0 && written;
}

// Writes the program's command as a script, for a tool that splits words.
static bool add_script(with_run *run, const with_words *program)
{
    char path[RECORD_PATH + 8], shown[RECORD_PATH + 8];
    snprintf(path, sizeof path, "%s/run.sh", run->folder);
    snprintf(shown, sizeof shown, "%s/run.sh", run->shown);
    if (!write_script(path, program)) {
        cli_error(run->job->tool, path, "%s", strerror(errno));
        return false;
    }
    with_word_add(&run->words, "/bin/sh");
    with_word_add(&run->words, shown);
    return true;
}

// Adds the program; ts-record runs it for a tool that drops its status. False,
// with the reason on stderr, on failure.
static bool add_program(with_run *run)
{
    bool added = true;
    char self[RECORD_PATH], status[RECORD_PATH + 8];
    with_words program = { .count = 0 };
    if (!cli_beside(self, sizeof self, "ts-record")) *self = 0;
    snprintf(status, sizeof status, "%s/status", run->folder);
    if (run->vendor->drops_status) {
        with_word_add(&program, self);
        with_word_add(&program, "--with-status");
        with_word_add(&program, status);
        with_word_add(&program, "--");
    }
    for (char **word = run->program; *word; word++)
        with_word_add(&program, *word);
    run->words.failed |= program.failed;
    if (run->vendor->splits)
        added = add_script(run, &program);
    else
        for (size_t i = 0; i < program.count; i++)
            with_word_add(&run->words, program.items[i]);
    with_words_free(&program);
    return added;
}

static void add_word(with_run *run, const char *word)
{
    char text[2 * RECORD_PATH];
    const char *const mark = strstr(word, "%F");
    if (!mark) {
        with_word_add(&run->words, word);
        return;
    }
    snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - word), word,
             run->shown, mark + 2);
    with_word_add(&run->words, text);
}

bool with_command(with_run *run)
{
    bool added = true;
    with_word_add(&run->words, run->vendor->program);
    for (const char *const *word = run->vendor->command; *word; word++)
        if (!strcmp(*word, "%A"))
            add_args(run);
        else if (!strcmp(*word, "%C"))
            added = add_program(run);
        else
            add_word(run, *word);
    if (run->words.failed) cli_error(run->job->tool, NULL, "out of memory");
    return added && !run->words.failed;
}
