/*
    nvtx/session.h - the backend of ts_nvtx.h

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__NVTX_SESSION_H
#define TS__NVTX_SESSION_H

#include "tracesmith.h"
#include "../ts_nvtx.h"
#include "extension.h"
#include "state.h"

static void ts__nv_stop(void)
{
    ts_metadata_int(0, "nvtx.copies",
                    __atomic_load_n(&ts__nv.copies, __ATOMIC_RELAXED));
    if (ts__nv.dropped)
        ts_metadata_int(0, "nvtx.names_dropped",
                        __atomic_load_n(&ts__nv.dropped, __ATOMIC_RELAXED));
}
const ts_backend ts_nvtx_backend = { "nvtx", NULL, NULL, ts__nv_stop };

#ifdef TRACESMITH_NVTX
// NVTX has weak variables of these names for handlers linked into the program.
int (*InitializeInjectionNvtx2_fnptr)(ts_nvtx_get_table) = ts_nvtx_initialize;
int (*InitializeInjectionNvtxExtension_fnptr)(void *) = ts_nvtx_extension;
#endif

#endif // TS__NVTX_SESSION_H
