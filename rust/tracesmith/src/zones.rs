use crate::session::is_recording;
use crate::sys;
use crate::text::with_c_text;
use std::any::type_name;
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};

/// A place in the source, in a `static`. The macros make one each.
pub struct Site {
    own: UnsafeCell<sys::ts_site>,
    // The same for names made at run time: the library keeps another number in
    // it, which is not that of a site.
    named: UnsafeCell<sys::ts_site>,
}

// SAFETY: the texts are static, and only the library changes the rest,
// atomically ("any number of threads may hit a site at once").
unsafe impl Sync for Site {}

/// A text that ends with a zero, as C needs it.
const fn c_text(text: &'static str) -> *const c_char {
    let bytes = text.as_bytes();
    assert!(
        !bytes.is_empty() && bytes[bytes.len() - 1] == 0,
        "a text of a site must end with \\0"
    );
    bytes.as_ptr().cast()
}

impl Site {
    /// A place. The texts must end with `\0`, which is checked when it is
    /// compiled; `color` is 0xRRGGBB, 0: none.
    pub const fn new(
        name: &'static str,
        category: Option<&'static str>,
        color: u32,
        file: &'static str,
        line: u32,
    ) -> Site {
        let site = sys::ts_site {
            name: c_text(name),
            category: match category {
                Some(category) => c_text(category),
                None => null(),
            },
            function: null(),
            file: c_text(file),
            line,
            color,
            code: 0,
        };
        Site { own: UnsafeCell::new(site), named: UnsafeCell::new(site) }
    }

    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut sys::ts_site {
        self.own.get()
    }

    /// Records a moment on this thread. [`mark!`](crate::mark!) is shorter.
    #[inline(always)]
    pub fn mark(&'static self) {
        if is_recording() {
            // SAFETY: a static site.
            unsafe { sys::ts_rs_mark(self.as_ptr()) }
        }
    }

    /// A frame ends and the next one begins.
    pub fn frame(&'static self) {
        // SAFETY: a static site.
        unsafe { sys::ts_frame(self.as_ptr()) }
    }

    /// Starts a span.
    pub fn span_start(&'static self, id: u64) {
        // SAFETY: a static site.
        unsafe { sys::ts_span_start(id, self.as_ptr()) }
    }
}

/// The place of a function, named after it at the first hit.
pub struct FunctionSite {
    number: AtomicU32,
    file: &'static str,
    line: u32,
}

impl FunctionSite {
    /// The place of [`function!`](crate::function!); `file` ends with `\0`.
    pub const fn new(file: &'static str, line: u32) -> FunctionSite {
        c_text(file);
        FunctionSite { number: AtomicU32::new(0), file, line }
    }

    /// Begins a zone that is named after the function that `_inner` is in.
    #[inline]
    pub fn begin<F>(&'static self, _inner: F) -> Zone {
        if !is_recording() {
            return Zone::none();
        }
        let mut number = self.number.load(Ordering::Acquire);
        if number == 0 {
            number = self.define(type_name::<F>());
        }
        // SAFETY: any number; 0 begins nothing.
        Zone::from_raw(unsafe { sys::ts_rs_zone_begin_site(number) })
    }

    /// The number of the place; 0 if the dictionary is full, which is counted.
    #[cold]
    fn define(&self, inner: &str) -> u32 {
        let name = inner.rsplit_once("::").map_or(inner, |(outer, _)| outer);
        let name = name.trim_end_matches("::{{closure}}");
        let base = sys::ts_site {
            name: null(),
            category: null(),
            function: null(),
            file: c_text(self.file),
            line: self.line,
            color: 0,
            code: 0,
        };
        // SAFETY: both are copied.
        let number = with_c_text(name, |name| unsafe {
            sys::ts_site_define(name, &base)
        });
        // Every thread gets the same number for the same place.
        self.number.store(number, Ordering::Release);
        number
    }
}

/// A place whose texts are made at run time. It is looked up when it is
/// defined, and is valid in every session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeSite(u32);

impl RuntimeSite {
    /// The place of a name; empty texts are left out.
    pub fn define(
        name: &str,
        category: &str,
        file: &str,
        line: u32,
    ) -> RuntimeSite {
        let category = CString::new(category).unwrap_or_default();
        let file = CString::new(file).unwrap_or_default();
        let pointer = |text: &CString| match text.as_bytes() {
            [] => null(),
            _ => text.as_ptr(),
        };
        let base = sys::ts_site {
            name: null(),
            category: pointer(&category),
            function: null(),
            file: pointer(&file),
            line,
            color: 0,
            code: 0,
        };
        // SAFETY: all texts are copied.
        RuntimeSite(with_c_text(name, |name| unsafe {
            sys::ts_site_define(name, &base)
        }))
    }
}

