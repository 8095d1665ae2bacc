//! Other programs: started, watched, and ended with everything that they started.

use crate::workspace::{Failure, root};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{iter, thread};

use crate::clock;

/// How long a program may run that has no limit of its own. It is there to end a program that hangs, so it is several
/// times what the slowest takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// How long a program may take until it serves.
const SERVER_LIMIT: Duration = Duration::from_secs(60);

/// The groups of the programs that run now: whoever ends this program ends them too.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Ends what runs when this program is told to end.
pub fn end_with_this_program() {
    let ended = ctrlc::set_handler(|| {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|group| end_group(*group));
        std::process::exit(130);
    });
    ended.expect("this is the only handler");
}

/// Says which command installs something, before it runs.
pub fn announce(command: &Command) {
    println!("xtask: install: {}", spelled(command));
}

/// Writes a command as one would type it.
pub fn spelled(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end, with its output where ours goes.
///
/// # Errors
/// Returns what was run and how it ended, if it could not start, did not succeed, or passed the limit of 45 minutes.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    run_within(command, LIMIT)
}

/// Runs a command as [`run`] does, with a limit of its own.
///
/// # Errors
/// Those of [`run`].
pub fn run_within(command: &mut Command, limit: Duration) -> Result<(), Failure> {
    let mut running = Running::start(command)?;
    let started = clock::now();
    let status = loop {
        match running.child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() > limit => return Err(running.is_too_slow(limit)),
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(Failure(format!("`{}`: {error}", running.name))),
        }
    };
    running.judge(status)
}

/// Runs a command as [`run`] does, prints what it writes to its standard output, and shows each line to `read`.
///
/// # Errors
/// Those of [`run`].
pub fn run_reading(command: &mut Command, mut read: impl FnMut(&str)) -> Result<(), Failure> {
    follow(command, LIMIT, |line| {
        println!("{line}");
        read(line);
        Ok(LIMIT)
    })
}

/// Runs a command and shows each line of its standard output to `read`, which says how long the next one may take.
///
/// # Errors
/// Returns how the command ended if it did not succeed, that a line did not come in time, or what `read` returns.
pub fn follow(
    command: &mut Command,
    first: Duration,
    mut read: impl FnMut(&str) -> Result<Duration, Failure>,
) -> Result<(), Failure> {
    let mut running = Running::start(command.stdout(Stdio::piped()))?;
    let lines = lines_of(&mut running.child);
    let mut deadline = clock::now() + first;
    let mut limit = first;
    loop {
        let left = deadline.saturating_duration_since(clock::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                limit = read(&line)?;
                deadline = clock::now() + limit;
            }
            Err(RecvTimeoutError::Timeout) => return Err(running.is_too_slow(limit)),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = running.child.wait();
    let status = status.map_err(|error| Failure(format!("`{}`: {error}", running.name)))?;
    running.judge(status)
}

/// A program that serves until this value ends.
pub struct Server {
    _running: Running,
    _lines: Receiver<String>,
}

impl Server {
    /// Starts a program, and waits until `find` finds in a line of its standard output what its callers need.
    ///
    /// # Errors
    /// Returns that the program could not start, ended, or said nothing of the kind within a minute.
    pub fn start<T>(command: &mut Command, find: impl Fn(&str) -> Option<T>) -> Result<(Self, T), Failure> {
        let mut running = Running::start(command.stdout(Stdio::piped()))?;
        let lines = lines_of(&mut running.child);
        let deadline = clock::now() + SERVER_LIMIT;
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(clock::now())) {
                Ok(line) => {
                    if let Some(found) = find(&line) {
                        return Ok((Self { _running: running, _lines: lines }, found));
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(running.is_too_slow(SERVER_LIMIT)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure(format!("`{}` ended before it served", running.name)));
                }
            }
        }
    }
}

/// Tells whether a command can be run and succeeds, and shows nothing of it.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a command and returns what it wrote to its standard output.
///
/// # Errors
/// Returns how the command ended, if it could not start or did not succeed.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let name = spelled(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure(format!("`{name}` cannot start: {error}")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure(format!("`{name}` ended with {}", output.status))),
    }
}

