use crate::columns::{ChunkInfo, Columns};
use crate::cursor::{Events, Filter};
use crate::error::{check, Error, Place};
use crate::kinds::{Kind, TrackType};
use crate::sys;
use crate::text::Text;
use crate::timeline::Timeline;
use std::ffi::{CStr, CString};
use std::mem::{zeroed, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null_mut, NonNull};

/// What a reader knows about its trace; times are trace times, in ns.
pub type Info = sys::ts_info;

/// How to open a trace; see `ts_reader_desc` of `tracesmith_replay.h`.
#[derive(Clone, Debug, Default)]
pub struct ReaderOptions {
    /// Leave the records of a dead writer where they are (false: move them
    /// into the trace, which changes the file).
    pub no_salvage: bool,
    /// Ignore the index, and walk all chunks (false).
    pub no_index: bool,
    /// For walks and scans (0: the number of cores).
    pub threads: u32,
    /// Limit for one decompressed chunk (0: 1 GiB).
    pub inflate_bytes: u64,
    /// Read at most 2 MB at the open (false).
    pub lazy: bool,
}

impl ReaderOptions {
    /// Opens a trace with these options.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Reader, Error> {
        let call = "open a trace";
        let text = path.as_ref().to_string_lossy().into_owned();
        let place = || Place { call, path: text.clone() };
        let c_path = CString::new(path.as_ref().as_os_str().as_bytes())
            .map_err(|_| Error::Usage(place()))?;
        // SAFETY: all zeros is the default of the desc.
        let mut desc: sys::ts_reader_desc = unsafe { zeroed() };
        desc.path = c_path.as_ptr();
        desc.no_salvage = self.no_salvage;
        desc.no_index = self.no_index;
        desc.threads = self.threads;
        desc.inflate_bytes = self.inflate_bytes;
        desc.lazy = self.lazy;
        let mut reader = null_mut();
        // SAFETY: the path lives until the call returns.
        let result = unsafe { sys::ts_reader_open(&mut reader, &desc) };
        check(result, call, &text)?;
        match NonNull::new(reader) {
            Some(raw) => Ok(Reader { raw, path: text }),
            None => Err(Error::Memory(place())),
        }
    }
}

/// An open trace. Whatever it returns borrows from it.
pub struct Reader {
    raw: NonNull<sys::ts_reader>,
    path: String,
}

// SAFETY: "many threads may use one reader at once, except for
// ts_reader_refresh and ts_reader_close", which need `&mut` or own it here.
unsafe impl Send for Reader {}
unsafe impl Sync for Reader {}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: what uses the reader borrows from it, so that it is gone.
        unsafe { sys::ts_reader_close(self.raw.as_ptr()) }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).finish()
    }
}

/// A track: a thread, a device, a stream, a counter.
#[derive(Clone, Copy, Debug)]
pub struct Track<'r> {
    /// Its number in the trace.
    pub id: u32,
    /// What it is.
    pub track_type: TrackType,
    /// The track that contains it, 0: none.
    pub parent: u32,
    /// Its name.
    pub name: Text<'r>,
    /// The unit of a counter.
    pub unit: Text<'r>,
    /// As recorded: of a thread the system's number, of a device its index.
    pub number: u64,
}

/// Losses of one cause on one track.
#[derive(Clone, Copy, Debug)]
pub struct Loss<'r> {
    /// The track, 0: the session.
    pub track: u32,
    /// The cause, such as "ring_full".
    pub cause: &'static str,
    /// What the cause says about it.
    pub detail: Text<'r>,
    /// Records lost, or how often threads waited.
    pub count: u64,
    /// Trace time of the first one.
    pub first_ns: i64,
    /// Trace time of the last one.
    pub last_ns: i64,
    /// Time that threads spent waiting instead.
    pub stall_ns: u64,
}

/// A part of the file that cannot be read.
#[derive(Clone, Debug)]
pub struct Damage {
    /// Why.
    pub error: Error,
    /// The cause, one clause.
    pub text: &'static str,
    /// Where in the file.
    pub offset: u64,
    /// Bytes skipped.
    pub size: u64,
}

