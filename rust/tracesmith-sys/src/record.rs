//! `tracesmith.h`, and the functions of `inline.c`.

use std::os::raw::{c_char, c_int, c_void};
use std::sync::atomic::AtomicU32;

pub type ts_result = c_int;
pub const TS_OK: ts_result = 0;
pub const TS_ERR_USAGE: ts_result = -1;
pub const TS_ERR_STATE: ts_result = -2;
pub const TS_ERR_MEMORY: ts_result = -3;
pub const TS_ERR_IO: ts_result = -4;
pub const TS_ERR_DISK_FULL: ts_result = -5;
pub const TS_ERR_TRUNCATED: ts_result = -6;
pub const TS_ERR_CORRUPT: ts_result = -7;
pub const TS_ERR_NOT_SBT: ts_result = -8;
pub const TS_ERR_VERSION: ts_result = -9;
pub const TS_ERR_UNSUPPORTED: ts_result = -10;
pub const TS_ERR_NOT_FOUND: ts_result = -11;
pub const TS_ERR_BUSY: ts_result = -12;
pub const TS_ERR_NOT_FILE: ts_result = -13;
pub const TS_ERR_UNTRUSTED: ts_result = -14;

pub type ts_policy = u32;
pub const TS_POLICY_HELP: ts_policy = 0;
pub const TS_POLICY_DROP: ts_policy = 1;
pub const TS_POLICY_OVERWRITE: ts_policy = 2;
pub const TS_POLICY_BLOCK: ts_policy = 3;

pub type ts_drain = u32;
pub const TS_DRAIN_THREAD: ts_drain = 0;
pub const TS_DRAIN_MANUAL: ts_drain = 1;

pub type ts_fork = u32;
pub const TS_FORK_QUIET: ts_fork = 0;
pub const TS_FORK_FOLLOW: ts_fork = 1;

pub type ts_phase = u32;
pub const TS_PHASE_START: ts_phase = 1;
pub const TS_PHASE_STEP: ts_phase = 2;
pub const TS_PHASE_END: ts_phase = 3;

pub type ts_event_kind = u32;
pub const TS_EVENT_ZONE: ts_event_kind = 1;
pub const TS_EVENT_ZONE_OPEN: ts_event_kind = 2;
pub const TS_EVENT_ZONE_ARG: ts_event_kind = 3;
pub const TS_EVENT_MARK: ts_event_kind = 4;
pub const TS_EVENT_MESSAGE: ts_event_kind = 5;
pub const TS_EVENT_COUNTER: ts_event_kind = 6;
pub const TS_EVENT_FRAME: ts_event_kind = 7;
pub const TS_EVENT_ALLOC: ts_event_kind = 8;
pub const TS_EVENT_FREE: ts_event_kind = 9;
pub const TS_EVENT_FLOW: ts_event_kind = 10;
pub const TS_EVENT_SPAN: ts_event_kind = 11;
pub const TS_EVENT_API_CALL: ts_event_kind = 12;
pub const TS_EVENT_DEPENDENCY: ts_event_kind = 13;
pub const TS_EVENT_ACCESS: ts_event_kind = 14;
pub const TS_EVENT_SAMPLE: ts_event_kind = 15;
pub const TS_EVENT_KERNEL: ts_event_kind = 16;
pub const TS_EVENT_MEMCPY: ts_event_kind = 17;
pub const TS_EVENT_MEMSET: ts_event_kind = 18;
pub const TS_EVENT_EVENT_RECORD: ts_event_kind = 19;
pub const TS_EVENT_EVENT_WAIT: ts_event_kind = 20;
pub const TS_EVENT_STREAM_SYNC: ts_event_kind = 21;
pub const TS_EVENT_DEVICE_SYNC: ts_event_kind = 22;
pub const TS_EVENT_EVENT_SYNC: ts_event_kind = 23;
pub const TS_EVENT_HOST_FUNCTION: ts_event_kind = 24;
pub const TS_EVENT_GRAPH_LAUNCH: ts_event_kind = 25;
pub const TS_EVENT_COLLECTIVE: ts_event_kind = 26;
pub const TS_EVENT_GPU_ALLOC: ts_event_kind = 27;
pub const TS_EVENT_GPU_FREE: ts_event_kind = 28;
pub const TS_EVENT_LIMIT: usize = 29;

