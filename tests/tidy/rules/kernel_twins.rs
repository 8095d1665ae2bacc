//! Every kernel has a twin on the CPU, written for correctness.

use crate::finding::Finding;
use crate::repository::{File, Repository};

/// Finds kernels `x.wgsl` for which the same package has no `cpu/…/x.rs`.
///
/// Files in `shader/shared/` are pieces that kernels include, and need no twin.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let shaders = repository.files.iter().filter(|file| file.has_extension(&["wgsl"]));
    let kernels = shaders.filter(|file| !file.path.contains("/shared/"));
    kernels
        .filter(|kernel| !has_twin(repository, kernel))
        .map(|kernel| {
            Finding::on(&kernel.path, format!("has no CPU twin: write src/cpu/{}.rs", stem(kernel)))
        })
        .collect()
}

fn has_twin(repository: &Repository, kernel: &File) -> bool {
    let package = kernel.path.split("/shader/").next().unwrap_or_default();
    repository.rust_files().any(|file| {
        let within = file.path.strip_prefix(package).unwrap_or_default();
        within.contains("/cpu/") && stem(file) == stem(kernel)
    })
}

fn stem(file: &File) -> &str {
    file.name().split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_a_twin_is_found() {
        let files = [
            ("a/shader/gemm.wgsl", ""),
            ("a/shader/relu.wgsl", ""),
            ("a/shader/shared/tile.wgsl", ""),
            ("a/src/cpu/gemm.rs", ""),
            ("a/src/gpu/relu.rs", ""),
            ("b/src/cpu/relu.rs", ""),
        ];
        let findings = check(&Repository::from_texts(&files));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "a/shader/relu.wgsl");
    }
}
