/*
    report.c - reports of Nsight Systems (.nsys-rep), by its own nsys

    The format is NVIDIA's own. `nsys export`, of the version that made a report
    or of a later one, makes the database that nsys.c reads. The names that nsys
    gets are those of a folder of ours, as it replaces % in names.

    Source: reports of 2024 to 2026 begin with "NVIDIA Tegra Profiler Report
    2026@4@1@191-264138605071v0."; `nsys export --help`.
*/
#define _XOPEN_SOURCE 700 // realpath
#include "tools/import/nsys/nsys.h"
#include "tools/cli/context.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };
static const char magic[] = "NVIDIA Tegra Profiler Report ";
// The first ones have a name here, the others SQLite leaves if it is ended.
static const char *const files[] = {
    "report.nsys-rep",       "report.sqlite",     "report.log",
    "report.sqlite-journal", "report.sqlite-wal", "report.sqlite-shm"
};
enum { REPORT, DATABASE, LOG, FILES, ALL = sizeof files / sizeof *files };

typedef struct report {
    import_job *job;
    char maker[64];         // version that made the report: "2026.4.1.191-..."
    char found[64];         // version of the nsys in PATH; "": unknown
    char folder[PATH_ROOM]; // "": none
    char path[FILES][PATH_ROOM + 32];
    int status; // of nsys export
} report;

/* ---- The folder ---------------------------------------------------------- */

// That of this process, for the signal handler of a tool.
static char interrupted[PATH_ROOM];

// Without snprintf, which is not safe in signal handlers.
static void remove_folder(const char *folder)
{
    char path[PATH_ROOM + 32];
    const size_t size = strlen(folder);
    for (int i = 0; i < ALL; i++) {
        memcpy(path, folder, size);
        path[size] = '/';
        memcpy(path + size + 1, files[i], strlen(files[i]) + 1);
        unlink(path);
    }
    rmdir(folder);
}

void import_report_interrupted(void)
{
    if (*interrupted) remove_folder(interrupted);
}

static bool make_folder(report *r, const char *source)
{
    const char *const place = getenv("TMPDIR");
    char *const whole = realpath(source, NULL);
    snprintf(r->folder, PATH_ROOM, "%s/ts-import-XXXXXX",
             place && *place ? place : "/tmp");
    const bool made = whole && mkdtemp(r->folder);
    for (int i = 0; i < FILES; i++)
        snprintf(r->path[i], sizeof r->path[i], "%s/%s", r->folder, files[i]);
    if (made && cli_is_tool) memcpy(interrupted, r->folder, PATH_ROOM);
    const bool done = made && symlink(whole, r->path[REPORT]) == 0;
    const int error = errno;
    free(whole);
    if (!made) *r->folder = 0;
    return done ||
           cli_fail(r->job->tool, cli_errno_result(error),
                    import_source_name(r->job->source),
                    "it cannot be exported by nsys: %s", strerror(error));
}

static void close_folder(const report *r)
{
    if (*r->folder) remove_folder(r->folder);
    *interrupted = 0;
}

/* ---- Versions ------------------------------------------------------------ */

// Copies the version that a text begins with, "2026@4@1@191-26..." or with
// dots.
static void take_version(char *version, size_t room, const char *text)
{
    size_t size = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz@.-");
    while (size && text[size - 1] == '.')
        size--;
    snprintf(version, room, "%.*s", (int)size, text);
    for (char *at = version; *at; at++)
        if (*at == '@') *at = '.';
}

// Compares year, major and minor number, as nsys does.
static bool is_newer(const char *a, const char *b)
{
    unsigned x[3] = { 0 }, y[3] = { 0 };
    if (sscanf(a, "%9u.%9u.%9u", &x[0], &x[1], &x[2]) < 1 ||
        sscanf(b, "%9u.%9u.%9u", &y[0], &y[1], &y[2]) < 1)
        return false;
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i]) return x[i] > y[i];
    return false;
}

// Runs nsys; what it prints goes to the log.
static int run(const report *r, const char *const *argv)
{
    const int log =
        open(r->path[LOG], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0) return -1;
    const int status = cli_program_run(argv, log);
    const int error = errno;
    close(log);
    errno = error;
    return status;
}

// Finds the line of the log that has a word, or its last line.
static void read_log(const report *r, const char *word, char *line, int room)
{
    char next[512];
    FILE *const log = fopen(r->path[LOG], "r");
    *line = 0;
    while (log && fgets(next, sizeof next, log)) {
        next[strcspn(next, "\r\n")] = 0;
        if (*next) snprintf(line, (size_t)room, "%s", next);
        if (strstr(next, word)) break;
    }
    if (log) fclose(log);
}

