/*
    vdev.c - the virtual accelerator, for --execute and for --explore
*/
#define _GNU_SOURCE
#define TRACESMITH_VDEV_IMPLEMENTATION
#include "backends/ts_vdev_exec.h"
#include "tools/replay/execute/execute.h"

bool execute_as_library(uint8_t *bytes, uint64_t size)
{
    return ts_vdev_exec_library(bytes, size) == TS_OK;
}
