/*
    rpd.c - RPD files of ROCm (rocmProfileData): SQLite, often gzipped

    Operations run on queues of a GPU. Rows of rocpd_api_ops link a call to each
    operation that it launched, so the id of the call is the correlation id; all
    operations of a graph launch share it. Markers of the program (roctx,
    autograd) are rows of rocpd_api named "UserMarker", with their text as
    arguments.

    Source: the schema and the tracers of ROCm/rocmProfileData. Grid sizes are
    in blocks, except for hipExtModuleLaunchKernel and its older name, where
    they are in threads.
*/
#include "tools/import/map.h"
#include "tools/import/sqlite.h"

typedef struct launch { // a call's row in rocpd_kernelapi
    ts_launch_entry entry;
    int64_t name; // id in rocpd_string
} launch;

typedef struct copy { // a call's row in rocpd_copyapi
    uint64_t size, source, address;
    int64_t kind, from, to;
    bool pinned;
} copy;

typedef struct zone { // the zone of a marker
    int64_t start_ns;
    uint32_t thread, site;
} zone;

typedef struct list { // an array of elements of `width` bytes, numbered from 1
    void *items;
    size_t count, room, width;
} list;

typedef struct rpd {
    import_job *job;
    import_db *db;
    import_strings *strings;
    bool out_of_memory;
    cli_map calls;   // by operation: its call
    cli_map kernels; // by call: index of a launch
    cli_map copies;  // by call: index of a copy
    cli_map marks;   // by call: index of a zone; 0: of autograd, not read yet
    list launches, copied, zones;
} rpd;

// Adds an element of zeros; *index gets its number. NULL: no memory.
static void *add(rpd *r, list *l, int64_t *index)
{
    if (l->count == l->room) {
        const size_t room = l->room * 2 + 64;
        void *const more = realloc(l->items, room * l->width);
        if (more) l->items = more;
        if (more) l->room = room;
    }
    r->out_of_memory |= !index || l->count == l->room;
    if (r->out_of_memory) return NULL;
    void *const item = (char *)l->items + l->count++ * l->width;
    *index = (int64_t)l->count;
    return memset(item, 0, l->width);
}

static void *find(const list *l, const cli_map *map, int64_t key)
{
    const int64_t *const index = import_map_get(map, key);
    return index && *index ? (char *)l->items + (size_t)(*index - 1) * l->width
                           : NULL;
}

// Parses an address such as "0x7f59c1260000"; 0: none.
static uint64_t address_of(import_rows *rows, size_t column)
{
    size_t size;
    const char *const text = import_rows_text(rows, column, &size);
    uint64_t value = 0;
    if (!text || size < 3 || size > 18 || text[0] != '0' || text[1] != 'x')
        return 0;
    for (size_t i = 2; i < size; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *const digit = memchr(digits, text[i], 16);
        if (!digit) return 0;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    return value;
}

/* ---- What the calls were given ------------------------------------------ */

static void read_links(rpd *r)
{
    enum { CALL, OPERATION, COLUMNS };
    static const char *const columns[COLUMNS] = { "api_id", "op_id" };
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_api_ops", columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        bool fresh;
        if (!import_rows_check(&rows, 3, IMPORT_NONE)) continue;
        int64_t *const call =
            import_map_put(&r->calls, rows.values[OPERATION], &fresh);
        r->out_of_memory |= !call;
        if (!call) continue;
        if (!fresh) import_flaw(r->job, "duplicate_correlation");
        if (fresh) *call = rows.values[CALL];
    }
}

static void read_launches(rpd *r)
{
    enum {
        CALL,
        NAME,
        GRID,
        BLOCK = GRID + 3,
        GROUP = BLOCK + 3,
        PRIVATE,
        COLUMNS
    };
    static const char *const columns[COLUMNS] = { "api_ptr_id",
                                                  "kernelName_id",
                                                  "gridX",
                                                  "gridY",
                                                  "gridZ",
                                                  "workgroupX",
                                                  "workgroupY",
                                                  "workgroupZ",
                                                  "groupSegmentSize",
                                                  "privateSegmentSize" };
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_kernelapi", columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        if (!import_rows_check(&rows, 1, IMPORT_NONE)) continue;
        launch *const l =
            add(r, &r->launches,
                import_map_put(&r->kernels, rows.values[CALL], NULL));
        if (!l) continue;
        for (size_t i = 0; i < 3; i++) {
            l->entry.grid[i] = import_rows_u32(&rows, GRID + i);
            l->entry.block[i] = import_rows_u32(&rows, BLOCK + i);
        }
        l->entry.dynamic_shared = import_rows_u32(&rows, GROUP);
        l->entry.local = import_rows_u32(&rows, PRIVATE);
        l->name = rows.values[NAME];
    }
}

