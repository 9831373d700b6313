//! Finds libtracesmith and compiles `src/inline.c` against its header.
//!
//! It looks, in this order, at `TRACESMITH_LIB_DIR` (and
//! `TRACESMITH_INCLUDE_DIR`), at what `make` built in the repository that this
//! crate lies in, and at what pkg-config knows.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

/// Where the library and its headers are.
struct Found {
    lib_dir: PathBuf,
    include_dirs: Vec<PathBuf>,
}

fn main() {
    for name in ["TRACESMITH_LIB_DIR", "TRACESMITH_INCLUDE_DIR", "CC"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=src/inline.c");
    println!("cargo:rerun-if-changed=src/inline.h");
    let found = find().unwrap_or_else(|| {
        fail(
            "libtracesmith is not here: run make in the repository of \
             TraceSmith, or install it so that `pkg-config tracesmith` finds \
             it, or set TRACESMITH_LIB_DIR to the folder it is in",
        )
    });
    compile_inline(&found.include_dirs);
    link(&found);
    let dirs: Vec<_> =
        found.include_dirs.iter().map(|d| d.display().to_string()).collect();
    println!("cargo:rustc-env=TRACESMITH_INCLUDE_DIRS={}", dirs.join(":"));
}

fn fail(text: &str) -> ! {
    eprintln!("tracesmith-sys: {text}");
    exit(1)
}

fn find() -> Option<Found> {
    if let Some(dir) = env::var_os("TRACESMITH_LIB_DIR") {
        return Some(in_folder(PathBuf::from(dir)));
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Ok(repository) = repository.canonicalize() {
        let lib_dir = repository.join("build");
        if lib_dir.join("libtracesmith.a").exists() {
            let include_dirs = headers(&[repository]);
            return Some(Found { lib_dir, include_dirs });
        }
    }
    let lib_dir = pkg_config("libdir")?;
    let include_dirs = headers(&[pkg_config("includedir")?]);
    Some(Found { lib_dir, include_dirs })
}

/// A folder with the library; the headers are where `make install` puts them,
/// or in the repository whose `build` it is.
fn in_folder(lib_dir: PathBuf) -> Found {
    let mut near = Vec::new();
    if let Some(dir) = env::var_os("TRACESMITH_INCLUDE_DIR") {
        near.push(PathBuf::from(dir));
    }
    for up in lib_dir.ancestors().skip(1).take(2) {
        near.push(up.join("include"));
        near.push(up.to_path_buf());
    }
    let include_dirs = headers(&near);
    if include_dirs.is_empty() {
        fail(&format!(
            "{}: tracesmith.h is not near this folder: set \
             TRACESMITH_INCLUDE_DIR",
            lib_dir.display()
        ));
    }
    Found { lib_dir, include_dirs }
}

/// The first folder that has `tracesmith.h`, and what belongs to it.
fn headers(near: &[PathBuf]) -> Vec<PathBuf> {
    let has_header = |dir: &&PathBuf| dir.join("tracesmith.h").exists();
    match near.iter().find(has_header) {
        None => Vec::new(),
        Some(dir) => {
            let header = dir.join("tracesmith.h");
            println!("cargo:rerun-if-changed={}", header.display());
            vec![dir.clone(), dir.join("tools")]
        }
    }
}

fn pkg_config(variable: &str) -> Option<PathBuf> {
    let output = Command::new("pkg-config")
        .args(["--variable", variable, "tracesmith"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.into())
}

fn compile_inline(include_dirs: &[PathBuf]) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let object = out.join("inline.o");
    let archive = out.join("libtracesmith_inline.a");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut words = compiler.split_whitespace();
    let mut compile = Command::new(words.next().unwrap_or("cc"));
    compile.args(words).args(["-std=c11", "-O2", "-fPIC", "-Wall", "-c"]);
    for dir in include_dirs {
        compile.arg("-I").arg(dir);
    }
    run(compile.arg("src/inline.c").arg("-o").arg(&object));
    let _ = std::fs::remove_file(&archive); // ar adds to one that is there
    run(Command::new("ar").arg("crs").arg(&archive).arg(&object));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=tracesmith_inline");
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{command:?} failed: {status}")),
        Err(error) => fail(&format!("{command:?} did not run: {error}")),
    }
}

/// Statically where there is an archive. What the archive calls is linked, too.
fn link(found: &Found) {
    let dir = &found.lib_dir;
    println!("cargo:rustc-link-search=native={}", dir.display());
    // The tools are a shared library, which needs libtracesmith.so.
    if env::var_os("CARGO_FEATURE_TOOLS").is_some() {
        println!("cargo:rustc-link-lib=dylib=tracesmith-tools");
        println!("cargo:rustc-link-lib=dylib=tracesmith");
        return;
    }
    let archive = dir.join("libtracesmith.a");
    println!("cargo:rerun-if-changed={}", archive.display());
    match std::fs::read(&archive) {
        Err(_) => println!("cargo:rustc-link-lib=dylib=tracesmith"),
        Ok(bytes) => {
            println!("cargo:rustc-link-lib=static=tracesmith");
            if bytes.windows(15).any(|word| word == b"ZSTD_decompress") {
                println!("cargo:rustc-link-lib=zstd");
            }
        }
    }
}
