#![cfg(feature = "tools")]
mod common;

use common::{path, record};
use tracesmith::tools::{analyze_json, query, Cell};
use tracesmith::zone;

type Tested = Result<(), Box<dyn std::error::Error>>;

#[test]
fn a_query_and_an_analysis_of_what_was_recorded() -> Tested {
    record("tools.sbt", || {
        for _ in 0..5 {
            zone!("work");
        }
    })?;
    let path = path("tools.sbt");
    let path = path.to_str().ok_or("a path of UTF-8")?;
    let sql = "SELECT name, count(*) AS times, 0.5, NULL FROM zone GROUP BY 1";
    let rows = query(path, sql)?;
    assert_eq!(rows.columns[..2], ["name", "times"]);
    let text = Cell::Text("work".to_string());
    let row = vec![text, Cell::Int(5), Cell::Float(0.5), Cell::Null];
    assert_eq!(rows.rows, [row]);
    let error = query(path, "SELECT nothing FROM nowhere").unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");

    let json = analyze_json(path, "zones")?;
    assert!(json.starts_with('{') && json.contains("\"work\""), "{json}");
    let error = analyze_json("no/such.sbt", "").unwrap_err();
    assert!(error.to_string().contains("no/such.sbt"), "{error}");
    Ok(())
}
