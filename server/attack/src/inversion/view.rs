//! The views of an update: the same update under different protection.

use folkmoot_coordinator::{privacy::PrivacyChoice, task::TaskDescription};
use serde::Serialize;

use folkmoot_protocol::ValueGrid;
use folkmoot_update::{
    clip_norm,
    noise::{NoiseError, add_noise},
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

/// The noise multiplier of the view with noise, if neither the task nor the operator gives one.
const NOISE_MULTIPLIER: f64 = 1.0;
/// The number of clients of a sum, if the task's rounds may combine a single update.
const COHORT: u64 = 10;

/// The kind of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViewKind {
    /// The update without protection.
    Plain,
    /// The update with the noise of differential privacy, added on the device.
    Noise,
    /// The sum of several updates, as secure aggregation shows it.
    Sum,
}

impl ViewKind {
    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            ViewKind::Plain => "plain update",
            ViewKind::Noise => "update with noise",
            ViewKind::Sum => "sum of updates",
        }
    }
}

/// A view of an update, and where its numbers come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The kind.
    pub kind: ViewKind,
    /// One or two sentences for people.
    pub description: String,
    /// The L2 norm to which the update is clipped; `None` if it is not, or if the engine clips single examples.
    pub clipping_norm: Option<f64>,
    /// The standard deviation of the noise divided by the clipping norm.
    pub noise_multiplier: Option<f64>,
    /// True if the noise comes from the plan's example privacy, which the engine adds in every step.
    pub is_example_privacy: bool,
    /// The number of updates in a sum.
    pub clients: Option<u64>,
}

/// The numbers of the views that an operator may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ViewChoice {
    /// The number of updates in a sum; `None` for the number in the task's rounds.
    pub cohort: Option<u64>,
    /// The clipping norm of the view with noise; `None` for the task's.
    pub clipping_norm: Option<f64>,
    /// The noise multiplier of the view with noise; `None` for the task's.
    pub noise_multiplier: Option<f64>,
}

/// Returns the median length of updates; `None` if it is 0 or there are no updates.
pub(crate) fn median_norm(updates: &[Vec<f32>]) -> Option<f64> {
    let norm = |update: &Vec<f32>| update.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let mut norms: Vec<f64> = updates.iter().map(norm).collect();
    norms.sort_by(f64::total_cmp);
    norms.get(norms.len() / 2).copied().filter(|norm| *norm > 0.0)
}

/// Returns an update as a device sends it in the view with noise that is not the plan's own, before it adds the noise.
pub(crate) fn clipped(mut update: Vec<f32>, grid: &ValueGrid, view: &View) -> Vec<f32> {
    clip_norm(&mut update, grid, grid.norm_steps(view.clipping_norm.unwrap_or_default()));
    update
}

/// Returns an update as a device sends it in the view with noise that is not the plan's own: clipped, and with noise from a seed.
///
/// # Errors
/// If the noise cannot be added.
pub(crate) fn noised(
    update: Vec<f32>,
    grid: &ValueGrid,
    view: &View,
    seed: u64,
) -> Result<Vec<f32>, NoiseError> {
    let steps = grid.norm_steps(view.clipping_norm.unwrap_or_default());
    let mut update = clipped(update, grid, view);
    let scale = view.noise_multiplier.unwrap_or_default() * steps as f64;
    let mut noise = ChaCha20Rng::seed_from_u64(seed);
    add_noise(&mut update, grid, (scale.ceil() as u64).max(1), &mut noise)?;
    Ok(update)
}

/// Returns the three views of an update. `norm` is the median norm of plain updates.
pub fn views(task: &TaskDescription, settings: ViewChoice, norm: f64) -> Vec<View> {
    let plain = View {
        kind: ViewKind::Plain,
        description: "The update as a client computes it, without clipping, noise or masks.".into(),
        clipping_norm: None,
        noise_multiplier: None,
        is_example_privacy: false,
        clients: None,
    };
    let noise = noise_view(task, settings, norm, &plain);
    let (fewest, _) = task.scheduling.policy().updates();
    let (clients, description) = match settings.cohort {
        Some(cohort) => (cohort, format!("The sum of {cohort} updates, as --cohort sets it.")),
        None if fewest >= 2 => {
            (fewest, format!("The sum of {fewest} updates, the fewest that a round of this task combines."))
        }
        None => (
            COHORT,
            format!(
                "The sum of {COHORT} updates. A round of this task may combine a single update, and secure aggregation does \
                 not hide a single one, so the number is an example."
            ),
        ),
    };
    let sum = View { kind: ViewKind::Sum, description, clients: Some(clients), ..plain.clone() };
    vec![plain, noise, sum]
}

fn noise_view(task: &TaskDescription, settings: ViewChoice, norm: f64, plain: &View) -> View {
    let view = |norm: Option<f64>, multiplier: f64, is_example_privacy: bool, description: String| View {
        kind: ViewKind::Noise,
        description,
        clipping_norm: norm,
        noise_multiplier: Some(multiplier),
        is_example_privacy,
        ..plain.clone()
    };
    if settings.noise_multiplier.is_none() && settings.clipping_norm.is_none() {
        if let Some(privacy) = task.plan.example_privacy {
            let description =
                "The task's own example privacy: the device clips the gradient of each example and adds \
                               noise in every step."
                    .to_owned();
            return view(None, f64::from(privacy.noise_multiplier), true, description);
        }
        if let Some((norm, multiplier, description)) = of_task(task) {
            return view(Some(norm), multiplier, false, description);
        }
    }
    let multiplier = settings.noise_multiplier.unwrap_or(NOISE_MULTIPLIER);
    let description = match (settings.noise_multiplier, settings.clipping_norm) {
        (None, None) => {
            "The task has no privacy, so the noise is an example: a clipping norm of the median update's norm, and a noise \
             multiplier of 1."
        }
        _ => "The clipping norm and the noise multiplier of --clipping-norm and --noise-multiplier.",
    };
    view(Some(settings.clipping_norm.unwrap_or(norm)), multiplier, false, description.to_owned())
}

/// Returns the clipping norm, the noise multiplier and the meaning of a task's privacy.
fn of_task(task: &TaskDescription) -> Option<(f64, f64, String)> {
    let mut task = task.clone();
    task.settle();
    match task.privacy {
        PrivacyChoice::None => None,
        PrivacyChoice::Local(local) => {
            let description = format!(
                "The task's own local privacy: the device adds the noise. All updates of a client together have epsilon {} at \
                 delta {:e}.",
                local.epsilon, local.delta
            );
            Some((local.clipping_norm, local.noise_multiplier?, description))
        }
        PrivacyChoice::Central(central) => {
            let description = "The noise of the task's central privacy, as if each device added it. In the task, the \
                               coordinator adds it to the sum, after it has received the updates: against a curious coordinator, \
                               central privacy alone does nothing."
                .to_owned();
            Some((central.clipping.first_norm(), central.noise_multiplier?, description))
        }
        PrivacyChoice::Distributed(distributed) => {
            let description = "The whole noise of the task's distributed privacy on one update. In the task, each device adds \
                               a share of it, and masks hide all but the sum."
                .to_owned();
            Some((distributed.clipping_norm, distributed.noise_multiplier?, description))
        }
    }
}
