/*
    app.c - programs that are captured, for tests/checks/execute.sh

    app WHAT TRACE [CAPTURE]: CAPTURE as ts_capture_parse has it.
*/
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_VDEV
#include "backends/ts_vdev.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { COUNT = 100000 };

static ts_vdev *vdev;
static ts_vdev_stream streams[2];

static void need(ts_result result)
{
    if (result == TS_OK) return;
    fprintf(stderr, "app: %s\n", ts_result_text(result));
    exit(1);
}

static void *memory(size_t size)
{
    void *ptr;
    need(ts_vdev_malloc(&ptr, vdev, 0, size));
    return ptr;
}

static ts_vdev_kernel kernel(const char *name, ts_vdev_function function,
                             size_t args_size, const ts_vdev_role *roles,
                             uint32_t role_count)
{
    const ts_vdev_kernel_desc desc = { .name = name,
                                       .function = function,
                                       .args_size = args_size,
                                       .roles = roles,
                                       .role_count = role_count };
    ts_vdev_kernel made;
    need(ts_vdev_kernel_register(&made, vdev, &desc));
    return made;
}

static void launch_on(ts_vdev_stream stream, ts_vdev_kernel k, const void *args,
                      uint32_t blocks)
{
    const ts_vdev_launch_desc desc = { .grid = { blocks }, .args = args };
    need(ts_vdev_launch(vdev, stream, k, &desc));
}

static void launch(ts_vdev_kernel k, const void *args, uint32_t blocks)
{
    launch_on(streams[0], k, args, blocks);
}

/* ---- Kernels ------------------------------------------------------------- */

typedef struct scale_args {
    float *to;
    const float *from;
    float factor;
} scale_args;

static const ts_vdev_role scale_roles[] = {
    { offsetof(scale_args, to), TS_ACCESS_WRITE, 0 },
    { offsetof(scale_args, from), TS_ACCESS_READ, 0 },
};

static void scale(const void *args, const ts_vdev_block *block)
{
    const scale_args *const a = args;
    for (uint32_t i = block->index[0]; i < COUNT; i += block->grid[0])
        a->to[i] = a->from[i] * a->factor;
}

// What no capture knows: a variable that nobody named.
static volatile float unnamed = 1;

static void scale_wrong(const void *args, const ts_vdev_block *block)
{
    const scale_args *const a = args;
    for (uint32_t i = block->index[0]; i < COUNT; i += block->grid[0])
        a->to[i] = a->from[i] * a->factor * unnamed;
}

static float bias; // this one is named

static void add_bias(const void *args, const ts_vdev_block *block)
{
    float *const *const values = args;
    for (uint32_t i = block->index[0]; i < COUNT; i += block->grid[0])
        (*values)[i] += bias;
    bias += 1; // in one block, so that it is determined
}

typedef struct packed_args {
    char pad;
    float *values;
    uint16_t step;
} __attribute__((packed)) packed_args;

static void bump_packed(const void *args, const ts_vdev_block *block)
{
    packed_args a;
    memcpy(&a, args, sizeof a);
    for (uint32_t i = block->index[0]; i < COUNT; i += block->grid[0])
        a.values[i] += a.step;
}

// A list on the device: each node points to the next and to its values.
typedef struct node {
    struct node *next;
    char pad[3];
    float *values;
} __attribute__((packed)) node;

static void bump_list(const void *args, const ts_vdev_block *block)
{
    (void)block;
    for (const node *n = *(const node *const *)args; n; n = n->next)
        n->values[0] += 1;
}

typedef struct sum_args {
    float *sum;
    const float *values;
} sum_args;

// Adds forwards and backwards by turns, and no capture knows whose turn it is:
// floats do not like that.
static void sum_by_turns(const void *args, const ts_vdev_block *block)
{
    static volatile unsigned launches;
    const sum_args *const a = args;
    const bool forwards = launches++ % 2 == 0;
    (void)block;
    for (int i = 0; i < COUNT; i++)
        *a->sum += a->values[forwards ? i : COUNT - 1 - i];
}

static volatile int stop = 0;
static volatile uintptr_t eaten;

static void spin(const void *args, const ts_vdev_block *block)
{
    (void)args;
    (void)block;
    while (!stop) {}
}

static void leave(const void *args, const ts_vdev_block *block)
{
    (void)args;
    (void)block;
    if (!stop) exit(0);
}

typedef struct ends_args {
    char *values;
    uint64_t size;
} ends_args;

static void bump_ends(const void *args, const ts_vdev_block *block)
{
    const ends_args *const a = args;
    (void)block;
    a->values[100000]++;
    a->values[a->size - 200000]++;
}

