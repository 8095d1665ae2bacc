//! Reconstructs examples from the updates of clients, with and without noise and secure aggregation.

use folkmoot_attack::{
    Inputs, Silent,
    inversion::{Inversion, InversionSettings, ViewChoice, ViewKind, ViewSummary, invert},
};
use folkmoot_engine::{ImportLimits, Model};
use serde_json::json;

use super::{
    arm::Arm,
    claim::{Claim, Says, Unit},
    estimate::{Estimate, Sample},
    finding::{Finding, Table},
    lab::Lab,
    plot::{Line, Panel, Plot},
    spread::Spread,
};
use crate::Failure;

/// The noise multipliers, as powers of 2. The clipping norm is the median norm of the updates.
const NOISE: [i32; 4] = [-12, -8, -4, 0];
/// The numbers of updates in a sum, as powers of 2.
const SUMS: [i32; 4] = [1, 3, 5, 7];
const CLIENTS: u64 = 100;

/// The figures of one seed: the summaries without protection, with each noise, and in each sum.
struct Seed {
    plain: ViewSummary,
    noise: Vec<ViewSummary>,
    sums: Vec<ViewSummary>,
}

/// A figure of a summary.
type Of = fn(&ViewSummary) -> Option<f64>;

const LABELS: Of = |summary| summary.labels_right;
const DENSE: Of = |summary| summary.analytic_error;
const SEARCH: Of = |summary| summary.searched_error;

/// Runs the experiment.
///
/// # Errors
/// If an update cannot be computed.
pub fn run(lab: &Lab) -> Result<Finding, Failure> {
    let seeds = (1..=lab.seeds).map(|seed| attack(lab, seed)).collect::<Result<Vec<_>, _>>()?;
    Ok(finding(&seeds, victims(lab)))
}

fn victims(lab: &Lab) -> usize {
    if lab.is_quick { 2 } else { 4 }
}

fn attack(lab: &Lab, seed: u64) -> Result<Seed, Failure> {
    let onnx = lab.digits_model()?;
    let task = json!({
        "plan": {
            "loss": "softmax_cross_entropy",
            "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1,
            "batch_size": 10,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 10 },
    });
    let arm = Arm::new(("", ""), task, json!({ "clients": CLIENTS }), &onnx, 1)?;
    let inputs = Inputs {
        description: arm.task,
        model: Model::from_onnx(&onnx, &ImportLimits::default())?,
        onnx,
        training: lab.digits().clone(),
        held_out: None,
        world: arm.world,
        trace: None,
        threads: lab.threads(),
    };
    let (mut plain, mut noise, mut sums) = (None, Vec::new(), Vec::new());
    for (noise_power, sum_power) in NOISE.into_iter().zip(SUMS) {
        let settings = InversionSettings {
            seed,
            victims: victims(lab),
            examples: 1,
            iterations: if lab.is_quick { 10 } else { 120 },
            restarts: 1,
            views: ViewChoice {
                cohort: Some(1 << sum_power),
                clipping_norm: None,
                noise_multiplier: Some(f64::from(noise_power).exp2()),
            },
            is_picture: true,
        };
        let found = invert(&inputs, &settings, &Silent)?;
        plain = Some(summary(&found, ViewKind::Plain)?);
        noise.push(summary(&found, ViewKind::Noise)?);
        sums.push(summary(&found, ViewKind::Sum)?);
        eprintln!("seed {seed}: noise multiplier 2^{noise_power}, sum of {}", 1 << sum_power);
    }
    Ok(Seed { plain: plain.ok_or("there is a view")?, noise, sums })
}

fn summary(found: &Inversion, view: ViewKind) -> Result<ViewSummary, Failure> {
    let summary = found.summaries.iter().find(|summary| summary.view == view);
    Ok(summary.cloned().ok_or("every view has a summary")?)
}

/// Returns a figure of each seed in one view.
fn sample(seeds: &[Seed], name: &str, view: impl Fn(&Seed) -> &ViewSummary, of: Of) -> Sample {
    let values = seeds.iter().filter_map(|seed| of(view(seed))).collect();
    Sample { name: name.to_owned(), values, seeds: seeds.len() }
}

