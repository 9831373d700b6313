//! `tracesmith_tools.h`: analysis and SQL.

use crate::read::ts_text;
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
opaque! { FILE ts_selection ts_analysis ts_sql }

#[repr(C)]
pub struct ts_error {
    pub result: ts_result,
    pub text: [c_char; 1020],
}

#[repr(C)]
pub struct ts_observer {
    pub user: *mut c_void,
    pub message:
        Option<unsafe extern "C" fn(user: *mut c_void, text: *const c_char)>,
    pub progress: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            what: *const c_char,
            done: u64,
            total: u64,
        ),
    >,
}

#[repr(C)]
pub struct ts_output {
    pub path: *const c_char,
    pub stream: *mut FILE,
    pub write: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            bytes: *const c_void,
            size: usize,
        ) -> bool,
    >,
    pub user: *mut c_void,
    pub columns: u32,
}

pub type ts_report_format = u32;
pub const TS_REPORT_TEXT: ts_report_format = 0;
pub const TS_REPORT_JSON: ts_report_format = 1;
pub const TS_REPORT_HTML: ts_report_format = 2;

#[repr(C)]
pub struct ts_analysis_desc {
    pub paths: *const *const c_char,
    pub path_count: usize,
    pub selection: *const ts_selection,
    pub only: *const c_char,
    pub top: i64,
    pub rows: i64,
    pub sort: *const c_char,
    pub collapse: bool,
    pub mangled: bool,
    pub no_symbols: bool,
    pub settings: *const *const c_char,
    pub setting_count: usize,
    pub flops: *const *const c_char,
    pub flops_count: usize,
    pub observer: ts_observer,
}

#[repr(C)]
pub struct ts_sql_desc {
    pub paths: *const *const c_char,
    pub path_count: usize,
    pub selection: *const ts_selection,
    pub settings: *const *const c_char,
    pub setting_count: usize,
    pub no_symbols: bool,
    pub observer: ts_observer,
    pub no_pushdown: bool,
}

pub type ts_sql_type = u32;
pub const TS_SQL_NULL: ts_sql_type = 0;
pub const TS_SQL_INTEGER: ts_sql_type = 1;
pub const TS_SQL_REAL: ts_sql_type = 2;
pub const TS_SQL_TEXT: ts_sql_type = 3;

#[repr(C)]
pub struct ts_sql_value {
    pub r#type: ts_sql_type,
    pub integer: i64,
    pub real: f64,
    pub text: ts_text,
}

#[repr(C)]
pub struct ts_sql_rows {
    pub user: *mut c_void,
    pub columns: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            names: *const *const c_char,
            count: usize,
        ) -> bool,
    >,
    pub row: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            values: *const ts_sql_value,
            count: usize,
        ) -> bool,
    >,
}

extern "C" {
    pub fn ts_analysis_open(
        analysis: *mut *mut ts_analysis,
        desc: *const ts_analysis_desc,
        error: *mut ts_error,
    ) -> ts_result;
    pub fn ts_analysis_write(
        analysis: *mut ts_analysis,
        format: ts_report_format,
        output: *const ts_output,
        error: *mut ts_error,
    ) -> ts_result;
    pub fn ts_analysis_close(analysis: *mut ts_analysis);

    pub fn ts_sql_open(
        sql: *mut *mut ts_sql,
        desc: *const ts_sql_desc,
        error: *mut ts_error,
    ) -> ts_result;
    pub fn ts_sql_read(
        sql: *mut ts_sql,
        text: *const c_char,
        place: *const c_char,
        rows: *const ts_sql_rows,
        error: *mut ts_error,
    ) -> ts_result;
    pub fn ts_sql_close(sql: *mut ts_sql);
}