/// A place in the source.
#[derive(Clone, Copy, Debug)]
pub struct Site<'r> {
    /// The name, or that of the function.
    pub name: Text<'r>,
    /// The category, if it has one.
    pub category: Text<'r>,
    /// The function.
    pub function: Text<'r>,
    /// The file.
    pub file: Text<'r>,
    /// The line in it.
    pub line: u32,
    /// 0xRRGGBB, 0: none.
    pub color: u32,
}

/// The value of metadata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer.
    Int(i64),
    /// A number in floating point.
    Float(f64),
    /// A text.
    Text(Text<'a>),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<i32> for Value<'_> {
    fn from(value: i32) -> Self {
        Value::Int(value.into())
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        // SAFETY: the text is borrowed for as long.
        Value::Text(unsafe { Text::from_raw(text.as_ptr().cast(), text.len()) })
    }
}

/// A fact about the session, or about a track.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'r> {
    /// The track, 0: the session.
    pub track: u32,
    /// What it says.
    pub key: Text<'r>,
    /// The value.
    pub value: Value<'r>,
}

/// Calls `get(index, &mut item)` with 0, 1, ... until it returns false.
pub(crate) fn each<'r, T: Copy + 'r>(
    mut get: impl FnMut(usize, *mut T) -> bool + 'r,
) -> impl Iterator<Item = T> + 'r {
    (0..).map_while(move |index| {
        let mut item = MaybeUninit::uninit();
        // SAFETY: true says that the item was written.
        get(index, item.as_mut_ptr()).then(|| unsafe { item.assume_init() })
    })
}

impl Reader {
    /// Opens a trace. Damage never makes this fail: see [`Reader::damages`].
    pub fn open(path: impl AsRef<Path>) -> Result<Reader, Error> {
        ReaderOptions::default().open(path)
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::ts_reader {
        self.raw.as_ptr()
    }

    pub(crate) fn check(
        &self,
        result: sys::ts_result,
        call: &'static str,
    ) -> Result<(), Error> {
        check(result, call, &self.path)
    }

    /// # Safety
    /// The text must be one of this reader.
    pub(crate) unsafe fn text(&self, text: sys::ts_text) -> Text<'_> {
        Text::new(text)
    }

    /// The description of the trace.
    pub fn info(&self) -> &Info {
        // SAFETY: never NULL, and unchanged until refresh or close.
        unsafe { &*sys::ts_reader_info(self.as_ptr()) }
    }

