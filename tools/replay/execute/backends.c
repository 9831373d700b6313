/*
    backends.c - the backends whose operations ts-replay can execute

    An executor loads its vendor's library only when it is opened, so ts-replay
    works on machines without that library.
*/
#include "tools/replay/execute/execute.h"
#include "backends/ts_cuda_exec.h"
#include "backends/ts_opencl_exec.h"
#include "backends/ts_vdev_exec.h"

static const ts_executor *const executors[] = {
    &ts_vdev_executor,
    &ts_opencl_executor,
    &ts_cuda_executor,
    &ts_hip_executor,
};
enum { EXECUTORS = sizeof executors / sizeof *executors };

const ts_executor *execute_backend(const char *name)
{
    for (size_t i = 0; i < EXECUTORS; i++)
        if (!strcmp(executors[i]->name, name)) return executors[i];
    return NULL;
}

cli_text execute_backends(void)
{
    cli_text all = { "" };
    for (size_t i = 0; i < EXECUTORS; i++) {
        const size_t at = strlen(all.s);
        snprintf(all.s + at, sizeof all.s - at, "%s%s",
                 !i                  ? ""
                 : i + 1 < EXECUTORS ? ", "
                                     : " and ",
                 executors[i]->name);
    }
    return all;
}
