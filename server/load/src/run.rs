//! Drives a load test: enrol, connect, check in.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use folkmoot_client::Transport;
use folkmoot_edge::raise_open_files;
use folkmoot_terminal::{may_overwrite, stop_signal};
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::Instant,
};

use super::{
    Args, LoadError,
    args::Settings,
    devices::{Target, enrol_all},
    page,
    record::Recorder,
    rehearsal::Rehearsal,
    report::{Durations, Report},
    screen::Screen,
    shared::Shared,
    storm::storm,
    waiting,
};

/// Runs a load test and prints its result. Stops early at ctrl-c or SIGTERM, with the result so far.
///
/// # Errors
/// [`LoadError`] if the test cannot begin, or its result cannot be written. Requests that fail during the test are part
/// of the result.
pub async fn run(args: Args) -> Result<Report, LoadError> {
    let certificate = args.ca.as_deref().map(read).transpose()?;
    let target = Target::new(&args.url, certificate, args.allow_remote)?;
    args.settings.check(raise_open_files(usize::MAX))?;
    if let Some(path) = &args.report {
        may_overwrite(path).map_err(write_error(path))?;
    }
    let (stop, stopped) = watch::channel(false);
    let signal = stop_signal()?;
    let stopping = tokio::spawn(async move {
        signal.await;
        stop.send_replace(true);
        // Keep the channel open, because its end would look like another signal.
        std::future::pending::<()>().await;
    });
    let screen = Screen::Lines;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let outcome = match (given(&args.token), given(&args.api_key)) {
        (Some(token), _) => measure(&target, &token, &args.settings, stopped, screen, &mut |_| {}).await,
        (None, Some(api_key)) => rehearse(&target, &api_key, &args.settings, stopped, screen).await,
        (None, None) => Err(LoadError::NoToken),
    };
    stopping.abort();
    let report = outcome?;
    if let Some(path) = &args.report {
        fs::write(path, page::html(&report)?).map_err(write_error(path))?;
        screen.say(&format!("the report is in {}", path.display()));
    }
    Ok(report)
}

/// Runs a load test in a population of its own. Afterwards it cancels the task, and revokes the token and its devices.
async fn rehearse(
    target: &Target,
    api_key: &str,
    settings: &Settings,
    stopped: watch::Receiver<bool>,
    screen: Screen,
) -> Result<Report, LoadError> {
    let rehearsal = Rehearsal::begin(target, api_key, settings).await?;
    let outcome = measure(target, &rehearsal.token, settings, stopped, screen, &mut |_| {}).await;
    let ended = rehearsal.end().await;
    let report = outcome?;
    ended?;
    Ok(report)
}

/// A phase of a load test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Devices enrol.
    Enrol,
    /// Devices connect and begin to wait.
    Connect,
    /// The other devices check in.
    CheckIn,
    /// All check-ins were answered. The waiting devices are still connected.
    End,
}

/// Called at the beginning of each phase, for measurements of the coordinator.
pub type OnPhase<'a> = &'a mut (dyn FnMut(Phase) + Send);

/// Enrols devices with a token, connects some of them, and sends check-ins from the others. Ends early if `stopped`
/// becomes true. `on_phase` is called at the beginning of each phase.
///
/// # Errors
/// [`LoadError::Enrol`] if the first device cannot enrol. Later failures are part of the result.
pub async fn measure(
    target: &Target,
    token: &str,
    settings: &Settings,
    mut stopped: watch::Receiver<bool>,
    screen: Screen,
    on_phase: OnPhase<'_>,
) -> Result<Report, LoadError> {
    let recorder = Arc::new(Recorder::default());
    let mut durations = Durations::default();
    screen.say(&format!("enrolling {} devices at {}", settings.devices, target.url()));
    on_phase(Phase::Enrol);
    let begun = Instant::now();
    let (count, in_flight) = (settings.devices as usize, settings.in_flight as usize);
    let devices = tokio::select! {
        biased;
        devices = enrol_all(target, token, count, in_flight, &recorder) => devices?,
        _ = stopped.wait_for(|is_stopped| *is_stopped) => Vec::new(),
    };
    durations.enrol_seconds = begun.elapsed().as_secs_f64();
    let shared = Arc::new(Shared::new(settings, Arc::clone(&recorder)));
    let (waiting, storming) = devices.split_at(settings.connected().min(devices.len()));

    screen.say(&format!("connecting {} devices", waiting.len()));
    on_phase(Phase::Connect);
    let begun = Instant::now();
    let staying = connect(&shared, waiting, &mut stopped).await;
    durations.connect_seconds = begun.elapsed().as_secs_f64();

    screen.say(&format!("checking in at a rate of {} for {} s", settings.rate, settings.seconds));
    let watching = screen.watch(&recorder);
    on_phase(Phase::CheckIn);
    let storm = storm(&shared, storming, &mut stopped).await?;
    durations.check_in_seconds = storm.duration.as_secs_f64();
    on_phase(Phase::End);
    drop(watching);
    drop(staying);
    let is_interrupted = *stopped.borrow();
    Ok(Report::new(target, settings, devices.len(), durations, storm.unsent, is_interrupted, &recorder))
}

/// Starts the devices that wait. Returns when each has had its first answer.
async fn connect(
    shared: &Arc<Shared>,
    devices: &[Transport],
    stopped: &mut watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut staying = JoinSet::new();
    let mut answers = Vec::with_capacity(devices.len());
    for (number, device) in devices.iter().enumerate() {
        let (is_connected, answer) = oneshot::channel();
        staying.spawn(waiting::stay(Arc::clone(shared), device.clone(), number, is_connected));
        answers.push(answer);
    }
    let all = async {
        for answer in answers {
            let _ = answer.await;
        }
    };
    tokio::select! {
        biased;
        _ = stopped.wait_for(|is_stopped| *is_stopped) => {}
        () = all => {}
    }
    staying
}

fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })
}

fn write_error(path: &Path) -> impl FnOnce(std::io::Error) -> LoadError {
    let path: PathBuf = path.to_owned();
    move |source| LoadError::Write { path, source }
}
