//! `cargo xtask reproduce …`: repeats published experiments in the simulator.
//!
//! The coordinator, the sessions and the engine are those of the product; only time and the devices are simulated. The
//! data sets are small. So comparisons with a paper are about which method is better and by what factor, never about
//! accuracies. Each claim has separate marks for its direction, its size and its statistical significance ([`claim`]).
//!
//! # How to add an experiment
//! Write `<experiment>.rs` with a `run` that takes the [`Lab`] and returns a [`Finding`], and add it to [`Experiment`].
//! Give it a part in `docs/experiments.md`: a heading, its picture and the two marks of [`document`].

mod adaptive;
mod arm;
mod buffered;
mod claim;
mod colluding;
mod compressed;
mod document;
mod estimate;
mod fed_avg;
mod fed_nova;
mod fed_prox;
mod finding;
mod inversion;
mod lab;
mod marks;
mod niid;
mod personal;
mod plot;
mod private;
mod robust;
mod scaffold;
mod series;
mod stale_synchronous;
mod svg;
mod widths;

use std::{fs, path::PathBuf};

use folkmoot_simulation::{
    report::{Metric, RUNS_MAX, Report, Run},
    spread::{self, students_t},
};

use self::{finding::Finding, lab::Lab, series::Series};
use crate::Failure;

/// The experiment to run, and its extent.
#[derive(clap::Args)]
pub struct Arguments {
    /// The experiment
    #[arg(value_enum)]
    experiment: Experiment,
    /// Print JSON instead of Markdown
    #[arg(long)]
    json: bool,
    /// Number of seeds; every arm runs once with each
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Run only a few rounds and two seeds, to check that the experiment works
    #[arg(long)]
    quick: bool,
    /// Folder for the tables, all figures by seed as JSON, the plot and the report
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Update the experiment's tables, figures by seed and plot in docs/experiments.md
    #[arg(long)]
    document: bool,
    /// Number of simulations at the same time; it does not change the result
    #[arg(long)]
    threads: Option<usize>,
}

/// The experiments.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Experiment {
    /// More local computation means fewer rounds (McMahan et al. 2017)
    FedAvg,
    /// Stragglers' partial work, and a proximal term (Li et al. 2020)
    FedProx,
    /// Adaptive server optimizers on sparse features (Reddi et al. 2021)
    Adaptive,
    /// Buffered asynchronous rounds against synchronous ones (Nguyen et al. 2022)
    Buffered,
    /// Bounded staleness with one slow client (Ho et al. 2013, Zhao et al. 2019)
    StaleSynchronous,
    /// Robust aggregation under attack (Blanchard et al. 2017, Yin et al. 2018)
    Robust,
    /// Robust aggregation against clients that collude (Baruch et al. 2019, Shejwalkar and Houmansadr 2021)
    Colluding,
    /// A part of the model, or a model, for each client (Arivazhagan et al. 2019, Collins et al. 2021, Li et al. 2021)
    Personal,
    /// A model for each cluster of clients (Ghosh et al. 2020)
    Clustered,
    /// Narrower models on weak devices (Diao et al. 2021, Horváth et al. 2021)
    Widths,
    /// Control variates against the drift of clients (Karimireddy et al. 2020)
    Scaffold,
    /// Updates divided by local work (Wang et al. 2020)
    FedNova,
    /// Five methods, six kinds of data (Li et al. 2022, Li, He and Song 2021)
    Niid,
    /// Examples reconstructed from updates, with and without noise and sums (Zhu et al. 2019, Geiping et al. 2020)
    Inversion,
    /// Accuracy against epsilon (McMahan et al. 2018, Andrew et al. 2021)
    Private,
    /// Accuracy against the bytes that clients send, by every codec
    Compressed,
}

/// Runs an experiment and prints the result.
///
/// # Errors
/// If a simulation fails, or a file cannot be written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let seeds = if arguments.quick { 2 } else { arguments.seeds.max(1) };
    let threads =
        arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let lab = Lab::new(seeds, arguments.quick, threads.max(1))?;
    let finding = match arguments.experiment {
        Experiment::FedAvg => fed_avg::run(&lab),
        Experiment::FedProx => fed_prox::run(&lab),
        Experiment::Adaptive => adaptive::run(&lab),
        Experiment::Buffered => buffered::run(&lab),
        Experiment::StaleSynchronous => stale_synchronous::run(&lab),
        Experiment::Robust => robust::run(&lab),
        Experiment::Colluding => colluding::run(&lab),
        Experiment::Personal => personal::parts::run(&lab),
        Experiment::Clustered => personal::clustered::run(&lab),
        Experiment::Widths => widths::run(&lab),
        Experiment::Scaffold => scaffold::run(&lab),
        Experiment::FedNova => fed_nova::run(&lab),
        Experiment::Niid => niid::run(&lab),
        Experiment::Inversion => inversion::run(&lab),
        Experiment::Private => private::run(&lab),
        Experiment::Compressed => compressed::run(&lab),
    }?;
    let record = finding.record();
    if arguments.document {
        document::write(&finding)?;
    }
    if let Some(folder) = &arguments.output {
        fs::create_dir_all(folder)?;
        let path = |extension: &str| folder.join(format!("{}.{extension}", finding.name));
        fs::write(path("md"), record.markdown())?;
        fs::write(path("json"), serde_json::to_string_pretty(&record)?)?;
        fs::write(path("svg"), finding.plot.svg())?;
        for (group, html) in reports(&finding)? {
            fs::write(folder.join(format!("{}-{group}.html", finding.name)), html)?;
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&record)?);
    } else {
        println!("{}", record.markdown());
    }
    Ok(())
}

/// Creates a report for each group of arms. It shows the run of each arm with the first seed.
fn reports(finding: &Finding) -> Result<Vec<(String, String)>, Failure> {
    let mut groups: Vec<(String, Vec<Run>)> = Vec::new();
    for series in &finding.series {
        let Series { arm, trials } = series;
        let run = Run {
            client_metrics: Vec::new(),
            contributions: None,
            name: arm.name.clone(),
            settings: arm.settings(),
            rounds: trials.first().map(|trial| trial.rounds.clone()).unwrap_or_default(),
        };
        match groups.iter_mut().find(|(group, _)| *group == arm.group) {
            Some((_, runs)) if runs.len() < RUNS_MAX => runs.push(run),
            Some(_) => {}
            None => groups.push((arm.group.clone(), vec![run])),
        }
    }
    let report = |(group, runs): (String, Vec<Run>)| -> Result<(String, String), Failure> {
        let report = Report {
            title: format!("{}: {group}", finding.title),
            subtitle: Some("The first seed of each arm".to_owned()),
            metric: Metric::default(),
            target: finding.target,
            runs,
        };
        let word =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let slug = group.chars().map(word).collect::<String>();
        Ok((slug.trim_matches('-').to_owned(), report.html()?))
    };
    groups.into_iter().map(report).collect()
}
