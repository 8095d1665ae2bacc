//! Reads the kernel's accounts of a process: CPU time and memory.

use std::{fs, time::Duration};

use crate::Failure;

/// Kernel ticks per second in `/proc`: 100 on every Linux that Rust supports.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time of a process and all its threads.
#[derive(Clone, Copy)]
pub struct CpuTime {
    /// Time in the program itself.
    pub user: Duration,
    /// Time that the kernel spent on the program's system calls, for example for sockets and files.
    pub system: Duration,
}

/// Returns the CPU time of a process and all its threads.
pub fn cpu_time(process: u32) -> Result<CpuTime, Failure> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The command's name is in parentheses and may contain spaces, so count the fields after it.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .ok_or("/proc/PID/stat does not contain a command in parentheses")?
        .1
        .split_whitespace()
        .collect();
    let time =
        |field: &str| Ok::<_, Failure>(Duration::from_secs_f64(field.parse::<f64>()? / TICKS_PER_SECOND));
    Ok(CpuTime { user: time(fields[11])?, system: time(fields[12])? })
}

/// Resets the peak memory of a process to its current memory (proc(5), `clear_refs`).
pub fn forget_peak_memory(process: u32) -> Result<(), Failure> {
    Ok(fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}

/// Returns the peak memory of a process, in bytes.
pub fn peak_memory(process: u32) -> Result<u64, Failure> {
    memory_called(process, "VmHWM:")
}

/// Returns the resident memory of a process, in bytes.
pub fn memory(process: u32) -> Result<u64, Failure> {
    memory_called(process, "VmRSS:")
}

fn memory_called(process: u32, name: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let missing = || format!("/proc/PID/status has no {name}");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(missing)?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1024)
}

/// Returns the CPU time of this thread.
///
/// # Errors
/// If the kernel does not report it.
pub fn thread_cpu_time() -> Result<Duration, Failure> {
    std::thread::yield_now();
    let account = fs::read_to_string("/proc/thread-self/schedstat")
        .map_err(|error| format!("this benchmark needs the kernel's CPU times of threads: {error}"))?;
    let nanoseconds = account.split_whitespace().next().ok_or("/proc/thread-self/schedstat is empty")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

/// Returns the CPU time of this process and all its threads; `None` if the kernel does not report it.
pub fn own_cpu_time() -> Option<Duration> {
    // The kernel updates a thread's account when it schedules the thread, not when the account is read, so let it
    // schedule this thread.
    std::thread::yield_now();
    let mut nanoseconds = 0;
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let account = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += account.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}
