/* ---- Names, sites, tracks, metadata, modules ---------------------------- */

uint32_t ts_name_define_sized(const char *text, size_t size)
{
    if (!text) return 0;
    if (size > TS__NAME_MAX) size = TS__NAME_MAX;
    return ts__entry_get(TS_CHUNK_NAMES, text, size);
}

uint32_t ts_name_define(const char *text)
{
    return text ? ts_name_define_sized(text, strlen(text)) : 0;
}

// A site but for its name. False if one of its texts got no number.
static bool ts__site_place(ts_site_entry *entry, const ts_site *site)
{
    memset(entry, 0, sizeof *entry);
    if (!site) return true;
    entry->category = ts_name_define(site->category);
    entry->function = ts_name_define(site->function);
    entry->file = ts_name_define(site->file);
    entry->line = site->line;
    entry->color = site->color;
    return (entry->category || !site->category) &&
           (entry->function || !site->function) && (entry->file || !site->file);
}

static uint32_t ts__site_get(const char *name, const ts_site *site)
{
    if (!name && site) name = site->name ? site->name : site->function;
    const uint32_t number = ts_name_define(name);
    if (name && !number) return 0;
    ts_site_entry entry;
    ts__site_place(&entry, site);
    entry.name = number;
    return ts__entry_get(TS_CHUNK_SITES, &entry, sizeof entry);
}

// Counts a record that cannot be made because its name got no number.
static uint32_t ts__nameless(void)
{
    ts__caller old;
    if (!ts__enter(&old)) return 0;
    if (ts__session_still(TS__LOAD(&ts__here.session)))
        ts__loss_now(ts__track, TS_LOSS_DICTIONARY_FULL);
    ts__leave(&old);
    return 0;
}

uint32_t ts_site_define(const char *name, const ts_site *base)
{
    const uint32_t code = ts__site_get(name, base);
    return code ? code : ts__nameless();
}

enum { TS__NAMED_MAX = 128 }; // longer names are looked up like any site's

// Remembers which site a name in a place is. May fail: then it is looked for
// again the next time.
static void ts__named_add(uint32_t kind, uint32_t site, const char *name,
                          size_t size, uint64_t hash)
{
    ts__caller old;
    if (!ts__enter(&old)) return;
    ts__lock_take(&ts__c.names);
    if (!ts__entry_find(kind, name, size, hash))
        ts__entry_add(kind, site, name, size, hash);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
}

static uint32_t ts__place_code(ts_site *base)
{
    ts_site_entry entry;
    // One without a text would be that of another place, too.
    if (!ts__site_place(&entry, base)) return 0;
    const uint32_t place = ts__entry_get(TS__ENTRY_PLACE, &entry, sizeof entry);
    __atomic_store_n(&base->code, place, __ATOMIC_RELEASE);
    return place;
}

TS__SMALL_END
uint32_t ts__site_named(const char *name, ts_site *base)
{
    const size_t size = name ? strlen(name) : SIZE_MAX;
    if (TS__UNLIKELY(size > TS__NAMED_MAX)) return ts_site_define(name, base);
    const uint32_t known_place = TS__CODE(&base->code);
    const uint32_t place = known_place ? known_place : ts__place_code(base);
    const uint32_t kind = place << 5 | TS__ENTRY_NAMED;
    const uint64_t hash = ts__mix(name, size, kind) | 1;
    const ts__entry *const known = ts__entry_find(kind, name, size, hash);
    if (TS__LIKELY(known != NULL)) return known->id;
    const uint32_t site = ts_site_define(name, base);
    if (site && place) ts__named_add(kind, site, name, size, hash);
    return site;
}
TS__SMALL_BEGIN

// What a site has as `code`, which it gets now if this is its first hit.
static uint32_t ts__site_code(ts_site *site)
{
    const uint32_t known = TS__CODE(&site->code);
    if (known) return known;
    const uint32_t id = ts_site_define(NULL, site);
    const uint32_t code = id ? TS__ZONE_CODE(id) : 0;
    __atomic_store_n(&site->code, code, __ATOMIC_RELEASE);
    return code;
}

