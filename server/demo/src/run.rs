use std::{path::PathBuf, time::Duration};

use folkmoot_api::AdminClient;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, ImportLimits, Model};
use folkmoot_protocol::Recipe;
use folkmoot_rounds::clock::{Clock, system_chance, system_clock};
use folkmoot_service::{
    data_folder::DataFolderError,
    host::{Host, HostConfig, HostError},
};
use folkmoot_telemetry::{LogConfig, init_log};
use tokio::{signal::ctrl_c, time::sleep};

use super::{
    args::Args,
    chart,
    clients::{Clients, Meeting},
    control::Control,
    data,
    error::DemoError,
    evaluate,
    follow::{Followed, Following},
    output::Output,
    plan,
    report::{Report, SettingsReport},
    screen::{self, Files, Screen, Serving, Started},
    traffic::Traffic,
    vanish::Vanishing,
};

/// The state of a run.
struct Run {
    args: Args,
    settings: SettingsReport,
    vanishing: Vanishing,
    output: Output,
    clock: Clock,
}

/// Runs the demo: starts a coordinator and its clients, trains, and writes the results.
///
/// # Errors
/// [`DemoError`] if the settings are invalid, the folder cannot be written, or a part of the demo fails.
pub async fn run(args: Args) -> Result<(), DemoError> {
    let settings = args.settings()?;
    // Log lines would disturb the progress bars. Set RUST_LOG to see them anyway.
    let log = LogConfig { level: "error".into(), ..LogConfig::default() };
    init_log(&log, std::env::var("RUST_LOG").ok().as_deref())?;
    let output = Output::open(&args.out)?;
    let vanishing = Vanishing::new(&settings, args.rounds());
    let run = Run { args, settings, vanishing, output, clock: system_clock() };
    let config = HostConfig::loopback(run.output.coordinator());
    let host = Host::start(config, run.clock.clone(), system_chance(), None).await?;
    let result = run.train(&host, screen::choose(run.args.json).as_mut()).await;
    host.stop().await?;
    result
}

impl Run {
    async fn train(&self, host: &Host, screen: &mut dyn Screen) -> Result<(), DemoError> {
        let data = data::deal(self.settings.clients as usize, self.settings.alpha, self.settings.seed)?;
        let (url, certificate_pem) = (host.url(), certificate(host)?);
        let api_key =
            host.first_api_key.as_deref().expect("a coordinator with a fresh data folder makes a key");
        let control = Control::new(AdminClient::new(&url, api_key, certificate_pem.clone())?);
        let description = plan::description(self.args.rounds(), self.settings.cohort, self.settings.privacy);
        let compression = self.settings.codec.map(Recipe::of);
        let description = TaskDescription { compression, ..description };
        let description = match self.settings.secure_aggregation {
            true => plan::masked(description),
            false => description,
        };
        let description = match self.settings.vanish {
            Some(_) => plan::impatient(description),
            None => description,
        };
        let token = control.create_token(&description, self.settings.clients).await?;
        let meeting = Meeting { url, certificate_pem, token };
        let task = control.create_task(self.settings.model.onnx(), description.clone()).await?;

        let traffic = Traffic::default();
        let started = self.started(host, &data.parts);
        let mut clients = Clients::start(&meeting, data.parts, &self.output, &traffic, &self.vanishing)?;
        let held_out = &data.held_out;
        let training = async {
            self.await_enrolments(&traffic).await;
            screen.started(&started);
            let initial_accuracy =
                evaluate::accuracy(self.settings.model.onnx().to_vec(), held_out.clone()).await?;
            let started_at = (self.clock)();
            control.activate(task).await?;
            let following = Following {
                control: &control,
                task,
                description: &description,
                traffic: &traffic,
                held_out,
                clock: &self.clock,
            };
            let followed = following.to_the_end(self.args.rounds(), screen).await?;
            let seconds = followed.ended_at.milliseconds_since(started_at) as f64 / 1000.0;
            self.finish(followed, initial_accuracy, held_out.len(), seconds, screen)
        };
        let result = tokio::select! {
            result = training => result,
            failure = clients.failure() => Err(failure),
            _ = ctrl_c() => Err(DemoError::Interrupted { run: self.output.run().to_owned() }),
        };
        if result.is_ok() && self.args.keep_open {
            screen.serving(&serving(host));
            // If ctrl-c cannot be received, do not wait.
            let _ = ctrl_c().await;
        }
        clients.stop().await;
        result
    }

    /// Waits until all clients are enrolled, so that each can be selected for the first round.
    async fn await_enrolments(&self, traffic: &Traffic) {
        while traffic.enrolled() < self.settings.clients as usize {
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn started(&self, host: &Host, parts: &[Examples]) -> Started {
        Started {
            url: host.url(),
            root_certificate: host.root_certificate.as_ref().map(|path| path.display().to_string()),
            run: self.output.run().display().to_string(),
            rounds: self.args.rounds(),
            examples: parts.iter().map(Examples::len).sum(),
            settings: self.settings,
        }
    }

    /// Writes the results and prints them.
    fn finish(
        &self,
        followed: Followed,
        initial_accuracy: f64,
        held_out_examples: usize,
        seconds: f64,
        screen: &mut dyn Screen,
    ) -> Result<(), DemoError> {
        let model = Model::from_onnx(self.settings.model.onnx(), &ImportLimits::default())
            .expect("the demo's own models can be read");
        let parameter_count = model.initial_weights().len() as u64;
        let report = Report::new(
            self.settings,
            initial_accuracy,
            held_out_examples,
            seconds,
            parameter_count,
            followed.rounds,
        );
        let vanished = self.settings.vanish.map(|_| self.vanishing.vanished());
        let report = Report { vanished, ..report };
        let json = serde_json::to_string_pretty(&report).expect("numbers and texts are JSON");
        let write =
            |name, bytes: &[u8]| Ok::<_, DemoError>(self.output.write(name, bytes)?.display().to_string());
        let files = Files {
            model: write("model.onnx", &followed.onnx)?,
            report: write("report.json", json.as_bytes())?,
            chart: write("accuracy.svg", chart::accuracy_svg(&report)?.as_bytes())?,
            run: self.output.run().display().to_string(),
        };
        screen.finished(&report, &files);
        Ok(())
    }
}

/// Reads the coordinator's root certificate.
fn certificate(host: &Host) -> Result<Option<Vec<u8>>, DemoError> {
    let Some(path) = &host.root_certificate else { return Ok(None) };
    let failed = |source| HostError::Folder(DataFolderError::Io { path: path.clone(), source });
    Ok(Some(std::fs::read(path).map_err(failed)?))
}

/// Describes how to reach the coordinator. The certificate's path is absolute, because the user may be in another
/// folder.
fn serving(host: &Host) -> Serving {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    Serving {
        url: host.url(),
        root_certificate: host.root_certificate.as_ref().map(|path| absolute(path).display().to_string()),
        api_key: host.first_api_key.clone(),
    }
}