static void read_copies(rpd *r)
{
    enum { CALL, SIZE, KIND, TO, FROM, PINNED, ADDRESS, SOURCE, COLUMNS };
    static const char *const columns[COLUMNS] = { "api_ptr_id", "size",
                                                  "kind",       "dstDevice",
                                                  "srcDevice",  "pinned",
                                                  "dst",        "src" };
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_copyapi", columns, COLUMNS,
                     1u << ADDRESS | 1u << SOURCE);
    while (import_rows_next(&rows)) {
        if (!import_rows_check(&rows, 1, IMPORT_NONE)) continue;
        copy *const c = add(
            r, &r->copied, import_map_put(&r->copies, rows.values[CALL], NULL));
        if (!c) continue;
        c->size = import_rows_u64(&rows, SIZE);
        c->address = address_of(&rows, ADDRESS);
        c->source = address_of(&rows, SOURCE);
        c->kind = rows.values[KIND];
        c->from = rows.values[FROM];
        c->to = rows.values[TO];
        c->pinned = rows.values[PINNED] == 1;
    }
}

/* ---- Operations --------------------------------------------------------- */

// Converts a hipMemcpyKind: host to host, host to device, device to host,
// device to device, default.
static uint8_t copy_type(ts_text name, int64_t kind)
{
    static const uint8_t ours[] = { 4, 1, 2, 3, 0 };
    if (cli_has(name, "HostToDevice")) return 1;
    if (cli_has(name, "DeviceToHost")) return 2;
    if (cli_has(name, "DeviceToDevice")) return 3;
    if (cli_has(name, "HostToHost")) return 4;
    return kind >= 0 && kind < 5 ? ours[kind] : 0;
}

static void take_copy(rpd *r, import_operation *op, int64_t gpu, ts_text type,
                      const copy *known)
{
    op->kind = TS_EVENT_MEMCPY;
    op->type = copy_type(type, known ? known->kind : -1);
    const uint8_t host = known && known->pinned ? 2 : 0;
    op->memory = (uint8_t)((op->type == 1 || op->type == 4 ? host : 3) |
                           (op->type == 2 || op->type == 4 ? host : 3) << 4);
    if (!op->type) op->memory = 0;
    if (known) {
        op->size = known->size;
        op->address = known->address;
        op->source = known->source;
    }
    // Both are 0 if the tracer did not record them.
    if (op->type != 3 || !known || known->from == known->to) return;
    const int64_t peer = known->from == gpu ? known->to : known->from;
    if (peer < 0 || peer == gpu) return;
    op->type = 5;
    op->peer = import_device(r->job, peer);
}

static void take_kernel(rpd *r, import_operation *op, int64_t description,
                        ts_text type, const launch *known)
{
    ts_launch_entry entry = { 0 };
    int64_t name = description;
    if (known && !import_strings_text(r->strings, name).size)
        name = known->name;
    // The configuration in a graph launch is not that of its kernels.
    if (known && known->name == name) entry = known->entry;
    const ts_text text = import_strings_text(r->strings, name);
    entry.name = text.size ? import_strings_name(r->strings, name)
                           : import_name(r->job, type.text, type.size);
    if (!text.size) import_flaw(r->job, "unknown_name");
    op->launch = import_launch(r->job, &entry);
    import_strings_kernel(r->strings, name, op);
}

static void read_operations(rpd *r)
{
    enum { ID, GPU, QUEUE, START, END, DESCRIPTION, TYPE, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"
    };
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_op", columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        import_operation op = { 0 };
        if (!import_rows_times(&rows, START, END, &op.start_ns,
                               &op.duration_ns) ||
            !import_rows_check(&rows, 1u << GPU | 1u << QUEUE, op.start_ns))
            continue;
        const int64_t *const call = import_map_get(&r->calls, v[ID]);
        const int64_t id = call ? *call : IMPORT_NONE;
        const ts_text type = import_strings_text(r->strings, v[TYPE]);
        op.track = import_stream(r->job, v[GPU], IMPORT_NONE, v[QUEUE]);
        op.correlation = call ? (uint64_t)id : 0;
        if (cli_has(type, "Copy"))
            take_copy(r, &op, v[GPU], type, find(&r->copied, &r->copies, id));
        else if (cli_has(type, "Fill") || cli_has(type, "Memset"))
            op.kind = TS_EVENT_MEMSET;
        else if (cli_has(type, "Barrier") || cli_has(type, "Marker"))
            op.kind =
                TS_EVENT_EVENT_RECORD; // a record of all earlier operations
        if (op.kind == TS_EVENT_EVENT_RECORD) op.id = (uint64_t)v[ID];
        if (op.kind)
            import_gpu(r->job, &op);
        else
            take_kernel(r, &op, v[DESCRIPTION], type,
                        find(&r->launches, &r->kernels, id));
    }
}

