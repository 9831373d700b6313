use crate::error::Error;
use crate::kinds::{Column, Kind};
use crate::reader::Reader;
use crate::sys;
use crate::text::Text;
use std::mem::zeroed;
use std::slice::from_raw_parts;

/// A chunk of events of one kind, as the index of the trace describes it.
#[derive(Clone, Copy, Debug)]
pub struct ChunkInfo {
    /// For [`Reader::decode`].
    pub index: usize,
    /// The kind of its events.
    pub kind: Kind,
    /// How many there are.
    pub count: u32,
    /// The track of all of them; `None`: of several.
    pub track: Option<u32>,
    /// The earliest start.
    pub first_ns: i64,
    /// The latest end.
    pub last_ns: i64,
    /// Where in the file.
    pub offset: u64,
}

fn one_track(track: u32) -> Option<u32> {
    (track != sys::TS_TRACK_MIXED).then_some(track)
}

impl ChunkInfo {
    /// `None`: the chunk holds no events.
    pub(crate) fn new(
        index: usize,
        info: &sys::ts_chunk_info,
    ) -> Option<ChunkInfo> {
        let header = &info.header;
        (header.kind == sys::TS_CHUNK_EVENTS).then(|| ChunkInfo {
            index,
            kind: Kind::from_code(header.event.into()),
            count: header.count,
            track: one_track(header.track),
            first_ns: info.first_ns,
            last_ns: info.last_ns,
            offset: info.offset,
        })
    }
}

/// A decoded chunk: an array for each column. The slices borrow from it.
pub struct Columns<'r> {
    raw: sys::ts_columns,
    reader: &'r Reader,
}

// SAFETY: nothing changes it once it is decoded, and any thread may free it.
unsafe impl Send for Columns<'_> {}
unsafe impl Sync for Columns<'_> {}

impl Drop for Columns<'_> {
    fn drop(&mut self) {
        // SAFETY: the slices borrow from self, so that they are gone.
        unsafe { sys::ts_columns_close(self.reader.as_ptr(), &mut self.raw) }
    }
}

impl<'r> Columns<'r> {
    pub(crate) fn decode(
        reader: &'r Reader,
        chunk: usize,
        wanted: u64,
    ) -> Result<Columns<'r>, Error> {
        // SAFETY: all zeros is how it begins.
        let mut columns = Columns { raw: unsafe { zeroed() }, reader };
        // SAFETY: any thread may decode into columns of its own.
        let result = unsafe {
            sys::ts_reader_decode_columns(
                reader.as_ptr(),
                chunk,
                wanted,
                &mut columns.raw,
            )
        };
        reader.check(result, "decode a chunk")?;
        Ok(columns)
    }

    /// Decodes only some columns of a chunk; the slices of others are empty.
    /// Times are [`Column::Start`] and [`Column::Duration`], tracks
    /// [`Column::Track`], texts [`Column::Text`].
    pub fn decode_some(
        reader: &'r Reader,
        chunk: usize,
        columns: &[Column],
    ) -> Result<Columns<'r>, Error> {
        let bit = |column: &Column| 1u64.checked_shl(column.code());
        let wanted = columns.iter().filter_map(bit).fold(0, |a, b| a | b);
        Columns::decode(reader, chunk, wanted)
    }

    /// Elements of an array of the chunk; none if it is NULL.
    ///
    /// # Safety
    /// The array must be one of `self.raw`, with an element for each row.
    unsafe fn rows<T>(&self, array: *const T) -> &[T] {
        if array.is_null() {
            return &[];
        }
        from_raw_parts(array, self.len())
    }

    /// The kind of the events.
    pub fn kind(&self) -> Kind {
        Kind::from_code(self.raw.kind)
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.raw.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.raw.count == 0
    }

    /// The track of all events; `None`: see [`Columns::tracks`].
    pub fn track(&self) -> Option<u32> {
        one_track(self.raw.track)
    }

    /// The track of each event; empty if all are on one.
    pub fn tracks(&self) -> &[u32] {
        // SAFETY: an array of the chunk, as for all below.
        unsafe { self.rows(self.raw.tracks) }
    }

    /// Trace time of the start of each event.
    pub fn start_ns(&self) -> &[i64] {
        unsafe { self.rows(self.raw.start_ns) }
    }

    /// Duration of each event.
    pub fn duration_ns(&self) -> &[i64] {
        unsafe { self.rows(self.raw.duration_ns) }
    }

    /// The values of a column, a double by its bits. `None`: all are 0, or
    /// another function returns them (times, tracks, texts).
    pub fn values(&self, column: Column) -> Option<&[u64]> {
        let values = self.raw.values.get(column.code() as usize)?;
        (!values.is_null()).then(|| unsafe { self.rows(*values) })
    }

    /// The text of an event; empty if it has none.
    pub fn text(&self, row: usize) -> Text<'_> {
        let sizes = unsafe { self.rows(self.raw.text_sizes) };
        let texts = unsafe { self.rows(self.raw.texts) };
        match (texts.get(row), sizes.get(row)) {
            // SAFETY: as long as the chunk.
            (Some(text), Some(size)) => unsafe {
                Text::from_raw(*text, *size as usize)
            },
            _ => unsafe { Text::from_raw(std::ptr::null(), 0) },
        }
    }
}