pub type ts_column = u32;
pub const TS_COLUMN_START: ts_column = 1;
pub const TS_COLUMN_DURATION: ts_column = 2;
pub const TS_COLUMN_SITE: ts_column = 3;
pub const TS_COLUMN_NEST: ts_column = 4;
pub const TS_COLUMN_LEAD: ts_column = 5;
pub const TS_COLUMN_TAIL: ts_column = 6;
pub const TS_COLUMN_TRACK: ts_column = 7;
pub const TS_COLUMN_DEPTH: ts_column = 8;
pub const TS_COLUMN_NAME: ts_column = 9;
pub const TS_COLUMN_TYPE: ts_column = 10;
pub const TS_COLUMN_VALUE: ts_column = 11;
pub const TS_COLUMN_TEXT: ts_column = 12;
pub const TS_COLUMN_ADDRESS: ts_column = 13;
pub const TS_COLUMN_SIZE: ts_column = 14;
pub const TS_COLUMN_POOL: ts_column = 15;
pub const TS_COLUMN_CATEGORY: ts_column = 16;
pub const TS_COLUMN_STACK: ts_column = 17;
pub const TS_COLUMN_ID: ts_column = 18;
pub const TS_COLUMN_PHASE: ts_column = 19;
pub const TS_COLUMN_CORRELATION: ts_column = 20;
pub const TS_COLUMN_RESULT: ts_column = 21;
pub const TS_COLUMN_QUEUED: ts_column = 22;
pub const TS_COLUMN_SUBMITTED: ts_column = 23;
pub const TS_COLUMN_THREAD: ts_column = 24;
pub const TS_COLUMN_LAUNCH: ts_column = 25;
pub const TS_COLUMN_GRAPH_NODE: ts_column = 26;
pub const TS_COLUMN_GRAPH: ts_column = 27;
pub const TS_COLUMN_SOURCE: ts_column = 28;
pub const TS_COLUMN_MEMORY: ts_column = 29;
pub const TS_COLUMN_PEER: ts_column = 30;
pub const TS_COLUMN_RECORD: ts_column = 31;
pub const TS_COLUMN_COMMUNICATOR: ts_column = 32;
pub const TS_COLUMN_SEQUENCE: ts_column = 33;
pub const TS_COLUMN_RANKS: ts_column = 34;
pub const TS_COLUMN_UNIT: ts_column = 35;
pub const TS_COLUMN_LIMIT: usize = 36;

pub type ts_track_type = u32;
pub const TS_TRACK_PROCESS: ts_track_type = 1;
pub const TS_TRACK_THREAD: ts_track_type = 2;
pub const TS_TRACK_DEVICE: ts_track_type = 3;
pub const TS_TRACK_CONTEXT: ts_track_type = 4;
pub const TS_TRACK_STREAM: ts_track_type = 5;
pub const TS_TRACK_COUNTER: ts_track_type = 6;
pub const TS_TRACK_MIXED: u32 = 0xFFFFFFFF;

pub type ts_value_type = u32;
pub const TS_VALUE_INT: ts_value_type = 1;
pub const TS_VALUE_DOUBLE: ts_value_type = 2;
pub const TS_VALUE_TEXT: ts_value_type = 3;

pub const TS_CHUNK_EVENTS: u8 = 16;

pub const TS_COUNTER_RATE: u32 = 1;
pub const TS_COUNTER_MONOTONIC: u32 = 2;

