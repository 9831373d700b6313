/*
    input.c - the sources of the input that the user named
*/
#include "tools/import/import.h"
#include "tools/cli/context.h"
#include "tools/import/archive.h"
#include "tools/import/bytes.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 4096 };

struct import_source {
    const cli_tool *tool;
    import_bytes *stream;
    import_archive *archive; // that the source is a part of, or NULL
    import_bytes *inner;     // the bytes of that part
    char *name;              // of the source, for messages
    bool is_member;          // of an archive
    bool is_stdin;
    uint64_t total; // bytes of the file; 0: unknown
    import_file file;
    const char *path;          // of a file with exactly this source, or NULL
    char *temporary;           // name of the temporary file
    uint8_t head[IMPORT_PEEK]; // of the temporary file
    size_t head_size;
};

struct import_input {
    const cli_tool *tool;
    char *path;
    char **files; // of a folder, sorted
    size_t file_count, next;
    size_t failures;
    import_archive *archive; // the open file, or NULL
    import_source source;
};

/* ---- Source ------------------------------------------------------------- */

const char *import_source_name(const import_source *s)
{
    return s->name;
}

const char *import_source_base(const import_source *s)
{
    const char *const slash = strrchr(s->name, '/');
    const char *const member = s->is_member ? strstr(s->name, ": ") : NULL;
    if (slash && slash[1] && slash > member) return slash + 1;
    return member ? member + 2 : s->name;
}

import_file import_source_file(const import_source *s)
{
    return s->file;
}

const uint8_t *import_source_head(import_source *s, size_t *size)
{
    if (s->temporary) { // the stream is at its end
        *size = s->head_size;
        return s->head;
    }
    *size = IMPORT_PEEK;
    return import_bytes_peek(s->inner ? s->inner : s->stream, size);
}

size_t import_source_read(import_source *s, void *bytes, size_t size)
{
    return import_bytes_read(s->inner ? s->inner : s->stream, bytes, size);
}

const char *import_source_error(const import_source *s)
{
    const char *const error = import_bytes_error(s->stream);
    const char *const inner = s->inner ? import_bytes_error(s->inner) : NULL;
    const char *const archive =
        s->archive ? import_archive_error(s->archive) : NULL;
    return error ? error : archive ? archive : inner;
}

uint64_t import_source_done(const import_source *s)
{
    return import_bytes_done(s->stream);
}

uint64_t import_source_total(const import_source *s)
{
    return s->total;
}

static bool copy_to(import_source *s, int fd)
{
    uint8_t bytes[16 << 10];
    for (;;) {
        const size_t size = import_source_read(s, bytes, sizeof bytes);
        if (!size) return true;
        for (size_t done = 0; done < size;) {
            const ssize_t put = write(fd, bytes + done, size - done);
            if (put < 0) return false;
            done += (size_t)put;
        }
    }
}

// The name of the temporary file, of which a tool has at most one; for its
// signal handler.
static char unpacked[NAME];

void import_source_interrupted(void)
{
    if (*unpacked) unlink(unpacked);
}