fn claims(seeds: &[Seed]) -> Vec<Claim> {
    let plain = |of: Of| sample(seeds, "plain", |seed| &seed.plain, of);
    let most_noise = |of: Of| sample(seeds, "noise multiplier 1", |seed| &seed.noise[NOISE.len() - 1], of);
    let least_noise = |of: Of| sample(seeds, "the least noise", |seed| &seed.noise[0], of);
    let largest = |of: Of| sample(seeds, "the largest sum", |seed| &seed.sums[SUMS.len() - 1], of);
    let claim = |published: &str, says: Says, estimate: Result<Estimate, String>| {
        Claim::new(published, Unit::POINTS, says, estimate)
    };
    vec![
        claim(
            "the update of one example always tells its label (Zhao et al. 2020, section 3.2): share of the labels found",
            Says::Above(0.99),
            Estimate::mean(&plain(LABELS)),
        ),
        claim(
            "the input of a first dense layer with a bias follows exactly from its update (Geiping et al. 2020, proposition \
             3.1): error, of 100 points for a random guess",
            Says::Below(0.01),
            Estimate::mean(&plain(DENSE)),
        ),
        claim(
            "optimisation finds the example from the update (Zhu et al. 2019, Geiping et al. 2020): error, of 100 points for a \
             random guess",
            Says::Below(0.5),
            Estimate::mean(&plain(SEARCH)),
        ),
        claim(
            "strong noise prevents the optimisation (Zhu et al. 2019, section 5.1): more error with a noise multiplier of 1",
            Says::Above(0.0),
            Estimate::difference(&most_noise(SEARCH), &plain(SEARCH)),
        ),
        claim(
            "weak noise does not prevent it (Zhu et al. 2019, section 5.1, variance 1e-4 and less): more error with the least \
             noise here",
            Says::Below(0.1),
            Estimate::difference(&least_noise(SEARCH), &plain(SEARCH)),
        ),
        claim(
            "a sum of many updates is harder to invert than one (Zhu et al. 2019, section 4.1, on larger batches): more error \
             in the largest sum",
            Says::Above(0.0),
            Estimate::difference(&largest(SEARCH), &plain(SEARCH)),
        ),
    ]
}

fn finding(seeds: &[Seed], victims: usize) -> Finding {
    let title = "Means over the victims: labels found, and errors in percent of the error of a random guess";
    let mut table = Table::new(title, &["the attacker sees", "labels found", "dense layer", "optimisation"]);
    let mut row = |name: String, view: &dyn Fn(&Seed) -> &ViewSummary| {
        let percent = |of: Of| {
            let values: Vec<f64> = seeds.iter().filter_map(|seed| of(view(seed))).collect();
            Spread::of(&values).map_or_else(|| "not tried".to_owned(), |spread| spread.percent())
        };
        table.rows.push(vec![name, percent(LABELS), percent(DENSE), percent(SEARCH)]);
    };
    row("the update of one example".to_owned(), &|seed| &seed.plain);
    for (index, power) in NOISE.into_iter().enumerate() {
        row(format!("it with a noise multiplier of 2^{power}"), &|seed| &seed.noise[index]);
    }
    for (index, power) in SUMS.into_iter().enumerate() {
        row(format!("the sum of {} updates", 1 << power), &|seed| &seed.sums[index]);
    }
    let line = |name: &str, powers: [i32; 4], view: fn(&Seed, usize) -> &ViewSummary, of: Of| {
        let points = powers.into_iter().enumerate().filter_map(|(index, power)| {
            let values: Vec<f64> = seeds.iter().filter_map(|seed| of(view(seed, index))).collect();
            let spread = Spread::of(&values)?;
            Some((f64::from(power), spread.mean, spread.half_width().unwrap_or(0.0)))
        });
        Line { name: name.to_owned(), points: points.collect() }
    };
    let panel = |title: &str, powers: [i32; 4], view: fn(&Seed, usize) -> &ViewSummary| Panel {
        title: title.to_owned(),
        lines: vec![
            line("from the dense layer", powers, view, DENSE),
            line("by optimisation", powers, view, SEARCH),
        ],
    };
    Finding {
        name: "inversion",
        title: "Gradient inversion: an update tells the example, unless noise or a sum hides it",
        source: "Zhu et al. 2019, \"Deep leakage from gradients\"; Zhao et al. 2020, \"iDLG: improved deep leakage from \
                 gradients\"; Geiping et al. 2020, \"Inverting gradients: how easy is it to break privacy in federated \
                 learning?\".",
        setting: format!(
            "Here: the digits and the perceptron 64-64-10, before its first round. Each of {victims} victims has one example, and \
             sends the update of one step. Updates with noise are clipped to their median norm, and the multiplier is in the \
             table. Errors are mean squared errors to the nearest example in the update, divided by those of a random digit."
        ),
        target: None,
        claims: claims(seeds),
        tables: vec![table],
        notes: vec![
            "The search minimises the cosine distance of updates, as in Geiping et al., with gradients by central differences. \
             An attacker with automatic differentiation can take more steps, so it errs less: at least as much leaks as is shown here."
                .to_owned(),
        ],
        plot: Plot {
            x: "noise multiplier, or number of updates in the sum",
            y: "error in percent of a random guess",
            is_share: true,
            x_is_doubling: true,
            panels: vec![
                panel("one update with noise", NOISE, |seed, index| &seed.noise[index]),
                panel("a sum of updates", SUMS, |seed, index| &seed.sums[index]),
            ],
        },
        series: Vec::new(),
    }
}
