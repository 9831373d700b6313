/*
    demangle.c - names of C++ and Rust functions as they were written

    The machine's C++ library demangles C++ names, if there is one: it keeps up
    with its compilers. libiberty demangles Rust's. Neither limits its work, and
    a short hostile name may expand exponentially. So they run in a helper
    process with limits on time (a second) and memory; a name that kills it
    remains mangled.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/cli/cli.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef TRACESMITH_IBERTY
#include <libiberty/demangle.h>
#endif

// Sanitizers map far more memory than they use.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
    MANGLED_MOST = 16384,
    TEXT_MOST = 65536,
    HELPERS_MOST = 4, // helper processes started in all
    HELPER_SECONDS = 1,
    HELPER_BYTES = 256 << 20,
    HELPER_LINE = 3, // its descriptor
    FILES_MOST = 65536
};

// Source: Itanium C++ ABI, 3.4 "Demangler API".
typedef char *demangle_function(const char *mangled, char *buffer, size_t *size,
                                int *status);

static demangle_function *find(void)
{
    static demangle_function *found;
    static bool tried;
    if (tried) return found;
    tried = true;
    void *const library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return NULL;
    void *const symbol = dlsym(library, "__cxa_demangle");
    // C has no conversion from dlsym's object pointer to a function pointer.
    memcpy(&found, &symbol, sizeof found);
    return found;
}

/* ---- Rust ---------------------------------------------------------------- */

#ifdef TRACESMITH_IBERTY

enum { READS_RUST = true };

// Demangles both forms: "_R...", and C++ names that end with a hash, which is
// left out. NULL if the name has neither form.
static char *read_rust(const char *name)
{
    return rust_demangle(name, DMGL_NO_OPTS);
}

#else

enum { READS_RUST = false };

static char *read_rust(const char *name)
{
    (void)name;
    return NULL;
}

#endif

/* ---- The helper process -------------------------------------------------- */

static struct {
    pid_t process; // 0: none
    int line;
    unsigned begun;
} helper;

static bool put_all(int line, const void *bytes, size_t size)
{
    for (const char *at = bytes; size;) {
        const ssize_t sent = send(line, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool get_all(int line, void *bytes, size_t size)
{
    for (char *at = bytes; size;) {
        const ssize_t got = recv(line, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static char *read_name(const char *name, demangle_function *call)
{
    int status = -1;
    char *const rust = read_rust(name);
    if (rust || !call) return rust;
    char *const text = call(name, NULL, NULL, &status);
    return status ? NULL : text;
}

// The loop of the helper: receives a size and a name, replies with a size and a
// text; size 0: the name cannot be demangled.
static void help(int line, demangle_function *call)
{
    static char name[MANGLED_MOST + 1];
    const struct rlimit seconds = { HELPER_SECONDS, HELPER_SECONDS };
    const struct rlimit bytes = { HELPER_BYTES, HELPER_BYTES };
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CPU, &seconds);
    if (!SANITIZED) setrlimit(RLIMIT_DATA, &bytes);
    setrlimit(RLIMIT_CORE, &none);
    for (uint32_t size; get_all(line, &size, sizeof size);) {
        if (size > MANGLED_MOST || !get_all(line, name, size)) return;
        name[size] = 0;
        char *const text = read_name(name, call);
        const size_t got = text ? strlen(text) : 0;
        size = got > TEXT_MOST ? 0 : (uint32_t)got;
        if (!put_all(line, &size, sizeof size) ||
            !put_all(line, text ? text : "", size))
            return;
        free(text);
    }
}

static void end_helper(void)
{
    close(helper.line);
    while (waitpid(helper.process, NULL, 0) < 0 && errno == EINTR) {}
    helper.process = 0;
}

// A server may start the helper while it has connections, which the helper
// would keep open, and with handlers of signals that are not meant for it.
static void forget_parent(int line)
{
    struct sigaction now;
    struct rlimit most;
    for (int number = 1; number < NSIG; number++)
        if (!sigaction(number, NULL, &now) && now.sa_handler != SIG_IGN)
            signal(number, SIG_DFL);
    dup2(line, HELPER_LINE); // the first after the standard streams
#ifdef SYS_close_range       // kernels before 5.9 lack it
    if (!syscall(SYS_close_range, HELPER_LINE + 1, ~0u, 0)) return;
#endif
    const bool known = !getrlimit(RLIMIT_NOFILE, &most);
    const int end =
        known && most.rlim_cur < FILES_MOST ? (int)most.rlim_cur : FILES_MOST;
    for (int file = HELPER_LINE + 1; file < end; file++)
        close(file);
}

static bool begin_helper(demangle_function *call)
{
    int lines[2];
    if (helper.process) return true;
    if (helper.begun == HELPERS_MOST ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines))
        return false;
    helper.begun++;
    helper.line = lines[0];
    helper.process = fork();
    if (!helper.process) {
        forget_parent(lines[1]);
        help(HELPER_LINE, call);
        _exit(0);
    }
    close(lines[1]);
    if (helper.process > 0) return true;
    close(lines[0]);
    helper.process = 0;
    return false;
}

static char *call_in_process(demangle_function *call, const char *name,
                             uint32_t size)
{
    uint32_t got = 0;
    char *text = NULL;
    if (!begin_helper(call)) return NULL;
    const bool answered = put_all(helper.line, &size, sizeof size) &&
                          put_all(helper.line, name, size) &&
                          get_all(helper.line, &got, sizeof got);
    if (answered && got && got <= TEXT_MOST) text = calloc(1, (size_t)got + 1);
    if (text && !get_all(helper.line, text, got)) {
        free(text);
        text = NULL;
    }
    // Without memory for the text it remains unread in the pipe.
    if (!answered || (got && !text)) end_helper();
    return text;
}

// A lock serialises the threads: there is one helper.
char *cli_demangle(const char *name)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const size_t size = strlen(name);
    const bool is_rust = !strncmp(name, "_R", 2);
    if (size < 4 || size > MANGLED_MOST ||
        !(is_rust ? READS_RUST : !strncmp(name, "_Z", 2)))
        return NULL;
    pthread_mutex_lock(&mutex);
    demangle_function *const call = find();
    char *const text =
        call || READS_RUST ? call_in_process(call, name, (uint32_t)size) : NULL;
    pthread_mutex_unlock(&mutex);
    return text;
}