static bool make_temporary(import_source *s)
{
    const char *const folder = getenv("TMPDIR");
    char name[NAME];
    snprintf(name, sizeof name, "%s/ts-import-XXXXXX",
             folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(name);
    if (fd < 0) return false;
    if (cli_is_tool) memcpy(unpacked, name, strlen(name) + 1);
    const uint8_t *const head = import_source_head(s, &s->head_size);
    memcpy(s->head, head, s->head_size);
    s->temporary = strdup(name);
    const bool copied = s->temporary && copy_to(s, fd);
    if (!s->temporary) unlink(name);
    return close(fd) == 0 && copied;
}

const char *import_source_path(import_source *s)
{
    if (s->path) return s->path;
    if (!s->temporary && !make_temporary(s)) {
        cli_fail(s->tool, cli_errno_result(errno), s->name,
                 "it cannot be unpacked into a file: %s", strerror(errno));
        return NULL;
    }
    return s->temporary;
}

static void close_source(import_source *s)
{
    import_bytes_close(s->inner);
    s->inner = NULL;
    if (s->temporary) unlink(s->temporary);
    if (cli_is_tool) *unpacked = 0;
    free(s->temporary);
    free(s->name);
    s->temporary = NULL;
    s->name = NULL;
    s->archive = NULL;
}

/* ---- Archives ----------------------------------------------------------- */

static size_t read_entry(void *user, void *bytes, size_t size)
{
    return import_archive_read(user, bytes, size);
}

// Names a source by its archive and its name there.
static bool name_member(import_input *input, const char *name)
{
    import_source *const s = &input->source;
    const char *const whole = s->is_stdin ? "standard input" : input->path;
    const size_t room = strlen(whole) + (name ? strlen(name) : 0) + 3;
    s->name = malloc(room);
    s->is_member = name != NULL;
    if (s->name)
        snprintf(s->name, room, "%s%s%s", whole, name ? ": " : "",
                 name ? name : "");
    return s->name != NULL;
}

// Moves to the next regular file of the archive; false at the end.
static bool next_member(import_input *input)
{
    import_source *const s = &input->source;
    close_source(s);
    if (!import_archive_next(input->archive)) return false;
    s->archive = input->archive;
    s->inner = import_bytes_open_from(read_entry, input->archive, s->stream);
    return s->inner && name_member(input, import_archive_name(input->archive));
}

/* ---- Input -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_file(import_input *input, const char *path)
{
    char **const more =
        realloc(input->files, (input->file_count + 1) * sizeof *more);
    if (!more) return false;
    input->files = more;
    more[input->file_count] = strdup(path);
    return more[input->file_count] && ++input->file_count;
}

// Lists the files of a folder that are wanted by their names; NULL: all.
static bool list_folder(import_input *input, const char *path,
                        import_wanted *wanted, void *user)
{
    DIR *const folder = opendir(path);
    bool ok = folder != NULL;
    for (struct dirent *e; ok && (e = readdir(folder));) {
        char name[NAME];
        struct stat st;
        const int size = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || size < 0 || size >= NAME) continue;
        if (wanted && !wanted(user, e->d_name)) continue;
        if (!stat(name, &st) && S_ISREG(st.st_mode)) ok = add_file(input, name);
    }
    if (folder) closedir(folder);
    if (input->file_count)
        qsort(input->files, input->file_count, sizeof *input->files, compare);
    return ok;
}

import_input *import_input_open(const cli_tool *tool, const char *path)
{
    struct stat st;
    import_input *const input = calloc(1, sizeof *input);
    if (!input) return NULL;
    input->tool = tool;
    errno = 0;
    const bool is_folder = !stat(path, &st) && S_ISDIR(st.st_mode);
    if (is_folder ? list_folder(input, path, NULL, NULL)
                  : add_file(input, path))
        return input;
    cli_fail(tool, cli_errno_result(errno ? errno : ENOMEM), path, "%s",
             strerror(errno ? errno : ENOMEM));
    import_input_close(input);
    return NULL;
}

// Removes a file from the list.
static void forget(import_input *input, const char *path)
{
    for (size_t i = 0; i < input->file_count; i++) {
        const char *const slash = strrchr(path, '/');
        if (strcmp(strrchr(input->files[i], '/') + 1, slash ? slash + 1 : path))
            continue;
        free(input->files[i]);
        input->file_count--;
        memmove(input->files + i, input->files + i + 1,
                (input->file_count - i) * sizeof *input->files);
        return;
    }
}

import_input *import_input_open_beside(const import_source *source,
                                       import_wanted *wanted, void *user)
{
    char folder[NAME] = ".";
    const char *const path = source->name;
    const char *const slash = strrchr(path, '/');
    if (source->is_member || source->is_stdin || strlen(path) >= NAME)
        return NULL;
    if (slash)
        snprintf(folder, NAME, "%.*s", slash > path ? (int)(slash - path) : 1,
                 path);
    import_input *const input = calloc(1, sizeof *input);
    if (!input) return NULL;
    input->tool = source->tool;
    if (list_folder(input, folder, wanted, user)) {
        forget(input, path);
        return input;
    }
    import_input_close(input);
    return NULL;
}

static bool fail(import_input *input, const char *why)
{
    cli_fail(input->tool, TS_ERR_IO, input->path, "%s", why);
    input->failures++;
    return false;
}

// Opens the next file of the list.
static bool open_file(import_input *input)
{
    import_source *const s = &input->source;
    struct stat st;
    close_source(s);
    import_archive_close(input->archive);
    input->archive = NULL;
    import_bytes_close(s->stream);
    memset(s, 0, sizeof *s);
    s->tool = input->tool;
    input->path = input->files[input->next++];
    const bool is_stdin = s->is_stdin = !strcmp(input->path, "-");
    const char *why = strerror(EMFILE);
    const int fd = is_stdin ? dup(0) : cli_open_input(input->path, &why);
    if (fd < 0) return fail(input, why);
    s->stream = import_bytes_open(fd);
    if (!s->stream) close(fd);
    s->name = strdup(is_stdin ? "standard input" : input->path);
    if (!s->stream || !s->name) return fail(input, strerror(ENOMEM));
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
        s->total = (uint64_t)st.st_size;
        s->file = (import_file){ (uint64_t)st.st_dev, (uint64_t)st.st_ino };
    }
    size_t size = IMPORT_ARCHIVE_HEAD;
    const uint8_t *const head = import_bytes_peek(s->stream, &size);
    if (!size) {
        why = import_bytes_error(s->stream);
        return fail(input, why ? why : "the file is empty");
    }
    if (!import_archive_begins(head, size)) {
        if (!is_stdin && !import_bytes_is_packed(s->stream))
            s->path = input->path;
        return true;
    }
    input->archive = import_archive_open(s->stream);
    return input->archive || fail(input, strerror(ENOMEM));
}

import_source *import_input_next(import_input *input)
{
    for (;;) {
        if (input->archive) {
            if (next_member(input)) return &input->source;
            const char *const why = import_archive_error(input->archive);
            if (why) fail(input, why);
            import_archive_close(input->archive);
            input->archive = NULL;
        }
        if (input->next == input->file_count) return NULL;
        if (open_file(input) && !input->archive) return &input->source;
    }
}

size_t import_input_close(import_input *input)
{
    if (!input) return 1;
    const size_t failures = input->failures;
    close_source(&input->source);
    import_archive_close(input->archive);
    import_bytes_close(input->source.stream);
    for (size_t i = 0; i < input->file_count; i++)
        free(input->files[i]);
    free(input->files);
    free(input);
    return failures;
}
