/*
    import_executions.c - the execution traces among the files to import

    They are read before the others, because the zones of these get their
    arguments. Only plain files are looked at: no folders, archives and pipes.
    A file of Chakra is read if there is a trace of the profiler, too, and
    otherwise becomes a trace of its own. Then the profiles are read ahead, to
    know which of them belongs to which execution trace.
*/
#include "tools/api/import.h"
#include "tools/import/archive.h"
#include "tools/import/bytes.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

extern const import_format import_kineto, import_torch_execution, import_chakra;

// Returns whether a file can be read and is no archive. Quietly: what is wrong
// with it is said when it is imported.
static bool is_candidate(const char *path)
{
    const char *why;
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    const int fd = cli_open_input(path, &why);
    import_bytes *const bytes = fd < 0 ? NULL : import_bytes_open(fd);
    if (!bytes && fd >= 0) close(fd);
    if (!bytes) return false;
    size_t size = IMPORT_ARCHIVE_HEAD;
    const uint8_t *const head = import_bytes_peek(bytes, &size);
    const bool may_be = size && !import_archive_begins(head, size);
    import_bytes_close(bytes);
    return may_be;
}

// Opens a file if it is of one of these formats. NULL: it is not.
static import_input *open_as(const cli_tool *tool, const char *path,
                             const import_format *const *formats,
                             import_source **source)
{
    import_input *const input =
        is_candidate(path) ? import_input_open(tool, path) : NULL;
    *source = input ? import_input_next(input) : NULL;
    for (; *source && *formats; formats++)
        if ((*formats)->recognise(*source)) return input;
    if (input) import_input_close(input);
    return NULL;
}

// Adds the execution traces of these formats; false: not all was read.
static bool add_all(ts_import *all, const cli_tool *tool,
                    const import_format *const *formats)
{
    bool ok = true;
    for (size_t i = 0; i < all->desc->path_count; i++) {
        import_source *source;
        import_input *const input =
            open_as(tool, all->desc->paths[i], formats, &source);
        if (!input) continue;
        ok = import_executions_add(&all->executions, tool, source) && ok;
        if (import_executions_drop(&all->executions)) {
            import_input_close(input);
            continue; // it becomes a trace of its own
        }
        if (!import_outputs_take_part(&all->outputs,
                                      import_source_file(source)))
            ok = cli_out_of_memory(tool);
        import_input_close(input);
    }
    return ok;
}

static bool recognise_any(import_source *source)
{
    (void)source;
    return true;
}

static const import_format anything = { .recognise = recognise_any };
static const import_format *const any[] = { &anything, NULL };

// Reads a profile ahead. Returns whether the file may hold others: what is no
// plain file is read once only.
static bool scan(ts_import *all, const cli_tool *tool, const char *path)
{
    static const import_format *const kineto[] = { &import_kineto, NULL };
    // With --format any file is a profile.
    const import_format *const *const formats =
        all->desc->format ? any : kineto;
    import_source *source;
    if (!is_candidate(path)) return true;
    import_input *const input = open_as(tool, path, formats, &source);
    if (!input) return false;
    import_executions_scan(&all->executions, tool, source);
    import_input_close(input);
    return false;
}

// The same of the files of a folder, with the names that sources there get.
static bool scan_folder(ts_import *all, const cli_tool *tool, const char *path)
{
    DIR *const folder = opendir(path);
    bool others = false;
    if (!folder) return scan(all, tool, path);
    for (struct dirent *e; (e = readdir(folder));) {
        char name[4096];
        struct stat st;
        const int size = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (*e->d_name == '.' || size < 0 || (size_t)size >= sizeof name)
            continue;
        if (!stat(name, &st) && S_ISREG(st.st_mode) && st.st_size)
            others = scan(all, tool, name) || others;
    }
    closedir(folder);
    return others;
}

static bool scan_all(ts_import *all, const cli_tool *tool)
{
    bool others = false;
    for (size_t i = 0; i < all->desc->path_count; i++)
        others = scan_folder(all, tool, all->desc->paths[i]) || others;
    return others;
}

bool api_import_executions(ts_import *all, const cli_tool *tool)
{
    static const import_format *const kineto[] = { &import_kineto, NULL };
    static const import_format *const json[] = { &import_torch_execution,
                                                 NULL };
    static const import_format *const both[] = { &import_torch_execution,
                                                 &import_chakra, NULL };
    const ts_import_desc *const desc = all->desc;
    import_input *profile = NULL;
    import_source *source;
    const bool is_kineto =
        !desc->format || !strcmp(desc->format, import_kineto.name);
    if (desc->path_count < 2 || !is_kineto || import_torch_execution.missing)
        return true;
    for (size_t i = 0; i < desc->path_count && !profile; i++)
        profile = open_as(tool, desc->paths[i], kineto, &source);
    if (profile) import_input_close(profile);
    const bool ok = add_all(all, tool, profile ? both : json);
    if (!all->executions.count) return ok;
    const bool others = scan_all(all, tool);
    return import_executions_pair(&all->executions, tool, others) && ok;
}
