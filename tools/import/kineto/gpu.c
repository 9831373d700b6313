/*
    gpu.c - rows of GPU operations
*/
#include "tools/import/kineto/kineto.h"

/* ---- Where -------------------------------------------------------------- */

// Returns an integer argument of the row, such as its stream; IMPORT_NONE:
// none.
static int64_t argument(const kineto *k, const char *key, kineto_field field)
{
    int64_t number;
    if (kineto_int(kineto_find(k->row, key), &number)) return number;
    if (field < KINETO_FIELDS && kineto_int(k->row->fields[field], &number))
        return number;
    return IMPORT_NONE;
}

// Finds or adds a stream; its name and flags are written at the end.
static kineto_stream *find_stream(kineto *k, int64_t device, int64_t context,
                                  int64_t stream)
{
    const uint32_t track = import_stream(k->job, device, context, stream);
    int64_t *const index = import_map_put(&k->stream_of, track, NULL);
    if (!index) return NULL;
    if (*index) return &k->streams[*index - 1];
    if (!cli_grow(&k->streams, &k->stream_room, k->stream_count + 1,
                  sizeof *k->streams))
        return NULL;
    kineto_stream *const s = &k->streams[k->stream_count++];
    *index = (int64_t)k->stream_count; // index + 1
    s->device = device;
    s->context = context;
    s->stream = stream;
    s->track = track;
    s->flags = 0;
    return s;
}

// Returns the track of the stream with this number in the row's context.
static uint32_t stream_track(kineto *k, int64_t stream)
{
    const int64_t device = argument(k, "device", KINETO_PID);
    const int64_t context = argument(k, "context", KINETO_FIELDS);
    if (device == IMPORT_NONE || device < 0 || stream < 0) return 0;
    const kineto_stream *const s = find_stream(k, device, context, stream);
    return s ? s->track : 0;
}

// Returns the track of the row; 0: the row has no stream.
static uint32_t own_stream(kineto *k)
{
    const int64_t stream = argument(k, "stream", KINETO_TID);
    int64_t priority;
    const uint32_t track = stream_track(k, stream);
    if (!track || !kineto_int(kineto_find(k->row, "priority"), &priority) ||
        priority < -32768 || priority > 32767)
        return track;
    kineto_stream *const s =
        find_stream(k, argument(k, "device", KINETO_PID),
                    argument(k, "context", KINETO_FIELDS), stream);
    if (s) s->flags = (uint64_t)(priority + 32768) << 16;
    return track;
}

static uint32_t context_track(kineto *k)
{
    const int64_t device = argument(k, "device", KINETO_PID);
    const int64_t context = argument(k, "context", KINETO_FIELDS);
    if (device == IMPORT_NONE || device < 0) return 0;
    return context == IMPORT_NONE ? import_device(k->job, device)
                                  : import_context(k->job, device, context);
}

static uint64_t positive(const kineto *k, const char *key)
{
    const int64_t number = argument(k, key, KINETO_FIELDS);
    return number > 0 ? (uint64_t)number : 0;
}

/* ---- Collectives -------------------------------------------------------- */

// Returns the rank after the arrow + 1: "nccl:send 0->3", "nccl:recv 0<-3".
static uint32_t peer_in(kineto_value name)
{
    for (size_t i = 0; i + 2 < name.size; i++) {
        int64_t rank;
        if (memcmp(name.text + i, "->", 2) && memcmp(name.text + i, "<-", 2))
            continue;
        const kineto_value number = { KINETO_TEXT, name.text + i + 2,
                                      name.size - i - 2 };
        if (kineto_int(number, &rank) && rank >= 0 && rank < INT32_MAX)
            return (uint32_t)rank + 1;
    }
    return 0;
}

static uint64_t product(uint64_t count, uint32_t element)
{
    uint64_t size;
    return __builtin_mul_overflow(count, import_element_bytes(element), &size)
               ? 0
               : size;
}

