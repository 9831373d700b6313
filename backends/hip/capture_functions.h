/*
    hip/capture_functions.h - functions of code objects, by the handles of a
    launch

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A kernel that is launched by a function of the host is in the file of
    that function.
*/
#ifndef TS__HIP_CAPTURE_FUNCTIONS_H
#define TS__HIP_CAPTURE_FUNCTIONS_H

#include "tracesmith.h"
#include "../gpu/driver.h"
#include "../gpu/driver_requests.h"
#include "../gpu/exclusive.h"
#include "../gpu/functions.h"
#include "../gpu/modules.h"
#include "../gpu/operations.h"
#include "../gpu/state.h"
#include "../gpu/waiting.h"
#include "capture_calls.h"
#include "capture_code.h"
#include "capture_driver.h"
#include "capture_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static ts__hs_function *ts__hs_function_find(const void *handle, bool of_host,
                                             uint32_t device)
{
    ts__hs_function *found = NULL;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.function_count && !found; i++) {
        ts__hs_function *const f = ts__hs.functions[i];
        if (f->handle == handle && f->of_host == of_host &&
            (!of_host || f->device == device))
            found = f;
    }
    pthread_mutex_unlock(&ts__hs.lock);
    return found;
}

// Adds a function, or replaces it if its handle was reused.
static ts__hs_function *ts__hs_function_put(const ts__hs_function *function,
                                            const char *name)
{
    char *const copy = strdup(name);
    ts__hs_function *f = ts__hs_function_find(
        function->handle, function->of_host, function->device);
    if (!copy) return NULL;
    if (!f) {
        f = (ts__hs_function *)calloc(1, sizeof *f);
        pthread_mutex_lock(&ts__hs.lock);
        ts__hs_function **const more =
            f ? (ts__hs_function **)ts__cs_more(
                    ts__hs.functions, &ts__hs.function_capacity,
                    ts__hs.function_count, sizeof *more)
              : NULL;
        if (more) {
            ts__hs.functions = more;
            more[ts__hs.function_count++] = f;
        }
        pthread_mutex_unlock(&ts__hs.lock);
        if (!more) {
            free(f);
            free(copy);
            return NULL;
        }
    }
    ts__hs_function whole = *function;
    whole.name = copy;
    pthread_mutex_lock(&ts__hs.lock);
    *f = whole; // the old name is not freed, because another thread may use it
    pthread_mutex_unlock(&ts__hs.lock);
    return f;
}

static bool ts__hs_query_name(ts__cs_job *job)
{
    job->name = ts__hs_call.name
                    ? ts__hs_call.name(job->object, (void *)job->module)
                    : NULL;
    return job->name != NULL;
}

// Finds the kernel of that name that a host function launches.
static ts__hs_function *ts__hs_of_file(void *handle, const char *name,
                                       uint32_t device)
{
    ts__hs_file file;
    ts__hs_function f = { handle, NULL, NULL, device, true, false };
    if (ts__hs_file_open(&file, (uintptr_t)handle))
        f.code =
            ts__hs_file_search(&file, name, false, device, &f.not_reported);
    ts__hs_file_close(&file);
    return ts__hs_function_put(&f, name);
}

// Returns the function of a module or of the host. Runs on the thread that
// calls HIP.
static ts__hs_function *ts__hs_function_at(void *handle, uint32_t device)
{
    ts__hs_function *f = handle ? ts__hs_function_find(handle, false, 0) : NULL;
    if (f || !handle) return f;
    ts__hs_functions_check();
    f = ts__hs_function_find(handle, true, device);
    const char *const name =
        !f && ts__hs_call.name ? ts__hs_call.name(handle, NULL) : NULL;
    return name && *name ? ts__hs_of_file(handle, name, device) : f;
}

// Looks the function up once per session, on a thread of the program.
static ts__hs_function *ts__hs_function_current(ts__hs_function *f)
{
    const uint32_t session = TS__LOAD(&ts__cs.on);
    if (!f || !f->not_reported ||
        __atomic_exchange_n(&ts__hs.said, session, __ATOMIC_RELAXED) == session)
        return f;
    ts_metadata_text(0, "capture.hip",
                     TS__LOAD(&ts__hs.kept) < TS__HS_KEPT
                         ? "kernels are declined: a compressed code bundle "
                           "cannot be unpacked"
                         : "kernels are declined: the code in compressed "
                           "bundles exceeds 1 GiB");
    return f;
}

// Finds the kernel that a host function launches; HIP returns its name.
static ts__hs_function *ts__hs_of_host(const ts__cs_call *c, void *handle,
                                       void *stream)
{
    const uint32_t device = ts__hs_device_of(c->context);
    ts__hs_functions_check();
    ts__hs_function *const known = ts__hs_function_find(handle, true, device);
    if (known) return ts__hs_function_current(known);
    ts__cs_job job;
    memset(&job, 0, sizeof job);
    job.what = TS__CS_OWN;
    job.own = ts__hs_query_name;
    job.context = c->context;
    job.object = handle;
    job.module = stream;
    if (!ts__cs_is_safe(c->context) ||
        !ts__cs_request(&ts__cs.driver, &job, ts__cs_until()))
        return NULL;
    return ts__hs_function_current(ts__hs_of_file(handle, job.name, device));
}

// Returns the function of a launch; NULL: unknown.
static ts__hs_function *ts__hs_function_of(const ts__cs_call *c)
{
    const bool how = c->rule->kind == TS__CS_LAUNCH_HOW;
    void *const handle = (void *)(uintptr_t)ts__cs_argument(c, how ? 8 : 0);
    void *stream = how ? NULL : (void *)(uintptr_t)ts__cs_argument(c, 40);
    if (c->rule->width == TS__HS_OF_HOST) {
        if (how) ts__cs_stream_here(c, &stream);
        return ts__hs_of_host(c, handle, stream);
    }
    return ts__hs_function_find(handle, false, 0);
}

static const char *ts__hs_name(const ts__cs_call *c)
{
    const ts__hs_function *const f = ts__hs_function_of(c);
    return f ? f->name : NULL;
}

#endif // TS__HIP_CAPTURE_FUNCTIONS_H
