use std::collections::VecDeque;

use folkmoot_api::privacy::{EntryKind, EntryView, ParticipationView, SettingsView};
use folkmoot_privacy::{
    Delta,
    ledger::{Entry, Event, Spent, Totals},
};
use folkmoot_protocol::{PopulationName, TaskId};
use serde::Serialize;

use super::download;
use crate::{
    CliError,
    connection::ConnectionArgs,
    output::{OutputArgs, moment, or_dash, table},
};

/// The number of digits of a digest that the table shows.
const SHOWN_DIGITS: usize = 12;
/// The delta of a population without a budget.
const DELTA: f64 = 1e-6;

/// The flags of `folkmoot privacy ledger`.
#[derive(clap::Args)]
pub struct Args {
    /// The name of the population.
    population: PopulationName,
    /// The number of entries to list, from the newest.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// List only entries after this one.
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    after: u64,
    /// The delta at which every epsilon is computed. The default is the delta of the population's budget, or 1e-6
    /// without a budget.
    #[arg(long, value_name = "DELTA", value_parser = delta)]
    delta: Option<Delta>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The listed entries of a ledger, and the totals of the whole ledger.
#[derive(Serialize)]
struct Report {
    population: PopulationName,
    /// The number of entries in the ledger.
    entry_count: u64,
    /// The number of entries that released a version.
    release_count: u64,
    /// The listed entries.
    entries: Vec<EntryView>,
    delta: Delta,
    /// The amount spent by each task, in the order of the first charge.
    tasks: Vec<TaskSpent>,
    /// The amount spent by all tasks, for a client that took part in as many releases as possible.
    all: Spent,
}

#[derive(Serialize)]
struct TaskSpent {
    task_id: TaskId,
    releases: u64,
    #[serde(flatten)]
    spent: Spent,
}

/// Parses a delta.
pub(super) fn delta(text: &str) -> Result<Delta, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number such as 1e-6".to_owned())?;
    Delta::new(number).map_err(|error| error.to_string())
}

/// Lists the newest entries of a population's ledger, newest last, and the amounts spent.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: Args) -> Result<(), CliError> {
    let mut reader = Reader::default();
    let each = |view: EntryView| {
        let entry = view.entry().map_err(download::out_of_range(view.sequence))?;
        reader.add(&entry);
        if view.sequence > args.after {
            reader.keep(view, args.limit);
        }
        Ok(())
    };
    download::for_each(&args.connection.connect()?, &args.population, each).await?;
    args.output.print(&reader.report(args.population, args.delta)?, text)
}

/// Computes the totals of a ledger and keeps its last entries.
#[derive(Default)]
struct Reader {
    kept: VecDeque<EntryView>,
    entries: u64,
    tasks: Vec<TaskId>,
    totals: Totals,
    /// The delta of the population's latest budget.
    budget_delta: Option<Delta>,
}

impl Reader {
    fn add(&mut self, entry: &Entry) {
        self.entries += 1;
        if let Some((task_id, _)) = entry.event.charged()
            && !self.tasks.contains(&task_id)
        {
            self.tasks.push(task_id);
        }
        self.totals.count(&entry.event);
        if let Event::Settings(settings) = &entry.event {
            self.budget_delta = settings.budget.map(|(_, delta)| delta);
        }
    }

    fn keep(&mut self, view: EntryView, limit: usize) {
        self.kept.push_back(view);
        while self.kept.len() > limit {
            self.kept.pop_front();
        }
    }

    /// Returns the report with every epsilon at `delta`, or by default at the delta of the population's budget.
    fn report(self, population: PopulationName, delta: Option<Delta>) -> Result<Report, CliError> {
        let delta = match delta.or(self.budget_delta) {
            Some(delta) => delta,
            None => Delta::new(DELTA).map_err(|error| CliError::new(error.to_string()))?,
        };
        let spent = |totals: &Totals| totals.spent(delta).map_err(|error| CliError::new(error.to_string()));
        let of_task = |task_id: &TaskId| {
            let totals = self.totals.of_task(*task_id);
            Ok(TaskSpent { task_id: *task_id, releases: totals.releases(), spent: spent(&totals)? })
        };
        Ok(Report {
            population,
            entry_count: self.entries,
            release_count: self.totals.releases(),
            tasks: self.tasks.iter().map(of_task).collect::<Result<_, CliError>>()?,
            all: spent(&self.totals)?,
            entries: self.kept.into(),
            delta,
        })
    }
}

