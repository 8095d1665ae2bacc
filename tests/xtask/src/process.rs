//! Starts and watches other programs. Kills a program together with all its child processes.

use crate::workspace::{Failure, root};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, iter, thread};

use crate::clock;

/// The time limit of a program that has no limit of its own. Its only purpose is to kill programs that hang, so it is
/// several times the duration of the slowest program on a slow machine.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// The time limit for a server to become ready.
const SERVER_LIMIT: Duration = Duration::from_secs(60);

/// Process groups of the running programs. They are killed when this program is stopped.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Installs a handler that kills all running programs when this program is stopped by a signal.
pub fn end_with_this_program() {
    let ended = ctrlc::set_handler(|| {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|group| end_group(*group));
        std::process::exit(130);
    });
    ended.expect("this is the only handler");
}

/// Prints a command that installs something, before it runs.
pub fn announce(command: &Command) {
    println!("xtask: install: {}", spelled(command));
}

/// Formats a command as a person would type it.
pub fn spelled(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end. The command inherits this program's output streams.
///
/// # Errors
/// Fails if the command cannot start, fails, or exceeds the limit of 45 minutes.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    run_within(command, LIMIT)
}

/// Runs a command like [`run`], with a different time limit.
///
/// # Errors
/// As for [`run`].
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

/// Runs a command like [`run`], prints its standard output, and calls `read` with each line.
///
/// # Errors
/// As for [`run`].
pub fn run_reading(command: &mut Command, mut read: impl FnMut(&str)) -> Result<(), Failure> {
    follow(command, LIMIT, |line| {
        println!("{line}");
        read(line);
        Ok(LIMIT)
    })
}

/// Runs a command and calls `read` with each line of its standard output. `read` returns the time limit for the next
/// line.
///
/// # Errors
/// Fails if the command cannot start, it fails, a line comes too late, or `read` fails.
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

/// A running server, which is killed when this value is dropped.
pub struct Server {
    _running: Running,
    _lines: Receiver<String>,
}

impl Server {
    /// Starts a program and waits until `find` returns a value for a line of its standard output.
    ///
    /// # Errors
    /// Fails if the program cannot start or exits, or if `find` returns no value within a minute.
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
                    return Err(Failure(format!("`{}` exited before it was ready", running.name)));
                }
            }
        }
    }
}

/// Runs a command without showing its output, and returns `true` if it succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Removes all variables from a command's environment except `SystemRoot`, which sockets need on Windows.
pub fn without_environment(command: &mut Command) -> &mut Command {
    command.env_clear().envs(env::var_os("SystemRoot").map(|root| ("SystemRoot", root)))
}

/// Runs a command and returns its standard output.
///
/// # Errors
/// Fails if the command cannot start or fails.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let name = spelled(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure(format!("`{name}` cannot start: {error}")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure(format!("`{name}` ended with {}", output.status))),
    }
}

/// A program in its own process group. The group is killed when this value is dropped.
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
        Failure(format!(
            "`{}` was killed because it neither finished nor wrote a line within {} s",
            self.name,
            limit.as_secs()
        ))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|group| *group != self.child.id());
        // Even after a normal exit, child processes may still run in the group.
        end_group(self.child.id());
        let _ = self.child.wait();
    }
}

/// Reads the lines in a separate thread, because a blocking read cannot be cancelled.
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
        // The call fails if the group no longer exists, which is fine.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
fn end_group(_group: u32) {}

/// Returns the processor time, user plus system, of all child processes that have exited.
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

/// Returns `None`: only Unix reports the processor time of child processes.
#[cfg(not(unix))]
pub fn processor_time() -> Option<Duration> {
    None
}

/// A start time, and the processor time used before it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    started: Instant,
    processor: Option<Duration>,
}

/// The duration of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    pub elapsed: Duration,
    /// Processor time; `None` if the system does not report it.
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
        assert!(failure.unwrap_err().0.contains("was killed"));
        assert_eq!(processes.len(), 2);
        // The shell was reaped here. The system reaps its child some time later, so a zombie counts as stopped.
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