/// A program of a group of its own, which ends with this value.
struct Running {
    child: Child,
    name: String,
}

impl Running {
    fn start(command: &mut Command) -> Result<Self, Failure> {
        let name = spelled(command);
        if command.get_current_dir().is_none() {
            command.current_dir(root());
        }
        in_a_group(command);
        let child = command.stdin(Stdio::null()).spawn();
        let child = child.map_err(|error| Failure(format!("`{name}` cannot start: {error}")))?;
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        Ok(Self { child, name })
    }

    fn judge(&self, status: ExitStatus) -> Result<(), Failure> {
        match status.success() {
            true => Ok(()),
            false => Err(Failure(format!("`{}` ended with {status}", self.name))),
        }
    }

    fn is_too_slow(&self, limit: Duration) -> Failure {
        Failure(format!("`{}` was ended: nothing came of it within {} s", self.name, limit.as_secs()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|group| *group != self.child.id());
        // Whoever has ended has nobody left to end, unless it left some behind.
        end_group(self.child.id());
        let _ = self.child.wait();
    }
}

/// Reads in a thread of its own, because a read cannot be given up.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    let stdout = child.stdout.take().expect("it is piped");
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(unix)]
fn in_a_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn in_a_group(_command: &mut Command) {}

#[cfg(unix)]
fn end_group(group: u32) {
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;
    if let Ok(group) = i32::try_from(group) {
        // A group that is gone needs no end.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
fn end_group(_group: u32) {}

/// Returns the processor time, user and system, of all programs that were started from here and have ended.
#[cfg(unix)]
pub fn processor_time() -> Option<Duration> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let times = [usage.user_time(), usage.system_time()];
    Some(times.into_iter().map(|time| Duration::from_micros(microseconds(time))).sum())
}

#[cfg(unix)]
fn microseconds(time: nix::sys::time::TimeVal) -> u64 {
    use nix::sys::time::TimeValLike;
    u64::try_from(time.num_microseconds()).unwrap_or_default()
}

/// Returns nothing: only Unix counts for a process what its children took.
#[cfg(not(unix))]
pub fn processor_time() -> Option<Duration> {
    None
}

/// A moment, and the processor time up to it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    started: Instant,
    processor: Option<Duration>,
}

/// How long something took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    pub elapsed: Duration,
    /// Seconds of processors, where the system counts them.
    pub processor: Option<Duration>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { started: clock::now(), processor: processor_time() }
    }

    pub fn read(&self) -> Taken {
        let processor = processor_time().zip(self.processor).map(|(now, then)| now.saturating_sub(then));
        Taken { elapsed: self.started.elapsed(), processor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_a_failure_that_names_it() {
        let failure = run(Command::new("rustc").arg("--no-such-flag").stderr(Stdio::null())).unwrap_err();
        assert!(failure.0.starts_with("`rustc --no-such-flag` ended with"), "{failure}");
        assert!(run(&mut Command::new("no-such-program")).unwrap_err().0.contains("cannot start"));
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$; sleep 1000 & echo $!; wait"]);
        let mut processes = Vec::new();
        let failure = follow(&mut command, Duration::from_secs(60), |line| {
            processes.push(line.parse::<i32>().unwrap());
            Ok(if processes.len() == 2 { Duration::ZERO } else { Duration::from_secs(60) })
        });
        assert!(failure.unwrap_err().0.contains("was ended"));
        assert_eq!(processes.len(), 2);
        // The shell was waited for. Its child is waited for by the system, sooner or later: it runs no more.
        let is_there = |process: i32| {
            let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        while processes.iter().any(|process| is_there(*process)) {
            thread::yield_now();
        }
    }

    #[test]
    #[cfg(unix)]
    fn processor_time_is_that_of_children() {
        let stopwatch = Stopwatch::start();
        run(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])).unwrap();
        assert!(stopwatch.read().processor.unwrap() > Duration::ZERO);
    }
}
