//! A coordinator in a process of its own, with one task of a model of any size, so that its CPU time and memory
//! can be read apart from its clients'.

use std::{
    io::{self, BufRead, Write},
    path::PathBuf,
};

use bytes::Bytes;
use folkmoot_coordinator::task::{TaskDescription, TaskState};
use folkmoot_engine::{ImportLimits, Model, onnx::build::single_tensor};
use folkmoot_protocol::{
    Plan, PopulationName, TaskId, TensorSchema, TensorSpec, Timestamp, update::UpdateMetrics,
};
use folkmoot_server::{
    clock,
    device::EnrolmentToken,
    host::{Host, HostConfig},
};
use folkmoot_storage::{
    ModelVersionRecord, PopulationRepository, TaskRecord, TaskRepository, TokenRecord, TokenRepository,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failure;

/// What the process is to serve.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    parameters: usize,
    #[arg(long)]
    clients: u64,
    #[arg(long)]
    rounds: u64,
    #[arg(long)]
    plain: bool,
}

/// What it tells its clients, as one line of JSON.
#[derive(Serialize, Deserialize)]
pub struct Ready {
    /// Where it listens.
    pub url: String,
    /// The root certificate's file, with TLS.
    pub root_certificate: Option<PathBuf>,
    /// The enrolment token.
    pub token: String,
    /// The digest of the model's schema, in hexadecimal.
    pub schema_digest: [u8; 32],
}

/// Serves until standard input ends.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let mut config = HostConfig::loopback(arguments.data.clone());
    if arguments.plain {
        config.tls_host_names = None;
    }
    let host = Host::start(config, clock::system_clock(), clock::system_chance(), None).await?;
    let (token, schema) = prepare(&host, arguments).await?;
    let ready = Ready {
        url: host.url(),
        root_certificate: host.root_certificate.clone(),
        token: token.to_string(),
        schema_digest: schema.digest(),
    };
    println!("{}", serde_json::to_string(&ready)?);
    io::stdout().flush()?;
    tokio::task::spawn_blocking(|| io::stdin().lock().lines().count()).await?;
    Ok(host.stop().await?)
}

/// Makes the population, its token, and an active task whose cohort is every client.
async fn prepare(host: &Host, arguments: &Arguments) -> Result<(EnrolmentToken, TensorSchema), Failure> {
    let storage = &host.coordinator.storage;
    let now = (clock::system_clock())();
    let population: PopulationName = "bench".parse()?;
    storage.ensure_population(host.organisation, &population, now).await?;
    let token =
        EnrolmentToken::from_random_bytes(host.coordinator.random_bytes(), host.coordinator.random_bytes());
    storage
        .create_token(&TokenRecord {
            id: token.id.clone(),
            organisation_id: host.organisation,
            population: population.clone(),
            secret_hash: token.secret_hash(),
            uses_max: None,
            uses: 0,
            expires_at: None,
            revoked_at: None,
            created_at: now,
        })
        .await?;
    let schema = create_task(host, arguments, population, now).await?;
    Ok((token, schema))
}

async fn create_task(
    host: &Host,
    arguments: &Arguments,
    population: PopulationName,
    now: Timestamp,
) -> Result<TensorSchema, Failure> {
    let description: TaskDescription = serde_json::from_value(json!({
        "name": "bench",
        "population": population,
        "plan": {
            "loss": "mean_squared_error", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 1,
        },
        "scheduling": { "kind": "synchronous", "report_goal": arguments.clients, "over_selection_factor": 1.0 },
        "stop": { "rounds": arguments.rounds },
    }))?;
    let onnx = single_tensor(arguments.parameters);
    let model = Model::from_onnx(&onnx, &ImportLimits::default())?;
    let spec = |tensor: &folkmoot_engine::ParameterSpec| TensorSpec {
        name: tensor.name.clone(),
        shape: tensor.shape.iter().map(|&size| size as u64).collect(),
    };
    let schema = TensorSchema { tensors: model.parameters().iter().map(spec).collect() };
    let weights: Vec<u8> = model.initial_weights().iter().flat_map(|value| value.to_le_bytes()).collect();
    let (model_bytes, weights_bytes) = (onnx.len() as u64, weights.len() as u64);
    let blobs = &host.coordinator.blobs;
    let (model, weights) = (blobs.put(Bytes::from(onnx)).await?, blobs.put(Bytes::from(weights)).await?);
    let plan = Plan {
        model,
        schema: schema.clone(),
        training: description.plan.clone(),
        codec: description.codec,
        protection: description.protection,
        grid: description.grid,
    };
    let plan = serde_json::to_vec(&plan)?;
    let plan_bytes = plan.len() as u64;
    let task = TaskRecord {
        id: TaskId::from_random_bytes(host.coordinator.random_bytes()),
        organisation_id: host.organisation,
        description,
        state: TaskState::Active,
        model,
        model_bytes,
        schema: schema.clone(),
        plan: blobs.put(Bytes::from(plan)).await?,
        plan_bytes,
        created_at: now,
        revision: 0,
    };
    let version = ModelVersionRecord {
        task_id: task.id,
        number: 0,
        round_id: None,
        weights,
        weights_bytes,
        metrics: UpdateMetrics::default(),
        created_at: now,
    };
    host.coordinator.storage.create_task(&task, &version).await?;
    Ok(schema)
}
