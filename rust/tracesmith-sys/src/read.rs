//! `tracesmith_replay.h`: reading, and the timeline of a replay.

use crate::record::*;
use std::os::raw::{c_char, c_void};

macro_rules! opaque {
    ($($name:ident)*) => { $(
        /// Only pointers to it exist.
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )* };
}
opaque! { ts_reader ts_cursor ts_replay ts_timeline }

#[repr(C)]
pub struct ts_allocator {
    pub resize: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            ptr: *mut c_void,
            old_size: usize,
            new_size: usize,
        ) -> *mut c_void,
    >,
    pub user: *mut c_void,
}

#[repr(C)]
pub struct ts_reader_desc {
    pub path: *const c_char,
    pub bytes: *const c_void,
    pub size: u64,
    pub no_salvage: bool,
    pub no_index: bool,
    pub threads: u32,
    pub allocator: ts_allocator,
    pub inflate_bytes: u64,
    pub read: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            offset: u64,
            to: *mut c_void,
            size: usize,
        ) -> i64,
    >,
    pub length: Option<unsafe extern "C" fn(user: *mut c_void) -> u64>,
    pub user: *mut c_void,
    pub lazy: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_damage {
    pub result: ts_result,
    pub offset: u64,
    pub size: u64,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_loss_row {
    pub track: u32,
    pub cause: u32,
    pub detail: u32,
    pub count: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub stall_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ts_info {
    pub session: [u8; 16],
    pub major: u16,
    pub minor: u16,
    pub process: u32,
    pub file_bytes: u64,
    pub start_realtime_ns: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub counts: [u64; TS_EVENT_LIMIT],
    pub stored_bytes: [u64; TS_EVENT_LIMIT],
    pub unknown_chunks: u64,
    pub unknown_events: u64,
    pub lost: u64,
    pub salvaged: u64,
    pub chunk_count: u64,
    pub track_count: u32,
    pub site_count: u32,
    pub name_count: u32,
    pub launch_count: u32,
    pub finished: bool,
    pub indexed: bool,
    pub live: bool,
    pub clock_estimated: bool,
    pub salvage_failed: bool,
    pub salvage: ts_result,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_text {
    pub text: *const c_char,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_track {
    pub id: u32,
    pub r#type: ts_track_type,
    pub parent: u32,
    pub name: ts_text,
    pub unit: ts_text,
    pub number: u64,
    pub flags: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_metadata {
    pub track: u32,
    pub key: ts_text,
    pub r#type: ts_value_type,
    pub number: i64,
    pub real: f64,
    pub text: ts_text,
}

#[repr(C)]
pub struct ts_filter {
    pub kinds: u64,
    pub tracks: *const u32,
    pub track_count: usize,
    pub from_ns: i64,
    pub to_ns: i64,
}

#[repr(C)]
pub struct ts_columns {
    pub kind: ts_event_kind,
    pub count: u32,
    pub track: u32,
    pub clock: u32,
    pub tracks: *const u32,
    pub start_ns: *const i64,
    pub duration_ns: *const i64,
    pub start_ticks: *const u64,
    pub end_ticks: *const u64,
    pub values: [*const u64; TS_COLUMN_LIMIT],
    pub text_sizes: *const u32,
    pub texts: *const *const c_char,
    pub chunk: usize,
    pub memory: *mut c_void,
    pub payload: *mut c_void,
    pub memory_size: usize,
    pub payload_size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_chunk_info {
    pub offset: u64,
    pub header: ts_chunk_header,
    pub first_ns: i64,
    pub last_ns: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_event {
    pub kind: ts_event_kind,
    pub track: u32,
    pub start_ns: i64,
    pub duration_ns: i64,
    pub columns: *const ts_columns,
    pub row: u32,
}

pub type ts_skip = u32;
pub type ts_deps = u32;

#[repr(C)]
pub struct ts_replay_desc {
    pub streams: *const u32,
    pub stream_count: usize,
    pub devices: *const u32,
    pub device_count: usize,
    pub from_ns: i64,
    pub to_ns: i64,
    pub deps: ts_deps,
    pub threads: u32,
    pub allocator: ts_allocator,
    pub more: *const *mut ts_reader,
    pub more_count: usize,
    pub stream_files: *const u32,
    pub device_files: *const u32,
    pub choose: Option<
        unsafe extern "C" fn(
            replay: *const ts_replay,
            index: usize,
            user: *mut c_void,
        ) -> ts_skip,
    >,
    pub choose_user: *mut c_void,
    pub queue_depth: u32,
    pub connections: u32,
    pub no_inference: bool,
    pub load_from_ns: i64,
    pub load_to_ns: i64,
    pub load_before_ns: i64,
    pub clocks_only: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_lane {
    pub track: u32,
    pub device: u32,
    pub operations: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub busy_ns: i64,
    pub file: u32,
}

pub const TS_NODE_NONE: u32 = 0xFFFFFFFF;

pub type ts_state = u32;
pub const TS_STATE_IDLE: ts_state = 0;
pub const TS_STATE_PENDING: ts_state = 1;
pub const TS_STATE_RUNNING: ts_state = 2;
pub const TS_STATE_WAITING: ts_state = 3;
pub const TS_STATE_FINISHED: ts_state = 4;

pub type ts_idle = u32;
pub const TS_IDLE_LIMIT: usize = 9;
pub type ts_work = u32;
pub const TS_WORK_LIMIT: usize = 3;

#[repr(C)]
pub struct ts_timeline_desc {
    pub replayed: bool,
    pub from_ns: i64,
    pub to_ns: i64,
    pub begin_ns: *const i64,
    pub allocator: ts_allocator,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ts_timeline_figures {
    pub file: u32,
    pub track: u32,
    pub operations: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub busy_ns: i64,
    pub idle_ns: i64,
    pub work_ns: [i64; TS_WORK_LIMIT],
    pub only_ns: [i64; TS_WORK_LIMIT],
    pub cause_ns: [i64; TS_IDLE_LIMIT],
    pub causes: [u64; TS_IDLE_LIMIT],
    pub dispatch_ns: i64,
    pub explicit_ns: i64,
    pub inferred_ns: i64,
    pub unexplained_ns: i64,
    pub launches: u64,
    pub launch_p50_ns: i64,
    pub launch_p95_ns: i64,
    pub launch_max_ns: i64,
    pub queue_max: u32,
    pub queue_ns: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_gap {
    pub start_ns: i64,
    pub end_ns: i64,
    pub operation: u32,
    pub culprit: u32,
    pub edge: u8,
    pub inferred: bool,
    pub cause: ts_idle,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_state_span {
    pub state: ts_state,
    pub start_ns: i64,
    pub end_ns: i64,
    pub operation: u32,
    pub culprit: u32,
    pub edge: u8,
    pub inferred: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_state_spans {
    pub timeline: *const ts_timeline,
    pub at: usize,
    pub end: usize,
    pub now_ns: i64,
    pub busy_ns: i64,
    pub wait_ns: i64,
    pub begin_ns: i64,
    pub finish_ns: i64,
    pub issue_ns: i64,
    pub next_op: u32,
    pub next_kind: u8,
    pub runs: u32,
    pub waits: u32,
    pub more: bool,
    pub kept: bool,
    pub next: ts_state_span,
}

extern "C" {
    pub fn ts_reader_open(
        reader: *mut *mut ts_reader,
        desc: *const ts_reader_desc,
    ) -> ts_result;
    pub fn ts_reader_close(reader: *mut ts_reader);
    pub fn ts_reader_refresh(reader: *mut ts_reader) -> bool;
    pub fn ts_reader_info(reader: *const ts_reader) -> *const ts_info;
    pub fn ts_reader_damage(
        reader: *const ts_reader,
        index: usize,
        damage: *mut ts_damage,
    ) -> bool;
    pub fn ts_reader_verify(reader: *mut ts_reader) -> ts_result;
    pub fn ts_reader_loss(
        reader: *const ts_reader,
        index: usize,
        row: *mut ts_loss_row,
    ) -> bool;
    pub fn ts_reader_realtime_ns(reader: *const ts_reader, time_ns: i64)
        -> u64;
    pub fn ts_reader_name(reader: *const ts_reader, name: u32) -> ts_text;
    pub fn ts_reader_site(
        reader: *const ts_reader,
        site: u32,
    ) -> *const ts_site_entry;
    pub fn ts_reader_site_name(reader: *const ts_reader, site: u32) -> ts_text;
    pub fn ts_reader_track_at(
        reader: *const ts_reader,
        index: usize,
        track: *mut ts_track,
    ) -> bool;
    pub fn ts_reader_track(
        reader: *const ts_reader,
        id: u32,
        track: *mut ts_track,
    ) -> bool;
    pub fn ts_reader_metadata_at(
        reader: *const ts_reader,
        index: usize,
        metadata: *mut ts_metadata,
    ) -> bool;
    pub fn ts_reader_index(reader: *const ts_reader) -> ts_result;
    pub fn ts_reader_chunk_count(reader: *const ts_reader) -> usize;
    pub fn ts_reader_chunk(
        reader: *const ts_reader,
        index: usize,
        info: *mut ts_chunk_info,
    ) -> bool;
    pub fn ts_reader_decode_columns(
        reader: *mut ts_reader,
        chunk: usize,
        wanted: u64,
        columns: *mut ts_columns,
    ) -> ts_result;
    pub fn ts_columns_close(reader: *mut ts_reader, columns: *mut ts_columns);

    pub fn ts_cursor_open(
        cursor: *mut *mut ts_cursor,
        reader: *mut ts_reader,
        filter: *const ts_filter,
    ) -> ts_result;
    pub fn ts_cursor_next(cursor: *mut ts_cursor, event: *mut ts_event)
        -> bool;
    pub fn ts_cursor_result(cursor: *const ts_cursor) -> ts_result;
    pub fn ts_cursor_close(cursor: *mut ts_cursor);
    pub fn ts_event_label(
        reader: *const ts_reader,
        event: *const ts_event,
    ) -> ts_text;

    pub fn ts_replay_open(
        replay: *mut *mut ts_replay,
        reader: *mut ts_reader,
        desc: *const ts_replay_desc,
    ) -> ts_result;
    pub fn ts_replay_close(replay: *mut ts_replay);
    pub fn ts_replay_lane(
        replay: *const ts_replay,
        index: usize,
        lane: *mut ts_lane,
    ) -> bool;
    pub fn ts_replay_device(
        replay: *const ts_replay,
        index: usize,
        device: *mut ts_lane,
    ) -> bool;

    pub fn ts_state_name(state: u32) -> *const c_char;
    pub fn ts_idle_name(idle: u32) -> *const c_char;
    pub fn ts_work_name(work: u32) -> *const c_char;
    pub fn ts_timeline_open(
        timeline: *mut *mut ts_timeline,
        replay: *const ts_replay,
        desc: *const ts_timeline_desc,
    ) -> ts_result;
    pub fn ts_timeline_close(timeline: *mut ts_timeline);
    pub fn ts_timeline_total(
        timeline: *const ts_timeline,
    ) -> *const ts_timeline_figures;
    pub fn ts_timeline_device(
        timeline: *const ts_timeline,
        device: usize,
    ) -> *const ts_timeline_figures;
    pub fn ts_timeline_gap(
        timeline: *const ts_timeline,
        device: usize,
        index: usize,
        gap: *mut ts_gap,
    ) -> bool;
    pub fn ts_timeline_state_spans(
        timeline: *const ts_timeline,
        stream: usize,
    ) -> ts_state_spans;
    pub fn ts_state_spans_next(
        spans: *mut ts_state_spans,
        span: *mut ts_state_span,
    ) -> bool;
}