/// An interval of this thread, which ends when it is dropped. Zones nest, so
/// that it cannot be sent to another thread: use spans for work that moves.
#[must_use = "a zone ends when it is dropped; zone! keeps it for the block"]
pub struct Zone {
    zone: sys::ts_zone,
    not_send: PhantomData<*mut ()>,
}

impl Zone {
    #[inline(always)]
    fn from_raw(zone: sys::ts_zone) -> Zone {
        Zone { zone, not_send: PhantomData }
    }

    #[inline(always)]
    fn none() -> Zone {
        Zone::from_raw(sys::ts_zone { start: 0, code: 0, depth: 0 })
    }

    /// Begins a zone at a place. [`zone!`](crate::zone!) is shorter.
    #[inline(always)]
    pub fn begin(site: &'static Site) -> Zone {
        if !is_recording() {
            return Zone::none();
        }
        // SAFETY: a static site.
        Zone::from_raw(unsafe { sys::ts_rs_zone_begin(site.as_ptr()) })
    }

    /// Begins a zone whose name is made at run time, and looked up each time.
    /// `base` has the other properties. [`zone_name!`](crate::zone_name!) is
    /// shorter.
    pub fn named(name: &str, base: &'static Site) -> Zone {
        if !is_recording() {
            return Zone::none();
        }
        // SAFETY: the name is copied, the site is static.
        Zone::from_raw(with_c_text(name, |name| unsafe {
            sys::ts_rs_zone_begin_named(name, base.named.get())
        }))
    }

    /// Begins a zone at a place that was made at run time.
    #[inline]
    pub fn begin_at(site: RuntimeSite) -> Zone {
        if !is_recording() {
            return Zone::none();
        }
        // SAFETY: any number; 0 begins nothing.
        Zone::from_raw(unsafe { sys::ts_rs_zone_begin_site(site.0) })
    }

    /// Ends it before its block does.
    #[inline(always)]
    pub fn end(self) {}

    /// Ends it while zones inside of it are open, as ranges of libraries may.
    pub fn end_outer(mut self) {
        if self.zone.code != 0 {
            // SAFETY: as in drop, which then has nothing to end.
            unsafe { sys::ts_rs_zone_end_outer(self.zone) }
            self.zone.code = 0;
        }
    }
}

impl Drop for Zone {
    #[inline(always)]
    fn drop(&mut self) {
        if self.zone.code != 0 {
            // SAFETY: begun by this thread, as it is not Send, and ended once.
            unsafe { sys::ts_rs_zone_end(self.zone) }
        }
    }
}

/// A static [`Site`]: `site!("name")`, `site!("name", "category")`,
/// `site!("name", "category", 0xRRGGBB)`, with literals.
#[macro_export]
macro_rules! site {
    ($name:literal) => {
        $crate::site!(@ $name, ::core::option::Option::None, 0)
    };
    ($name:literal, $category:literal) => {
        $crate::site!($name, $category, 0)
    };
    ($name:literal, $category:literal, $color:expr) => {
        $crate::site!(
            @ $name,
            ::core::option::Option::Some(::core::concat!($category, "\0")),
            $color
        )
    };
    (@ $name:literal, $category:expr, $color:expr) => {{
        static SITE: $crate::Site = $crate::Site::new(
            ::core::concat!($name, "\0"),
            $category,
            $color,
            ::core::concat!(::core::file!(), "\0"),
            ::core::line!(),
        );
        &SITE
    }};
}

/// A zone until the end of the block: `zone!("name")`, with a category and a
/// colour as in [`site!`](crate::site!).
#[macro_export]
macro_rules! zone {
    ($($site:tt)+) => {
        let _zone = $crate::Zone::begin($crate::site!($($site)+));
    };
}

/// A zone until the end of the block, with a name made at run time.
#[macro_export]
macro_rules! zone_name {
    ($name:expr) => {
        let _zone = $crate::Zone::named(
            ::core::convert::AsRef::<str>::as_ref(&$name),
            $crate::site!(""),
        );
    };
}

/// A zone until the end of the block, named after the function.
#[macro_export]
macro_rules! function {
    () => {
        let _zone = {
            static SITE: $crate::FunctionSite = $crate::FunctionSite::new(
                ::core::concat!(::core::file!(), "\0"),
                ::core::line!(),
            );
            fn inner() {}
            SITE.begin(inner)
        };
    };
}

/// A moment on this thread: `mark!("name")`, as [`site!`](crate::site!).
#[macro_export]
macro_rules! mark {
    ($($site:tt)+) => { $crate::site!($($site)+).mark() };
}

/// A frame, or a training step, ends and the next one begins.
#[macro_export]
macro_rules! frame {
    ($($site:tt)+) => { $crate::site!($($site)+).frame() };
}

/// Starts work that moves between threads or tasks; `id` is any number, and
/// may be used again after [`span_end`](crate::span_end).
#[macro_export]
macro_rules! span_start {
    ($id:expr, $($site:tt)+) => {
        $crate::site!($($site)+).span_start($id)
    };
}