#[repr(C)]
pub struct ts_session_desc {
    pub path: *const c_char,
    pub policy: ts_policy,
    pub drain: ts_drain,
    pub fork: ts_fork,
    pub memory_bytes: u64,
    pub ring_bytes: u32,
    pub flush_ms: u32,
    pub rank: u32,
    pub compress: u32,
    pub snapshot_signal: c_int,
    pub snapshot_path: *const c_char,
    pub sidecar_dir: *const c_char,
    pub app: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ts_stats {
    pub records: u64,
    pub lost: u64,
    pub lost_by: [u64; 16],
    pub helped: u64,
    pub blocked: u64,
    pub stall_ns: u64,
    pub file_bytes: u64,
    pub memory_bytes: u64,
    pub rings: u32,
    pub threads: u32,
    pub generation: u32,
    pub recording: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_site {
    pub name: *const c_char,
    pub category: *const c_char,
    pub function: *const c_char,
    pub file: *const c_char,
    pub line: u32,
    pub color: u32,
    pub code: u32,
}

#[repr(C)]
pub struct ts_counter {
    pub name: *const c_char,
    pub code: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_site_entry {
    pub name: u32,
    pub category: u32,
    pub function: u32,
    pub file: u32,
    pub line: u32,
    pub color: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_chunk_header {
    pub magic: u32,
    pub kind: u8,
    pub event: u8,
    pub flags: u16,
    pub session: u32,
    pub track: u32,
    pub count: u32,
    pub clock: u32,
    pub first: u64,
    pub last: u64,
    pub stored_size: u32,
    pub raw_size: u32,
    pub sequence: u32,
    pub reserved: u32,
    pub checksum: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_zone {
    pub start: u64,
    pub code: u32,
    pub depth: u32,
}

/// Only the first members: whether this process records now.
#[repr(C)]
pub struct ts__page {
    pub gate: AtomicU32,
    pub session: AtomicU32,
}

extern "C" {
    pub static ts__here: ts__page;

    pub fn ts_result_text(result: ts_result) -> *const c_char;
    pub fn ts_event_name(kind: u32) -> *const c_char;
    pub fn ts_column_name(column: u32) -> *const c_char;
    pub fn ts_loss_name(cause: u32) -> *const c_char;

    pub fn ts_session_start(desc: *const ts_session_desc) -> ts_result;
    pub fn ts_session_stop() -> ts_result;
    pub fn ts_session_pause() -> ts_result;
    pub fn ts_session_resume() -> ts_result;
    pub fn ts_session_flush() -> ts_result;
    pub fn ts_session_snapshot(path: *const c_char) -> ts_result;
    pub fn ts_session_stats(stats: *mut ts_stats) -> ts_result;

    pub fn ts_name_define_sized(text: *const c_char, size: usize) -> u32;
    pub fn ts_site_define(name: *const c_char, base: *const ts_site) -> u32;
    pub fn ts_counter_define(
        name: *const c_char,
        unit: *const c_char,
        flags: u32,
    ) -> u32;
    pub fn ts_metadata_int(track: u32, key: *const c_char, value: i64);
    pub fn ts_metadata_double(track: u32, key: *const c_char, value: f64);
    pub fn ts_metadata_text(
        track: u32,
        key: *const c_char,
        value: *const c_char,
    );
    pub fn ts_thread_name(name: *const c_char);
    pub fn ts_thread_track() -> u32;
    pub fn ts_tick_now() -> u64;

    pub fn ts_zone_value_int(name: *const c_char, value: i64);
    pub fn ts_zone_value_double(name: *const c_char, value: f64);
    pub fn ts_zone_text(text: *const c_char);
    pub fn ts_counter_double(counter: *mut ts_counter, value: f64);
    pub fn ts_counter_uint(counter: *mut ts_counter, value: u64);
    pub fn ts_message_sized(text: *const c_char, size: usize);
    pub fn ts_frame(site: *mut ts_site);
    pub fn ts_flow(id: u64, phase: ts_phase);
    pub fn ts_span_start(id: u64, site: *mut ts_site);
    pub fn ts_span_end(id: u64);
    pub fn ts_sample(name: u32, unit: u32, weight: i64, stack: u32);

    pub fn ts_rs_zone_begin(site: *mut ts_site) -> ts_zone;
    pub fn ts_rs_zone_begin_site(site: u32) -> ts_zone;
    pub fn ts_rs_zone_begin_named(
        name: *const c_char,
        base: *mut ts_site,
    ) -> ts_zone;
    pub fn ts_rs_zone_end(zone: ts_zone);
    pub fn ts_rs_zone_end_outer(zone: ts_zone);
    pub fn ts_rs_mark(site: *mut ts_site);
    pub fn ts_rs_counter_int(counter: *mut ts_counter, value: i64);
    pub fn ts_rs_alloc(ptr: *const c_void, size: u64, pool: u32, category: u32);
    pub fn ts_rs_free(ptr: *const c_void, pool: u32);
}
