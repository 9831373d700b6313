/*
    out.c - the output file: packs and writes on a separate thread

    A regular file is written under a temporary name in the same folder and
    renamed at the end. The temporary file is removed if the process fails,
    exits early, or is interrupted.
*/
#define _POSIX_C_SOURCE 200809L
#include "tools/cli/context.h"
#include "tools/export/export.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE 4 // blocks between the walk and the disk

struct export_out {
    const ts_output *output;
    int fd; // -1: the output is a stream or a callback
    export_packing packing;
    char *path, *partial; // partial: NULL if written under its own name
    pthread_t thread;
    pthread_mutex_t mutex; // guards the fields below
    pthread_cond_t changed;
    export_buffer queue[QUEUE];
    size_t first, count; // filled blocks: queue[first], ...
    bool done;
    int error; // errno of the first failure
    // Used only by the thread.
    export_packer *packer; // NULL: no compression
    export_buffer packed;
};

/* ---- The temporary file ------------------------------------------------- */

static char *volatile partial_now;

static void remove_partial(void)
{
    if (partial_now) unlink(partial_now);
    partial_now = NULL;
}

static void interrupted(int number)
{
    remove_partial();
    raise(number); // the default action again: SA_RESETHAND
}

static void watch_partial(char *name)
{
    static bool watching;
    partial_now = name;
    if (watching) return;
    watching = true;
    atexit(remove_partial);
    struct sigaction action = { .sa_handler = interrupted };
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
    const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler == SIG_DFL) sigaction(numbers[i], &action, NULL);
    }
}

/* ---- Packing ------------------------------------------------------------ */

static bool fail_writing(export_out *out, int why)
{
    pthread_mutex_lock(&out->mutex);
    if (!out->error) out->error = why ? why : EIO;
    pthread_mutex_unlock(&out->mutex);
    return false;
}

