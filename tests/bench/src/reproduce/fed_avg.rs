//! Tests FedAvg's trade-off: with more local steps, fewer rounds are needed.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample, Scale},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Panel, Plot},
    series::{Over, Series, Shows, Trial},
};
use crate::Failure;

const CLIENTS: u64 = 50;
/// The mean number of examples per client.
const EXAMPLES: f64 = 1438.0 / 50.0;
const TARGET: f64 = 0.93;
const ALL: u32 = 10_000;
const RATES: [f64; 4] = [0.03, 0.1, 0.3, 1.0];

/// One row of the published tables.
struct Setting {
    clients: u64,
    epochs: u32,
    batch_size: u32,
}

const fn setting(clients: u64, epochs: u32, batch_size: u32) -> Setting {
    Setting { clients, epochs, batch_size }
}

/// The settings. The first is FedSGD; the last two have other numbers of clients per round.
const SETTINGS: [Setting; 8] = [
    setting(5, 1, ALL),
    setting(5, 5, ALL),
    setting(5, 1, 10),
    setting(5, 20, ALL),
    setting(5, 5, 10),
    setting(5, 20, 10),
    setting(1, 1, 10),
    setting(50, 1, 10),
];
/// The published speed-ups in rounds over FedSGD (table 2, CNN, MNIST). Each entry has a setting's index and its
/// speed-ups for IID and non-IID data.
const PUBLISHED: [(usize, [f64; 2]); 5] =
    [(1, [3.5, 0.5]), (2, [18.4, 1.4]), (3, [2.7, 0.7]), (4, [31.3, 2.1]), (5, [34.8, 2.8])];
const FED_SGD: usize = 0;
const MOST_WORK: usize = 5;
const TENTH: usize = 2;
const ONE_CLIENT: usize = 6;
const EVERYBODY: usize = 7;
/// The published speed-ups over rounds with one client (table 1, 2NN), in the same form.
const PUBLISHED_SHARES: [(usize, [f64; 2]); 2] = [(TENTH, [3.6, 4.9]), (EVERYBODY, [4.5, 8.6])];
const GROUPS: [&str; 2] = ["IID", "2 shards each"];

/// Runs the experiment.
///
/// # Errors
/// If a simulation fails.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let (onnx, rounds_max) = (lab.digits_model()?, if lab.is_quick { 40 } else { 400 });
    let mut families = Vec::new();
    for (group, partition) in GROUPS.iter().zip([json!({ "kind": "iid" }), shards()]) {
        for setting in &SETTINGS {
            families.push(setting.family(group, &partition, &onnx, rounds_max)?);
        }
    }
    // An arm that needs fewer rounds is better. Among arms that never reach the target, the arm with the higher
    // accuracy is better.
    let score = |trial: &Trial| match trial.rounds_to(TARGET) {
        Some(rounds) => Some(-rounds),
        None => Some(trial.late(Shows::Accuracy)? - 1e6),
    };
    let series = lab.run_best(families, score)?;
    Ok(finding(series))
}

fn shards() -> Value {
    json!({ "kind": "shards", "shards_per_client": 2 })
}

impl Setting {
    fn name(&self) -> String {
        let batch = if self.batch_size == ALL { "∞".to_owned() } else { self.batch_size.to_string() };
        let share = match self.clients {
            1 => "1 client".to_owned(),
            clients => format!("C = {:.1}", clients as f64 / CLIENTS as f64),
        };
        format!("E = {}, B = {batch}, {share}", self.epochs)
    }

    /// Returns the arms of this setting, which differ only in the client's learning rate.
    fn family(
        &self,
        group: &str,
        partition: &Value,
        onnx: &Bytes,
        rounds_max: usize,
    ) -> Result<Vec<Arm>, Failure> {
        let arm = |rate: &f64| {
            let task = json!({
                "plan": {
                    "loss": "softmax_cross_entropy",
                    "optimizer": { "sgd": { "learning_rate": rate } },
                    "epochs": self.epochs,
                    "batch_size": self.batch_size,
                },
                "scheduling": { "kind": "synchronous", "report_goal": self.clients, "over_selection_factor": 1.0 },
                "stop": { "rounds": rounds_max, "target": TARGET },
                "evaluation": { "every_versions": 1, "metric": "accuracy", "central": true },
            });
            let world = json!({ "clients": CLIENTS, "partition": partition });
            let arm = Arm::new((group, &self.name()), task, world, onnx, rounds_max)?;
            Ok(arm.tuned(format!("{rate}")))
        };
        RATES.iter().map(arm).collect()
    }

    /// Returns the number of a client's steps in a round: E·n/B, which the paper calls u.
    fn steps(&self) -> f64 {
        f64::from(self.epochs) * (EXAMPLES / f64::from(self.batch_size)).max(1.0)
    }
}

