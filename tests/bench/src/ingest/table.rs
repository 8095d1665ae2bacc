use super::{floor::Floor, fold::Folds, load::Cell};
use crate::Failure;

/// Prints the speeds of the fold, the read, the axpy and the hashes.
pub fn print_folds(folds: &Folds, is_json: bool) -> Result<(), Failure> {
    if is_json {
        println!(
            "{}",
            serde_json::to_string(&serde_json::json!({ "bench": "fold", "elements_per_second": folds }))?
        );
        return Ok(());
    }
    println!(
        "fold in memory, one thread, {:>4} M parameters     elements/s   of axpy",
        folds.parameters / 1_000_000
    );
    for (name, rate) in [
        ("streaming read, float32", folds.read),
        ("axpy, float32", folds.axpy),
        ("exact fold", folds.fold),
        ("SHA-256, as blobs are named", folds.sha256),
        ("BLAKE3, as uploads are checked", folds.blake3),
        ("exact fold with every value checked", folds.checked_fold),
    ] {
        println!("  {name:<42} {:>10.2} G {:>8.2}", rate / 1e9, rate / folds.axpy);
    }
    println!();
    Ok(())
}

/// Prints the heading of the table of cells.
pub fn print_heading(is_json: bool) {
    if !is_json {
        println!(
            "parameters  clients  tls  updates  updates/s  CPU ms/update     in kernel  floor ms  x floor  peak MiB"
        );
    }
}

/// Prints a cell with the floor of the same run.
pub fn print_cell(cell: &Cell, floor: &Floor, is_json: bool) -> Result<(), Failure> {
    if is_json {
        let line = serde_json::json!({
            "bench": "ingest", "cell": cell, "floor_cpu_ms_per_update": floor.cpu_ms_per_update,
        });
        println!("{line}");
        return Ok(());
    }
    println!(
        "{:>10}  {:>7}  {:>3}  {:>7}  {:>9.1}  {:>13.2}  {:>12.2}  {:>8.2}  {:>7.1}  {:>8.0}",
        cell.parameters,
        cell.clients,
        if cell.tls { "yes" } else { "no" },
        cell.updates,
        cell.updates_per_second,
        cell.cpu_ms_per_update,
        cell.kernel_ms_per_update,
        floor.cpu_ms_per_update,
        cell.cpu_ms_per_update / floor.cpu_ms_per_update,
        cell.peak_memory_mib
    );
    Ok(())
}
