/*
    cupti_run.h - what a program does, as the double of libcupti sees it:
                  the last part of libcupti.c

    A program would call the runtime, and that the driver; here one function
    does what all of them do as far as CUPTI shows it.
*/

/* ==== 4. Calls =========================================================== */

typedef struct call_data { // CUpti_CallbackData
    int32_t site;
    const char *name;
    const void *parameters;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *user;
    uint32_t correlation;
} call_data;

static void notify(uint32_t domain, uint32_t id, const void *data)
{
    const called function = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
    if (function && id < IDS && is_on(&ids_on[domain][id]))
        function(__atomic_load_n(&callback_user, __ATOMIC_RELAXED), domain, id,
                 data);
}

// arguments: of a copy or a set, else only their place is right.
static void notify_call(uint32_t domain, uint32_t id, int32_t site,
                        const char *name, uint32_t number, const int *result)
{
    const uint64_t arguments[3] = { 0x7100000 + number, 0x7200000 + number,
                                    0x7300000 + number };
    call_data data = { 0 };
    data.parameters = arguments;
    data.site = site;
    data.name = name;
    data.result = result;
    data.correlation = number;
    data.context_id = 1;
    notify(domain, id, &data);
}

// Numbers of contexts are not used again, as their handles are.
static uint32_t context_numbers[64], last_context = 100;