// Sets the size from the first input of an annotation such as
// "nccl:all_reduce".
static void annotated_size(const kineto *k, import_facts *facts)
{
    const kineto_value types = kineto_find(k->row, "Input type");
    const kineto_value dims = kineto_find(k->row, "Input Dims");
    int64_t sides[16];
    if (types.type != KINETO_NESTED || types.size < 4 ||
        dims.type != KINETO_NESTED || dims.size < 4)
        return;
    const char *const quote = memchr(types.text + 2, '"', types.size - 2);
    if (!quote || types.text[1] != '"') return;
    facts->type =
        ts_collective_element(types.text + 2, (size_t)(quote - types.text) - 2);
    // "[[1,25136]]", nested deeper if the input is a list of tensors.
    const char *from = dims.text;
    while (from + 1 < dims.text + dims.size && from[1] == '[')
        from++;
    const kineto_value first = { KINETO_NESTED, from,
                                 dims.size - (size_t)(from - dims.text) };
    const size_t count = kineto_list(first, sides, 16);
    uint64_t elements = count > 0;
    for (size_t i = 0; i < count; i++)
        if (sides[i] < 0 ||
            __builtin_mul_overflow(elements, (uint64_t)sides[i], &elements))
            return;
    facts->size = product(elements, facts->type);
}

static uint64_t communicator(const kineto *k)
{
    const kineto_value name = kineto_find(k->row, "Process Group Name");
    const kineto_value ranks = kineto_find(k->row, "Process Group Ranks");
    char both[1024];
    if (name.type == KINETO_NONE && ranks.type == KINETO_NONE) return 0;
    // Groups with the same name but other ranks are distinct.
    const int size = snprintf(both, sizeof both, "%.*s|%.*s",
                              name.size > 400 ? 400 : (int)name.size,
                              name.type == KINETO_NONE ? "" : name.text,
                              ranks.size > 600 ? 600 : (int)ranks.size,
                              ranks.type == KINETO_NONE ? "" : ranks.text);
    return import_communicator(both, (size_t)size);
}

static void peer(const kineto *k, import_facts *facts, const char *kind)
{
    const char *const key = !strcmp(kind, "Send")   ? "Dst Rank"
                            : !strcmp(kind, "Recv") ? "Src Rank"
                                                    : NULL;
    const int64_t rank = key ? argument(k, key, KINETO_FIELDS) : IMPORT_NONE;
    if (rank >= 0 && rank < INT32_MAX) facts->peer = (uint32_t)rank + 1;
}

bool kineto_facts(kineto *k, import_facts *facts)
{
    const kineto_value own = k->row->fields[KINETO_NAME];
    kineto_value name = kineto_find(k->row, "Collective name");
    const bool annotated = own.type == KINETO_TEXT && own.size > 5 &&
                           !memcmp(own.text, "nccl:", 5);
    if (name.type != KINETO_TEXT && annotated) name = own;
    memset(facts, 0, sizeof *facts);
    if (name.type != KINETO_TEXT) return false;
    const char *const kind = ts_collective_kind(name.text, name.size);
    if (!kind) return false;
    facts->name = kineto_number_of(k, kind, strlen(kind));
    if (name.text == own.text) {
        facts->peer = peer_in(own);
        annotated_size(k, facts);
        return true;
    }
    const kineto_value type = kineto_find(k->row, "dtype");
    const uint64_t in = positive(k, "In msg nelems");
    const uint64_t out = positive(k, "Out msg nelems");
    if (type.type == KINETO_TEXT)
        facts->type = ts_collective_element(type.text, type.size);
    facts->size = product(in > out ? in : out, facts->type);
    facts->ranks = (uint32_t)positive(k, "Group size");
    facts->sequence = positive(k, "Seq");
    facts->communicator = communicator(k);
    peer(k, facts, kind);
    return true;
}

/* ---- Kernels, copies, sets ---------------------------------------------- */

static void triple(kineto_value value, uint32_t *sides)
{
    int64_t numbers[3];
    const size_t count = kineto_list(value, numbers, 3);
    for (size_t i = 0; i < count; i++)
        sides[i] = numbers[i] > 0 && numbers[i] <= UINT32_MAX
                       ? (uint32_t)numbers[i]
                       : 0;
}

