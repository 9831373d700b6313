/*
    gpu/device_hash.h - hashes that a device computes, for CUDA and HIP

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, as it is in the process.
    Checked with:   a double of the driver (tests/doubles/), and ptxas of
                    CUDA 13.0, which compiles the PTX. Not run on a GPU.

    The kernel of capture/hash.cl, as PTX (cupti/device_hash.h) or as hiprtc
    compiles it (hip/device_hash.h), is loaded when memory of a context is
    first hashed, on the thread that calls the driver, and tested on bytes
    that the host hashes too. It leaves its hashes in a variable of its
    module, so that nothing is allocated that a trace would show.
*/
#ifndef TS__GPU_DEVICE_HASH_H
#define TS__GPU_DEVICE_HASH_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "driver.h"
#include "driver_queries.h"
#include "driver_requests.h"
#include "memory.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

enum {
    // bytes; copying less to the host is faster
    TS__CS_PAYS = 4 * TS_CAPTURE_CHUNK,
    TS__CS_ITEMS = 128 // work items per group
};

static TS__TLS bool ts__cs_loads; // this thread loads a module of TraceSmith's

// Concatenates the parts of a text. The caller frees it.
static char *ts__cs_text_of(const char *const *texts, size_t parts)
{
    size_t size = 0;
    for (size_t i = 0; i < parts; i++)
        size += strlen(texts[i]);
    char *const text = (char *)malloc(size + 1), *end = text;
    for (size_t i = 0; text && i < parts; i++) {
        const size_t part = strlen(texts[i]);
        memcpy(end, texts[i], part + 1);
        end += part;
    }
    return text;
}

// Runs the kernel, one group per chunk, and copies the hashes to `bounce`.
static bool ts__cs_hash_run(ts__cs_driver *d, const ts__cs_own *own,
                            uint64_t address, uint64_t size, uint64_t until_ns)
{
    uint64_t offset = 0, hashes = own->hashes;
    void *arguments[] = { &address, &offset, &size, &hashes };
    const uint64_t chunks = ts__cap_chunks(size);
    return d->call.launch(own->function, (unsigned)chunks, 1, 1, TS__CS_ITEMS,
                          1, 1, 0, own->stream, arguments, NULL) == 0 &&
           d->call.to_host(d->bounce, hashes, (size_t)chunks * 16,
                           own->stream) == 0 &&
           ts__cs_idle(d, own->stream, until_ns);
}

static bool ts__cs_hash_load(ts__cs_driver *d, ts__cs_own *own)
{
    void *module = NULL;
    size_t size = 0;
    char *const code = ts__cs.vendor->hash_code(own);
    ts__cs_loads = true; // marks the module as TraceSmith's, not the program's
    const bool loaded =
        code && d->call.load && d->call.function && d->call.launch &&
        d->call.to_device && d->call.global &&
        d->call.load(&module, code) == 0 &&
        d->call.function(&own->function, module, "ts_hash_chunks") == 0 &&
        d->call.global(&own->hashes, &size, module, "ts_hashes") == 0 &&
        size >= TS__CAP_HASHES_MAX * 16;
    ts__cs_loads = false;
    free(code);
    return loaded;
}

// Returns whether the device's hashes equal the host's, for a whole chunk and
// for one of another size at an odd address. The test bytes lie where the
// hashes are written afterwards.
static bool ts__cs_hash_tried(ts__cs_driver *d, const ts__cs_own *own,
                              uint64_t until_ns)
{
    for (uint32_t odd = 0; odd < 6; odd += 5) {
        const uint32_t size = TS_CAPTURE_CHUNK - 101 * odd;
        uint64_t right[2] = { 0, 0 };
        for (uint32_t i = 0; i < TS_CAPTURE_CHUNK; i++)
            d->bounce[i] = (uint8_t)(i * 2654435761u >> 13);
        ts_blob_find(d->bounce + odd, size, right);
        if (d->call.to_device(own->hashes, d->bounce, TS_CAPTURE_CHUNK,
                              own->stream) != 0 ||
            !ts__cs_hash_run(d, own, own->hashes + odd, size, until_ns) ||
            memcmp(d->bounce, right, sizeof right) != 0)
            return false;
    }
    return true;
}

// Runs on the thread that calls the driver.
static bool ts__cs_hash_answer(ts__cs_job *job)
{
    ts__cs_driver *const d = &ts__cs.driver;
    ts__cs_own *const own = ts__cs_own_of(d, job->context);
    if (!own) return false;
    if (!own->tried) {
        const bool loaded = ts__cs_hash_load(d, own);
        if (!loaded && !own->wrong)
            own->wrong = "on the host: the driver cannot load the kernel";
        else if (loaded && !ts__cs_hash_tried(d, own, job->until_ns))
            own->wrong = "on the host: the device computes wrong hashes";
        own->tried = true;
    }
    job->name = own->wrong;
    return !own->wrong &&
           ts__cs_hash_run(d, own, job->address, job->size, job->until_ns);
}

// Implements `hash` of ts_capture_vendor.
static bool ts__cs_hash(void *user, uint64_t address, uint64_t size,
                        uint64_t *hashes)
{
    ts__cs_job job;
    (void)user;
    if (size < TS__CS_PAYS && ts__cap_now.desc.hash == TS_CAPTURE_HASH_AUTO)
        return false;
    // Loading or launching anything could invalidate a recording.
    if (TS__LOAD(&ts__cs.recording)) return false;
    job.what = TS__CS_OWN;
    job.own = ts__cs_hash_answer;
    job.drop = NULL;
    job.context = ts__cs_context_at(address);
    if (!job.context) return false;
    job.address = address;
    job.size = size;
    job.name = NULL;
    const bool reported =
        ts__cs_request(&ts__cs.driver, &job, ts__cs.reads_until_ns);
    if (ts__cs.hashed != ts__cs.memory.capture && (reported || job.name)) {
        ts__cap_hash_report(&ts__cs.memory,
                            reported ? "on the device" : job.name);
        ts__cs.hashed = ts__cs.memory.capture;
    }
    if (reported)
        memcpy(hashes, ts__cs.driver.bounce, (size_t)ts__cap_chunks(size) * 16);
    return reported;
}

#endif // TS__GPU_DEVICE_HASH_H
