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

/// The interval for polling the coordinator for the next version.
const LOOK: Duration = Duration::from_millis(20);
/// The time without a commit after which the demo fails. Both deadlines of a round have passed twice by then.
const STALLED_SECONDS: u64 = 120;
/// The longest wait for clients to learn that their updates were accepted. Only the byte counts depend on it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A task to follow, with everything that is needed to evaluate its versions.
pub struct Following<'a> {
    /// The operator's access to the coordinator.
    pub control: &'a Control,
    /// The id of the task.
    pub task: TaskId,
    /// The task description.
    pub description: &'a TaskDescription,
    /// The events that the clients have reported, counted by round.
    pub traffic: &'a Traffic,
    /// The examples on which each version is evaluated.
    pub held_out: &'a Examples,
    /// The source of the current time.
    pub clock: &'a Clock,
}

/// The rounds of a finished task, and its last version.
pub struct Followed {
    /// Every committed round.
    pub rounds: Vec<RoundReport>,
    /// The last version as ONNX.
    pub onnx: Vec<u8>,
    /// When the last version was committed.
    pub ended_at: Timestamp,
}

impl Following<'_> {
    /// Waits for `rounds` commits, evaluates each version, and prints progress.
    ///
    /// # Errors
    /// [`DemoError::Stalled`] if no round commits for too long. Also fails if a request or an evaluation fails.
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

    /// Waits until all clients of a commit know that their updates were accepted. The commit can become visible before
    /// that.
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
