/*
    ts-cut.c - a part of a trace as a trace of its own
*/
#include "tools/common/select/resolve.h"

static const char *out_text, *name_text, *deps_text;
static bool anonymise, want_json;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write; what is there is replaced at the end",
      .text = &out_text },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--frame [NAME:]A..B",
      .help = "only the time of frames number A to B, from 0",
      .text = &selected.frame },
    { .name = "--process LIST",
      .help = "only what belongs to these processes: numbers or names,\n"
              "in which * stands for anything",
      .text = &selected.process },
    { .name = "--name REGEX",
      .help = "only what has a name a part of which matches; ^ and $ are\n"
              "its ends",
      .text = &name_text },
    { .name = "--keep-deps HOW",
      .help = "calls: and the calls that launched what is kept (the\n"
              "default, unless --kind is given); both: and what kept\n"
              "calls launched; none",
      .text = &deps_text },
    { .name = "--anonymise",
      .help = "leave nothing that tells who ran what, where and when",
      .flag = &anonymise },
    { .name = "--json", .help = "print one JSON object", .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-cut",
    .usage = "[options] -o FILE TRACE",
    .about = "Writes a part of a trace: the events for which all options hold. "
             "They are kept\nwhole and when they were.",
    .options = options,
};

/* ---- The wish ------------------------------------------------------------ */

static bool parse_deps(cut_wish *wish)
{
    static const char *const names[] = { "calls", "both", "none" };
    wish->deps = selected.kind ? CUT_DEPS_NONE : CUT_DEPS_CALLS;
    if (!deps_text) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(deps_text, names[i])) continue;
        wish->deps = (cut_deps)i;
        return true;
    }
    cli_error(&tool, NULL, "--keep-deps %s: it is calls, both or none",
              deps_text);
    return false;
}

static bool parse_name(regex_t *regex, cut_wish *wish)
{
    cli_text why;
    if (!name_text) return true;
    if (!cli_regex_open(regex, name_text, strlen(name_text), &why)) {
        cli_error(&tool, NULL, "--name '%s': %s", name_text, why.s);
        return false;
    }
    wish->name = regex;
    return true;
}

// What was asked for, so that the trace can say it.
static const char *in_words(void)
{
    static char words[2048];
    const char *const said[][2] = {
        { "--name ", name_text },
        { "--keep-deps ", deps_text },
        { "--anonymise", anonymise ? "" : NULL },
    };
    size_t size = (size_t)snprintf(words, sizeof words, "%s", select_words());
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (said[i][1] && size < sizeof words)
            size +=
                (size_t)snprintf(words + size, sizeof words - size, "%s%s%s",
                                 size ? " " : "", said[i][0], said[i][1]);
    return words;
}

/* ---- Result -------------------------------------------------------------- */

static void print_text(const cut_job *job)
{
    cli_put_text(stdout, job->out, strlen(job->out));
    printf(": %s of %s events", cli_count(job->counts.kept).s,
           cli_count(job->counts.kept + job->counts.left_out).s);
    if (job->added)
        printf(", %s of them because they belong to others",
               cli_count(job->added).s);
    if (job->wish.anonymise)
        printf("; %s texts replaced", cli_count(job->replaced).s);
    putchar('\n');
}

static void print_json(const cut_job *job)
{
    cli_json json = { .out = stdout, .lines = 1 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "output", job->out);
    cli_json_uint(&json, "kept", job->counts.kept);
    cli_json_uint(&json, "left_out", job->counts.left_out);
    cli_json_uint(&json, "added", job->added);
    cli_json_uint(&json, "undefined", job->undefined);
    cli_json_uint(&json, "replaced", job->replaced);
    cli_json_close(&json, '}');
}

static int cut(cut_job *job, cli_trace *trace)
{
    select_lists lists;
    job->trace = trace;
    const int code =
        select_wish(job, &lists) && cut_write(job) ? CLI_OK : CLI_FAILED;
    select_close(job, &lists);
    return code;
}

int main(int argc, char **argv)
{
    cut_job job = { .tool = &tool };
    replay_job files = { .tool = &tool };
    regex_t regex;
    cli_parse(&tool, &argc, argv);
    if (argc != 2 || !out_text) {
        cli_error(&tool, NULL,
                  argc < 2   ? "which trace?"
                  : argc > 2 ? "one trace at a time"
                             : "where to? Give -o FILE");
        return cli_usage(&tool);
    }
    job.path = argv[1];
    job.out = out_text;
    job.wish.anonymise = anonymise;
    job.wish.what = in_words();
    if (!select_check(&tool) || !parse_deps(&job.wish) ||
        !parse_name(&regex, &job.wish))
        return cli_usage(&tool);
    int code = CLI_FAILED;
    if (replay_files_open(&files, argv + 1, 1) &&
        replay_check_output(&files, out_text))
        code = cut(&job, &files.files[0].trace);
    if (code == CLI_OK) (want_json ? print_json : print_text)(&job);
    replay_files_close(&files);
    if (job.wish.name) regfree(&regex);
    return cli_finish(&tool, code);
}