static uint32_t small(const kineto *k, const char *key)
{
    const uint64_t number = positive(k, key);
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

// The source has only the total of shared memory; it is stored as dynamic.
static uint32_t launch(kineto *k, kineto_value name)
{
    ts_launch_entry entry = { 0 };
    entry.name = import_name(k->job, name.text, name.size);
    triple(kineto_find(k->row, "grid"), entry.grid);
    triple(kineto_find(k->row, "block"), entry.block);
    triple(kineto_find(k->row, "cluster"), entry.cluster);
    entry.registers = small(k, "registers per thread");
    entry.dynamic_shared = small(k, "shared memory");
    return import_launch(k->job, &entry);
}

static void take_kernel(kineto *k, import_operation *o)
{
    static const char *const known[] = { "device",
                                         "context",
                                         "stream",
                                         "correlation",
                                         "grid",
                                         "block",
                                         "cluster",
                                         "shared memory",
                                         "registers per thread",
                                         "queued",
                                         "priority",
                                         "graph id",
                                         "graph node id",
                                         "Collective name",
                                         "dtype",
                                         "In msg nelems",
                                         "Out msg nelems",
                                         "Group size",
                                         "Seq",
                                         "Process Group Name",
                                         "Process Group Ranks",
                                         "Dst Rank",
                                         "Src Rank",
                                         NULL };
    const kineto_value name = k->row->fields[KINETO_NAME];
    import_facts facts;
    int64_t queued;
    o->launch = launch(k, name);
    kineto_no_place_but(k, known);
    const kineto_value when = kineto_find(k->row, "queued");
    if (when.type == KINETO_NUMBER &&
        kineto_decimal(when.text, when.size, 3, &queued) && queued > 0)
        o->queued_ns = queued;
    const bool has_facts = kineto_facts(k, &facts);
    if (!has_facts && !ts_collective_is_kernel(name.text, name.size)) {
        o->id = positive(k, "graph node id");
        o->graph = small(k, "graph id");
        import_gpu(k->job, o);
        return;
    }
    // A kernel that sends and receives may be part of any collective; an
    // annotation around its call has the kind, if there is one.
    const char *const kind = ts_collective_kind(name.text, name.size);
    const char *const open = memchr(name.text, '(', name.size);
    const uint32_t number =
        kind ? kineto_number_of(k, kind, strlen(kind))
             : import_name(k->job, name.text,
                           open ? (size_t)(open - name.text) : name.size);
    o->name = number;
    if (!has_facts && kind && strcmp(kind, "SendRecv")) facts.name = number;
    import_gpu_collective(k->job, o, &facts);
}

static bool holds(kineto_value text, const char *word)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, word, size)) return true;
    return false;
}