/* ---- Calls, markers ----------------------------------------------------- */

// Returns whether a name is a runtime function; other rows are work of the
// profiler.
static bool is_call(ts_text name)
{
    static const char *const starts[] = { "hip", "hsa", "cu", "roc" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (name.size > strlen(starts[i]) &&
            !memcmp(name.text, starts[i], strlen(starts[i])))
            return true;
    return false;
}

// Imports a marker: a zone, or a mark if it has no duration.
static void take_marker(rpd *r, int64_t id, int64_t args, uint32_t thread,
                        int64_t start_ns, int64_t ns)
{
    int64_t *const index = import_map_get(&r->marks, id)
                               ? import_map_put(&r->marks, id, NULL)
                               : NULL;
    const char *const category = index ? "autograd" : "roctx";
    const uint32_t name = import_strings_name(r->strings, args);
    const uint32_t site = import_site(
        r->job, name, import_name(r->job, category, strlen(category)));
    const ts_writer_value value = { TS_COLUMN_SITE, site };
    if (!ns && !index) {
        import_event(r->job, TS_EVENT_MARK, thread, start_ns, 0, &value, 1);
        return;
    }
    import_zone_at(r->job, thread, start_ns, ns, site, NULL);
    zone *const z = index ? add(r, &r->zones, index) : NULL;
    if (z) *z = (zone){ start_ns, thread, site };
}

// Converts a grid in threads to one in blocks.
static void count_blocks(rpd *r, int64_t id, ts_text name)
{
    launch *const l = find(&r->launches, &r->kernels, id);
    if (!l || !cli_has(name, "ModuleLaunchKernel") ||
        !(cli_has(name, "Ext") || cli_has(name, "Hcc")))
        return;
    for (size_t i = 0; i < 3; i++)
        if (l->entry.block[i])
            l->entry.grid[i] = (l->entry.grid[i] - 1) / l->entry.block[i] + 1;
}

static void take_call(rpd *r, uint32_t thread, int64_t id, int64_t start_ns,
                      int64_t ns, ts_text name, int64_t args, uint32_t number)
{
    static const char arguments[] = "rocpd_api: arguments of calls";
    if (import_strings_text(r->strings, args).size)
        import_unowned(r->job, arguments, sizeof arguments - 1);
    if (is_call(name))
        import_api_call(r->job, thread, start_ns, ns, number,
                        id == IMPORT_NONE ? 0 : (uint64_t)id, 0);
    else
        import_zone(r->job, thread, start_ns, ns, number,
                    import_name(r->job, "profiler", 8), NULL);
}

static void read_calls(rpd *r)
{
    enum { ID, PROCESS, THREAD, START, END, NAME, ARGS, COLUMNS };
    static const char *const columns[COLUMNS] = { "id",     "pid", "tid",
                                                  "start",  "end", "apiName_id",
                                                  "args_id" };
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_api", columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        if (!import_rows_times(&rows, START, END, &start_ns, &ns) ||
            !import_rows_check(&rows, 1u << THREAD, start_ns))
            continue;
        const uint32_t thread = import_thread(r->job, v[PROCESS], v[THREAD]);
        const ts_text name = import_strings_text(r->strings, v[NAME]);
        if (!name.size) import_flaw(r->job, "unknown_name");
        count_blocks(r, v[ID], name);
        if (name.size == 10 && !memcmp(name.text, "UserMarker", 10))
            take_marker(r, v[ID], v[ARGS], thread, start_ns, ns);
        else
            take_call(r, thread, v[ID], start_ns, ns, name, v[ARGS],
                      import_strings_name(r->strings, v[NAME]));
    }
}

static const char *const autograd_columns[] = { "api_ptr_id", "seq", "sizes",
                                                "input_op_ids", "op_id" };

// Finds the markers of autograd; their arguments come in later rows.
static void find_autograd(rpd *r)
{
    import_rows rows;
    import_rows_open(&rows, r->db, "ext_autogradapi", autograd_columns, 1, 0);
    rows.again = true;
    while (import_rows_next(&rows))
        if (rows.values[0] != IMPORT_NONE)
            r->out_of_memory |=
                !import_map_put(&r->marks, rows.values[0], NULL);
}