fn text(report: &Report) -> String {
    let rows = report.entries.iter().map(|entry| {
        [
            entry.sequence.to_string(),
            moment(entry.at),
            said(entry),
            or_dash(entry.task_id),
            or_dash(entry.noise_multiplier.map(|multiplier| format!("{multiplier:.4}"))),
            or_dash(entry.participation.map(participation)),
            entry.digest.to_string().chars().take(SHOWN_DIGITS).collect(),
        ]
    });
    let head = ["ENTRY", "AT", "WHAT", "TASK", "NOISE MULTIPLIER", "PARTICIPATION", "DIGEST"];
    let spent = |name: String, releases: u64, spent: &Spent| {
        [
            name,
            releases.to_string(),
            format!("{:.4}", spent.epsilon.get()),
            or_dash(spent.rho.map(|rho| format!("{:.6}", rho.get()))),
            spent.accountant.to_owned(),
        ]
    };
    let tasks = report.tasks.iter().map(|one| spent(one.task_id.to_string(), one.releases, &one.spent));
    let all = spent("all".into(), report.release_count, &report.all);
    let spent_head = ["TASK", "VERSIONS", "EPSILON", "RHO", "ACCOUNTANT"];
    format!(
        "{}\n\n{}\n\nEpsilon is at delta {:e}, for a client that took part in as many of the {} versions as possible. Tasks \
         without privacy are not charged.",
        table(head, rows),
        table(spent_head, tasks.chain([all])),
        report.delta,
        report.release_count
    )
}

fn said(entry: &EntryView) -> String {
    match (entry.kind, entry.version) {
        (EntryKind::Release, Some(version)) => format!("version {version}"),
        (EntryKind::Release, None) => "version".into(),
        (EntryKind::Collection, _) => "first update".into(),
        (EntryKind::Settings, _) => entry.settings.as_ref().map_or_else(|| "settings".into(), settings),
        (EntryKind::Task, _) => match entry.terms.and_then(|terms| terms.epsilon.zip(terms.delta)) {
            Some((epsilon, delta)) => format!("task created: epsilon {epsilon} at {delta:e}"),
            None => "task created: no privacy".into(),
        },
    }
}

fn settings(settings: &SettingsView) -> String {
    let budget = match settings.epsilon.zip(settings.delta) {
        Some((epsilon, delta)) => format!("budget {epsilon} at {delta:e} per {}", settings.unit),
        None => format!("no budget, per {}", settings.unit),
    };
    match &settings.weakened {
        Some(reason) => format!("WEAKENED to {budget}: {reason}"),
        None => budget,
    }
}

fn participation(participation: ParticipationView) -> String {
    match participation {
        ParticipationView::AtMost { count } => format!("at most {count}"),
        ParticipationView::Poisson { rate } => format!("Poisson {rate:.6}"),
        ParticipationView::Whole { count } => format!("all charged as {count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::entries, *};

    #[test]
    fn the_end_is_shown_and_all_of_it_counts() {
        let mut reader = Reader::default();
        for entry in entries(30) {
            reader.add(&entry);
            reader.keep(EntryView::of(&entry), 4);
        }
        let delta = Delta::new(1e-5).unwrap();
        let report = reader.report("digits".parse().unwrap(), Some(delta)).unwrap();
        let shown: Vec<u64> = report.entries.iter().map(|entry| entry.sequence).collect();
        assert_eq!((shown, report.entry_count), (vec![27, 28, 29, 30], 30));
        let [sampled, capped] = report.tasks.as_slice() else { panic!("there are two tasks") };
        assert_eq!((sampled.releases, sampled.spent.accountant), (15, "RDP"));
        // Three participations of multiplier 4/3: 3 / (2 · 16/9).
        assert!((capped.spent.rho.unwrap().get() - 27.0 / 32.0).abs() < 1e-12);
        assert!(report.all.epsilon > capped.spent.epsilon && report.all.epsilon > sampled.spent.epsilon);
        let text = text(&report);
        assert!(text.contains("at most 3") && text.contains("Poisson 0.300000"), "{text}");
        assert!(text.contains("\nall ") && text.contains("Epsilon is at delta 1e-5"), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("2023-11-14")).count(), 4, "{text}");
    }

    #[test]
    fn a_delta_is_a_probability() {
        assert_eq!(delta("1e-9").unwrap().get(), 1e-9);
        assert!(delta("1").is_err() && delta("0").is_err() && delta("small").is_err());
    }
}
