// A libnvidia-ml.so.1 with one device, by its public interface. It does what
// DOUBLE_NVML says: hang, crash, mismatch (the driver's library is another),
// error (of another kind), none (no device).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what)
{
    const char *const text = getenv("DOUBLE_NVML");
    return text && !strcmp(text, what);
}

int nvmlInit_v2(void)
{
    if (is("hang")) pause();
    if (is("crash")) abort();
    return is("mismatch") ? 18 : is("error") ? 999 : 0;
}

const char *nvmlErrorString(int result)
{
    return result == 18 ? "Driver/library version mismatch"
           : result     ? "Unknown Error"
                        : "Success";
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    strncpy(text, "580.65.06", room);
    return 0;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = 13000;
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = !is("none");
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)"";
    return (int)index;
}

int nvmlDeviceGetName(void *device, char *text, unsigned room)
{
    strncpy(text, "A\tGPU\nof glass", room); // names may hold anything
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
    memory[0] = 8ull << 30;
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    *major = 9;
    *minor = 0;
    return 0;
}
