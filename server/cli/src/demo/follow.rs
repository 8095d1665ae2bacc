//! Follows a task from commit to commit.

use std::time::Duration;

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::Examples;
use folkmoot_protocol::{TaskId, Timestamp};
use folkmoot_rounds::clock::Clock;
use tokio::time::sleep;

use super::{
    control::{Committed, Control},
    error::DemoError,
    evaluate::accuracy,
    plan,
    report::RoundReport,
    screen::Screen,
    traffic::Traffic,
};

/// How often the coordinator is asked for the next version.
const LOOK: Duration = Duration::from_millis(20);
/// Without a commit for so long, something is broken: both deadlines of a round have passed twice by then.
const STALLED_SECONDS: u64 = 120;
/// How long the clients may take to hear that their updates were accepted; only the counted bytes depend on it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What is followed, and with what it is measured.
pub struct Following<'a> {
    /// The operator.
    pub control: &'a Control,
    /// The task.
    pub task: TaskId,
    /// What it is.
    pub description: &'a TaskDescription,
    /// What its clients say.
    pub traffic: &'a Traffic,
    /// On what each version is evaluated.
    pub held_out: &'a Examples,
    /// The time.
    pub clock: &'a Clock,
}

/// The rounds of a task that is over, and its last model.
pub struct Followed {
    /// Every committed round.
    pub rounds: Vec<RoundReport>,
    /// The last version.
    pub onnx: Vec<u8>,
    /// When it was committed.
    pub ended_at: Timestamp,
}

impl Following<'_> {
    /// Waits for `rounds` commits, evaluates each version, and shows what happens.
    ///
    /// # Errors
    /// [`DemoError::Stalled`] if nothing happens for too long, and whatever the evaluation ends with.
    pub async fn to_the_end(&self, rounds: u32, screen: &mut dyn Screen) -> Result<Followed, DemoError> {
        let mut followed = Followed { rounds: Vec::new(), onnx: Vec::new(), ended_at: (self.clock)() };
        let mut round_number = 0;
        for version in 1..=u64::from(rounds) {
            let committed = self.await_version(version, round_number, screen).await?;
            self.await_last_words(&committed).await;
            let report = self.report(version, &committed).await?;
            screen.round(&report);
            round_number = committed.round_number;
            followed.rounds.push(report);
            (followed.onnx, followed.ended_at) = (committed.onnx, committed.at);
        }
        Ok(followed)
    }

    async fn await_version(
        &self,
        version: u64,
        last_round_number: u64,
        screen: &mut dyn Screen,
    ) -> Result<Committed, DemoError> {
        let since = (self.clock)();
        loop {
            if let Some(committed) = self.control.committed(self.task, version).await? {
                return Ok(committed);
            }
            if (self.clock)().milliseconds_since(since) > STALLED_SECONDS * 1000 {
                return Err(DemoError::Stalled { seconds: STALLED_SECONDS });
            }
            screen.progress(version, self.traffic.newest_round_after(last_round_number));
            sleep(LOOK).await;
        }
    }

    /// A commit may be seen before the last client has heard that it was part of it.
    async fn await_last_words(&self, committed: &Committed) {
        let heard = async {
            while self.traffic.round(committed.round_number).accepted < committed.reports {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, heard).await;
    }

    async fn report(&self, version: u64, committed: &Committed) -> Result<RoundReport, DemoError> {
        let traffic = self.traffic.round(committed.round_number);
        Ok(RoundReport {
            round: version,
            cohort: committed.cohort,
            reports: committed.reports,
            loss: committed.loss,
            epsilon: plan::spent(self.description, version),
            accuracy: accuracy(committed.onnx.clone(), self.held_out.clone()).await?,
            bytes_up: traffic.bytes_up,
            bytes_down: traffic.bytes_down,
            seconds: committed.seconds,
        })
    }
}
