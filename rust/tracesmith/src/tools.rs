//! What `ts-analyze` and `ts-query` answer, with the feature `tools`. It links
//! `libtracesmith-tools.so`.

use crate::sys;
use crate::text::Text;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::zeroed;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::slice::from_raw_parts;

/// Why a call failed: what, where, and what to do, as the tools say it.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolError {
    /// The number of the C API's `ts_result`.
    pub code: i32,
    /// One sentence or a few lines.
    pub text: String,
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The text, as a `main` that returns the error prints it like this.
impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ToolError {}

fn zero(text: &str) -> Result<CString, ToolError> {
    CString::new(text).map_err(|_| ToolError {
        code: sys::TS_ERR_USAGE,
        text: format!("{text:?} has a zero byte: remove it"),
    })
}

/// Runs a call that fills an error in.
fn call(
    run: impl FnOnce(*mut sys::ts_error) -> sys::ts_result,
) -> Result<(), ToolError> {
    // SAFETY: all zeros is an error without a text.
    let mut error: sys::ts_error = unsafe { zeroed() };
    let code = run(&mut error);
    if code == sys::TS_OK {
        return Ok(());
    }
    // SAFETY: the text ends with a zero.
    let text = unsafe { CStr::from_ptr(error.text.as_ptr()) };
    Err(ToolError { code, text: text.to_string_lossy().into_owned() })
}

/// The report of `ts-analyze --json` on a trace, of some topics ("" for all).
pub fn analyze_json(path: &str, topics: &str) -> Result<String, ToolError> {
    let (path, topics) = (zero(path)?, zero(topics)?);
    let path = path.as_ptr();
    // SAFETY: all zeros is the default.
    let mut desc: sys::ts_analysis_desc = unsafe { zeroed() };
    desc.paths = &path;
    desc.path_count = 1;
    if !topics.as_bytes().is_empty() {
        desc.only = topics.as_ptr();
    }
    let mut analysis = null_mut();
    let mut bytes: Vec<u8> = Vec::new();
    let output = sys::ts_output {
        path: null(),
        stream: null_mut(),
        write: Some(append),
        user: (&mut bytes as *mut Vec<u8>).cast(),
        columns: 0,
    };
    // SAFETY: what the descs point to lives until the handle is closed, and
    // NULL is allowed there.
    let written = unsafe {
        let written =
            call(|error| sys::ts_analysis_open(&mut analysis, &desc, error))
                .and_then(|()| {
                    call(|error| {
                        let json = sys::TS_REPORT_JSON;
                        sys::ts_analysis_write(analysis, json, &output, error)
                    })
                });
        sys::ts_analysis_close(analysis);
        written
    };
    written.map(|()| String::from_utf8_lossy(&bytes).into_owned())
}

/// # Safety
/// `user` is a `Vec<u8>`, and `bytes` has `size` bytes.
unsafe extern "C" fn append(
    user: *mut c_void,
    bytes: *const c_void,
    size: usize,
) -> bool {
    let to = &mut *user.cast::<Vec<u8>>();
    if size > 0 {
        to.extend_from_slice(from_raw_parts(bytes.cast(), size));
    }
    true
}

/// A value of a row of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// An integer.
    Int(i64),
    /// A number in floating point.
    Float(f64),
    /// A text; bytes that are no UTF-8 became U+FFFD.
    Text(String),
}

/// The rows of the last statement of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, a value for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// Runs SQL on the tables of `ts-query` (see `docs/query.md`).
pub fn query(path: &str, sql: &str) -> Result<Rows, ToolError> {
    let (path, text) = (zero(path)?, zero(sql)?);
    let path = path.as_ptr();
    // SAFETY: all zeros is the default.
    let mut desc: sys::ts_sql_desc = unsafe { zeroed() };
    desc.paths = &path;
    desc.path_count = 1;
    let mut handle = null_mut();
    let mut rows = Rows::default();
    let take = sys::ts_sql_rows {
        user: (&mut rows as *mut Rows).cast(),
        columns: Some(take_columns),
        row: Some(take_row),
    };
    // SAFETY: as above.
    let done = unsafe {
        let done = call(|error| sys::ts_sql_open(&mut handle, &desc, error))
            .and_then(|()| {
                call(|error| {
                    let text = text.as_ptr();
                    sys::ts_sql_read(handle, text, null(), &take, error)
                })
            });
        sys::ts_sql_close(handle);
        done
    };
    done.map(|()| rows)
}

/// # Safety
/// `user` is a `Rows`, and `names` has `count` texts.
unsafe extern "C" fn take_columns(
    user: *mut c_void,
    names: *const *const c_char,
    count: usize,
) -> bool {
    let name = |at| CStr::from_ptr(*names.add(at)).to_string_lossy();
    *user.cast::<Rows>() = Rows {
        columns: (0..count).map(|at| name(at).into_owned()).collect(),
        rows: Vec::new(),
    };
    true
}

/// # Safety
/// `user` is a `Rows`, and `values` has `count` values.
unsafe extern "C" fn take_row(
    user: *mut c_void,
    values: *const sys::ts_sql_value,
    count: usize,
) -> bool {
    let cell = |at| {
        let value: &sys::ts_sql_value = &*values.add(at);
        match value.r#type {
            sys::TS_SQL_INTEGER => Cell::Int(value.integer),
            sys::TS_SQL_REAL => Cell::Float(value.real),
            sys::TS_SQL_TEXT => {
                Cell::Text(Text::new(value.text).to_str().into_owned())
            }
            _ => Cell::Null,
        }
    };
    let row = (0..count).map(cell).collect();
    (*user.cast::<Rows>()).rows.push(row);
    true
}
