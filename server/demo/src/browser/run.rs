use std::{net::SocketAddr, time::Duration};

use folkmoot_api::AdminClient;
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_edge::{HttpLimits, Listener, ServeError, serve};
use folkmoot_engine::Examples;
use folkmoot_protocol::{Recipe, TaskId};
use folkmoot_rounds::clock::{system_chance, system_clock};
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_telemetry::{LogConfig, init_log};
use folkmoot_terminal::stop_signal;
use tokio::{sync::oneshot, time::sleep};

use super::{
    package,
    screen::{Told, tell},
    site::{self, File, PageConfig},
};
use crate::{
    Args,
    clients::{Clients, Meeting},
    control::{Committed, Control},
    data,
    error::DemoError,
    evaluate,
    output::Output,
    plan,
    report::SettingsReport,
    traffic::Traffic,
    vanish::Vanishing,
};

/// The interval for polling the coordinator for the next version.
const LOOK: Duration = Duration::from_millis(100);
/// The maximum number of enrolments of pages. A page enrols again whenever its user makes it forget everything.
const PAGE_ENROLMENTS_MAX: u32 = 1000;
/// The digits are split into at least this many parts, of which only the clients' parts are used. With fewer parts,
/// the clients alone would learn so fast that the page had nothing to add.
const PARTS_MIN: u32 = 15;

/// The state of a run.
struct Run {
    args: Args,
    settings: SettingsReport,
    output: Output,
}

/// Serves the page, a coordinator and clients until ctrl-c or SIGTERM.
///
/// # Errors
/// [`DemoError`] if the settings are invalid, the package is not built, the port is in use, the folder cannot be
/// written, or a part of the demo fails.
pub async fn run(args: Args) -> Result<(), DemoError> {
    let settings = args.settings()?;
    let package = package::read(&args.package, site::PACKAGE)?;
    let log = LogConfig { level: "error".into(), ..LogConfig::default() };
    init_log(&log, std::env::var("RUST_LOG").ok().as_deref())?;
    let stop = stop_signal()?;
    let listener = listen(args.port)?;
    let address = listener.address().map_err(ServeError::Listen)?;
    let output = Output::open(&args.out)?;
    let limits = HttpLimits { allowed_origins: origins(address).into(), ..HttpLimits::default() };
    // A browser would reject the coordinator's own certificate, but treats this machine as secure without TLS.
    let config = HostConfig { has_tls: false, limits, ..HostConfig::loopback(output.coordinator()) };
    let host = Host::start(config, system_clock(), system_chance(), None).await?;
    let run = Run { args, settings, output };
    let result = run.serve(&host, listener, package, stop).await;
    host.stop().await?;
    result?;
    tell(&Told::Stopped { run: run.output.run().display().to_string() }, run.args.json);
    Ok(())
}

fn listen(port: u16) -> Result<Listener, DemoError> {
    Listener::bind(SocketAddr::from(([127, 0, 0, 1], port)), None).map_err(|error| match error {
        ServeError::Bind { address, source } => DemoError::Page { address, source },
        error => error.into(),
    })
}

/// Returns the origins of the page: the one that is printed, and the one with `localhost` that a person may type.
fn origins(address: SocketAddr) -> [String; 2] {
    [format!("http://{address}"), format!("http://localhost:{}", address.port())]
}

impl Run {
    async fn serve(
        &self,
        host: &Host,
        listener: Listener,
        package: Vec<File>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), DemoError> {
        let (settings, url) = (self.settings, host.url());
        let [page, _] = origins(listener.address().map_err(ServeError::Listen)?);
        let mut data = data::deal(settings.clients.max(PARTS_MIN) as usize, settings.alpha, settings.seed)?;
        data.parts.truncate(settings.clients as usize);
        let api_key = host.first_api_key.clone().expect("a coordinator with a fresh data folder makes a key");
        let control = Control::new(AdminClient::new(&url, &api_key, None)?);
        let description = plan::description_with_page(self.args.rounds(), settings.cohort);
        let description = TaskDescription { compression: settings.codec.map(Recipe::of), ..description };
        let token = control.create_token(&description, settings.clients + PAGE_ENROLMENTS_MAX).await?;
        let task = control.create_task(settings.model.onnx(), description).await?;
        control.activate(task).await?;

        let config =
            PageConfig { coordinator: url.clone(), token: token.clone(), held_out: data.held_out.len() };
        let router = site::router(package, data.csv(), &config);
        let (close, closed) = oneshot::channel::<()>();
        let mut site = tokio::spawn(async move {
            let until_closed = async { drop(closed.await) };
            serve(listener, router, HttpLimits::default(), until_closed).await
        });
        let meeting = Meeting { url: url.clone(), certificate_pem: None, token };
        let (traffic, vanishing) = (Traffic::default(), Vanishing::default());
        let mut clients = Clients::start(&meeting, data.parts, &self.output, &traffic, &vanishing)?;
        let run = self.output.run().display().to_string();
        self.tell(&Told::Serving { page, url, api_key, run, clients: settings.clients });
        let result = tokio::select! {
            failure = self.follow(&control, task, &data.held_out) => failure.map(|never| match never {}),
            failure = clients.failure() => Err(failure),
            ended = &mut site => return Ok(ended??),
            () = stop => Ok(()),
        };
        clients.stop().await;
        drop(close);
        site.await??;
        result
    }

    /// Prints every version and writes the newest to the output folder. Returns only on failure.
    async fn follow(
        &self,
        control: &Control,
        task: TaskId,
        held_out: &Examples,
    ) -> Result<std::convert::Infallible, DemoError> {
        let rounds = self.args.rounds();
        for round in 1..=u64::from(rounds) {
            let committed = await_version(control, task, round).await?;
            let model = self.output.write("model.onnx", &committed.onnx)?.display().to_string();
            let accuracy = evaluate::accuracy(committed.onnx, held_out.clone()).await?;
            let (reports, loss) = (committed.reports, committed.loss);
            self.tell(&Told::Round { round, rounds, reports, loss, accuracy, model });
        }
        self.tell(&Told::Finished);
        std::future::pending().await
    }

    fn tell(&self, told: &Told) {
        tell(told, self.args.json);
    }
}

/// Waits for a version, without a limit: a person may take any time for a round.
async fn await_version(control: &Control, task: TaskId, number: u64) -> Result<Committed, DemoError> {
    loop {
        if let Some(committed) = control.committed(task, number).await? {
            return Ok(committed);
        }
        sleep(LOOK).await;
    }
}