static void read_autograd(rpd *r)
{
    import_rows rows;
    import_rows_open(&rows, r->db, "ext_autogradapi", autograd_columns, 5,
                     0x1E);
    while (import_rows_next(&rows)) {
        const zone *const z = find(&r->zones, &r->marks, rows.values[0]);
        if (!z) {
            import_bad(r->job, "unknown_marker", IMPORT_NONE);
            continue;
        }
        for (size_t i = 1; i < 5; i++) {
            size_t size;
            const char *const text = import_rows_text(&rows, i, &size);
            const char *const key = autograd_columns[i];
            const uint32_t name = import_name(r->job, key, strlen(key));
            if (rows.values[i] != IMPORT_NONE)
                import_zone_int(r->job, z->thread, z->start_ns, z->site, name,
                                rows.values[i]);
            else if (size)
                import_zone_text(r->job, z->thread, z->start_ns, z->site, name,
                                 text, size);
        }
    }
}

/* ---- The rest ----------------------------------------------------------- */

// Reads samples of clocks and the like: values that hold from start to end.
static void read_monitor(rpd *r)
{
    enum { ID, START, TYPE, KIND, VALUE, COLUMNS };
    static const char *const columns[COLUMNS] = { "deviceId", "start",
                                                  "deviceType", "monitorType",
                                                  "value" };
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_monitor", columns, COLUMNS,
                     1u << TYPE | 1u << KIND | 1u << VALUE);
    while (import_rows_next(&rows)) {
        size_t size, type_size, kind_size;
        int64_t start_ns, ns, value = rows.values[VALUE];
        const char *const text = import_rows_text(&rows, VALUE, &size);
        const char *const type = import_rows_text(&rows, TYPE, &type_size);
        const char *const kind = import_rows_text(&rows, KIND, &kind_size);
        if (!import_rows_times(&rows, START, START, &start_ns, &ns) ||
            !import_rows_check(&rows, 1, start_ns))
            continue;
        if (!kind || !type || type_size != 3 || memcmp(type, "gpu", 3) ||
            (value == IMPORT_NONE &&
             (!text || !import_number(text, size, &value)))) {
            import_bad(r->job, "broken_row", start_ns);
            continue;
        }
        const bool clock = kind_size == 4 && !memcmp(kind + 1, "clk", 3);
        const uint32_t track =
            import_counter_track(r->job, import_device(r->job, rows.values[ID]),
                                 kind, kind_size, clock ? "MHz" : "");
        const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                           { TS_COLUMN_VALUE,
                                             (uint64_t)value } };
        import_event(r->job, TS_EVENT_COUNTER, track, start_ns, 0, values, 2);
    }
}

static void read_version(rpd *r)
{
    static const char *const columns[] = { "tag", "value" };
    static const char rest[] = "rocpd_metadata: settings";
    import_rows rows;
    import_rows_open(&rows, r->db, "rocpd_metadata", columns, 2, 3);
    while (import_rows_next(&rows)) {
        size_t size, value_size;
        const char *const tag = import_rows_text(&rows, 0, &size);
        const char *const value = import_rows_text(&rows, 1, &value_size);
        if (tag && value && !strcmp(tag, "schema_version"))
            import_meta_text(r->job, 0, "rpd.schema", value, value_size);
        else
            import_unowned(r->job, rest, sizeof rest - 1);
    }
}

static bool recognise(import_source *source)
{
    static const char *const tables[] = { "rocpd_op", "rocpd_api" };
    return import_db_recognise(source, tables, 2);
}

static void read_all(rpd *r)
{
    read_version(r);
    read_links(r);
    read_launches(r);
    read_copies(r);
    find_autograd(r);
    read_calls(r); // before the operations: they determine the unit of grids
    read_operations(r);
    read_autograd(r);
    read_monitor(r);
    import_db_rest(r->db);
}

static bool import(import_job *job)
{
    rpd r = { .job = job, .db = import_db_open(job) };
    if (!r.db) return false;
    r.launches.width = sizeof(launch);
    r.copied.width = sizeof(copy);
    r.zones.width = sizeof(zone);
    r.strings = import_strings_read(job, r.db, "rocpd_string", "id", "string");
    r.out_of_memory = !r.strings;
    if (r.strings) read_all(&r);
    cli_map_close(&r.calls);
    cli_map_close(&r.kernels);
    cli_map_close(&r.copies);
    cli_map_close(&r.marks);
    free(r.launches.items);
    free(r.copied.items);
    free(r.zones.items);
    import_strings_free(r.strings);
    import_db_close(r.db);
    return !r.out_of_memory || import_out_of_memory(job);
}

const import_format import_rpd = {
    .name = "rpd",
    .title = "ROCm RPD (rocmProfileData, SQLite)",
    .missing = IMPORT_DB_MISSING,
    .recognise = recognise,
    .import = import,
};