    /// The number of events of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        let code = kind.code() as usize;
        self.info().counts.get(code).copied().unwrap_or(0)
    }

    /// Reads what was added to a trace that is still being written. True:
    /// there is something new.
    pub fn refresh(&mut self) -> bool {
        // SAFETY: nobody else uses the reader.
        unsafe { sys::ts_reader_refresh(self.as_ptr()) }
    }

    /// Checks every chunk; the error is that of the first damage.
    pub fn verify(&self) -> Result<(), Error> {
        // SAFETY: any thread may call it.
        let result = unsafe { sys::ts_reader_verify(self.as_ptr()) };
        self.check(result, "verify the trace")
    }

    /// The tracks, in order of id.
    pub fn tracks(&self) -> impl Iterator<Item = Track<'_>> + '_ {
        // SAFETY: the reader is open.
        each(move |index, track| unsafe {
            sys::ts_reader_track_at(self.as_ptr(), index, track)
        })
        .map(move |track| self.track_of(track))
    }

    /// The track with an id.
    pub fn track(&self, id: u32) -> Option<Track<'_>> {
        let mut track = MaybeUninit::uninit();
        // SAFETY: true says that the track was written.
        unsafe {
            sys::ts_reader_track(self.as_ptr(), id, track.as_mut_ptr())
                .then(|| self.track_of(track.assume_init()))
        }
    }

    fn track_of(&self, track: sys::ts_track) -> Track<'_> {
        Track {
            id: track.id,
            track_type: TrackType::from_code(track.r#type),
            parent: track.parent,
            // SAFETY: texts of this reader.
            name: unsafe { self.text(track.name) },
            unit: unsafe { self.text(track.unit) },
            number: track.number,
        }
    }

    /// A name by its number; empty if the trace does not define it.
    pub fn name(&self, number: u32) -> Text<'_> {
        // SAFETY: a text of this reader.
        unsafe { self.text(sys::ts_reader_name(self.as_ptr(), number)) }
    }

    /// A place in the source by its number.
    pub fn site(&self, number: u32) -> Option<Site<'_>> {
        // SAFETY: NULL, or valid until refresh or close.
        let site =
            unsafe { sys::ts_reader_site(self.as_ptr(), number).as_ref()? };
        let name = unsafe { sys::ts_reader_site_name(self.as_ptr(), number) };
        Some(Site {
            name: unsafe { self.text(name) },
            category: self.name(site.category),
            function: self.name(site.function),
            file: self.name(site.file),
            line: site.line,
            color: site.color,
        })
    }

    /// The ledger of losses.
    pub fn losses(&self) -> impl Iterator<Item = Loss<'_>> + '_ {
        // SAFETY: the reader is open.
        each(move |index, row| unsafe {
            sys::ts_reader_loss(self.as_ptr(), index, row)
        })
        .map(move |row: sys::ts_loss_row| Loss {
            track: row.track,
            cause: static_text(unsafe { sys::ts_loss_name(row.cause) }),
            detail: self.name(row.detail),
            count: row.count,
            first_ns: row.first_ns,
            last_ns: row.last_ns,
            stall_ns: row.stall_ns,
        })
    }

    /// The damage found so far. Decoding may find more.
    pub fn damages(&self) -> impl Iterator<Item = Damage> + '_ {
        // SAFETY: the reader is open.
        each(move |index, damage| unsafe {
            sys::ts_reader_damage(self.as_ptr(), index, damage)
        })
        .map(move |damage: sys::ts_damage| Damage {
            error: Error::new(
                damage.result,
                Place { call: "read the trace", path: self.path.clone() },
            ),
            text: static_text(damage.text),
            offset: damage.offset,
            size: damage.size,
        })
    }

    /// Facts about the session and its tracks.
    pub fn metadata(&self) -> impl Iterator<Item = Metadata<'_>> + '_ {
        // SAFETY: the reader is open, and the texts are its own.
        each(move |index, metadata| unsafe {
            sys::ts_reader_metadata_at(self.as_ptr(), index, metadata)
        })
        .map(move |m: sys::ts_metadata| Metadata {
            track: m.track,
            key: unsafe { self.text(m.key) },
            value: match m.r#type {
                sys::TS_VALUE_INT => Value::Int(m.number),
                sys::TS_VALUE_DOUBLE => Value::Float(m.real),
                _ => Value::Text(unsafe { self.text(m.text) }),
            },
        })
    }

    /// Unix time, in nanoseconds, of a trace time.
    pub fn realtime_ns(&self, time_ns: i64) -> u64 {
        // SAFETY: the reader is open.
        unsafe { sys::ts_reader_realtime_ns(self.as_ptr(), time_ns) }
    }

    /// The chunks of events, in the order of the file.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkInfo> + '_ {
        // SAFETY: the reader is open.
        each(move |index, info| unsafe {
            sys::ts_reader_chunk(self.as_ptr(), index, info)
        })
        .enumerate()
        .filter_map(|(index, info)| ChunkInfo::new(index, &info))
    }

    /// Decodes a chunk of events, by the index of its [`ChunkInfo`].
    pub fn decode(&self, chunk: usize) -> Result<Columns<'_>, Error> {
        Columns::decode(self, chunk, u64::MAX)
    }

    /// All events in order of time.
    pub fn events(&self) -> Events<'_> {
        self.events_of(&Filter::new())
    }

    /// The events that match a filter, in order of time.
    pub fn events_of(&self, filter: &Filter) -> Events<'_> {
        Events::open(self, filter)
    }

    /// What devices did when, and why they were idle.
    pub fn timeline(&self) -> Result<Timeline<'_>, Error> {
        Timeline::open(self)
    }
}

/// A text of the library that is valid for ever.
pub(crate) fn static_text(text: *const std::os::raw::c_char) -> &'static str {
    // SAFETY: the callers pass static texts, which are ASCII.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}
