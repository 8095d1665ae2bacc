//! A coordinator in a separate process, so that its CPU time and memory can be measured without those of its clients.
//! It has one task with a model of any size.

use std::{
    io::{self, BufRead, Write},
    path::PathBuf,
};

use folkmoot_api::{AdminClient, tokens::CreateTokenRequest};
use folkmoot_engine::onnx::build::single_tensor;
use folkmoot_load::devices::Target;
use folkmoot_protocol::PopulationName;
use folkmoot_rounds::clock;
use folkmoot_service::host::{Host, HostConfig};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Failure, enrolled, tenant};

/// Settings of the process.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    parameters: usize,
    /// The report goal of the task; 0 for no task
    #[arg(long)]
    clients: u64,
    /// Clients that are enrolled already
    #[arg(long, default_value_t = 0)]
    enrolled: u64,
    #[arg(long)]
    rounds: u64,
    #[arg(long)]
    plain: bool,
}

/// The data that clients need. It is printed as one line of JSON.
#[derive(Serialize, Deserialize)]
pub struct Ready {
    /// The coordinator's URL.
    pub url: String,
    /// The path of the root certificate; `None` without TLS.
    pub root_certificate: Option<PathBuf>,
    /// The enrolment token.
    pub token: String,
    /// The digest of the model's schema.
    pub schema_digest: [u8; 32],
}

impl Ready {
    /// Returns the coordinator as the target of devices.
    pub fn target(&self) -> Result<Target, Failure> {
        let certificate = self.root_certificate.as_ref().map(std::fs::read).transpose()?;
        Ok(Target::new(&self.url, certificate, false)?)
    }
}

/// Serves until standard input is closed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let mut config = HostConfig::loopback(arguments.data.clone());
    if arguments.plain {
        config.has_tls = false;
    }
    let host = Host::start(config, clock::system_clock(), clock::system_chance(), None).await?;
    let ready = prepare(&host, arguments).await?;
    println!("{}", serde_json::to_string(&ready)?);
    io::stdout().flush()?;
    tokio::task::spawn_blocking(|| io::stdin().lock().lines().count()).await?;
    Ok(host.stop().await?)
}

/// Creates an active task that draws all clients in every round. Uses the administrative API, like an operator.
async fn prepare(host: &Host, arguments: &Arguments) -> Result<Ready, Failure> {
    let population: PopulationName = "bench".parse()?;
    let certificate = host.root_certificate.as_ref().map(std::fs::read).transpose()?;
    let api_key = host
        .first_api_key
        .as_deref()
        .ok_or("the data folder is already in use, so no API key was created; choose a new folder")?;
    let admin = AdminClient::new(&host.url(), api_key, certificate)?;
    let model = admin.create_model(single_tensor(arguments.parameters)).await?;
    let description = serde_json::from_value(json!({
        "name": "bench",
        "population": population,
        "plan": {
            "loss": "mean_squared_error", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 1,
        },
        "scheduling": { "kind": "synchronous", "report_goal": arguments.clients, "over_selection_factor": 1.0 },
        "stop": { "rounds": arguments.rounds },
    }))?;
    if arguments.clients > 0 {
        admin.create_task(description, model.model, true).await?;
        tenant::settle(host).await?;
    }
    let token = CreateTokenRequest { unlimited_uses: true, ..CreateTokenRequest::of(population) };
    let token = admin.create_token_from(&token).await?;
    enrolled::enrol(&arguments.data, &token.record.id, arguments.enrolled).await?;
    Ok(Ready {
        url: host.url(),
        root_certificate: host.root_certificate.clone(),
        token: token.token,
        schema_digest: model.schema.digest(),
    })
}