// "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice".
static uint8_t copy_type(kineto_value name)
{
    static const struct {
        const char *mark;
        uint8_t type;
    } marks[] = {
        { "HtoD", 1 },       { "HtoA", 1 },           { "HostToDevice", 1 },
        { "DtoH", 2 },       { "AtoH", 2 },           { "DeviceToHost", 2 },
        { "DtoD", 3 },       { "DtoA", 3 },           { "AtoD", 3 },
        { "AtoA", 3 },       { "DeviceToDevice", 3 }, { "HtoH", 4 },
        { "HostToHost", 4 }, { "PtoP", 5 },           { "PeerToPeer", 5 },
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (holds(name, marks[i].mark)) return marks[i].type;
    return 0;
}

static uint8_t memory_kind(const char *text, size_t size)
{
    static const char *const kinds[] = { "Pageable", "Pinned", "Device",
                                         "Managed", "Array" };
    while (size && *text == ' ')
        text++, size--;
    for (uint8_t i = 0; i < 5; i++)
        if (size >= strlen(kinds[i]) &&
            !memcmp(text, kinds[i], strlen(kinds[i])))
            return (uint8_t)(i + 1);
    return 0;
}

// Converts "(Pageable -> Device)" to the column `memory`.
static uint8_t memory_kinds(kineto_value name)
{
    const char *const open = memchr(name.text, '(', name.size);
    if (!open) return 0;
    const char *const end = name.text + name.size;
    for (const char *at = open; at + 1 < end; at++)
        if (at[0] == '-' && at[1] == '>')
            return (uint8_t)(memory_kind(open + 1, (size_t)(at - open) - 1) |
                             memory_kind(at + 2, (size_t)(end - at) - 2) << 4);
    return 0;
}

static void take_copy(kineto *k, import_operation *o)
{
    static const char *const known[] = { "device",      "context", "stream",
                                         "correlation", "bytes",   "toDevice",
                                         "fromDevice",  NULL };
    const kineto_value name = k->row->fields[KINETO_NAME];
    o->size = positive(k, "bytes");
    if (o->kind == TS_EVENT_MEMCPY) {
        const int64_t own = argument(k, "device", KINETO_PID);
        const int64_t to = argument(k, "toDevice", KINETO_FIELDS);
        const int64_t from = argument(k, "fromDevice", KINETO_FIELDS);
        const int64_t other = to >= 0 && to != own ? to : from;
        o->type = copy_type(name);
        o->memory = memory_kinds(name);
        if (other >= 0 && other != own) o->peer = import_device(k->job, other);
    }
    kineto_no_place_but(k, known);
    import_gpu(k->job, o);
}

void kineto_take_gpu(kineto *k, ts_event_kind kind)
{
    kineto_time time;
    import_operation o = { .kind = (uint8_t)kind };
    if (!kineto_time_of(k, &time, true)) return;
    o.start_ns = time.start_ns;
    o.duration_ns = time.duration_ns;
    o.track = own_stream(k);
    o.correlation = positive(k, "correlation");
    if (!o.track) {
        import_bad(k->job, "unknown_stream", time.start_ns);
        return;
    }
    if (k->row->fields[KINETO_NAME].type != KINETO_TEXT) {
        import_bad(k->job, "no_name", time.start_ns);
        return;
    }
    if (kind == TS_EVENT_KERNEL)
        take_kernel(k, &o);
    else
        take_copy(k, &o);
}

/* ---- Waiting ------------------------------------------------------------ */

static ts_event_kind sync_kind(kineto_value name)
{
    if (kineto_is(name, "Stream Wait Event")) return TS_EVENT_EVENT_WAIT;
    if (kineto_is(name, "Event Sync")) return TS_EVENT_EVENT_SYNC;
    if (kineto_is(name, "Stream Sync")) return TS_EVENT_STREAM_SYNC;
    if (kineto_is(name, "Context Sync")) return TS_EVENT_DEVICE_SYNC;
    return TS_EVENT_HOST_FUNCTION; // none of these
}

void kineto_take_sync(kineto *k)
{
    static const char *const known[] = { "device",
                                         "context",
                                         "stream",
                                         "correlation",
                                         "cuda_sync_kind",
                                         "wait_on_stream",
                                         "wait_on_cuda_event_id",
                                         "wait_on_cuda_event_record_corr_id",
                                         NULL };
    kineto_time time;
    import_operation o = { 0 };
    kineto_value name = kineto_find(k->row, "cuda_sync_kind");
    if (name.type != KINETO_TEXT) name = k->row->fields[KINETO_NAME];
    if (!kineto_time_of(k, &time, true)) return;
    o.kind = (uint8_t)sync_kind(name);
    if (o.kind == TS_EVENT_HOST_FUNCTION) {
        import_bad(k->job, "unknown_sync", time.start_ns);
        return;
    }
    o.start_ns = time.start_ns;
    o.duration_ns = time.duration_ns;
    o.correlation = positive(k, "correlation");
    const bool on_stream =
        o.kind == TS_EVENT_EVENT_WAIT || o.kind == TS_EVENT_STREAM_SYNC;
    o.track = on_stream ? own_stream(k) : 0;
    if (!o.track) o.track = context_track(k);
    if (!o.track) {
        import_bad(k->job, "unknown_stream", time.start_ns);
        return;
    }
    const uint64_t record = positive(k, "wait_on_cuda_event_record_corr_id");
    const int64_t from = argument(k, "wait_on_stream", KINETO_FIELDS);
    if (o.kind == TS_EVENT_EVENT_WAIT) {
        o.record = record;
        o.is_call_time = true;
    }
    if (o.kind != TS_EVENT_DEVICE_SYNC)
        o.id = positive(k, "wait_on_cuda_event_id");
    if (o.kind == TS_EVENT_STREAM_SYNC && !o.id) o.id = positive(k, "stream");
    const uint32_t stream = from >= 0 ? stream_track(k, from) : 0;
    if (stream && record)
        import_event_record(k->job, stream, o.id, record);
    else if (stream && o.kind == TS_EVENT_EVENT_WAIT && o.id && o.correlation)
        import_event_record_before(k->job, stream, o.id, o.correlation);
    kineto_no_place_but(k, known);
    import_gpu(k->job, &o);
}

// Imports an event record that has a device time.
void kineto_take_record(kineto *k)
{
    static const char *const known[] = { "device",   "context",
                                         "stream",   "correlation",
                                         "event_id", "cuda_event_id",
                                         NULL };
    kineto_time time;
    import_operation o = { .kind = TS_EVENT_EVENT_RECORD };
    if (!kineto_time_of(k, &time, true)) return;
    o.start_ns = time.start_ns;
    o.duration_ns = time.duration_ns;
    o.track = own_stream(k);
    o.correlation = positive(k, "correlation");
    o.id = positive(k, "event_id");
    if (!o.id) o.id = positive(k, "cuda_event_id");
    kineto_no_place_but(k, known);
    if (o.track)
        import_gpu(k->job, &o);
    else
        import_bad(k->job, "unknown_stream", time.start_ns);
}
