//! What the tests share. A process has one session, so that they take turns.
#![allow(dead_code)] // each program uses some of it

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use tracesmith::{Drain, Error, Kind, Reader, Session};

static TURN: Mutex<()> = Mutex::new(());

pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|failed| failed.into_inner())
}

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Records what `work` does, and opens the trace.
pub fn record(name: &str, work: impl FnOnce()) -> Result<Reader, Error> {
    let _turn = turn();
    let mut options = Session::options();
    options.drain = Drain::Manual;
    let session = options.start(path(name))?;
    work();
    session.stop()?;
    Reader::open(path(name))
}

/// The labels of all events of a kind, in order of time.
pub fn labels(trace: &Reader, kind: Kind) -> Vec<String> {
    trace
        .events_of(&tracesmith::Filter::new().kind(kind))
        .map(|event| event.unwrap().label.to_string())
        .collect()
}
