//! Compares one model for all clients with a model for each cluster of clients, whose digits are turned.

use folkmoot_data::{Dataset, Groups};
use folkmoot_engine::Examples;
use folkmoot_simulation::chance::{Stream, shuffle};
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

const CLIENTS: usize = 60;
const COHORT: u64 = 12;
const EPOCHS: u32 = 5;
const RATE: f64 = 0.1;
/// Client `i` has its digits turned by `i % TURNS` quarters.
const TURNS: usize = 4;
/// The width and height of a digit.
const SIDE: usize = 8;
/// The seed of the division among the clients, which is the same in all runs.
const DIVISION: u64 = 60;

const FED_AVG: usize = 0;
const IFCA: usize = 1;
const ALONE: usize = 6;
const METHODS: [&str; 7] = [
    "FedAvg: one model",
    "IFCA: 4 clusters",
    "IFCA: 2 clusters",
    "IFCA: 8 clusters",
    "IFCA: 4 clusters, only the first layer differs",
    "Ditto: a model of its own, lambda 0.1",
    "almost alone: only the last bias is shared",
];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let onnx = lab.digits_model()?;
    let rounds_max = if lab.is_quick { 8 } else { 100 };
    let turned = turned(lab.digits())?;
    let world = json!({
        "clients": CLIENTS, "partition": { "kind": "natural" }, "held_out_of_clients": true,
    });
    let arms = METHODS.iter().enumerate().map(|(method, name)| {
        let arm = Arm::new(("turned digits", name), task(method), world.clone(), &onnx, rounds_max)?;
        Ok(arm.with_data(turned.clone()))
    });
    Ok(finding(lab.run(arms.collect::<Result<_, Failure>>()?)?, rounds_max))
}

fn task(method: usize) -> Value {
    let mut plan = json!({
        "loss": "softmax_cross_entropy",
        "optimizer": { "sgd": { "learning_rate": RATE } },
        "epochs": EPOCHS,
        "batch_size": 10,
    });
    match method {
        FED_AVG => {}
        IFCA => plan["clusters"] = json!({ "count": 4 }),
        2 => plan["clusters"] = json!({ "count": 2 }),
        3 => plan["clusters"] = json!({ "count": 8 }),
        4 => plan["clusters"] = json!({ "count": 4, "tensors": ["layer_1.*"] }),
        5 => plan["personal_training"] = json!({ "ditto": { "lambda": 0.1, "epochs": EPOCHS } }),
        // Something must be shared.
        _ => plan["personal"] = json!(["layer_1.*", "layer_2.weight"]),
    }
    json!({
        "plan": plan,
        "scheduling": { "kind": "synchronous", "report_goal": COHORT, "over_selection_factor": 1.0 },
    })
}

/// Deals the digits to clients of equal size, and turns those of each client by 0 to 3 quarters.
fn turned(digits: &Dataset) -> Result<Dataset, Failure> {
    let examples = &digits.examples;
    let mut order: Vec<usize> = (0..examples.len()).collect();
    shuffle(&mut order, &mut Stream::new(DIVISION, &[]));
    let mut of = vec![0; examples.len()];
    for (place, index) in order.into_iter().enumerate() {
        of[index] = u32::try_from(place % CLIENTS)?;
    }
    let pictures = examples.features().chunks(SIDE * SIDE).zip(&of);
    let features = pictures.flat_map(|(picture, client)| turn(picture, *client as usize % TURNS)).collect();
    let examples = Examples::new(features, examples.feature_shape().to_vec(), examples.labels().clone())?;
    let names = (0..CLIENTS).map(|client| client.to_string()).collect();
    Ok(Dataset { examples, groups: Some(Groups { of, names }) })
}

/// Turns a picture by quarters, clockwise.
fn turn(picture: &[f32], quarters: usize) -> Vec<f32> {
    let mut turned = picture.to_vec();
    for _ in 0..quarters {
        let before = turned.clone();
        for row in 0..SIDE {
            for column in 0..SIDE {
                turned[row * SIDE + column] = before[(SIDE - 1 - column) * SIDE + row];
            }
        }
    }
    turned
}

fn claims(series: &[Series]) -> Vec<Claim> {
    let of = |method: usize| -> Sample { series[method].sample(|trial| trial.late(Shows::Accuracy)) };
    let claim = |published: &str, worse: usize| {
        let estimate = Estimate::difference(&of(IFCA), &of(worse));
        Claim::new(published.to_owned(), Unit::POINTS, Says::Above(0.0), estimate)
    };
    vec![
        claim(
            "with as many clusters as there are turns, IFCA is more accurate than one model for all clients (section 6, \
             rotated MNIST)",
            FED_AVG,
        ),
        claim(
            "IFCA is more accurate than models that each client trains alone (section 6, rotated MNIST)",
            ALONE,
        ),
    ]
}

fn finding(series: Vec<Series>, rounds: usize) -> Finding {
    let mut table = Table::new(TITLE, &["method", "accuracy"]);
    for one in &series {
        table.rows.push(vec![one.arm.name.clone(), one.late(Shows::Accuracy).percent()]);
    }
    let panels = vec![panel(&series, Shows::Accuracy)];
    let source = "Ghosh et al. 2020, \"An efficient framework for clustered federated learning\". Ditto is from Li et al. 2021, \
                 \"Ditto: fair and robust federated learning through personalization\".";
    let setting = format!(
        "Here: the 1,797 digits and a perceptron 64-64-10, {CLIENTS} clients with 29 or 30 digits each, {COHORT} drawn a round, {rounds} \
             rounds, E = {EPOCHS}, B = 10, rate {RATE}. A quarter of the clients has its digits upright, and the others turned by one, \
             two or three quarters. Nobody tells the coordinator which. A fifth of each client's examples is held out, and every \
             version is measured on those of all clients, each with the model of the cluster that it has trained last, or with \
             that of the largest cluster before its first training."
    );
    let claims = claims(&series);
    let about = ("clustered", "IFCA: a model for each group of clients", source);
    Finding { claims, tables: vec![table], ..of_own_accuracies(about, setting, series, panels) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_quarters_are_a_whole_turn() {
        let picture: Vec<f32> = (0..64u8).map(f32::from).collect();
        assert_eq!(turn(&picture, 4), picture);
        let quarter = turn(&picture, 1);
        assert_eq!((quarter[0], quarter[7], quarter[63], quarter[56]), (56.0, 0.0, 7.0, 63.0));
    }
}
