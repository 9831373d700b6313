use crate::error::{check, Error, Place};
use crate::sys;
use std::ffi::CString;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;
use std::sync::atomic::Ordering;

/// What a recording call does when the ring of its thread is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It writes out its own ring: nothing is lost.
    Help,
    /// It refuses the new record and counts it.
    Drop,
    /// A flight recorder: it forgets the oldest.
    Overwrite,
    /// It waits for the drain thread.
    Block,
}

/// Who empties the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// A background thread.
    Thread,
    /// [`Session::flush`] only, and a full ring.
    Manual,
}

/// What a child process made by `fork` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    /// It records nothing.
    Quiet,
    /// It starts a session of its own; the path must hold `%p`.
    Follow,
}

/// How to record; see `ts_session_desc` of `tracesmith.h`. 0 and `None` are
/// the defaults.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// What happens on a full ring (`Help`).
    pub policy: Policy,
    /// Who empties the rings (`Thread`).
    pub drain: Drain,
    /// What children do (`Quiet`).
    pub fork: Fork,
    /// Bound on all rings together (256 MiB).
    pub memory_bytes: u64,
    /// Largest ring of a thread (4 MiB).
    pub ring_bytes: u32,
    /// Longest time from a record to its place in the file, about (500).
    pub flush_ms: u32,
    /// Rank of the process (0).
    pub rank: u32,
    /// zstd level 1 to 19 (0: not compressed).
    pub compress: u32,
    /// A signal that writes a dump (0: none).
    pub snapshot_signal: i32,
    /// Where dumps go (`PATH.%n.sbt`).
    pub snapshot_path: Option<String>,
    /// Folder of the rings (`/dev/shm`).
    pub sidecar_dir: Option<String>,
    /// Name of the program (its file name).
    pub app: Option<String>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            policy: Policy::Help,
            drain: Drain::Thread,
            fork: Fork::Quiet,
            memory_bytes: 0,
            ring_bytes: 0,
            flush_ms: 0,
            rank: 0,
            compress: 0,
            snapshot_signal: 0,
            snapshot_path: None,
            sidecar_dir: None,
            app: None,
        }
    }
}

fn c_string(bytes: &[u8], call: &'static str) -> Result<CString, Error> {
    CString::new(bytes).map_err(|_| {
        let path = String::from_utf8_lossy(bytes).into_owned();
        Error::Usage(Place { call, path })
    })
}

impl SessionOptions {
    /// Starts a session with these options.
    pub fn start(&self, path: impl AsRef<Path>) -> Result<Session, Error> {
        let call = "start a session";
        let text = path.as_ref().to_string_lossy().into_owned();
        let path = c_string(path.as_ref().as_os_str().as_bytes(), call)?;
        let optional = |text: &Option<String>| {
            text.as_ref().map(|t| c_string(t.as_bytes(), call)).transpose()
        };
        let snapshot_path = optional(&self.snapshot_path)?;
        let sidecar_dir = optional(&self.sidecar_dir)?;
        let app = optional(&self.app)?;
        let desc = sys::ts_session_desc {
            path: path.as_ptr(),
            policy: match self.policy {
                Policy::Help => sys::TS_POLICY_HELP,
                Policy::Drop => sys::TS_POLICY_DROP,
                Policy::Overwrite => sys::TS_POLICY_OVERWRITE,
                Policy::Block => sys::TS_POLICY_BLOCK,
            },
            drain: match self.drain {
                Drain::Thread => sys::TS_DRAIN_THREAD,
                Drain::Manual => sys::TS_DRAIN_MANUAL,
            },
            fork: match self.fork {
                Fork::Quiet => sys::TS_FORK_QUIET,
                Fork::Follow => sys::TS_FORK_FOLLOW,
            },
            memory_bytes: self.memory_bytes,
            ring_bytes: self.ring_bytes,
            flush_ms: self.flush_ms,
            rank: self.rank,
            compress: self.compress,
            snapshot_signal: self.snapshot_signal,
            snapshot_path: pointer(&snapshot_path),
            sidecar_dir: pointer(&sidecar_dir),
            app: pointer(&app),
        };
        // SAFETY: the strings of the desc live until the call returns, which
        // copies them.
        let result = unsafe { sys::ts_session_start(&desc) };
        check(result, call, &text)?;
        Ok(Session { path: text, stopped: false })
    }
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(null(), |t| t.as_ptr())
}

/// The session of this process: everything that threads record until it is
/// stopped, or dropped, is in its trace. There is one at a time.
#[derive(Debug)]
pub struct Session {
    path: String,
    stopped: bool,
}

impl Session {
    /// Starts recording into `path`, which may hold `%p` (process identifier),
    /// `%r` (rank), `%h` (host name) and `%%`. An existing file is replaced.
    pub fn start(path: impl AsRef<Path>) -> Result<Session, Error> {
        SessionOptions::default().start(path)
    }

    /// The options of a session, to be changed before it is started.
    pub fn options() -> SessionOptions {
        SessionOptions::default()
    }

    /// Writes what is buffered, and closes the trace. The error is the first
    /// one since the start; the trace counts what it cost.
    pub fn stop(mut self) -> Result<(), Error> {
        self.stopped = true;
        self.check(unsafe { sys::ts_session_stop() }, "stop the session")
    }

    /// Stops recording; the trace stays open.
    pub fn pause(&self) -> Result<(), Error> {
        self.check(unsafe { sys::ts_session_pause() }, "pause the session")
    }

    /// Records again after a pause.
    pub fn resume(&self) -> Result<(), Error> {
        self.check(unsafe { sys::ts_session_resume() }, "resume the session")
    }

    /// Returns when everything recorded before the call is in the file.
    pub fn flush(&self) -> Result<(), Error> {
        self.check(unsafe { sys::ts_session_flush() }, "flush the session")
    }

    /// Writes what the rings hold now as a trace of its own; recording goes
    /// on. `path` may hold `%n`, the number of the dump.
    pub fn snapshot(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let call = "write a snapshot";
        let text = path.as_ref().to_string_lossy().into_owned();
        let path = c_string(path.as_ref().as_os_str().as_bytes(), call)?;
        // SAFETY: the path lives until the call returns.
        check(unsafe { sys::ts_session_snapshot(path.as_ptr()) }, call, &text)
    }

    // The calls above that pass no pointer have no precondition.
    fn check(
        &self,
        result: sys::ts_result,
        call: &'static str,
    ) -> Result<(), Error> {
        check(result, call, &self.path)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.stopped {
            // Its result is lost: `stop` returns it.
            // SAFETY: no precondition.
            unsafe { sys::ts_session_stop() };
        }
    }
}

/// Figures of a session.
pub type Stats = sys::ts_stats;

/// The figures of the session, or of the last one after it was stopped.
pub fn stats() -> Stats {
    let mut stats = Stats::default();
    // SAFETY: writes one struct.
    unsafe { sys::ts_session_stats(&mut stats) };
    stats
}

/// Whether a session runs and is not paused.
#[inline(always)]
pub fn is_recording() -> bool {
    // SAFETY: a global of the library, valid for ever, changed atomically.
    unsafe { sys::ts__here.gate.load(Ordering::Relaxed) != 0 }
}

/// The present time in the ticks in which records have their times.
pub fn tick_now() -> u64 {
    // SAFETY: no precondition.
    unsafe { sys::ts_tick_now() }
}
