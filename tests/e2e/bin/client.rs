//! A program that runs the real client, for tests that kill it. It prints a line for every event, and runs until its
//! standard input is closed.

use std::{error::Error, path::Path};

use folkmoot_client::{
    Client, ClientEvent, Host,
    engine::{
        Examples,
        data::{CsvOptions, read_csv},
    },
    protocol::Timestamp,
};
use folkmoot_tests::{
    client_process::{ClientConfig, ClientMoment},
    halt::HALTED,
    task::{now, random_bytes},
};

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().nth(1).ok_or("the configuration is expected as JSON")?;
    let config: ClientConfig = serde_json::from_str(&argument)?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter("info").init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(config))
}

async fn run(config: ClientConfig) -> Result<(), Box<dyn Error>> {
    let assignments = config.state_directory.join("assignments");
    let mut client = Client::builder(&config.url)
        .certificate(std::fs::read(&config.certificate)?)
        .enrolment_token(&config.token)
        .state_directory(&config.state_directory)
        .examples(examples(&config)?)
        .wait_seconds(5)
        // The tests compare the update with the oracle's bit for bit, so train on the CPU.
        .device(folkmoot_client::Device::Cpu)
        .host(fast_host(&config))
        .on_event(move |event| {
            println!("{}", line_of(&event));
            if config.halt_at.is_some_and(|moment| is_at(moment, &event, &assignments)) {
                println!("{HALTED}");
                stop_here();
            }
        })
        .build()?;
    let end = async {
        let _ = tokio::task::spawn_blocking(|| {
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new())
        })
        .await;
    };
    client.run(end).await?;
    Ok(())
}

fn examples(config: &ClientConfig) -> Result<Examples, Box<dyn Error>> {
    let all = read_csv(std::fs::read(&config.examples)?.as_slice(), &CsvOptions::default())?;
    let part: Vec<usize> = (config.part..all.len()).step_by(config.parts).collect();
    Ok(all.subset(&part)?)
}

/// Returns a host whose time passes faster, so that even a short training has checkpoints. The anchor is the same at
/// every start, so that the clock of a restarted client does not go back.
fn fast_host(config: &ClientConfig) -> Host {
    let (anchor, rate) = (config.clock_anchor, config.clock_rate);
    Host::new(move || Timestamp(anchor.0 + now().milliseconds_since(anchor) * rate), random_bytes())
}

/// Returns `true` if the event shows that the client has reached `moment`.
fn is_at(moment: ClientMoment, event: &ClientEvent, assignments: &Path) -> bool {
    match (moment, event) {
        (ClientMoment::TrainingBegins, ClientEvent::Training { step, steps_total, .. }) => step < steps_total,
        (ClientMoment::TrainingGoesOn, ClientEvent::Training { assignment_id, .. }) => {
            assignments.join(format!("{assignment_id}.checkpoint")).exists()
        }
        (ClientMoment::Trained, ClientEvent::Training { step, steps_total, .. }) => step == steps_total,
        (ClientMoment::Uploading, ClientEvent::Uploading { .. })
        | (ClientMoment::Accepted, ClientEvent::Accepted { .. }) => true,
        _ => false,
    }
}

/// Blocks the calling thread until the process is killed. The client's work runs on this thread.
fn stop_here() {
    loop {
        std::thread::park();
    }
}

fn line_of(event: &ClientEvent) -> String {
    match event {
        ClientEvent::Training { assignment_id, step, steps_total, .. } => {
            format!("training {assignment_id} {step} {steps_total}")
        }
        ClientEvent::Uploading { assignment_id, sent, total } => {
            format!("uploading {assignment_id} {sent} {total}")
        }
        ClientEvent::Accepted { assignment_id, .. } => format!("accepted {assignment_id}"),
        ClientEvent::Aborted { assignment_id, reason, .. } => format!("aborted {assignment_id} {reason:?}"),
        other => format!("other {other:?}"),
    }
}
