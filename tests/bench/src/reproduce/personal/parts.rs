//! Compares one model for all clients with models of which each client keeps a part, or all.

use folkmoot_protocol::PersonalTraining;
use serde_json::{Value, json};

use super::{TITLE, of_own_accuracies};
use crate::Failure;
use crate::reproduce::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    series::{Series, Shows, panel},
};

const CLIENTS: u64 = 50;
const COHORT: u64 = 10;
const EPOCHS: u32 = 5;
const RATE: f64 = 0.1;

const FED_AVG: usize = 0;
const FED_PER: usize = 1;
const FED_REP: usize = 2;
const DITTO: usize = 4;
/// The methods, the tensors that are personal, and the training that comes first.
const METHODS: [(&str, &[&str], Option<PersonalTraining>); 7] = [
    ("FedAvg", &[], None),
    ("FedPer: the last layer is personal", &["layer_2.*"], None),
    (
        "FedRep: the last layer is personal, and trained first",
        &["layer_2.*"],
        Some(PersonalTraining::FedRep { epochs: EPOCHS }),
    ),
    ("LG-FedAvg: the first layer is personal", &["layer_1.*"], None),
    (
        "Ditto: a model of its own, lambda 0.1",
        &[],
        Some(PersonalTraining::Ditto { lambda: 0.1, epochs: EPOCHS }),
    ),
    (
        "Ditto: a model of its own, lambda 1",
        &[],
        Some(PersonalTraining::Ditto { lambda: 1.0, epochs: EPOCHS }),
    ),
    // Something must be shared.
    ("almost alone: only the last bias is shared", &["layer_1.*", "layer_2.weight"], None),
];
const PARTITIONS: [&str; 3] = ["2 shards each", "Dirichlet(0.5)", "IID"];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let rounds_max = if lab.is_quick { 8 } else { 100 };
    let mut arms = Vec::new();
    for (partition, group) in PARTITIONS.iter().enumerate() {
        for (name, personal, first) in METHODS {
            arms.push(Arm::new((group, name), task(personal, first), world(partition), &onnx, rounds_max)?);
        }
    }
    Ok(finding(lab.run(arms)?, rounds_max))
}

fn task(personal: &[&str], first: Option<PersonalTraining>) -> Value {
    json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": RATE } },
            "epochs": EPOCHS,
            "batch_size": 10,
            "personal": personal,
            "personal_training": first,
        },
        "scheduling": { "kind": "synchronous", "report_goal": COHORT, "over_selection_factor": 1.0 },
    })
}

fn world(partition: usize) -> Value {
    let partition = match partition {
        0 => json!({ "kind": "shards", "shards_per_client": 2 }),
        1 => json!({ "kind": "dirichlet", "alpha": 0.5 }),
        _ => json!({ "kind": "iid" }),
    };
    json!({ "clients": CLIENTS, "partition": partition, "held_out_of_clients": true })
}

fn claims(series: &[Series]) -> Vec<Claim> {
    let of = |partition: usize, method: usize| -> Sample {
        series[partition * METHODS.len() + method].sample(|trial| trial.late(Shows::Accuracy))
    };
    let claim = |published: &str, partition: usize, [better, worse]: [usize; 2]| {
        let published = format!("{published}; here with {}", PARTITIONS[partition]);
        let estimate = Estimate::difference(&of(partition, better), &of(partition, worse));
        Claim::new(published, Unit::POINTS, Says::Above(0.0), estimate)
    };
    let fed_per = "with non-identical data, FedPer is more accurate on each client's own held-out data than FedAvg (section 4, \
                   on CIFAR)";
    let fed_rep = "FedRep is more accurate on each client's own held-out data than FedPer (Collins et al., table 1, on CIFAR \
                   with a few classes each)";
    let ditto =
        "Ditto is more accurate on each client's own held-out data than FedAvg (Li et al. 2021, figure 2)";
    [0, 1]
        .into_iter()
        .flat_map(|partition| {
            [
                claim(fed_per, partition, [FED_PER, FED_AVG]),
                claim(fed_rep, partition, [FED_REP, FED_PER]),
                claim(ditto, partition, [DITTO, FED_AVG]),
            ]
        })
        .collect()
}

fn finding(series: Vec<Series>, rounds: usize) -> Finding {
    let mut table = Table::new(TITLE, &["data", "method", "accuracy"]);
    for one in &series {
        table.rows.push(vec![
            one.arm.group.clone(),
            one.arm.name.clone(),
            one.late(Shows::Accuracy).percent(),
        ]);
    }
    let panels = series.chunks(METHODS.len()).map(|group| panel(group, Shows::Accuracy)).collect();
    let source = "Arivazhagan et al. 2019, \"Federated learning with personalization layers\"; Collins et al. 2021, \
                 \"Exploiting shared representations for personalized federated learning\"; Li et al. 2021, \"Ditto: fair and \
                 robust federated learning through personalization\". LG-FedAvg is from Liang et al. 2020, \"Think locally, act \
                 globally: federated learning with local and global representations\".";
    let setting = format!(
        "Here: the 1,797 digits and a perceptron 64-64-10, {CLIENTS} clients, {COHORT} drawn a round, {rounds} rounds, \
             E = {EPOCHS}, B = 10, rate {RATE}. A fifth of each client's examples is held out, and every version is \
             measured on those of all clients, each with its own tensors or its own model. A client that was not drawn yet has \
             the tensors of the model's file, or no model of its own. The first trainings of FedRep and Ditto have E epochs of \
             their own."
    );
    let claims = claims(&series);
    let about = ("personal", "FedPer, FedRep and Ditto: something of its own for each client", source);
    Finding { claims, tables: vec![table], ..of_own_accuracies(about, setting, series, panels) }
}