static void find_version(report *r)
{
    static const char word[] = "version ";
    static const char *const argv[] = { "nsys", "--version", NULL };
    char line[512];
    if (run(r, argv) != 0) return;
    read_log(r, word, line, sizeof line);
    const char *const at = strstr(line, word);
    if (at) take_version(r->found, sizeof r->found, at + sizeof word - 1);
}

/* ---- Export -------------------------------------------------------------- */

static bool fail(const report *r, ts_result result, const char *why)
{
    FILE *const out =
        cli_error_begin(r->job->tool, import_source_name(r->job->source));
    fprintf(out, "it is a report of Nsight Systems %s, ", r->maker);
    fputs(why, out);
    fputs("; or export it where it was made, with nsys export --type sqlite, "
          "and import the database",
          out);
    return cli_fail_end(result);
}

// Says why nsys made no database.
static bool explain(report *r, int error)
{
    char line[512];
    if (r->status < 0 && error == ENOENT)
        return fail(r, TS_ERR_UNSUPPORTED,
                    "which its own nsys reads, and there is none in PATH: "
                    "install this version or a later one");
    read_log(r, "rror", line, sizeof line);
    find_version(r);
    if (is_newer(r->maker, r->found)) {
        char why[256];
        snprintf(why, sizeof why,
                 "and the nsys in PATH is %s, which cannot read what a later "
                 "version made: install that version",
                 r->found);
        return fail(r, TS_ERR_UNSUPPORTED, why);
    }
    FILE *const out =
        cli_error_begin(r->job->tool, import_source_name(r->job->source));
    fprintf(out, "nsys export (Nsight Systems %s) ",
            *r->found ? r->found : "of an unknown version");
    if (r->status < 0)
        fprintf(out, "cannot be run: %s", strerror(error));
    else
        fprintf(out, "made no database of this report (%s), exit status %d: ",
                r->maker, r->status);
    cli_put_text(out, line, strlen(line));
    return cli_fail_end(TS_ERR_CORRUPT);
}

// nsys may report an error and exit with 0.
static bool export(report *r)
{
    char output[sizeof r->path[0] + 16];
    snprintf(output, sizeof output, "--output=%s", r->path[DATABASE]);
    const char *const argv[] = { "nsys",
                                 "export",
                                 "--type=sqlite",
                                 "--force-overwrite=true",
                                 output,
                                 r->path[REPORT],
                                 NULL };
    struct stat about;
    r->status = run(r, argv);
    const int error = errno;
    if (r->status == 0 && stat(r->path[DATABASE], &about) == 0 &&
        S_ISREG(about.st_mode) && about.st_size)
        return true;
    return explain(r, error);
}

/* ---- The format ---------------------------------------------------------- */

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return size >= sizeof magic - 1 && !memcmp(head, magic, sizeof magic - 1);
}

static void read_maker(report *r)
{
    char text[sizeof r->maker];
    size_t size;
    const uint8_t *const head = import_source_head(r->job->source, &size);
    const size_t left = size < sizeof magic - 1 ? 0 : size - (sizeof magic - 1);
    snprintf(text, sizeof text, "%.*s",
             (int)(left < sizeof text ? left : sizeof text - 1),
             (const char *)head + sizeof magic - 1);
    take_version(r->maker, sizeof r->maker, text);
    if (!*r->maker) strcpy(r->maker, "of an unknown version");
}

// Imports the database in place of the report.
static bool import_database(report *r)
{
    import_job *const job = r->job;
    import_source *const whole = job->source;
    import_input *const input = import_input_open(job->tool, r->path[DATABASE]);
    import_source *const database = input ? import_input_next(input) : NULL;
    bool done = false;
    if (database && import_nsys.recognise(database)) {
        job->source = database;
        done = import_nsys.import(job);
        job->source = whole;
    } else if (database) {
        import_fail(job, "nsys export made a database without known tables");
    }
    import_input_close(input);
    return done;
}

static bool import(import_job *job)
{
    report *const r = calloc(1, sizeof *r);
    const char *const path = r ? import_source_path(job->source) : NULL;
    if (!r) return import_out_of_memory(job);
    r->job = job;
    read_maker(r);
    const bool done =
        path && make_folder(r, path) && export(r) && import_database(r);
    if (done)
        import_meta_text(job, 0, "nsys.report", r->maker, strlen(r->maker));
    close_folder(r);
    free(r);
    return done;
}

const import_format import_nsys_report = {
    .name = "nsys-rep",
    .title = "Nsight Systems report (by nsys export)",
    .missing = IMPORT_DB_MISSING,
    .recognise = recognise,
    .import = import,
};
