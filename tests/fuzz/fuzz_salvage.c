/*
    fuzz_salvage.c - the sidecar of a dead process, as hostile bytes

    A child records a little and dies. Each input is a list of changes to what
    it left: u8 which file (even: sidecar, odd: trace), u24 place, u32 value.
    Salvage and the reader must come out of it alive, whatever they say.
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracesmith_replay.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct file {
    char path[128];
    uint8_t *bytes;
    size_t size;
} file;

static file trace, sidecar;
static char folder[64];

static void need(int condition)
{
    if (!condition) abort();
}

static void load(file *f)
{
    struct stat st;
    const int fd = open(f->path, O_RDONLY);
    need(fd >= 0 && fstat(fd, &st) == 0);
    f->size = (size_t)st.st_size;
    f->bytes = malloc(f->size + 4);
    need(f->bytes && read(fd, f->bytes, f->size) == (ssize_t)f->size);
    close(fd);
}

static void store(const file *f, const uint8_t *bytes)
{
    const int fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    need(fd >= 0 && write(fd, bytes, f->size) == (ssize_t)f->size);
    close(fd);
}

// What the child records: every kind of record, some of it in the file
// already, some only in the ring.
static void record_and_die(void)
{
    const ts_session_desc desc = { .path = trace.path,
                                   .sidecar_dir = folder,
                                   .drain = TS_DRAIN_MANUAL,
                                   .ring_bytes = 32768 };
    need(ts_session_start(&desc) == TS_OK);
    for (int i = 0; i < 40; i++) {
        TS_ZONE("zone");
        TS_ZONE_VALUE("i", i);
        TS_COUNTER("counter", i * 0.5);
        TS_MESSAGE("text");
        TS_ALLOC(&desc, 16, "pool");
        TS_FLOW_STEP(7);
        if (i == 20) need(ts_session_flush() == TS_OK);
    }
    TS_ZONE("open");
    _exit(0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char link[160];
    snprintf(folder, sizeof folder, "/dev/shm/fuzz-salvage-XXXXXX");
    need(mkdtemp(folder) != NULL);
    snprintf(trace.path, sizeof trace.path, "%s/t.sbt", folder);
    const pid_t child = fork();
    if (!child) record_and_die();
    waitpid(child, NULL, 0);
    snprintf(link, sizeof link, "%s.ring", trace.path);
    const ssize_t n = readlink(link, sidecar.path, sizeof sidecar.path - 1);
    need(n > 0);
    load(&trace);
    load(&sidecar);
    return 0;
}

static void change(file *f, uint8_t *bytes, const uint8_t *edit)
{
    const size_t place =
        (size_t)edit[1] | (size_t)edit[2] << 8 | (size_t)(edit[3] & 15) << 16;
    if (place + 4 <= f->size) memcpy(bytes + place, edit + 4, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *t, *s;
    if (!t) t = malloc(trace.size);
    if (!s) s = malloc(sidecar.size);
    need(t && s);
    memcpy(t, trace.bytes, trace.size);
    memcpy(s, sidecar.bytes, sidecar.size);
    for (size_t i = 0; i + 8 <= size && i < 512; i += 8)
        if (data[i] & 1)
            change(&trace, t, data + i);
        else
            change(&sidecar, s, data + i);
    store(&trace, t);
    store(&sidecar, s);
    ts_reader *reader;
    const ts_reader_desc desc = { .path = trace.path, .threads = 1 };
    if (ts_reader_open(&reader, &desc) == TS_OK) {
        ts_reader_verify(reader);
        ts_reader_close(reader);
    }
    return 0;
}