// Adds a track, or defines `id` again when it is not 0.
static uint32_t ts__track_put(uint32_t id, ts_track_type type, uint32_t parent,
                              uint32_t name, uint32_t unit, uint64_t number,
                              uint64_t flags)
{
    ts_track_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.type = (uint8_t)type;
    entry.parent = parent;
    entry.name = name;
    entry.unit = unit;
    entry.number = number;
    entry.flags = flags;
    ts__caller old;
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    if (id)
        id = ts__entry_add(TS_CHUNK_TRACKS, id, &entry, sizeof entry, 0);
    else
        id = ts__entry_new(TS_CHUNK_TRACKS, &entry, sizeof entry);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

// The process's own track: number 1 in the first process, a new number in a
// child made by fork.
static uint32_t ts__process_track(void)
{
    if (!TS__LOAD(&ts__c.process_track)) {
        char name[256];
        ts__text_read("/proc/self/comm", name, sizeof name);
        name[strcspn(name, "\n")] = 0;
        const uint32_t track =
            ts__track_put(0, TS_TRACK_PROCESS, 0, ts_name_define(name), 0,
                          (uint64_t)getpid(), 0);
        uint32_t none = 0; // another thread may have been faster
        __atomic_compare_exchange_n(&ts__c.process_track, &none, track, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return ts__c.process_track;
}

static uint32_t ts__thread_describe(uint32_t name)
{
    const uint32_t session = TS__LOAD(&ts__here.session);
    const uint32_t process = ts__process_track();
    if (session && ts__track_reported != session)
        __atomic_fetch_add(&ts__c.threads, 1, __ATOMIC_RELAXED);
    ts__track_name = name;
    ts__track_reported = session;
    ts__track = ts__track_put(ts__track, TS_TRACK_THREAD, process, name, 0,
                              (uint64_t)syscall(SYS_gettid), 0);
    return ts__track;
}

// A trace has the tracks of those threads only that recorded in its session, so
// each thread reports its track to each session.
uint32_t ts_thread_track(void)
{
    if (ts__track && ts__track_reported == TS__LOAD(&ts__here.session))
        return ts__track;
    if (!ts__track_name) {
        char name[17] = { 0 };
        prctl(PR_GET_NAME, name);
        ts__track_name = ts_name_define(name);
    }
    return ts__thread_describe(ts__track_name);
}

void ts_thread_name(const char *name)
{
    if (name) ts__thread_describe(ts_name_define(name));
}

// Counters are identified by their name: an entry with the name as key holds
// the track.
static uint32_t ts__counter_track(const char *name, const char *unit,
                                  uint32_t flags, bool define)
{
    const uint32_t key = ts_name_define(name);
    if (!key) return 0;
    ts__caller old;
    const uint32_t unit_name = ts_name_define(unit);
    const uint32_t parent = ts__process_track();
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    const uint64_t hash = ts__mix(&key, 4, TS__ENTRY_COUNTER) | 1;
    ts__entry *known = ts__entry_find(TS__ENTRY_COUNTER, &key, 4, hash);
    uint32_t id = known ? known->id : 0;
    if (!id || define) {
        ts_track_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.type = TS_TRACK_COUNTER;
        entry.parent = parent;
        entry.name = key;
        entry.unit = unit_name;
        entry.flags = flags;
        if (id)
            ts__entry_add(TS_CHUNK_TRACKS, id, &entry, sizeof entry, 0);
        else
            id = ts__entry_new(TS_CHUNK_TRACKS, &entry, sizeof entry);
        if (id && !known) ts__entry_add(TS__ENTRY_COUNTER, id, &key, 4, hash);
    }
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

uint32_t ts_counter_define(const char *name, const char *unit, uint32_t flags)
{
    return ts__counter_track(name, unit, flags, true);
}

// What a counter has as `code`, likewise.
static uint32_t ts__counter_code(ts_counter *counter)
{
    const uint32_t known = TS__CODE(&counter->code);
    if (known) return known;
    const uint32_t id = ts__counter_track(counter->name, NULL, 0, false);
    const uint32_t code = id ? id << 6 | TS__REC_COUNTER : 0;
    __atomic_store_n(&counter->code, code, __ATOMIC_RELEASE);
    return code ? code : ts__nameless();
}

static void ts__metadata_put(uint32_t track, const char *key, uint32_t type,
                             uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = ts_name_define(key);
    entry.type = type;
    entry.value = value;
    ts__caller old;
    if (!entry.key || !ts__enter(&old)) return;
    ts__lock_take(&ts__c.names);
    ts__entry_add(TS_CHUNK_METADATA, track, &entry, sizeof entry, 0);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
}

void ts_metadata_int(uint32_t track, const char *key, int64_t value)
{
    ts__metadata_put(track, key, TS_VALUE_INT, (uint64_t)value);
}

void ts_metadata_double(uint32_t track, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__metadata_put(track, key, TS_VALUE_DOUBLE, bits);
}

void ts_metadata_text(uint32_t track, const char *key, const char *value)
{
    if (!value) return;
    ts__metadata_put(track, key, TS_VALUE_TEXT, ts_name_define(value));
}

uint32_t ts_module_define(const char *path, uint64_t address, uint64_t size,
                          const void *build_id, size_t build_id_size)
{
    uint8_t bytes[sizeof(ts_module_entry) + 64];
    ts_module_entry entry;
    if (build_id_size > 64) build_id_size = 64;
    if (!build_id) build_id_size = 0;
    memset(&entry, 0, sizeof entry);
    entry.path = ts_name_define(path);
    entry.address = address;
    entry.size = size;
    memcpy(bytes, &entry, sizeof entry);
    if (build_id_size) memcpy(bytes + sizeof entry, build_id, build_id_size);
    return ts__entry_get(TS_CHUNK_MODULES, bytes, sizeof entry + build_id_size);
}
