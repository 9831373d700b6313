/*
    sbt_far.h - a trace of more than 8 GB that takes no memory

    Between its chunks lie two blobs of almost 4 GiB each, which are zeros and
    are nowhere: far_read makes them. Their checksums are wrong, so that nobody
    who opens the trace by its index may read them.
*/
#ifndef SBT_FAR_H
#define SBT_FAR_H

#include "tests/replay/reader/sbt_sample.h"
#include "tracesmith_replay.h"

enum { FAR_HOLES = 2 };
#define FAR_HOLE UINT64_C(0xFFFFFFE0) // bytes of one

typedef struct far_trace {
    forge f;                 // the trace without its holes
    size_t holes[FAR_HOLES]; // where they belong in f.bytes
    uint64_t bytes_read;
} far_trace;

// Returns where a byte of f.bytes is in the trace.
static inline uint64_t far_offset(const far_trace *far, size_t at)
{
    uint64_t offset = at;
    for (int i = 0; i < FAR_HOLES; i++)
        if (far->holes[i] && at >= far->holes[i]) offset += FAR_HOLE;
    return offset;
}

static inline uint64_t far_size(void *user)
{
    const far_trace *const far = user;
    return far_offset(far, far->f.size);
}

// Copies one byte, or what is left of the place it is in.
static inline int64_t far_read(void *user, uint64_t offset, void *to,
                               size_t size)
{
    far_trace *const far = user;
    uint64_t left = far->f.size, at = offset;
    bool hole = false;
    for (int i = FAR_HOLES; i-- > 0;) {
        const uint64_t from = far_offset(far, far->holes[i] - 1) + 1;
        if (offset < from) {
            left = far->holes[i];
            continue;
        }
        hole = offset - from < FAR_HOLE;
        at = hole ? 0 : far->holes[i] + (offset - from - FAR_HOLE);
        if (hole) left = FAR_HOLE - (offset - from);
        break;
    }
    if (!hole) left = at < left ? left - at : 0;
    if (size > left) size = (size_t)left;
    if (hole)
        memset(to, 0, size);
    else
        memcpy(to, far->f.bytes + at, size);
    far->bytes_read += size;
    return (int64_t)size;
}

static inline void far_blob(far_trace *far, int hole)
{
    forge_begin(&far->f, FORGE_BLOB);
    const size_t offset = forge_end(&far->f);
    forge_set(far->f.bytes + offset + 40, FAR_HOLE, 4);
    forge_set(far->f.bytes + offset + 44, FAR_HOLE, 4);
    far->holes[hole] = far->f.size;
}

// Makes the offsets of the index those of the whole trace.
static inline void far_index(far_trace *far)
{
    forge *const f = &far->f;
    const size_t index = forge_index(f), end = forge_end_chunk(f);
    for (size_t i = 0; i < f->chunk_count; i++)
        forge_set(f->bytes + index + 64 + 16 + i * 64 + 56,
                  far_offset(far, f->chunks[i]), 8);
    forge_set(f->bytes + end + 24, far_offset(far, index), 8);
    forge_seal(f->bytes, index);
    forge_seal(f->bytes, end);
}

static inline void far_open(far_trace *far)
{
    memset(far, 0, sizeof *far);
    forge_open(&far->f, SAMPLE_START);
    sample_dictionaries(&far->f);
    sample_zones(&far->f, 3);
    far_blob(far, 0);
    sample_zones(&far->f, 4);
    far_blob(far, 1);
    sample_facts(&far->f);
    sample_zones(&far->f, 5);
    far_index(far);
}

static inline ts_reader_desc far_desc(far_trace *far)
{
    const ts_reader_desc desc = { .read = far_read,
                                  .size = far_size(far),
                                  .user = far };
    return desc;
}

static inline void far_close(far_trace *far)
{
    forge_close(&far->f);
}

#endif // SBT_FAR_H
