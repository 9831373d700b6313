/*
    libcuda.c - a double of CUDA's driver, for machines without a GPU

    Kernels of its "cubins" really run, on memory of the process: see
    cuda_double.h. If the double of CUPTI is in the process it is told what is
    called, with the arguments as CUPTI hands them on. cuInit loads what
    CUDA_INJECTION64_PATH names. It proves nothing about what the real one
    takes for an error, or when it is done.
*/
#define _GNU_SOURCE
#include "cuda_double.h"
#include "cupti_double.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define DRIVER(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

enum {
    INVALID = 1,
    NO_MEMORY = 2,
    NO_BINARY = 209,
    OPERATING_SYSTEM = 304,
    NOT_FOUND = 500,
    NOT_READY = 600,
    BAD_ADDRESS = 700
};

/* ==== 1. Who is told ===================================================== */

static double_run_function run;
static int broken; // result of everything from now on
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *symbol(const char *library, int how, const char *name)
{
    void *const handle = dlopen(library, how);
    return handle ? dlsym(handle, name) : NULL;
}

// Whether a variable names this.
static bool is_named(const char *variable, const char *name)
{
    const char *const value = getenv(variable);
    return value && !strcmp(value, name);
}

typedef int (*worker)(const void *parameters);
typedef struct job {
    worker work;
    const void *parameters;
} job;

static int do_job(void *user)
{
    const job *const j = user;
    return broken ? broken : j->work(j->parameters);
}

static uintptr_t here(void);
static uint32_t device_of(uintptr_t context);

// Runs a function of the driver, with CUPTI's callbacks around it. A driver
// that locks does so for all of it, so that nobody else can call.
static int traced(double_op op, worker work, const void *parameters)
{
    job j = { work, parameters };
    const bool locks = getenv("DOUBLE_CUDA_LOCK") != NULL;
    if (!run) { // in the process since, perhaps
        void *found = dlsym(RTLD_DEFAULT, "double_run");
        if (!found)
            found =
                symbol("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD, "double_run");
        memcpy(&run, &found, sizeof run);
    }
    if (locks) pthread_mutex_lock(&lock);
    int result;
    if (run) {
        op.parameters = parameters;
        op.work = do_job;
        op.user = &j;
        op.context = (void *)here();
        op.device = device_of(here());
        if (!op.event) op.event = 1;
        op.ns = 500;
        if (!op.name) op.name = "add";
        result = run(&op);
    } else {
        result = do_job(&j);
    }
    if (locks) pthread_mutex_unlock(&lock);
    return result;
}

// What a function without callbacks does first.
static void wait_for_lock(void)
{
    if (!getenv("DOUBLE_CUDA_LOCK")) return;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

// `p` has the arguments of a function, as CUPTI shows them.
#define ON(handle) .stream = (uint32_t)(uintptr_t)(handle)
#define TRACED(kind, called, with, ...) \
    do { \
        const double_op op = { .what = kind, \
                               .function = #called, \
                               __VA_ARGS__ }; \
        return traced(op, with, &p); \
    } while (0)

#include "cuda_contexts.h"

#include "cuda_memory.h"

#include "cuda_code.h"

#include "cuda_streams.h"

#include "cuda_batches.h"

#include "cuda_handles.h"

/* ==== 7. Devices ======================================================== */

static int device_count(void)
{
    const char *const count = getenv("DOUBLE_CUDA_DEVICES");
    return count ? atoi(count) : 1;
}

static void *name_thread(void *user)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm",
             (int)syscall(SYS_gettid));
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    *(bool *)user = file >= 0 && write(file, "cuda", 4) == 4;
    if (file >= 0) close(file);
    return NULL;
}

// A socket to the daemon that shares a GPU, which is not there.
static void look_for_daemon(void)
{
    static const struct sockaddr_un daemon = { .sun_family = AF_UNIX,
                                               .sun_path = "/tmp/no-mps" };
    const int socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    connect(socket_, (const void *)&daemon, sizeof daemon);
    close(socket_);
}

static bool may_listen(void)
{
    struct sockaddr_un here = { .sun_family = AF_UNIX };
    const int socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(here.sun_path + 1, sizeof here.sun_path - 1, "cuda-uvmfd-%ld",
             syscall(SYS_gettid));
    const bool done = socket_ >= 0 &&
                      bind(socket_, (const void *)&here, sizeof here) == 0 &&
                      listen(socket_, 128) == 0;
    if (socket_ >= 0) close(socket_);
    return done;
}

// The real one starts threads, names them and listens to a local socket; it
// does not start if it may not (strace of driver 580.159 on an H200).
static bool may_start(void)
{
#ifdef DOUBLE_OF_HIP
    return true;
#endif
    pthread_t thread;
    bool named = false;
    look_for_daemon();
    if (pthread_create(&thread, NULL, name_thread, &named) != 0) return false;
    pthread_join(thread, NULL);
    return named && may_listen();
}

DRIVER(cuInit, unsigned flags)
{
    if (!may_start()) return OPERATING_SYSTEM;
    note_occupied();
    const char *const path = getenv("CUDA_INJECTION64_PATH");
    void *const found =
        path ? symbol(path, RTLD_NOW, "InitializeInjection") : NULL;
    int (*injected)(void);
    memcpy(&injected, &found, sizeof injected);
    if (found) injected();
    return device_count() ? (int)flags : 100;
}

DRIVER(cuDriverGetVersion, int *version)
{
    *version = 13000;
    return 0;
}

DRIVER(cuDeviceGetCount, int *count)
{
    *count = device_count();
    return 0;
}

DRIVER(cuDeviceGet, int *device, int number)
{
    *device = number;
    return number < device_count() ? 0 : 101;
}

DRIVER(cuDeviceGetName, char *name, int size, int device)
{
    snprintf(name, (size_t)size, "a double, not a GPU (%d)", device);
    return 0;
}

DRIVER(cuCtxGetDevice, int *device)
{
    wait_for_lock();
    *device = (int)device_of(here());
    return 0;
}

// 89: managed memory may be used by devices and the host at once.
DRIVER(cuDeviceGetAttribute, int *value, int what, int device)
{
    wait_for_lock();
    *value = getenv("DOUBLE_CUDA_MANAGED") == NULL;
    return what == 89 && device < device_count() ? 0 : INVALID;
}

DRIVER(cuGetErrorName, int error, const char **name)
{
    *name = error == BAD_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                 : "CUDA_ERROR_OF_THE_DOUBLE";
    return 0;
}
