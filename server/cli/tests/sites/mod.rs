//! Real clients that take part once, at a coordinator or at an edge aggregator.

mod client_certificates;
mod edge_aggregator;

use std::{fs, path::Path, process::Command};

use folkmoot_api::{AdminClient, tasks::TaskView};
use folkmoot_engine::onnx::build::mlp;
use serde_json::json;

use crate::operator::{Serving, program};

/// A small task at a coordinator, with its token for clients.
struct SmallTask {
    admin: AdminClient,
    task: TaskView,
    token: String,
}

impl SmallTask {
    /// Creates a task of `rounds` rounds with `clients` clients each, and the clients' examples in the folder.
    async fn create(folder: &Path, serving: &Serving, clients: u64, rounds: u64) -> Self {
        fs::write(folder.join("examples.csv"), "a,b,label\n1,2,0\n2,1,1\n3,3,2\n").expect("there is room");
        let admin = serving.admin(folder, serving.first_api_key(), None);
        let token = admin
            .create_token("sites".parse().expect("it is a name"), None, None)
            .await
            .expect("it answers")
            .token;
        let model = admin.create_model(mlp(&[2, 3], 1)).await.expect("it answers").model;
        let description = json!({
            "name": "sites", "population": "sites",
            "plan": {
                "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1, "batch_size": 3,
            },
            "scheduling": { "kind": "synchronous", "report_goal": clients, "over_selection_factor": 1.0 },
            "stop": { "rounds": rounds },
        });
        let description = serde_json::from_value(description).expect("it is a description");
        let task = admin.create_task(description, model, true).await.expect("it answers");
        Self { admin, task, token }
    }

    /// Prepares a client that runs until its first update is accepted. It trusts the authority in `ca`.
    fn client(&self, folder: &Path, serving: &Serving, ca: &str, state: &str) -> Command {
        let own = ["--coordinator", serving.url(), "--ca", ca, "--token", &self.token, "--state", state];
        let other = ["--data", "examples.csv", "--device", "cpu", "--rounds", "1"];
        let mut command = program(folder);
        command.arg("client").args(own).args(other);
        command
    }
}
