//! Every declaration of this crate is that of the C headers.
//!
//! The sources are read as text, and each declaration is turned into C which
//! the compiler accepts only if it is equal to what the headers declare:
//! functions are declared a second time, structs get a mirror whose size,
//! offsets and types of members are compared, constants are asserted.

use std::fmt::Write;
use std::process::Command;

const SOURCES: &[&str] = &[
    include_str!("../src/record.rs"),
    include_str!("../src/read.rs"),
    include_str!("../src/tools.rs"), // also without the feature
];

/// A source without comments and line breaks.
fn squeeze(source: &str) -> String {
    let lines = source.lines().map(|l| l.split("//").next().unwrap_or(""));
    let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ").replace(", )", ")").replace("( ", "(").replace("< ", "<")
}

/// What follows `start` up to `end`, for each `start` of a text.
fn each<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start)
        .skip(1)
        .map(|rest| rest.split(end).next().unwrap_or(""))
        .collect()
}

/// The C declaration of `name` with a type of Rust.
fn declare(rust: &str, name: &str) -> String {
    let rust = rust.trim().trim_end_matches(',');
    if let Some(to) = rust.strip_prefix("*const ") {
        return declare(to, &format!("const *{name}")).replace("  ", " ");
    }
    if let Some(to) = rust.strip_prefix("*mut ") {
        return declare(to, &format!("*{name}"));
    }
    if let Some(function) = rust.strip_prefix("Option<unsafe extern \"C\" fn") {
        let function = function.trim_end_matches(',').trim_end();
        let function = function.strip_suffix('>').expect("ends Option");
        return signature(function, &format!("(*{name})"));
    }
    if let Some(array) = rust.strip_prefix('[') {
        let (of, count) = array
            .trim_end_matches(']')
            .rsplit_once("; ")
            .expect("an array has a count");
        return declare(of, &format!("{name}[{count}]"));
    }
    let c = match rust {
        "i8" => "int8_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "i32" | "c_int" => "int",
        "u32" | "AtomicU32" => "uint32_t",
        "i64" => "int64_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "f64" => "double",
        "c_char" => "char",
        "c_void" => "void",
        other => other, // bool, and types of the header
    };
    format!("{c} {name}")
}

/// `(a: T, b: U) -> R` as a C function `name`.
fn signature(rust: &str, name: &str) -> String {
    let close = rust.rfind(')').expect("a function has parameters");
    let result = rust[close + 1..].trim().strip_prefix("-> ");
    let parameters: Vec<_> = members(&rust[1..close])
        .map(|(name, rust)| declare(rust, name))
        .collect();
    let parameters = match parameters.len() {
        0 => "void".to_string(),
        _ => parameters.join(", "),
    };
    declare(result.unwrap_or("c_void"), &format!("{name}({parameters})"))
}

/// Pairs of name and type: a comma within brackets does not separate.
fn members(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if !list[..at].ends_with('-') => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found.into_iter().filter_map(|member| {
        let (name, rust) = member.trim().split_once(": ")?;
        let name = name.trim_start_matches("pub ").trim_start_matches("r#");
        Some((name, rust))
    })
}

/// A mirror of a struct, and what must be equal.
fn compare_struct(c: &mut String, name: &str, body: &str) {
    let mirror = format!("mirror_{name}");
    writeln!(c, "typedef struct {mirror} {{").unwrap();
    for (member, rust) in members(body) {
        writeln!(c, "    {};", declare(rust, member)).unwrap();
    }
    writeln!(c, "}} {mirror};").unwrap();
    if name != "ts__page" {
        writeln!(c, "SAME(sizeof({mirror}), sizeof({name}));").unwrap();
    }
    for (member, _) in members(body) {
        writeln!(c, "MEMBER({mirror}, {name}, {member});").unwrap();
    }
}

/// All declarations of a source as C; the number of them.
fn compare(c: &mut String, source: &str) -> usize {
    let text = squeeze(source);
    let mut count = 0;
    for alias in each(&text, "pub type ", ";") {
        let (name, rust) = alias.split_once(" = ").expect("an alias");
        writeln!(c, "ALIAS({name}, {});", declare(rust, "")).unwrap();
        count += 1;
    }
    for constant in each(&text, "pub const ", ";") {
        let (name, rest) = constant.split_once(": ").expect("a constant");
        let value = rest.split_once(" = ").expect("a value").1;
        writeln!(c, "SAME({name}, {value});").unwrap();
        count += 1;
    }
    for item in each(&text, "pub struct ts_", "}") {
        let (name, body) = item.split_once(" {").expect("a struct");
        compare_struct(c, &format!("ts_{name}"), body);
        count += 1;
    }
    for item in each(&text, "pub fn ", ";") {
        let open = item.find('(').expect("a function");
        writeln!(c, "{};", signature(&item[open..], &item[..open])).unwrap();
        count += 1;
    }
    for item in each(&text, "pub static ", ";") {
        let (name, rust) = item.split_once(": ").expect("a static");
        writeln!(c, "extern {};", declare(rust, name)).unwrap();
        count += 1;
    }
    count
}

const HEAD: &str = r#"
#include "src/inline.h"
#include "tracesmith_tools.h"
#define SAME(a, b) _Static_assert((a) == (b), #a " is not " #b)
#define MEMBER(a, b, m) \
    SAME(offsetof(a, m), offsetof(b, m)); \
    _Static_assert(__builtin_types_compatible_p( \
        __typeof__(((a *)0)->m), __typeof__(((b *)0)->m)), \
        #b "." #m " has another type")
#define ALIAS(a, b) \
    SAME(sizeof(a), sizeof(b)); \
    SAME((a)-1 < (a)0, (b)-1 < (b)0)
"#;

/// What the compiler says; empty if it accepts all.
fn complaints(name: &str, c: &str) -> String {
    let path = format!("{}/{name}.c", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, c).unwrap();
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-fsyntax-only", "-I."]).arg(&path);
    for dir in env!("TRACESMITH_INCLUDE_DIRS").split(':') {
        command.arg("-I").arg(dir);
    }
    let output = command.output().expect("there is a C compiler");
    assert!(output.status.success() || !output.stderr.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn declarations_are_those_of_the_headers() {
    let mut c = HEAD.to_string();
    let count: usize = SOURCES.iter().map(|s| compare(&mut c, s)).sum();
    assert!(count > 220, "only {count} declarations were found");
    assert_eq!(complaints("declarations", &c), "");
}

#[test]
fn a_declaration_that_differs_is_found() {
    let text = SOURCES[0].to_string() + SOURCES[1];
    let wrong = [
        ("TS_ERR_IO: ts_result = -4", "TS_ERR_IO: ts_result = -3"),
        ("pub type ts_fork = u32", "pub type ts_fork = u64"),
        ("pub rank: u32,", "pub rank: u64,"),
        ("pub start_ns: *const i64,", "pub start_ns: *const u64,"),
        ("ts_flow(id: u64,", "ts_flow(id: u32,"),
        ("user: *mut c_void) -> u64>", "user: *mut c_void) -> u32>"),
        ("ts_rs_zone_end(zone: ts_zone)", "ts_rs_zone_end(zone: u64)"),
    ];
    for (right, other) in wrong {
        assert!(text.contains(right), "{right} is not there any more");
        let mut c = HEAD.to_string();
        compare(&mut c, &text.replace(right, other));
        assert_ne!(complaints("differs", &c), "", "{other}");
    }
}