fn claims(rounds: &[Sample]) -> Vec<Claim> {
    let of = |half: usize, setting: usize| &rounds[half * SETTINGS.len() + setting];
    let mut claims = Vec::new();
    for (over, published, table) in
        [(FED_SGD, PUBLISHED.as_slice(), "table 2"), (ONE_CLIENT, PUBLISHED_SHARES.as_slice(), "table 1")]
    {
        for (setting, factors) in published {
            for (half, factor) in factors.iter().enumerate() {
                let (group, name, other) = (GROUPS[half], SETTINGS[*setting].name(), SETTINGS[over].name());
                let against = if over == FED_SGD { "FedSGD" } else { &other };
                // A published factor below 1 means that the setting needs more rounds.
                let says = if *factor > 1.0 { Says::Above(1.0) } else { Says::Below(1.0) };
                let estimate = Estimate::factor(of(half, over), of(half, *setting));
                let published = format!("{group}: fewer rounds with {name} than with {against} ({table})");
                claims.push(Claim::new(published, Unit::TIMES, says, estimate).sized(*factor));
            }
        }
    }
    let parts = [(1.0, 0, FED_SGD), (-1.0, 0, MOST_WORK), (-1.0, 1, FED_SGD), (1.0, 1, MOST_WORK)];
    let parts = parts.map(|(coefficient, half, setting)| (coefficient, of(half, setting).clone()));
    let published = format!(
        "the factor of {} over FedSGD is larger on IID data than on pathological non-IID data (table 2), by",
        SETTINGS[MOST_WORK].name()
    );
    let estimate = Estimate::contrast(Scale::Factor, parts.to_vec());
    claims.push(Claim::new(published, Unit::TIMES, Says::Above(1.0), estimate).sized(34.8 / 2.8));
    claims
}

fn finding(series: Vec<Series>) -> Finding {
    let rounds: Vec<Sample> = series.iter().map(|one| one.sample(|trial| trial.rounds_to(TARGET))).collect();
    let mut tables = Vec::new();
    for (half, group) in GROUPS.iter().enumerate() {
        tables.push(table(group, half, &series, &rounds));
    }
    let panel = |(half, group): (usize, &&str)| Panel {
        title: (*group).to_owned(),
        lines: series[half * SETTINGS.len()..][..6]
            .iter()
            .map(|one| one.line(Over::Rounds, Shows::Accuracy))
            .collect(),
    };
    let panels = GROUPS.iter().enumerate().map(panel).collect();
    Finding {
        name: "fed-avg",
        title: "FedAvg: local computation against rounds",
        source: "McMahan et al. 2017, \"Communication-efficient learning of deep networks from decentralized data\", \
                 tables 1 (2NN) and 2 (CNN), both on MNIST.",
        setting: format!(
            "Here: the 1,797 digits and a perceptron 64-64-10, {CLIENTS} clients; rounds to {:.0} % on held-out \
             examples. As in the paper the clients' learning rate is tuned for each row, here of {RATES:?} with a seed \
             that is not measured.",
            TARGET * 100.0
        ),
        target: Some(TARGET),
        claims: claims(&rounds),
        tables,
        notes: Vec::new(),
        plot: Plot { x: "round", y: "accuracy, %", is_share: true, panels, ..Plot::default() },
        series,
    }
}

fn table(group: &str, half: usize, series: &[Series], rounds: &[Sample]) -> Table {
    let heading = ["setting", "u", "rate", "rounds"];
    let mut table = Table::new(&format!("{group}: rounds to {:.0} %", TARGET * 100.0), &heading);
    for (index, setting) in SETTINGS.iter().enumerate() {
        let place = half * SETTINGS.len() + index;
        let name = if index == FED_SGD { format!("FedSGD: {}", setting.name()) } else { setting.name() };
        table.rows.push(vec![
            name,
            format!("{:.0}", setting.steps()),
            series[place].arm.tuned.clone(),
            rounds[place].to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::marks::{Direction, Size};

    /// In this test, all settings need 100 rounds, except those with the published factors 31.3 and 0.5.
    #[test]
    fn each_published_factor_is_a_row_of_its_own() {
        let mut rounds = vec![Sample::of(&[99.0, 100.0, 101.0]); GROUPS.len() * SETTINGS.len()];
        rounds[4] = Sample::of(&[24.0, 25.0, 26.0]);
        rounds[SETTINGS.len() + 1] = Sample::of(&[49.0, 50.0, 51.0]);
        let claims = claims(&rounds);
        assert_eq!(claims.len(), 2 * (PUBLISHED.len() + PUBLISHED_SHARES.len()) + 1);
        let marks = |published: &str| {
            let claim = claims.iter().find(|claim| claim.cells()[0].starts_with(published)).unwrap();
            (claim.direction(), claim.size())
        };
        assert_eq!(marks("IID: fewer rounds with E = 5, B = 10"), (Direction::AsPublished, Size::Smaller));
        assert_eq!(
            marks("2 shards each: fewer rounds with E = 5, B = ∞"),
            (Direction::Opposite, Size::Larger)
        );
    }
}
