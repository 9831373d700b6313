/*
    stale.c - sidecars of dead recorders whose trace was never opened again
*/
#include "tools/info/info.h"
#include <dirent.h>
#include <sys/stat.h>

typedef struct stale_count {
    size_t all, gone, removed;
    uint64_t bytes; // of sidecars whose trace is gone
} stale_count;

static bool is_name(const char *name)
{
    const size_t size = strlen(name);
    return size == sizeof "tracesmith-.ring" - 1 + 32 &&
           !strncmp(name, "tracesmith-", 11) && !strcmp(name + 43, ".ring");
}

static const char *state_of(ts_result result, bool removed)
{
    switch (result) {
    case TS_OK: return "waiting";
    case TS_ERR_NOT_FOUND: return removed ? "removed" : "stale";
    case TS_ERR_BUSY: return "live";
    case TS_ERR_VERSION: return "unknown";
    default: return "foreign";
    }
}

static void print_text(const char *path, const ts_sidecar *s, ts_result result,
                       bool removed)
{
    printf("%-8s %10s  %s\n", state_of(result, removed), cli_bytes(s->size).s,
           path);
    if (!s->start_realtime_ns) return;
    printf("%20s process %" PRIu32 ", %s, ", "", s->process,
           cli_date(s->start_realtime_ns).s);
    cli_put_text(stdout, s->trace, strlen(s->trace));
    putchar('\n');
}

static void print_json(cli_json *json, const char *path, const ts_sidecar *s,
                       ts_result result, bool removed)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "path", path);
    cli_json_string(json, "state", state_of(result, removed));
    cli_json_uint(json, "bytes", s->size);
    if (s->start_realtime_ns) {
        cli_json_string(json, "trace", s->trace);
        cli_json_uint(json, "process", s->process);
        cli_json_uint(json, "start_realtime_ns", s->start_realtime_ns);
    }
    cli_json_close(json, '}');
}

static void look(stale_count *count, cli_json *json, const char *path,
                 bool remove)
{
    ts_sidecar sidecar;
    const ts_result result = ts_sidecar_look(path, &sidecar);
    if (result == TS_ERR_IO) return; // removed meanwhile
    const bool removed = remove && result == TS_ERR_NOT_FOUND &&
                         ts_sidecar_remove(path) == TS_OK;
    count->all++;
    if (result == TS_ERR_NOT_FOUND) {
        count->gone++;
        count->bytes += sidecar.size;
        count->removed += removed;
    }
    if (json)
        print_json(json, path, &sidecar, result, removed);
    else
        print_text(path, &sidecar, result, removed);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Lists the names in a folder, sorted. False, with the reason on stderr, on
// failure.
static bool list(const cli_tool *tool, const char *folder, char ***names,
                 size_t *count)
{
    DIR *const dir = opendir(folder);
    if (!dir) {
        cli_error(tool, folder, "%s", strerror(errno));
        return false;
    }
    const struct dirent *entry;
    bool done = true;
    while (done && (entry = readdir(dir)) != NULL) {
        if (!is_name(entry->d_name)) continue;
        char **const more = realloc(*names, (*count + 1) * sizeof *more);
        if (more) *names = more;
        done = more && (more[*count] = strdup(entry->d_name)) != NULL;
        if (done) ++*count;
    }
    closedir(dir);
    if (!done) cli_error(tool, folder, "not enough memory");
    if (*count) qsort(*names, *count, sizeof **names, compare);
    return done;
}

static bool look_through(stale_count *count, cli_json *json,
                         const cli_tool *tool, const char *folder, bool remove)
{
    char **names = NULL, path[8192];
    size_t found = 0;
    const bool done = list(tool, folder, &names, &found);
    for (size_t i = 0; i < found; i++) {
        if (done && snprintf(path, sizeof path, "%s/%s", folder, names[i]) <
                        (int)sizeof path)
            look(count, json, path, remove);
        free(names[i]);
    }
    free(names);
    return done;
}

static void print_sum(const stale_count *count, bool remove)
{
    if (count->all) putchar('\n');
    printf("%zu sidecar%s, %zu stale", count->all, count->all == 1 ? "" : "s",
           count->gone);
    if (count->gone) printf(" (%s)", cli_bytes(count->bytes).s);
    if (remove)
        printf(", %zu removed", count->removed);
    else if (count->gone)
        fputs("; --remove removes the stale ones", stdout);
    putchar('\n');
}

int info_stale(const cli_tool *tool, char *const *folders, size_t count,
               bool option_json, bool remove)
{
    static char memory[] = "/dev/shm";
    char *const usual[] = { memory };
    cli_json json = { .out = stdout, .lines = 2 };
    stale_count sum = { 0 };
    bool done = true;
    if (!count) folders = usual;
    if (option_json) {
        cli_json_open(&json, NULL, '{');
        cli_json_open(&json, "sidecars", '[');
    }
    for (size_t i = 0; i < (count ? count : 1); i++)
        done &= look_through(&sum, option_json ? &json : NULL, tool, folders[i],
                             remove);
    if (option_json) {
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
    } else {
        print_sum(&sum, remove);
    }
    return done && (!remove || sum.removed == sum.gone) ? CLI_OK : CLI_FAILED;
}
