//! Records the spans of the crate `tracing` as zones, its events as messages.
//!
//! ```ignore
//! use tracing_subscriber::prelude::*;
//!
//! let session = tracesmith::Session::start("trace.sbt")?;
//! tracing_subscriber::registry().with(tracesmith_tracing::layer()).init();
//! ```
//!
//! Each time that a thread enters a span is a zone of that thread, so that a
//! task which is polled often has many. Fields of a span belong to the first.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::sync::RwLock;
use tracesmith::{is_recording, message, zone_text, zone_value};
use tracesmith::{Number, RuntimeSite, Zone};
use tracing_core::callsite::Identifier;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer for a subscriber: see [`layer`].
#[derive(Debug, Default)]
pub struct Layer {
    sites: RwLock<HashMap<Identifier, RuntimeSite>>,
}

/// A layer that records while a session runs.
pub fn layer() -> Layer {
    Layer::default()
}

thread_local! {
    /// The spans that this thread is in, innermost last.
    static ENTERED: RefCell<Vec<(Id, Zone)>> = RefCell::default();
}

impl Layer {
    /// The place of a span or event, looked up once.
    fn site(&self, metadata: &'static Metadata<'static>) -> RuntimeSite {
        let callsite = metadata.callsite();
        let known = |sites: &HashMap<_, _>| sites.get(&callsite).copied();
        if let Some(site) = self.sites.read().ok().and_then(|s| known(&s)) {
            return site;
        }
        let site = RuntimeSite::define(
            metadata.name(),
            metadata.target(),
            metadata.file().unwrap_or(""),
            metadata.line().unwrap_or(0),
        );
        if let Ok(mut sites) = self.sites.write() {
            sites.insert(callsite, site);
        }
        site
    }
}

/// Fields of a span until its first zone, or of an event.
#[derive(Default)]
struct Fields {
    numbers: Vec<(&'static str, Number)>,
    text: String,
}

impl Fields {
    fn push(&mut self, field: &Field, value: impl Debug) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        // Writing to a String does not fail.
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            name => write!(self.text, "{name}={value:?}"),
        };
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.push(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.numbers.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.numbers.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.numbers.push((field.name(), value.into()));
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, new: &Attributes<'_>, id: &Id, of: Context<'_, S>) {
        if let Some(span) = of.span(id) {
            let mut fields = Fields::default();
            new.record(&mut fields);
            let site = self.site(new.metadata());
            span.extensions_mut().insert(site);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, of: Context<'_, S>) {
        if let Some(span) = of.span(id) {
            if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
                values.record(fields);
            }
        }
    }

    fn on_enter(&self, id: &Id, of: Context<'_, S>) {
        let span = match of.span(id) {
            Some(span) if is_recording() => span,
            _ => return,
        };
        let site = span.extensions().get::<RuntimeSite>().copied();
        let fields = span.extensions_mut().get_mut().map(std::mem::take);
        if let Some(site) = site {
            let zone = Zone::begin_at(site);
            let Fields { numbers, text } = fields.unwrap_or_default();
            numbers.into_iter().for_each(|(name, n)| zone_value(name, n));
            if !text.is_empty() {
                zone_text(&text);
            }
            // Fails while the thread ends: the zone then ends at once.
            let _ =
                ENTERED.try_with(|e| e.borrow_mut().push((id.clone(), zone)));
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            // A span may be left before those inside of it.
            match entered.iter().rposition(|(entered, _)| entered == id) {
                Some(at) if at + 1 == entered.len() => {
                    entered.pop();
                }
                Some(at) => entered.remove(at).1.end_outer(),
                None => {} // entered while nothing was recorded
            }
        });
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !is_recording() {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut text = fields.text;
        for (name, number) in fields.numbers {
            let _ = match number {
                Number::Int(value) => write!(text, " {name}={value}"),
                Number::Uint(value) => write!(text, " {name}={value}"),
                Number::Float(value) => write!(text, " {name}={value}"),
            };
        }
        message(text.trim_start());
    }
}
