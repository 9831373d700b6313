/*
    tracesmith.c - one command for all tools: tracesmith view is ts-view

    Runs the tool of the given name in its own folder, else in PATH, with the
    same arguments. Also accepts the command lines of the earlier project of the
    same name, and translates them into the options of these tools.
*/
#define _GNU_SOURCE
#include "tools/cli/cli.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4096 };

typedef struct words { // arguments of the tool to run
    const char *word[WORDS + 1];
    size_t count;
} words;

static const struct {
    const char *word, *tool, *about;
} commands[] = {
    { "record", "ts-record", "run a program and record it" },
    { "profile", "ts-record",
      "the same as record; --perfetto also exports the trace" },
    { "devices", "ts-devices", "show devices and what can be recorded" },
    { "info", "ts-info", "show the contents of a trace" },
    { "view", "ts-view", "show a timeline in the terminal" },
    { "studio", "ts-studio", "show a timeline in a browser" },
    { "analyze", "ts-analyze", "find out why a program is slow" },
    { "diff", "ts-diff", "compare two traces" },
    { "query", "ts-query", "run SQL queries on traces" },
    { "mcp", "ts-mcp", "answer an assistant's questions about traces" },
    { "export", "ts-export",
      "convert a trace for Perfetto, Chrome or Graphviz" },
    { "import", "ts-import", "convert traces of other tools" },
    { "replay", "ts-replay", "replay a trace: what-if, execution, races" },
    { "merge", "ts-merge", "merge traces of ranks and processes" },
    { "cut", "ts-cut", "write a part of a trace" },
    { "symbolize", "ts-symbolize", "add function names to call stacks" },
    { "benchmark", "ts-benchmark",
      "measure the cost of recording on this "
      "machine" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const cli_tool tool = { .name = "tracesmith" };

static void help(void)
{
    cli_fold();
    printf("Usage: tracesmith [--no-color] COMMAND [ARGUMENT...]\nRuns the "
           "tool ts-COMMAND. COMMAND --help lists its options.\n\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-11s%s\n", commands[i].word, commands[i].about);
    printf("  %-11s%s\n  %-11s%s\n", "version", "print the version", "help",
           "print this help");
    puts("\nWith --no-color nothing is coloured, as with NO_COLOR=1.");
}

/* ---- Earlier options ----------------------------------------------------- */

static void add(words *w, const char *word)
{
    if (w->count < WORDS) w->word[w->count++] = word;
}

// Translates a duration: "5" meant seconds; "5ms" is unchanged.
static const char *seconds(const char *word)
{
    char *text = NULL;
    const bool bare = *word && !word[strspn(word, "0123456789.")];
    if (!bare) return word;
    return asprintf(&text, "%ss", word) < 0 ? word : text;
}

static bool is_platform(const char *word)
{
    static const char *const known[] = { "auto", "cuda",  "rocm",  "hip",
                                         "maca", "metax", "opencl" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(word, known[i])) return true;
    cli_error(&tool, NULL,
              "-p %s: must be auto, cuda, rocm, maca or opencl; everything "
              "that the program uses is recorded",
              word);
    return false;
}

typedef struct recording {
    const char *trace;
    bool perfetto, has_program;
} recording;

// Translates -d SECONDS, -p PLATFORM and --perfetto; the words after the
// options belong to the program.
static bool take_record(words *to, char **args, int count, recording *r)
{
    r->trace = "trace.sbt";
    for (int i = 0; i < count; i++) {
        const char *const word = args[i];
        const char *const value = i + 1 < count ? args[i + 1] : NULL;
        if (!strcmp(word, "--") || word[0] != '-') {
            r->has_program = i + (word[0] == '-') < count;
            for (; i < count; i++)
                add(to, args[i]);
            return true;
        }
        if (!strcmp(word, "--perfetto")) {
            r->perfetto = true;
        } else if (!strcmp(word, "-d") && value) {
            add(to, "--duration");
            add(to, seconds(args[++i]));
        } else if (!strcmp(word, "-p") && value) {
            if (!is_platform(args[++i])) return false;
        } else if ((!strcmp(word, "-o") || !strcmp(word, "--output")) &&
                   value) {
            r->trace = args[++i];
            add(to, "-o");
            add(to, r->trace);
        } else {
            add(to, word);
        }
    }
    return true;
}

// Translates -f FORMAT; adds a name for the output if none is given.
static void take_export(words *to, char **args, int count)
{
    const char *input = NULL, *format = "perfetto";
    bool named = false;
    for (int i = 0; i < count; i++) {
        const bool is_format = !strcmp(args[i], "-f") && i + 1 < count;
        add(to, is_format ? "--format" : args[i]);
        if (is_format) add(to, format = args[++i]);
        named = named || !strncmp(args[i], "-o", 2) ||
                !strncmp(args[i], "--output", 8);
        if (args[i][0] != '-' && !is_format) input = args[i];
    }
    char *output = NULL;
    const char *const suffix = !strcmp(format, "perfetto") ? ".perfetto-trace"
                               : !strcmp(format, "dot")    ? ".dot"
                                                           : ".json";
    if (named || !input || asprintf(&output, "%s%s", input, suffix) < 0) return;
    add(to, "-o");
    add(to, output);
}

// Translates --mode dry-run.
static void take_replay(words *to, char **args, int count)
{
    for (int i = 0; i < count; i++) {
        const bool is_plan = !strcmp(args[i], "--mode") && i + 1 < count &&
                             !strcmp(args[i + 1], "dry-run");
        add(to, is_plan || !strcmp(args[i], "--mode=dry-run") ? "--dry-run"
                                                              : args[i]);
        i += is_plan;
    }
}

/* ---- Running ------------------------------------------------------------- */

static int run(const words *w)
{
    char path[4096];
    char **const argv = (char **)(uintptr_t)w->word;
    fflush(stdout);
    if (cli_beside(path, sizeof path, argv[0])) execv(path, argv);
    execvp(argv[0], argv);
    cli_error(&tool, argv[0], "%s", strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

static int export_recorded(const char *trace)
{
    char *output = NULL;
    if (asprintf(&output, "%s.perfetto-trace", trace) < 0) return CLI_FAILED;
    const words w = { .word = { "ts-export", trace, "-o", output },
                      .count = 4 };
    return run(&w);
}

// Returns the exit code of the recorded program.
static int record_and_export(const words *w, const char *trace)
{
    int status = 0, exported = 0;
    const pid_t recorder = fork();
    if (!recorder) _exit(run(w));
    while (recorder > 0 && waitpid(recorder, &status, 0) < 0 &&
           errno == EINTR) {}
    const pid_t exporter = recorder > 0 ? fork() : -1;
    if (!exporter) _exit(export_recorded(trace));
    while (exporter > 0 && waitpid(exporter, &exported, 0) < 0 &&
           errno == EINTR) {}
    if (exporter < 0) {
        cli_error(&tool, NULL, "no process can be started");
        return CLI_FAILED;
    }
    const int code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code ? code : exported ? CLI_FAILED : CLI_OK;
}

static int record(words *w, char **args, int count)
{
    recording r = { 0 };
    if (!take_record(w, args, count, &r)) return CLI_USAGE;
    const bool asks =
        count && (!strcmp(args[0], "--help") || !strcmp(args[0], "--version"));
    if (!r.has_program && !asks) {
        cli_error(&tool, NULL,
                  "a program to run is required: tracesmith record -o %s -- "
                  "COMMAND",
                  r.trace);
        return CLI_USAGE;
    }
    return r.perfetto ? record_and_export(w, r.trace) : run(w);
}

static int unknown(const char *word)
{
    cli_error(&tool, NULL,
              "unknown command '%s'; `tracesmith help` lists the commands",
              word);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    words w = { 0 };
    char **args = argv + 1;
    int count = argc - 1;
    if (count && !strcmp(args[0], "--no-color")) {
        setenv("NO_COLOR", "1", 1);
        args++, count--;
    }
    const char *const word = count ? args[0] : "help";
    args++, count--;
    if (!strcmp(word, "help") || !strcmp(word, "--help") ||
        !strcmp(word, "-h")) {
        help();
        return cli_finish(&tool, CLI_OK);
    }
    if (!strcmp(word, "version") || !strcmp(word, "--version") ||
        !strcmp(word, "-V")) {
        printf("tracesmith %d.%d.%d\n", TS_VERSION_MAJOR, TS_VERSION_MINOR,
               TS_VERSION_PATCH);
        return cli_finish(&tool, CLI_OK);
    }
    int i = 0;
    while (i < COMMANDS && strcmp(commands[i].word, word))
        i++;
    if (i == COMMANDS) return unknown(word);
    if (count > WORDS - 8) {
        cli_error(&tool, NULL,
                  "%s passes on at most %d arguments: call %s itself", word,
                  WORDS - 8, commands[i].tool);
        return CLI_USAGE;
    }
    add(&w, commands[i].tool);
    if (!strcmp(commands[i].tool, "ts-record")) return record(&w, args, count);
    if (!strcmp(word, "export"))
        take_export(&w, args, count);
    else if (!strcmp(word, "replay"))
        take_replay(&w, args, count);
    else
        for (int k = 0; k < count; k++)
            add(&w, args[k]);
    return run(&w);
}
