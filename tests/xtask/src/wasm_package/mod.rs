//! `cargo xtask wasm`: the browser package, built, optimised, and weighed.

mod report;
mod sections;
mod sizes;
pub mod toolchain;
pub mod tools;

use crate::workspace::{Failure, root, run as run_command};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sizes::Size;

/// Where the npm package lies.
pub const PACKAGE: &str = "wasm/js";

/// How to build.
#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// Skip wasm-opt, which takes half a minute; the sizes are then not checked
    #[arg(long)]
    unoptimised: bool,
}

/// One of the two modules: which is loaded is decided in the browser.
#[derive(Debug, Clone, Copy)]
struct Build {
    name: &'static str,
    features: &'static str,
    /// Bytes after gzip, at most.
    bytes_max: u64,
}

const BUILDS: [Build; 2] = [
    Build { name: "cpu", features: "cpu", bytes_max: 450_000 },
    Build { name: "gpu", features: "gpu", bytes_max: 600_000 },
];

/// Builds both modules and the TypeScript around them into `wasm/js/dist`.
///
/// # Errors
/// Returns what is missing, what failed, or which module is too large.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    tools::install_packages(&root().join(PACKAGE))?;
    let mut sizes = Vec::new();
    for build in BUILDS {
        let module = toolchain::compile(build.features)?;
        sizes.push(package(build, &module, arguments.unoptimised)?);
    }
    println!("xtask: wasm: tsc");
    run_command(tools::node_program("typescript/bin/tsc")?.current_dir(root().join(PACKAGE)))?;
    let page = report::write(&sizes)?;
    for size in &sizes {
        println!("xtask: wasm: {}", size.line());
    }
    println!("xtask: wasm: {} shows the size by crate", page.display());
    let too_large: Vec<String> = sizes.iter().filter(|size| size.is_too_large()).map(Size::line).collect();
    match too_large.is_empty() || arguments.unoptimised {
        true => Ok(()),
        false => Err(Failure(format!("too large: {}", too_large.join("; ")))),
    }
}

/// Makes what a page loads of a compiled module, and weighs it.
fn package(build: Build, module: &Path, unoptimised: bool) -> Result<Size, Failure> {
    let folder = root().join(PACKAGE).join("dist").join(build.name);
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut bind = Command::new(tools::wasm_bindgen()?);
    bind.args(["--target", "web", "--out-name", "folkmoot", "--out-dir"]).arg(&folder).arg(module);
    run_command(&mut bind)?;
    let bound = folder.join("folkmoot_bg.wasm");
    let by_crate = sections::bytes_by_crate(&fs::read(&bound).map_err(failed)?);
    if !unoptimised {
        println!("xtask: wasm: wasm-opt ({})", build.name);
        optimise(&bound)?;
    }
    let bytes = fs::metadata(&bound).map_err(failed)?.len();
    let compressed = tools::gzip_bytes(&bound)?;
    Ok(Size { name: build.name, bytes, compressed, bytes_max: build.bytes_max, by_crate })
}

/// Debian's wasm-opt breaks these modules, and `--all-features` makes some that browsers refuse: the npm package, and the
/// features by name.
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
