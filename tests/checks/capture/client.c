// A program that finds a handler as NVTX does (nvtxInit.h), with one function
// of it, for machines without NVIDIA's headers. What it then does, it is told:
//   client plain|fork|clone|exec|crash|_exit|threads|kill|cuda
//   client fork COUNT:  so many steps, then fork
//   client steps COUNT: that many "step 0", "step 1", ... 10 ms apart
//   client many COUNT:  that many ranges "many"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*slots[16])(void);
static void (**table[16])(void);

static int module_table(uint32_t module, void (****out)(void), unsigned *size)
{
    if (module != 1) return 0; // CORE
    for (int i = 1; i < 16; i++)
        table[i] = &slots[i];
    *out = table;
    *size = 16;
    return 1;
}

static const void *get_table(uint32_t number)
{
    static const struct {
        size_t size;
        int (*table)(uint32_t, void (****)(void), unsigned *);
    } callbacks = { sizeof callbacks, module_table };
    return number == 1 ? &callbacks : NULL;
}

static void find_handler(void)
{
    const char *const path = getenv("NVTX_INJECTION64_PATH");
    void *const library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*start)(const void *(*)(uint32_t)) = NULL;
    if (library) *(void **)&start = dlsym(library, "InitializeInjectionNvtx2");
    if (start) start(get_table);
}

// As libcuda within cuInit.
static void cuda_init(void)
{
    const char *const path = getenv("CUDA_INJECTION64_PATH");
    void *const library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*start)(void) = NULL;
    if (library) *(void **)&start = dlsym(library, "InitializeInjection");
    if (start) start();
}

static void range(const char *name)
{
    int (*const push)(const char *) = (int (*)(const char *))slots[9];
    int (*const pop)(void) = (int (*)(void))slots[11];
    if (push) push(name);
    if (pop) pop();
}

static void *thread(void *unused)
{
    for (int i = 0; i < 100; i++)
        range("of a thread");
    return unused;
}

static void threads(void)
{
    pthread_t all[200];
    for (int i = 0; i < 200; i++)
        if (pthread_create(&all[i], NULL, thread, NULL) != 0) abort();
    for (int i = 0; i < 200; i++)
        pthread_join(all[i], NULL);
}

static void steps(int count)
{
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "step %d", i);
        range(name);
        usleep(10000);
    }
}

// A trace that another process of this number left.
static void leave_trace(void)
{
    char path[4096];
    const char *const out = getenv("TRACESMITH_OUT");
    const char *const slash = out ? strrchr(out, '/') : NULL;
    snprintf(path, sizeof path, "%.*s/%ld.sbt", slash ? (int)(slash - out) : 1,
             slash ? out : ".", (long)getpid());
    FILE *const file = fopen(path, "w");
    if (file) fputs("earlier", file);
    if (file) fclose(file);
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "plain";
    // Before the library's own handlers, and so called before them.
    if (!strcmp(what, "reused")) pthread_atfork(NULL, NULL, leave_trace);
    find_handler();
    range("begin");
    printf("%s\n", what);
    fflush(stdout);
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(what, "fork") || !strcmp(what, "reused")) {
        steps(count);
        const pid_t child = fork();
        range(child ? "parent" : "child");
        if (child) waitpid(child, NULL, 0);
    }
    if (!strcmp(what, "clone")) { // a fork that no handler hears of
        const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (!child) exit(0);
        waitpid((pid_t)child, NULL, 0);
    }
    if (!strcmp(what, "exec")) execl(argv[0], argv[0], "plain", (char *)NULL);
    if (!strcmp(what, "steps")) steps(count);
    for (int i = 0; i < count && !strcmp(what, "many"); i++)
        range("many");
    if (!strcmp(what, "cuda")) cuda_init();
    if (!strcmp(what, "threads")) threads();
    range("end");
    if (!strcmp(what, "crash")) abort();
    if (!strcmp(what, "kill")) raise(SIGKILL);
    if (!strcmp(what, "_exit")) _exit(5);
    return 0;
}