static bool write_all(export_out *out, const uint8_t *bytes, size_t size)
{
    const ts_output *const to = out->output;
    errno = 0;
    if (to->stream)
        return fwrite(bytes, 1, size, to->stream) == size ||
               fail_writing(out, errno);
    if (to->write)
        return to->write(to->user, bytes, size) || fail_writing(out, 0);
    while (size) {
        const ssize_t written = write(out->fd, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return fail_writing(out, written ? errno : 0);
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

/*
    TracePacket.compressed_packets (field 50): a zlib stream of whole packets.
    Source: perfetto, protos/perfetto/trace/trace_packet.proto.
*/
static void write_packets(export_out *out, const export_buffer *block)
{
    out->packed.size = 0;
    if (!export_pack_packets(out->packer, &out->packed, block)) {
        fail_writing(out, ENOMEM);
        return;
    }
    uint8_t field[16], head[32];
    uint8_t *at = put_varint(field, 50 << 3 | 2);
    at = put_varint(at, out->packed.size);
    const size_t field_size = (size_t)(at - field);
    at = put_varint(head, 1 << 3 | 2);
    at = put_varint(at, field_size + out->packed.size);
    memcpy(at, field, field_size);
    at += field_size;
    if (write_all(out, head, (size_t)(at - head)))
        write_all(out, out->packed.data, out->packed.size);
}

static void write_gzip(export_out *out, const export_buffer *block, bool last)
{
    out->packed.size = 0;
    export_pack_gzip(out->packer, &out->packed, block, last);
    write_all(out, out->packed.data, out->packed.size);
}

static void write_block(export_out *out, const export_buffer *block)
{
    switch (out->packing) {
    case EXPORT_PLAIN: write_all(out, block->data, block->size); break;
    case EXPORT_PACKETS: write_packets(out, block); break;
    case EXPORT_GZIP: write_gzip(out, block, false); break;
    }
}

/* ---- The thread --------------------------------------------------------- */

static void take_blocks(void *user)
{
    export_out *const out = user;
    const export_buffer none = { 0 };
    pthread_mutex_lock(&out->mutex);
    for (;;) {
        while (!out->count && !out->done)
            pthread_cond_wait(&out->changed, &out->mutex);
        if (!out->count) break;
        export_buffer *const block = &out->queue[out->first];
        const bool failed = out->error != 0;
        pthread_mutex_unlock(&out->mutex);
        if (!failed) write_block(out, block);
        pthread_mutex_lock(&out->mutex);
        block->size = 0;
        out->first = (out->first + 1) % QUEUE;
        out->count--;
        pthread_cond_signal(&out->changed);
    }
    const bool failed = out->error != 0;
    pthread_mutex_unlock(&out->mutex);
    if (out->packing == EXPORT_GZIP && !failed) write_gzip(out, &none, true);
}

// Called if memory runs out, which happens between blocks: the mutex is not
// held.
static void drop_packed(void *user)
{
    export_out *const out = user;
    out->packed = (export_buffer){ 0 };
    fail_writing(out, ENOMEM);
}

static void *run(void *user)
{
    while (!export_within_memory(take_blocks, drop_packed, user)) {}
    return NULL;
}

void export_out_block(export_out *out, export_buffer *block)
{
    if (!block->size) return;
    pthread_mutex_lock(&out->mutex);
    while (out->count == QUEUE)
        pthread_cond_wait(&out->changed, &out->mutex);
    export_buffer *const free_one =
        &out->queue[(out->first + out->count) % QUEUE];
    const export_buffer empty = *free_one;
    *free_one = *block;
    *block = empty;
    out->count++;
    pthread_cond_signal(&out->changed);
    pthread_mutex_unlock(&out->mutex);
}

int export_out_error(export_out *out)
{
    pthread_mutex_lock(&out->mutex);
    const int error = out->error;
    pthread_mutex_unlock(&out->mutex);
    return error;
}

/* ---- Open and close ----------------------------------------------------- */

static char *partial_name(const char *path)
{
    const size_t size = strlen(path) + 32;
    char *const name = malloc(size);
    if (name) snprintf(name, size, "%s.%ld.part", path, (long)getpid());
    return name;
}

// Returns false for a device, a pipe or a symbolic link, which are written
// directly.
static bool is_own_file(const char *path)
{
    struct stat status;
    return lstat(path, &status) != 0 || S_ISREG(status.st_mode);
}

// Opens the file; -1 with errno on failure.
static int open_file(export_out *out, const char *path)
{
    if (!strcmp(path, "-")) return dup(STDOUT_FILENO);
    if (!is_own_file(path))
        return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    out->path = strdup(path);
    out->partial = partial_name(path);
    if (!out->path || !out->partial) return -1;
    const int fd =
        open(out->partial,
             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 && cli_is_tool) watch_partial(out->partial);
    return fd;
}

static void out_free(export_out *out)
{
    for (size_t i = 0; i < QUEUE; i++)
        export_resize(out->queue[i].data, 0);
    export_resize(out->packed.data, 0);
    export_packer_close(out->packer);
    free(out->path);
    free(out->partial);
    free(out);
}

export_out *export_out_open(const ts_output *output, export_packing packing,
                            const char **error)
{
    export_out *const out = calloc(1, sizeof *out);
    *error = "cannot be compressed";
    errno = ENOMEM;
    if (!out) return NULL;
    out->output = output;
    out->packing = packing;
    if (packing != EXPORT_PLAIN) {
        out->packer = export_packer_open(packing);
        if (!out->packer) {
            out_free(out);
            return NULL;
        }
    }
    out->fd = output->path ? open_file(out, output->path) : -1;
    *error = "cannot be created";
    if (output->path && out->fd < 0) {
        out_free(out);
        return NULL;
    }
    pthread_mutex_init(&out->mutex, NULL);
    pthread_cond_init(&out->changed, NULL);
    const int failed = pthread_create(&out->thread, NULL, run, out);
    if (failed) {
        *error = "cannot start a thread";
        if (out->fd >= 0) close(out->fd);
        if (out->partial) unlink(out->partial);
        if (cli_is_tool) partial_now = NULL;
        out_free(out);
        errno = failed;
        return NULL;
    }
    return out;
}

int export_out_close(export_out *out, bool keep)
{
    pthread_mutex_lock(&out->mutex);
    out->done = true;
    pthread_cond_signal(&out->changed);
    pthread_mutex_unlock(&out->mutex);
    pthread_join(out->thread, NULL);

    if (out->fd >= 0 && close(out->fd) != 0 && !out->error) out->error = errno;
    int error = out->error;
    if (out->partial) {
        keep = keep && !error;
        if (keep && rename(out->partial, out->path) != 0) error = errno;
        if (!keep || error) unlink(out->partial);
        if (cli_is_tool) partial_now = NULL;
    }
    pthread_mutex_destroy(&out->mutex);
    pthread_cond_destroy(&out->changed);
    out_free(out);
    return error;
}
