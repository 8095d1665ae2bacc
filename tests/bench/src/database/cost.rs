use std::{fs, path::Path, time::Duration};

use serde::Serialize;

use crate::{Failure, clock, process};

/// The cost of one request.
#[derive(Clone, Copy, Serialize)]
pub struct Cost {
    /// Elapsed time of a request in microseconds, in the fastest block. Requests run one after the other.
    pub microseconds: f64,
    /// CPU time of a request in microseconds, over all blocks, in this process and the database's processes.
    pub cpu_microseconds: f64,
}

/// Two kinds of requests that are measured in turn: without a statement, and with it. The first block of each kind is a
/// warm-up for query plans and caches, and is not measured.
pub struct Pair<'a> {
    postmaster: Option<&'a Postmaster>,
    sides: [Side; 2],
}

#[derive(Default)]
struct Side {
    is_warm: bool,
    requests: u64,
    cpu: Duration,
    fastest: Option<Duration>,
}

impl<'a> Pair<'a> {
    /// Creates an empty measurement. If `postmaster` is given, its processes are measured, too.
    pub fn new(postmaster: Option<&'a Postmaster>) -> Self {
        Self { postmaster, sides: Default::default() }
    }

    /// Measures a block of `requests` requests of one kind.
    pub async fn measure(
        &mut self,
        side: usize,
        requests: u64,
        block: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        let (cpu, start) = (self.cpu()?, clock::start());
        block.await?;
        let (elapsed, cpu) = (start.elapsed(), self.cpu()?.saturating_sub(cpu));
        let side = &mut self.sides[side];
        if std::mem::replace(&mut side.is_warm, true) {
            let each = elapsed.div_f64(requests as f64);
            side.fastest = Some(side.fastest.map_or(each, |fastest| fastest.min(each)));
            side.requests += requests;
            side.cpu += cpu;
        }
        Ok(())
    }

    /// Returns the costs of both kinds.
    pub fn costs(&self) -> [Cost; 2] {
        self.sides.each_ref().map(|side| Cost {
            microseconds: side.fastest.unwrap_or_default().as_secs_f64() * 1e6,
            cpu_microseconds: side.cpu.as_secs_f64() * 1e6 / side.requests.max(1) as f64,
        })
    }

    fn cpu(&self) -> Result<Duration, Failure> {
        let own =
            process::own_cpu_time().ok_or("the kernel does not count CPU time (no /proc/self/schedstat)")?;
        Ok(own + self.postmaster.map_or(Ok(Duration::ZERO), Postmaster::cpu_time)?)
    }
}

/// A PostgreSQL server on this machine.
pub struct Postmaster {
    process: String,
}

impl Postmaster {
    /// Finds the server of a URL. The URL's host must be a folder that contains the server's socket, and its cluster in
    /// `data`.
    pub fn of_url(url: &str) -> Result<Self, Failure> {
        let host = url.split(['?', '&']).find_map(|part| part.strip_prefix("host="));
        let file =
            Path::new(host.ok_or("the URL has no host=FOLDER; name the folder of the server's socket")?)
                .join("data/postmaster.pid");
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { process: text.lines().next().unwrap_or_default().trim().to_owned() })
    }

    /// Returns the CPU time of the server's running processes.
    fn cpu_time(&self) -> Result<Duration, Failure> {
        let children = format!("/proc/{0}/task/{0}/children", self.process);
        let mut nanoseconds = 0;
        for child in fs::read_to_string(children)?.split_whitespace() {
            // A process that has exited in the meantime is not included.
            let Ok(account) = fs::read_to_string(format!("/proc/{child}/schedstat")) else { continue };
            nanoseconds += account.split_whitespace().next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }
}
