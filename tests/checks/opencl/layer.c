/*
    layer.c - another layer of OpenCL, that a user may have

    Counts calls of clFinish, and says at the end how many there were.
*/
#include <CL/cl_layer.h>
#include <stdio.h>
#include <string.h>

static cl_icd_dispatch own;
static cl_int (*finish)(cl_command_queue queue);
static int finishes;

static cl_int count_finish(cl_command_queue queue)
{
    finishes++;
    return finish(queue);
}

cl_int clGetLayerInfo(cl_layer_info what, size_t room, void *value,
                      size_t *size)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || room < sizeof version)
        return CL_INVALID_VALUE;
    memcpy(value, &version, sizeof version);
    if (size) *size = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                   cl_uint *count_out, const cl_icd_dispatch **table)
{
    memcpy(&own, target, count * sizeof(void *));
    finish = target->clFinish;
    own.clFinish = count_finish;
    *count_out = count;
    *table = &own;
    return CL_SUCCESS;
}

__attribute__((destructor)) static void print_count(void)
{
    fprintf(stderr, "other layer: %d\n", finishes);
}
