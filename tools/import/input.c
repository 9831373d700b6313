/*
    input.c - the sources of the input that the user named
*/
#include "tools/import/import.h"
#include "tools/cli/context.h"
#include "tools/import/bytes.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, NAME = 4096 };

struct import_source {
    const cli_tool *tool;
    import_bytes *stream;
    import_bytes *inner; // of a member that is itself compressed
    char *name;          // of the source, for messages
    const char *error;
    bool is_member;   // of a tar
    uint64_t left;    // bytes of the member not yet read
    uint64_t padding; // bytes of padding after them
    uint64_t total;   // bytes of the file; 0: unknown
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
    bool is_tar; // the open file is a tar
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

// Reads the bytes of a member as stored in the archive.
static size_t read_member(void *user, void *bytes, size_t size)
{
    import_source *const s = user;
    if (size > s->left) size = (size_t)s->left;
    const size_t got = import_bytes_read(s->stream, bytes, size);
    s->left -= got;
    if (got < size && !s->error) s->error = "the archive is truncated";
    return got;
}

const uint8_t *import_source_head(import_source *s, size_t *size)
{
    if (s->temporary) { // the stream is at its end
        *size = s->head_size;
        return s->head;
    }
    *size = IMPORT_PEEK;
    if (s->inner) return import_bytes_peek(s->inner, size);
    if (s->is_member && *size > s->left) *size = (size_t)s->left;
    return import_bytes_peek(s->stream, size);
}

size_t import_source_read(import_source *s, void *bytes, size_t size)
{
    if (s->inner) return import_bytes_read(s->inner, bytes, size);
    return s->is_member ? read_member(s, bytes, size)
                        : import_bytes_read(s->stream, bytes, size);
}

const char *import_source_error(const import_source *s)
{
    const char *const error = import_bytes_error(s->stream);
    const char *const inner = s->inner ? import_bytes_error(s->inner) : NULL;
    return error ? error : s->error ? s->error : inner;
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
    s->error = NULL;
}

/* ---- tar ---------------------------------------------------------------- */

static bool is_header(const uint8_t *block)
{
    uint64_t sum = 0, wanted = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : block[i];
    for (size_t i = 148; i < 156; i++) {
        if (block[i] >= '0' && block[i] <= '7')
            wanted = wanted * 8 + (uint64_t)(block[i] - '0');
        else if (block[i] != ' ' || wanted)
            break;
    }
    return sum == wanted && block[0];
}

// Parses octal digits, or a big-endian number that is marked by its first bit.
static uint64_t number(const uint8_t *field, size_t size)
{
    uint64_t value = 0;
    if (field[0] & 0x80) {
        for (size_t i = 1; i < size; i++)
            value = value << 8 | field[i];
        return value;
    }
    for (size_t i = 0; i < size; i++)
        if (field[i] >= '0' && field[i] <= '7')
            value = value * 8 + (uint64_t)(field[i] - '0');
    return value;
}

static void skip(import_source *s, uint64_t size)
{
    uint8_t bytes[16 << 10];
    while (size) {
        const size_t part = size < sizeof bytes ? (size_t)size : sizeof bytes;
        const size_t got = import_bytes_read(s->stream, bytes, part);
        if (!got) return;
        size -= got;
    }
}

static uint64_t padding(uint64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

// Reads the contents of a header that describes the next member.
static void take_text(import_source *s, uint64_t size, char *text)
{
    const size_t part = size < NAME - 1 ? (size_t)size : NAME - 1;
    text[import_bytes_read(s->stream, text, part)] = 0;
    skip(s, size - part + padding(size));
}

// Parses the records of a pax header, such as "30 path=some/name\n".
static void take_pax(char *text, char *name, uint64_t *size)
{
    for (char *line = text; line && *line;) {
        char *const next = strchr(line, '\n');
        if (next) *next = 0;
        char *const key = strchr(line, ' ');
        if (key && !strncmp(key, " path=", 6))
            snprintf(name, NAME, "%s", key + 6);
        else if (key && !strncmp(key, " size=", 6))
            *size = strtoull(key + 6, NULL, 10);
        line = next ? next + 1 : NULL;
    }
}

static void take_name(const uint8_t *block, char *name)
{
    const bool prefixed = !memcmp(block + 257, "ustar", 5) && block[345];
    snprintf(name, NAME, "%.155s%s%.100s",
             prefixed ? (const char *)block + 345 : "", prefixed ? "/" : "",
             (const char *)block);
}

// Moves to the next regular file of the tar; false at the end.
static bool next_member(import_input *input)
{
    char name[NAME], text[NAME];
    import_source *const s = &input->source;
    uint64_t pax_size = UINT64_MAX;
    name[0] = 0;
    for (;;) {
        uint8_t block[BLOCK];
        skip(s, s->left + s->padding);
        s->left = s->padding = 0;
        const size_t got = import_bytes_read(s->stream, block, BLOCK);
        if (!got || (got == BLOCK && !block[0])) return false;
        if (got < BLOCK || !is_header(block) || number(block + 124, 12) >> 62) {
            cli_fail(input->tool, TS_ERR_CORRUPT, input->path,
                     "the archive is damaged after %s of it",
                     cli_bytes(import_bytes_done(s->stream)).s);
            input->failures++;
            return false;
        }
        const uint64_t size = number(block + 124, 12);
        const char type = (char)block[156];
        if (type == 'L' || type == 'x') {
            take_text(s, size, type == 'L' ? name : text);
            if (type == 'x') take_pax(text, name, &pax_size);
            continue;
        }
        s->left = pax_size >> 62 ? size : pax_size;
        s->padding = padding(s->left);
        if (!name[0]) take_name(block, name);
        if (type == '0' || !type || type == '7') break;
        name[0] = 0;
        pax_size = UINT64_MAX;
    }
    close_source(s);
    size_t marks = 2;
    const uint8_t *const head = import_source_head(s, &marks);
    if (marks >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        s->inner = import_bytes_open_from(read_member, s, s->stream);
        if (!s->inner) return false;
    }
    const size_t room = strlen(input->path) + strlen(name) + 3;
    s->name = malloc(room);
    if (s->name) snprintf(s->name, room, "%s: %s", input->path, name);
    return s->name != NULL;
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

static bool list_folder(import_input *input, const char *path)
{
    DIR *const folder = opendir(path);
    bool ok = folder != NULL;
    for (struct dirent *e; ok && (e = readdir(folder));) {
        char name[NAME];
        struct stat st;
        const int size = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || size < 0 || size >= NAME) continue;
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
    if (is_folder ? list_folder(input, path) : add_file(input, path))
        return input;
    cli_fail(tool, cli_errno_result(errno ? errno : ENOMEM), path, "%s",
             strerror(errno ? errno : ENOMEM));
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
    import_bytes_close(s->stream);
    memset(s, 0, sizeof *s);
    s->tool = input->tool;
    input->is_tar = false;
    input->path = input->files[input->next++];
    const bool is_stdin = !strcmp(input->path, "-");
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
    size_t size = BLOCK;
    const uint8_t *const head = import_bytes_peek(s->stream, &size);
    if (!size) {
        why = import_bytes_error(s->stream);
        return fail(input, why ? why : "the file is empty");
    }
    s->is_member = input->is_tar = size == BLOCK && is_header(head);
    if (!s->is_member && !is_stdin && !import_bytes_is_packed(s->stream))
        s->path = input->path;
    return true;
}

import_source *import_input_next(import_input *input)
{
    for (;;) {
        if (input->is_tar) {
            if (next_member(input)) return &input->source;
            const char *const why = import_bytes_error(input->source.stream);
            if (why) fail(input, why);
            input->is_tar = false;
        }
        if (input->next == input->file_count) return NULL;
        if (open_file(input) && !input->is_tar) return &input->source;
    }
}

size_t import_input_close(import_input *input)
{
    if (!input) return 1;
    const size_t failures = input->failures;
    close_source(&input->source);
    import_bytes_close(input->source.stream);
    for (size_t i = 0; i < input->file_count; i++)
        free(input->files[i]);
    free(input->files);
    free(input);
    return failures;
}