static uint32_t context_number(const void *context)
{
    const uintptr_t handle = (uintptr_t)context % 64;
    uint32_t *const at = &context_numbers[handle], none = 0;
    const uint32_t next =
        handle < 2 ? 1 : __atomic_add_fetch(&last_context, 1, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(at, &none, next, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static uint32_t context_devices[64]; // as the driver's functions said last

static uint32_t context_device(const void *context)
{
    return __atomic_load_n(&context_devices[(uintptr_t)context % 64],
                           __ATOMIC_RELAXED);
}

static uint32_t context_of(const double_op *op)
{
    return op->context ? context_number(op->context) : 1 + op->device;
}

static void notify_context(const double_op *op)
{
    const struct {
        void *context, *handle;
        const void *more;
    } data = { op->context, NULL, NULL };
    notify(3, 2, &data);
    __atomic_store_n(&context_numbers[(uintptr_t)op->context % 64],
                     __atomic_add_fetch(&last_context, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
}

// Loaded, or about to go.
static void notify_module(const double_op *op)
{
    const bool goes = op->what == DOUBLE_UNLOAD;
    const struct {
        uint32_t id;
        size_t size;
        const void *bytes;
    } module = { op->event, op->bytes, op->parameters };
    const struct {
        void *context, *handle;
        const void *more;
    } data = { op->context ? op->context : (void *)1, NULL, &module };
    notify(3, goes ? 7 : 6, &data);
}

static void notify_node(uint32_t id, uint32_t node, uint64_t original)
{
    const struct {
        void *graph, *original_graph, *node, *original;
        int32_t type;
        void *dependency, *executable;
    } graph = {
        NULL, NULL, (void *)(uintptr_t)node, (void *)(uintptr_t)original, 0,
        NULL, NULL
    };
    const struct {
        void *context, *handle;
        const void *more;
    } data = { NULL, NULL, &graph };
    notify(3, id, &data);
}

/* ==== 5. Records ========================================================= */

static uint32_t stream_number(const double_op *op)
{
    return op->stream ? 13 + op->stream : 7;
}

static void report_facts(const double_op *op)
{
    static uint32_t contexts_known[8]; // the last of each device
    double_device d = { 0 };
    d.kind = 8;
    d.bandwidth = 4800000000;
    d.memory = UINT64_C(150754820096);
    d.processors = 132;
    d.clock = 1980000;
    d.major = 9;
    d.id = op->device;
    d.name = "NVIDIA Double";
    const double_context c = { .kind = 9,
                               .context = context_of(op),
                               .device = op->device,
                               .api = 1,
                               .null_stream = 7 };
    const double_stream s = { .kind = 37,
                              .context = context_of(op),
                              .stream = stream_number(op),
                              .priority = op->stream == 2 ? UINT32_MAX : 0,
                              .flags = op->stream == 0   ? 3
                                       : op->stream == 2 ? 2
                                                         : 1 };
    if (!devices_known[op->device % 8]++) record(&d, sizeof d, 0, 0);
    if (contexts_known[op->device % 8] != c.context) {
        contexts_known[op->device % 8] = c.context;
        memset(streams_known, 0, sizeof streams_known);
        record(&c, sizeof c, 0, 0);
    }
    if (!streams_known[op->stream % 16]++) record(&s, sizeof s, 0, 0);
}

// When an operation runs on its stream.
static void run(const double_op *op, uint64_t *start, uint64_t *end)
{
    uint64_t *const free_at = &stream_free[op->stream % 16];
    const uint64_t time = now();
    // Another clock, as after a restart of the session.
    if (*free_at > time + 3600000000000u || *free_at < time) *free_at = time;
    *start = *free_at - op->early;
    *end = *start + op->ns;
    *free_at = *end;
}

static void kernel(const double_op *op, uint32_t number, uint64_t node)
{
    double_kernel k = { 0 };
    if (one_more("lose_kernels")) return;
    run(op, &k.start, &k.end);
    k.kind = 10;
    k.registers = 32;
    k.completed = k.end;
    k.device = op->device;
    k.context = context_of(op);
    k.stream = stream_number(op);
    for (int i = 0; i < 3; i++)
        k.grid[i] = k.block[i] = 1;
    k.grid[0] = op->grid ? (int32_t)op->grid : 1;
    k.block[0] = 128;
    k.static_shared = 1024;
    k.dynamic_shared = 2048;
    k.correlation = number;
    k.name = op->name ? op->name : "kernel";
    k.cluster[0] = k.cluster[1] = k.cluster[2] = node ? 2 : 0;
    if (get("latency")) {
        k.queued = k.start - 3000;
        k.submitted = k.start - 1000;
    }
    k.graph_node = node;
    k.graph = node ? 5 : 0;
    const uint64_t end = k.end;
    if (one_more("zero_times")) k.start = k.end = 0;
    if (one_more("reverse_times")) k.end = k.start - 10;
    if (one_more("far_times")) k.start = k.end += 5 * UINT64_C(3600000000000);
    if (get("wrong_layout")) { // 16 bytes more than expected in front
        uint8_t other[sizeof k];
        memcpy(other, &k, 16);
        memset(other + 16, 0x11, 16);
        memcpy(other + 32, (const uint8_t *)&k + 16, sizeof k - 32);
        record(other, sizeof other, 0, 0);
        return;
    }
    record(&k, sizeof k, end, offsetof(double_kernel, end));
}

static void copy(const double_op *op, uint32_t number)
{
    double_copy c = { 0 };
    run(op, &c.start, &c.end);
    c.kind = 1;
    c.type = 1;
    c.from = 2;
    c.to = 3;
    c.bytes = op->bytes;
    c.device = op->device;
    c.context = context_of(op);
    c.stream = stream_number(op);
    c.correlation = number;
    record(&c, sizeof c, c.end, offsetof(double_copy, end));
}

static void peer_copy(const double_op *op, uint32_t number)
{
    double_peer_copy c = { 0 };
    run(op, &c.start, &c.end);
    c.kind = 22;
    c.type = 10;
    c.from = c.to = 3;
    c.bytes = op->bytes;
    c.device = op->device;
    c.context = context_of(op);
    c.stream = stream_number(op);
    c.to_device = 1;
    c.correlation = number;
    record(&c, sizeof c, c.end, offsetof(double_peer_copy, end));
}

static void set(const double_op *op, uint32_t number)
{
    double_memset m = { 0 };
    run(op, &m.start, &m.end);
    m.kind = 2;
    m.value = 255;
    m.bytes = op->bytes;
    m.device = op->device;
    m.context = context_of(op);
    m.stream = stream_number(op);
    m.correlation = number;
    record(&m, sizeof m, m.end, offsetof(double_memset, end));
}

static void memory(const double_op *op, uint32_t number)
{
    double_memory m = { 0 };
    const bool pinned = op->what == DOUBLE_MALLOC_HOST;
    m.kind = 49;
    m.type = op->what == DOUBLE_FREE ? 2 : 1;
    m.memory = pinned ? 2 : 3;
    m.correlation = number;
    m.address = 0x7000000 + op->event;
    m.bytes = op->bytes;
    m.time = now();
    m.device = pinned ? UINT32_MAX : op->device;
    m.context = pinned ? UINT32_MAX : context_of(op);
    m.pool = op->sync;
    record(&m, sizeof m, 0, 0);
}

static void event(const double_op *op, uint32_t number)
{
    double_event e = { 0 };
    e.kind = 36;
    e.correlation = number;
    e.context = context_of(op);
    e.stream = stream_number(op);
    e.event = op->event;
    e.sync = op->sync;
    record(&e, sizeof e, 0, 0);
}

static void synchronised(const double_op *op, uint32_t number, uint32_t type)
{
    double_sync s = { 0 };
    s.kind = 38;
    s.type = type;
    s.start = now();
    s.end = s.start + op->ns;
    s.correlation = number;
    s.context = context_of(op);
    s.stream = type == 4 || type == 1 ? UINT32_MAX : stream_number(op);
    s.event = type <= 2 ? op->event : UINT32_MAX;
    s.sync = type <= 2 ? op->sync : UINT32_MAX;
    record(&s, sizeof s, 0, 0);
}

static void graph(const double_op *op, uint32_t number)
{
    if (!is_on(&kinds_on[51])) {
        kernel(op, number, op->event);
        return;
    }
    double_graph g = { 0 };
    run(op, &g.start, &g.end);
    g.kind = 51;
    g.correlation = number;
    g.device = op->device;
    g.context = context_of(op);
    g.stream = stream_number(op);
    g.graph = 5;
    record(&g, sizeof g, g.end, offsetof(double_graph, end));
}

static void others(const double_op *op)
{
    double_pool p = { 0 };
    double_overhead o = { 0 };
    p.kind = 50;
    p.type = 1;
    p.pool_type = 1;
    p.address = op->sync;
    p.size = op->bytes;
    p.time = now();
    if (op->what == DOUBLE_POOL) record(&p, sizeof p, 0, 0);
    o.kind = 17;
    o.type = 6 << 16;
    o.object = 2;
    o.ids[1] = (uint32_t)syscall(SYS_gettid);
    o.start = now();
    o.end = o.start + op->ns;
    if (op->what == DOUBLE_OVERHEAD) record(&o, sizeof o, 0, 0);
}

/* ==== 6. What a program does ============================================= */

static void records_of(const double_op *op, uint32_t number)
{
    const bool late = get("late_facts");
    pthread_mutex_lock(&lock);
    if (!late) report_facts(op);
    if (op->result == 0) switch (op->what) {
        case DOUBLE_LAUNCH:
        case DOUBLE_INNER_LAUNCH:
        case DOUBLE_DRIVER_LAUNCH: kernel(op, number, 0); break;
        case DOUBLE_COPY:
        case DOUBLE_COPY_ROWS:
        case DOUBLE_TO_SYMBOL: copy(op, number); break;
        case DOUBLE_PEER_COPY: peer_copy(op, number); break;
        case DOUBLE_SET: set(op, number); break;
        case DOUBLE_MALLOC:
        case DOUBLE_MALLOC_HOST:
        case DOUBLE_FREE: memory(op, number); break;
        case DOUBLE_EVENT_RECORD: event(op, number); break;
        case DOUBLE_STREAM_WAIT: synchronised(op, number, 2); break;
        case DOUBLE_EVENT_SYNC: synchronised(op, number, 1); break;
        case DOUBLE_STREAM_SYNC: synchronised(op, number, 3); break;
        case DOUBLE_DEVICE_SYNC:
            if (get("version") == 130000) break; // its fault
            synchronised(op, number, 4);
            break;
        case DOUBLE_GRAPH:
            for (uint32_t i = 0; i < (op->nodes ? op->nodes : 1); i++)
                graph(op, number);
            break;
        case DOUBLE_POOL:
        case DOUBLE_OVERHEAD: others(op); break;
        default: break;
        }
    if (late) {
        deliver(false); // so that they stand behind the operation
        report_facts(op);
    }
    pthread_mutex_unlock(&lock);
}

// A function of the driver that a program calls itself.
static int call_driver(double_op op)
{
    const uint32_t number =
        __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED);
    const uint32_t id = driver_id(op.function);
    if (op.context)
        __atomic_store_n(&context_devices[(uintptr_t)op.context % 64],
                         op.device, __ATOMIC_RELAXED);
    call_data data = { .name = op.function,
                       .parameters = op.parameters,
                       .symbol = op.name,
                       .context = op.context ? op.context : (void *)1,
                       .context_id = context_of(&op),
                       .correlation = number };
    if (id) notify(1, id, &data);
    op.result = op.work ? op.work(op.user) : 0;
    if (op.what == DOUBLE_QUIET && op.nodes) notify_node(13, op.event, 0);
    records_of(&op, number);
    data.site = 1;
    data.result = &op.result;
    if (id) notify(1, id, &data);
    return op.result;
}

// What the runtime's function calls in turn, "" if nothing.
static const char *nested_call(double_what what)
{
    switch (what) {
    case DOUBLE_LAUNCH:
    case DOUBLE_INNER_LAUNCH: return DRIVER "LaunchKernel";
    case DOUBLE_COPY:
    case DOUBLE_TO_SYMBOL: return DRIVER "MemcpyHtoDAsync_v2";
    default: return "";
    }
}

// Tells of it; whether the program is to see the number of that one or of its
// own is what nobody has written down.
static void call_runtime(const double_op *op, uint32_t number)
{
    const char *const nested = nested_call(op->what);
    const uint64_t numbers = get("nested");
    const uint32_t id = *nested ? driver_id(nested) : 0;
    const uint32_t inner =
        numbers ? __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED)
                : number;
    if (id) notify_call(1, id, 0, nested, inner, NULL);
    if (op->what == DOUBLE_CAPTURE) notify_node(13, op->event, 0);
    if (op->what == DOUBLE_CLONE)
        notify_node(20, (uint32_t)op->bytes, op->event);
    records_of(op, id && numbers == 2 ? inner : number);
    if (id) notify_call(1, id, 1, nested, inner, &op->result);
}

static int once(const double_op *op)
{
    if (op->what == DOUBLE_MODULE || op->what == DOUBLE_UNLOAD) {
        notify_module(op);
        return 0;
    }
    if (op->what == DOUBLE_CONTEXT) {
        notify_context(op);
        return 0;
    }
    const uint32_t domain = op->what == DOUBLE_DRIVER_LAUNCH ? 1 : 2;
    const uint32_t id = (uint32_t)op->what + 1;
    if (op->what == DOUBLE_FATAL) {
        const struct {
            int32_t result;
            const char *text;
        } notice = { 8, "out of memory" };
        notify(6, 1, &notice);
        JOIN(DOUBLE_PREFIX, Finalize)(); // as the real one does
        return 0;
    }
    if (op->what == DOUBLE_OVERHEAD) {
        records_of(op, 0);
        return 0;
    }
    char name[64];
    snprintf(name, sizeof name, "%s", functions[id]);
    char *const version = strstr(name, "_v");
    if (version) *version = 0;
    const uint32_t number =
        __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED);
    if (one_more("silent_calls")) {
        records_of(op, number);
        return op->result;
    }
    notify_call(domain, id, 0, name, number, NULL);
    call_runtime(op, number);
    notify_call(domain, id, 1, name, number, &op->result);
    return op->result;
}

DOUBLE_API int double_run(const double_op *op)
{
    int result = 0;
    for (uint32_t i = 0; i < (op->repeat ? op->repeat : 1); i++)
        result = op->function ? call_driver(*op) : once(op);
    return result;
}