// As the system does it when memory runs out.
static void be_killed(const void *args, const ts_vdev_block *block)
{
    (void)args;
    (void)block;
    if (!stop) raise(SIGKILL);
}

// More than its process may have, where one says how much that is.
static void eat(const void *args, const ts_vdev_block *block)
{
    (void)args;
    (void)block;
    for (int i = 0; !stop && i < 512; i++) {
        char *const more = malloc(1 << 20);
        if (more) memset(more, 1 + i % 100, 1 << 20);
        eaten += more ? (uintptr_t)more % 7 : 0;
    }
}

static void print_result(const char *what, bool done)
{
    fprintf(stderr, "%s %s\n", done ? "DID" : "denied", what);
}

static bool can_start(void)
{
    int status = -1;
    const pid_t pid = vfork();
    if (!pid) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool can_write(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

// By a pipe that tells its owner when something comes.
static bool can_signal(void)
{
    int ends[2];
    if (pipe(ends) != 0) return false;
    const bool done = fcntl(ends[0], F_SETOWN, getppid()) == 0;
    close(ends[0]);
    close(ends[1]);
    return done;
}

// A limit of time ends a process as a signal does.
static bool can_limit(void)
{
    struct rlimit same;
    return prlimit(getppid(), RLIMIT_CORE, NULL, &same) == 0;
}

// All that whoever wrote a kernel might want.
static void hostile(const void *args, const ts_vdev_block *block)
{
    (void)args;
    (void)block;
    if (stop) return;
    print_result("inet", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    print_result("unix", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    print_result("ring",
                 syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno == EFAULT);
    // Where it works the parent would stand still.
    print_result("trace", getenv("MILD") || ptrace(PTRACE_ATTACH, getppid(),
                                                   NULL, NULL) == 0);
    print_result("kill", kill(getppid(), 0) == 0);
    print_result("signal", can_signal());
    print_result("limit", can_limit());
    print_result("mode", chmod(".", 0755) == 0);
    print_result("type", ioctl(0, TIOCSTI, "x") == 0 || errno != EPERM);
    print_result("user", setuid(getuid()) == 0);
    print_result("namespace", unshare(CLONE_NEWUSER) == 0);
    print_result("program", can_start());
    print_result("file", can_write("hostile.file"));
    print_result("home", can_write("/tmp/hostile.file"));
}

// Says that it ran: no memory shows how often that was.
static void count(const void *args, const ts_vdev_block *block)
{
    int *const *const sum = args;
    (void)block;
    ++**sum;
    fputs("ran count\n", stderr);
}

static float *hidden; // memory that no pointer in reach leads to

static void use_hidden(const void *args, const ts_vdev_block *block)
{
    float *const *const values = args;
    (void)block;
    (*values)[0] = hidden[1000];
}

static void count_up(void *user)
{
    ++*(int *)user;
}

/* ---- Programs ------------------------------------------------------------ */

static float host[COUNT];

static float *filled(void)
{
    float *const values = memory(sizeof host);
    for (int i = 0; i < COUNT; i++)
        host[i] = 0.001f * (float)(i % 1000) + 1e3f * (float)(i % 7);
    need(ts_vdev_memcpy(vdev, streams[0], values, host, sizeof host));
    return values;
}

static void step(ts_vdev_kernel k, float *to, const float *from, float factor)
{
    TS_ZONE("step");
    const scale_args args = { to, from, factor };
    launch(k, &args, 16);
}

// Copies, kernels on two streams, in place, a part of a buffer, the host.
static void pipeline(bool wrong)
{
    int counted = 0;
    const ts_vdev_kernel k =
        kernel("scale", scale, sizeof(scale_args), scale_roles, 2);
    const ts_vdev_kernel w =
        kernel("scale_wrong", scale_wrong, sizeof(scale_args), scale_roles, 2);
    const ts_vdev_kernel b = kernel("bias", add_bias, sizeof(float *), NULL, 0);
    ts_vdev_event ready;
    need(ts_vdev_event_create(&ready, vdev));
    need(ts_vdev_global_register(vdev, 0, &bias, sizeof bias));
    float *const one = filled(), *const two = memory(3 * sizeof host);
    bias = 5;
    unnamed = 3;
    step(k, two + 100, one, 2);
    step(wrong ? w : k, two + 100, two + 100, 0.5f);
    need(ts_vdev_event_record(vdev, ready, streams[0]));
    need(ts_vdev_event_wait(vdev, ready, streams[1]));
    float *const part = two + 100;
    launch_on(streams[1], b, &part, 1);
    launch_on(streams[1], b, &part, 1);
    need(ts_vdev_host_function(vdev, streams[1], "count", count_up, &counted));
    need(ts_vdev_memset_async(vdev, streams[1], two, 0x3f, 50));
    need(ts_vdev_memcpy_async(vdev, streams[1], one, part, sizeof host));
    need(ts_vdev_memcpy(vdev, streams[1], host, one, sizeof host));
}

// Of nine frames of two steps those that begin after a trigger are captured,
// each working on what all those before it left.
static void frames(void)
{
    const ts_vdev_kernel k =
        kernel("scale", scale, sizeof(scale_args), scale_roles, 2);
    float *const one = filled(), *const two = memory(3 * sizeof host);
    step(k, two + 100, one, 2);
    for (int i = 0; i < 9; i++) {
        if (i == 2 || i == 6) ts_capture_trigger();
        step(k, two + 100, two + 100, 1.5f);
        step(k, two + 100, two + 100, 0.5f);
        TS_FRAME("frame");
    }
}

static void pointers(void)
{
    const ts_vdev_kernel packed =
        kernel("packed", bump_packed, sizeof(packed_args), NULL, 0);
    const ts_vdev_kernel list =
        kernel("list", bump_list, sizeof(node *), NULL, 0);
    float *const values = filled();
    node *nodes[5], *next = NULL;
    for (int i = 0; i < 5; i++) {
        nodes[i] = memory(sizeof(node));
        const node made = { next, { 0 }, values + 10 * i };
        need(ts_vdev_memcpy(vdev, streams[0], nodes[i], &made, sizeof made));
        next = nodes[i];
    }
    float *const other = memory(sizeof host + 4096);
    need(ts_vdev_memset_async(vdev, streams[0], other, 0, sizeof host));
    const packed_args inside = { 0, other + 7, 2 };
    launch(packed, &inside, 4);
    launch(list, &next, 1);
}

static void sums(void)
{
    const ts_vdev_kernel k =
        kernel("sum", sum_by_turns, sizeof(sum_args), NULL, 0);
    const float *const values = filled();
    float *const sum = memory(sizeof *sum);
    need(ts_vdev_memset_async(vdev, streams[0], sum, 0, sizeof *sum));
    const sum_args args = { sum, values };
    launch(k, &args, 1);
}

// The kernel does not do it until it is replayed.
static void between_steps(const char *name, ts_vdev_function function)
{
    const ts_vdev_kernel k = kernel(name, function, 0, NULL, 0);
    const ts_vdev_kernel s =
        kernel("scale", scale, sizeof(scale_args), scale_roles, 2);
    float *const one = filled();
    stop = 1;
    step(s, one, one, 2);
    launch(k, NULL, 1);
    step(s, one, one, 2);
}

static void hiding(bool freed)
{
    const ts_vdev_kernel k =
        kernel("hidden", use_hidden, sizeof(float *), NULL, 0);
    float *const one = filled();
    hidden = filled();
    if (freed) need(ts_vdev_free(vdev, hidden));
    launch(k, &one, 1);
}

// Two streams write the same memory in no order.
static void racing(void)
{
    const ts_vdev_kernel k =
        kernel("scale", scale, sizeof(scale_args), scale_roles, 2);
    float *const one = filled();
    float *const two = memory(sizeof host);
    need(ts_vdev_device_synchronize(vdev, 0));
    const scale_args a = { two, one, 2 }, b = { two, one, 3 };
    launch_on(streams[0], k, &a, 16);
    launch_on(streams[1], k, &b, 16);
}

// Each step is a little wrong, in a replay. told: which arguments are pointers.
static void drifting(bool with_roles)
{
    const ts_vdev_kernel k =
        kernel("drift", scale_wrong, sizeof(scale_args),
               with_roles ? scale_roles : NULL, with_roles ? 2 : 0);
    float *const one = filled();
    unnamed = 1.001f;
    for (int i = 0; i < 8; i++)
        step(k, one, one, 1);
}

// Allocations at the ends of ten gigabytes.
static void far_from_each_other(void)
{
    const ts_vdev_kernel k =
        kernel("scale", scale, sizeof(scale_args), scale_roles, 2);
    float *const one = filled();
    void *const gap = memory((size_t)10 << 30);
    float *const two = memory(sizeof host);
    (void)gap;
    step(k, two, one, 2);
    step(k, two, two, 2);
}

// Ten gigabytes of which two pages are written. Where nobody can tell which,
// there is nothing to see (77).
static void vast(void)
{
    const uint64_t size = UINT64_C(10) << 30;
    const ts_vdev_kernel k =
        kernel("ends", bump_ends, sizeof(ends_args), NULL, 0);
    bool blank;
    const ends_args args = { memory(size), size };
    ts__vd_blank(vdev, (uintptr_t)args.values, size, &blank);
    if (!blank) exit(77);
    for (int i = 0; i < 3; i++)
        launch(k, &args, 1);
}

// Each is waited for; the host adds to what the last but one left.
static void counted(void)
{
    const ts_vdev_kernel k = kernel("count", count, sizeof(int *), NULL, 0);
    int *const sum = memory(sizeof *sum);
    ts_vdev_event event;
    need(ts_vdev_event_create(&event, vdev));
    for (int i = 0; i < 5; i++) {
        launch(k, &sum, 1);
        need(ts_vdev_event_record(vdev, event, streams[0]));
        need(ts_vdev_event_synchronize(vdev, event));
        if (i == 3) *sum += 100;
    }
    need(ts_vdev_memcpy(vdev, streams[0], host, sum, sizeof *sum));
}

// Two streams that work on their own, and meet twice.
static void concurrent(void)
{
    const ts_vdev_kernel k =
        kernel("scale", scale, sizeof(scale_args), scale_roles, 2);
    float *const one = filled();
    float *const two = memory(sizeof host);
    ts_vdev_event events[2];
    for (int i = 0; i < 2; i++)
        need(ts_vdev_event_create(&events[i], vdev));
    need(ts_vdev_device_synchronize(vdev, 0));
    const scale_args in_one = { one, one, 2 }, in_two = { two, two, 3 };
    const scale_args across = { two, one, 1 }, back = { one, two, 0.5f };
    launch_on(streams[0], k, &in_one, 16);
    need(ts_vdev_event_record(vdev, events[0], streams[0]));
    need(ts_vdev_event_wait(vdev, events[0], streams[1]));
    launch_on(streams[1], k, &across, 16);
    launch_on(streams[1], k, &in_two, 16);
    need(ts_vdev_event_record(vdev, events[1], streams[1]));
    need(ts_vdev_event_wait(vdev, events[1], streams[0]));
    launch_on(streams[0], k, &back, 16);
}

static void nothing(const void *args, const ts_vdev_block *block)
{
    (void)args;
    (void)block;
}

static bool run(const char *what)
{
    if (!strcmp(what, "pipeline"))
        pipeline(false);
    else if (!strcmp(what, "wrong"))
        pipeline(true);
    else if (!strcmp(what, "frames"))
        frames();
    else if (!strcmp(what, "pointers"))
        pointers();
    else if (!strcmp(what, "sums"))
        sums();
    else if (!strcmp(what, "spin"))
        between_steps("spin", spin);
    else if (!strcmp(what, "leave"))
        between_steps("leave", leave);
    else if (!strcmp(what, "killed"))
        between_steps("killed", be_killed);
    else if (!strcmp(what, "hostile"))
        between_steps("hostile", hostile);
    else if (!strcmp(what, "hungry"))
        between_steps("eat", eat);
    else if (!strcmp(what, "hidden"))
        hiding(false);
    else if (!strcmp(what, "freed"))
        hiding(true);
    else if (!strcmp(what, "race"))
        racing();
    else if (!strcmp(what, "drift"))
        drifting(true);
    else if (!strcmp(what, "untold"))
        drifting(false);
    else if (!strcmp(what, "far"))
        far_from_each_other();
    else if (!strcmp(what, "vast"))
        vast();
    else if (!strcmp(what, "beside"))
        concurrent();
    else if (!strcmp(what, "count"))
        counted();
    else if (!strcmp(what, "nothing"))
        launch(kernel("nothing", nothing, 0, NULL, 0), NULL, 1);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    char room[1000];
    ts_capture_desc what;
    if (argc < 3) return 2;
    const bool far = !strcmp(argv[1], "far") || !strcmp(argv[1], "vast");
    const ts_vdev_desc desc = { .memory_bytes =
                                    (far ? (uint64_t)11 << 30 : 16 << 20) };
    const ts_session_desc session = { .path = argv[2] };
    need(
        ts_capture_parse(&what, room, sizeof room, argc > 3 ? argv[3] : "all"));
    need(ts_vdev_open(&vdev, &desc));
    for (int i = 0; i < 2; i++)
        need(ts_vdev_stream_create(&streams[i], vdev, NULL));
    need(ts_session_start(&session));
    need(strcmp(argv[1], "frames") ? ts_capture_start(&what)
                                   : ts_capture_arm(&what));
    const bool known = run(argv[1]);
    need(ts_vdev_device_synchronize(vdev, 0));
    ts_capture_stop();
    need(ts_session_stop());
    need(ts_vdev_close(vdev));
    return known ? 0 : 2;
}
