/*
    cupti.c - known faults of versions of CUPTI

    Only faults that users notice; those that the recorder works around are not
    listed.
*/
#include "tools/devices/devices.h"

// Source: cupti_version.h of CUDA 13.0; from 13.0 on a version is xxyyzz.
static const char *const releases[] = {
    [13] = "11.0",         [14] = "11.1", [15] = "11.2 to 11.4", [16] = "11.5",
    [17] = "11.6 or 11.7", [18] = "11.8", [19] = "12.0 or 12.1", [20] = "12.2",
    [21] = "12.3",         [22] = "12.4", [23] = "12.5",         [24] = "12.6",
    [26] = "12.8",         [27] = "12.9", [28] = "12.9 Update 1"
};

cli_text devices_cupti_release(uint32_t version)
{
    if (version >= 130000)
        return cli_format("%" PRIu32 ".%" PRIu32, version / 10000,
                          version / 100 % 100);
    if (version < sizeof releases / sizeof *releases && releases[version])
        return cli_format("%s", releases[version]);
    return cli_format("%s", version < 13 ? "before 11.0" : "unknown");
}

// Source: NVIDIA's release notes of CUPTI, and what users reported:
// pytorch/kineto 542, JuliaGPU/CUDA.jl 2328.
static const struct {
    uint32_t from, before;
    const char *text;
} notes[] = {
    { 13, 15,
      "before CUDA 11.2, the first kernels may wait 5 s and more for CUPTI: "
      "skip this time with --delay" },
    { 22, 23,
      "in CUDA 12.4 Update 1, CUPTI may report no kernels; the trace contains "
      "a warning if this occurs" },
    { 24, 130100,
      "from CUDA 12.6 to 13.0, kernels are not timed by the host's clock: "
      "CUPTI's clock is sampled, so that times relative to the host are less "
      "exact" },
    { 130000, 130001,
      "CUDA 13.0 before Update 1 has no records of cudaDeviceSynchronize: they "
      "are counted as lost" },
    { 13, 130101,
      "before CUDA 13.1 Update 1, kernels of graphs may refer to the wrong "
      "launch from the second session of a process on" },
    { 13, 130401,
      "before CUDA 13.4 Update 1, memory grows in long runs: use --duration, "
      "or a newer CUPTI" },
};

void devices_cupti_notes(const devices_query *query, uint32_t version)
{
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (version >= notes[i].from && version < notes[i].before)
            devices_write(query, DEVICES_FACT, "note", "%s", notes[i].text);
}
