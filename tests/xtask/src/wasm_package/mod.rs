//! `cargo xtask wasm`: builds and optimises the browser package, and checks its size.

mod report;
mod sections;
mod sizes;
pub mod toolchain;
pub mod tools;

use crate::process::run as run_command;
use crate::stamp::Stamp;
use crate::workspace::{Failure, root};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use sizes::Size;

/// The folder of the npm package.
pub const PACKAGE: &str = "wasm/js";

/// Options of the build.
#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// Skip wasm-opt, which takes half a minute, and the check of the sizes
    #[arg(long)]
    unoptimised: bool,
    /// List the crates and functions with the most code, measured before wasm-opt
    #[arg(long)]
    explain: bool,
}

/// The number of lines in each list of `--explain`.
const EXPLAINED: usize = 40;

/// One of the modules. In the browser, the package chooses which of them to load: one of the first two at the start, the
/// third if a model needs its importer, and the last if a plan demands masked updates.
#[derive(Debug, Clone, Copy)]
struct Build {
    name: &'static str,
    features: &'static str,
    /// The maximum size after gzip, in bytes.
    bytes_max: u64,
}

const BUILDS: [Build; 4] = [
    Build { name: "cpu", features: "cpu", bytes_max: 528_000 },
    Build { name: "gpu", features: "gpu", bytes_max: 668_000 },
    Build { name: "complete", features: "complete,gpu", bytes_max: 756_000 },
    Build { name: "masks", features: "complete,gpu,secure-aggregation", bytes_max: 829_000 },
];

/// Builds all modules and their TypeScript into `wasm/js/dist`.
///
/// # Errors
/// Fails if a tool is missing, a build fails, or a module is too large.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    tools::install_packages(&root().join(PACKAGE))?;
    remove_results()?;
    let mut sizes = Vec::new();
    for build in BUILDS {
        let module = toolchain::compile(build.features)?;
        sizes.push(package(build, &module, arguments)?);
    }
    println!("xtask: wasm: tsc");
    run_command(tools::node_program("typescript/bin/tsc")?.current_dir(root().join(PACKAGE)))?;
    let page = report::write(&sizes)?;
    for size in &sizes {
        println!("xtask: wasm: {}", size.line());
    }
    println!("xtask: wasm: the sizes by crate are in {}", page.display());
    let too_large: Vec<String> = sizes.iter().filter(|size| size.is_too_large()).map(Size::line).collect();
    match too_large.is_empty() || arguments.unoptimised {
        true => Ok(()),
        false => Err(Failure(format!(
            "the browser package is too large: {}. Run `cargo xtask wasm --explain` to see the largest parts",
            too_large.join("; ")
        ))),
    }
}

/// Removes the results of earlier builds, because files that are no longer built would be packed, too.
fn remove_results() -> Result<(), Failure> {
    let folder = root().join(PACKAGE).join("dist");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure(format!("{}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Builds the package, unless the last build had the same sources.
///
/// # Errors
/// As for [`run`].
pub fn run_if_changed() -> Result<(), Failure> {
    // The build results are part of the stamp, because they may have been removed or built without wasm-opt.
    const PATHS: [&str; 9] = [
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "client-sdk",
        "tests/xtask/src/wasm_package",
        "wasm/Cargo.toml",
        "wasm/src",
        "wasm/js/src",
        "wasm/js/dist",
    ];
    let stamp = || {
        let files =
            ["package.json", "package-lock.json", "tsconfig.json"].map(|file| format!("{PACKAGE}/{file}"));
        let paths =
            PATHS.iter().map(|path| root().join(path)).chain(files.iter().map(|file| root().join(file)));
        Stamp::of("wasm", &paths.collect::<Vec<_>>())
    };
    if stamp()?.is_there() {
        println!("xtask: wasm: up to date since the last build");
        return Ok(());
    }
    run(&Arguments::default())?;
    stamp()?.set()
}

/// Turns a compiled module into the files that a page loads, and measures their size.
fn package(build: Build, module: &Path, arguments: &Arguments) -> Result<Size, Failure> {
    let folder = root().join(PACKAGE).join("dist").join(build.name);
    let failed = |error: io::Error| Failure(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut bind = Command::new(tools::wasm_bindgen()?);
    bind.args(["--target", "web", "--out-name", "folkmoot", "--out-dir"]).arg(&folder).arg(module);
    run_command(&mut bind)?;
    let bound = folder.join("folkmoot_bg.wasm");
    let functions = sections::functions(&fs::read(&bound).map_err(failed)?);
    let by_crate = sections::bytes_by_crate(&functions);
    if arguments.explain {
        explain(build.name, by_crate.clone().into_iter().collect());
        explain(build.name, functions);
    }
    if !arguments.unoptimised {
        println!("xtask: wasm: wasm-opt ({})", build.name);
        optimise(&bound)?;
    }
    let bytes = fs::metadata(&bound).map_err(failed)?.len();
    let compressed = tools::gzip_bytes(&bound)?;
    Ok(Size { name: build.name, bytes, compressed, bytes_max: build.bytes_max, by_crate })
}

/// Prints the parts with the most code.
fn explain(module: &str, mut parts: Vec<(String, u64)>) {
    let all: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
    parts.sort_by_key(|part| std::cmp::Reverse(part.1));
    println!("xtask: wasm: {module}: {all} bytes of code in {} parts, the largest:", parts.len());
    parts.iter().take(EXPLAINED).for_each(|(name, bytes)| println!("{bytes:>9}  {name}"));
}

/// Optimises a module in place with the npm package of wasm-opt, because Debian's breaks these modules. The features
/// are listed by name, because `--all-features` produces code that browsers reject.
fn optimise(module: &Path) -> Result<(), Failure> {
    const FEATURES: [&str; 7] = [
        "--enable-bulk-memory",
        "--enable-nontrapping-float-to-int",
        "--enable-sign-ext",
        "--enable-reference-types",
        "--enable-multivalue",
        "--enable-mutable-globals",
        "--enable-simd",
    ];
    let optimised: PathBuf = module.with_extension("optimised");
    let mut optimise = tools::node_program("binaryen/bin/wasm-opt")?;
    optimise.arg("-Os").args(FEATURES).args(["--strip-debug", "--strip-producers"]);
    run_command(optimise.arg(module).arg("-o").arg(&optimised))?;
    fs::rename(&optimised, module).map_err(|error| Failure(format!("{}: {error}", module.display())))
}
