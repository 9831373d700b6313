use crate::error::Error;
use crate::kinds::{Column, Kind};
use crate::reader::Reader;
use crate::sys;
use crate::text::Text;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Selects events. A new one selects everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    kinds: u64,
    tracks: Option<Vec<u32>>,
    from_ns: i64,
    to_ns: i64,
}

impl Filter {
    /// Everything.
    pub fn new() -> Filter {
        Filter::default()
    }

    /// Events of this kind, and of others that were named.
    pub fn kind(mut self, kind: Kind) -> Filter {
        self.kinds |= 1u64.checked_shl(kind.code()).unwrap_or(0);
        self
    }

    /// Events on this track, and on others that were named.
    pub fn track(mut self, track: u32) -> Filter {
        self.tracks.get_or_insert_with(Vec::new).push(track);
        self
    }

    /// Events that touch `from_ns` to `to_ns`.
    pub fn between(mut self, from_ns: i64, to_ns: i64) -> Filter {
        self.from_ns = from_ns;
        self.to_ns = to_ns;
        self
    }
}

/// An event as the iterator returns it; [`Events::next_row`] has all columns.
#[derive(Clone, Copy, Debug)]
pub struct Event<'r> {
    /// What it is.
    pub kind: Kind,
    /// What it lies on.
    pub track: u32,
    /// When it starts.
    pub start_ns: i64,
    /// How long it lasts; 0: a point in time.
    pub duration_ns: i64,
    /// The name of its site, kernel, function or counter, or of its kind.
    pub label: Text<'r>,
}

/// An event with the chunk that it lies in, until the next one is asked for.
#[derive(Clone, Copy)]
pub struct Row<'c> {
    raw: sys::ts_event,
    reader: &'c Reader,
}

impl<'c> Row<'c> {
    fn columns(&self) -> &'c sys::ts_columns {
        // SAFETY: valid until the next call, for which 'c must have ended.
        unsafe { &*self.raw.columns }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        Kind::from_code(self.raw.kind)
    }

    /// What it lies on.
    pub fn track(&self) -> u32 {
        self.raw.track
    }

    /// When it starts.
    pub fn start_ns(&self) -> i64 {
        self.raw.start_ns
    }

    /// How long it lasts.
    pub fn duration_ns(&self) -> i64 {
        self.raw.duration_ns
    }

    /// The value of a column, 0 if it has none; a double by its bits.
    pub fn value(&self, column: Column) -> u64 {
        match self.columns().values.get(column.code() as usize) {
            // SAFETY: an element for each row.
            Some(v) if !v.is_null() => unsafe { *v.add(self.raw.row as usize) },
            _ => 0,
        }
    }

    /// Its text; empty if it has none.
    pub fn text(&self) -> Text<'c> {
        let columns = self.columns();
        if columns.text_sizes.is_null() {
            // SAFETY: no bytes.
            return unsafe { Text::from_raw(null(), 0) };
        }
        let row = self.raw.row as usize;
        // SAFETY: an element for each row; the bytes live as the chunk does.
        unsafe {
            let size = *columns.text_sizes.add(row) as usize;
            Text::from_raw(*columns.texts.add(row), size)
        }
    }

    /// The name of its site, kernel, function or counter, or of its kind.
    pub fn label(&self) -> Text<'c> {
        // SAFETY: an event of this reader.
        unsafe {
            let label = sys::ts_event_label(self.reader.as_ptr(), &self.raw);
            self.reader.text(label)
        }
    }
}

/// Events in order of time. After the last one comes an error if a chunk was
/// damaged, or memory was short.
pub struct Events<'r> {
    raw: *mut sys::ts_cursor,
    reader: &'r Reader,
    error: Option<Error>, // that comes after the last one
}

// SAFETY: "one [thread] at a time for each cursor".
unsafe impl Send for Events<'_> {}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        // SAFETY: rows borrow from self; NULL is allowed.
        unsafe { sys::ts_cursor_close(self.raw) }
    }
}

impl<'r> Events<'r> {
    pub(crate) fn open(reader: &'r Reader, filter: &Filter) -> Events<'r> {
        let tracks = filter.tracks.as_deref().unwrap_or(&[]);
        let filter = sys::ts_filter {
            kinds: filter.kinds,
            tracks: filter.tracks.as_ref().map_or(null(), |t| t.as_ptr()),
            track_count: tracks.len(),
            from_ns: filter.from_ns,
            to_ns: filter.to_ns,
        };
        let mut raw = null_mut();
        // SAFETY: the filter is copied.
        let result =
            unsafe { sys::ts_cursor_open(&mut raw, reader.as_ptr(), &filter) };
        let error = reader.check(result, "read events").err();
        Events { raw, reader, error }
    }

    fn next_raw(&mut self) -> Option<sys::ts_event> {
        if self.raw.is_null() {
            return None;
        }
        let mut event = MaybeUninit::uninit();
        // SAFETY: the cursor is open; true says that the event was written.
        unsafe {
            if sys::ts_cursor_next(self.raw, event.as_mut_ptr()) {
                return Some(event.assume_init());
            }
            let result = sys::ts_cursor_result(self.raw);
            self.error = self.reader.check(result, "read events").err();
            sys::ts_cursor_close(self.raw);
        }
        self.raw = null_mut();
        None
    }

    /// The next event with all of its columns. After `None`,
    /// [`Events::finish`] says whether something was left out.
    pub fn next_row(&mut self) -> Option<Row<'_>> {
        let raw = self.next_raw()?;
        Some(Row { raw, reader: self.reader })
    }

    /// The error after the last event, if there is one.
    pub fn finish(mut self) -> Result<(), Error> {
        self.error.take().map_or(Ok(()), Err)
    }
}

impl<'r> Iterator for Events<'r> {
    type Item = Result<Event<'r>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_raw() {
            None => self.error.take().map(Err),
            Some(raw) => {
                // SAFETY: an event of this reader, as long as which the label
                // is valid.
                let label = unsafe {
                    Text::new(sys::ts_event_label(self.reader.as_ptr(), &raw))
                };
                Some(Ok(Event {
                    kind: Kind::from_code(raw.kind),
                    track: raw.track,
                    start_ns: raw.start_ns,
                    duration_ns: raw.duration_ns,
                    label,
                }))
            }
        }
    }
}
