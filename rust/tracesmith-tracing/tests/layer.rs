use tracesmith::{Column, Filter, Kind, Reader, Session};
use tracing_core::callsite::Callsite;
use tracing_core::field::Value;
use tracing_core::metadata::{Level, Metadata};
use tracing_core::span::{Attributes, Id};
use tracing_core::subscriber::Interest;
use tracing_core::{dispatcher, metadata, Dispatch, Event, Kind as Of};
use tracing_subscriber::prelude::*;

/// What the macros of `tracing` make: a place with fields.
struct Place(&'static Metadata<'static>);

impl Callsite for Place {
    fn set_interest(&self, _: Interest) {}
    fn metadata(&self) -> &Metadata<'_> {
        self.0
    }
}

macro_rules! place {
    ($name:ident, $text:literal, $of:expr) => {
        static $name: Place = {
            static METADATA: Metadata<'static> = metadata! {
                name: $text,
                target: "layer",
                level: Level::INFO,
                fields: &["message", "rows", "file"],
                callsite: &$name,
                kind: $of,
            };
            Place(&METADATA)
        };
    };
}
place!(OUTER, "outer", Of::SPAN);
place!(INNER, "inner", Of::SPAN);
place!(HAPPENED, "happened", Of::EVENT);

fn span(to: &Dispatch, place: &'static Place, rows: Option<u64>) -> Id {
    let field = place.0.fields().field("rows").unwrap();
    let value = rows.as_ref().map(|rows| rows as &dyn Value);
    let values = [(&field, value)];
    let values = place.0.fields().value_set(&values);
    to.new_span(&Attributes::new(place.0, &values))
}

#[test]
fn spans_are_zones_and_events_are_messages() {
    let path = format!("{}/layer.sbt", env!("CARGO_TARGET_TMPDIR"));
    let registry =
        tracing_subscriber::registry().with(tracesmith_tracing::layer());
    let to = Dispatch::new(registry);
    let session = Session::start(&path).unwrap();
    let outer = span(&to, &OUTER, Some(7));
    let inner = span(&to, &INNER, None);
    to.enter(&outer);
    to.enter(&inner);
    to.exit(&outer); // before the one inside of it
    to.exit(&inner);
    to.enter(&outer);
    let field = HAPPENED.0.fields().field("message").unwrap();
    let rows = HAPPENED.0.fields().field("rows").unwrap();
    let said = format_args!("it is done");
    let values =
        [(&field, Some(&said as &dyn Value)), (&rows, Some(&3u64 as _))];
    dispatcher::with_default(&to, || {
        Event::dispatch(HAPPENED.0, &HAPPENED.0.fields().value_set(&values));
    });
    to.exit(&outer);
    session.stop().unwrap();
    to.enter(&outer); // after the session: nothing
    to.exit(&outer);

    let trace = Reader::open(&path).unwrap();
    let of = |kind| trace.events_of(&Filter::new().kind(kind));
    let zones: Vec<_> =
        of(Kind::Zone).map(|e| e.unwrap().label.to_string()).collect();
    assert_eq!(zones, ["outer", "inner", "outer"]);
    assert_eq!(trace.count(Kind::ZoneArg), 1);
    let mut arguments = of(Kind::ZoneArg);
    let argument = arguments.next_row().unwrap();
    assert_eq!(argument.value(Column::Value), 7);
    let mut messages = of(Kind::Message);
    assert_eq!(messages.next_row().unwrap().text(), "it is done rows=3");
    assert!(messages.next_row().is_none());
    let mut rows = of(Kind::Zone);
    let site = rows.next_row().unwrap().value(Column::Site) as u32;
    let site = trace.site(site).unwrap();
    assert_eq!(site.category, "layer");
    assert!(site.file.to_str().ends_with("layer.rs") && site.line > 0);
}
