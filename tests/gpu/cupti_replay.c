// A program of which CUPTI tells what it told of another one, on another day:
// for the double of libcupti, with DOUBLE_RECORDING.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *symbol(const char *library, const char *name)
{
    void *const handle = dlopen(library, RTLD_NOW);
    return handle ? dlsym(handle, name) : NULL;
}

int main(void)
{
    int (*init)(unsigned flags);
    size_t (*replay)(void);
    void *found = symbol("libcuda.so.1", "cuInit");
    memcpy(&init, &found, sizeof init);
    if (!init || init(0) != 0) return 1;
    found = symbol("libcupti.so.13", "double_replay");
    memcpy(&replay, &found, sizeof replay);
    if (!replay) return 1;
    printf("buffers %zu\n", replay());
    return 0;
}
