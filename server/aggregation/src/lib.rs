#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod aggregator;
pub mod anomaly;
mod averages;
mod bounded_mean;
mod bulyan;
mod byzantine_share;
mod centred_clipping;
mod combination;
mod component;
mod coordinate_rule;
mod exact_mean;
pub mod exact_sum;
mod fair;
mod fed_nova;
pub mod finalizer;
mod flame;
mod fools_gold;
mod geometric_median;
mod guided;
mod krum;
#[cfg(test)]
mod laws;
mod local_training;
mod measurement;
mod median;
mod metrics;
mod norm_bound;
mod passes;
mod preparation;
mod random;
#[cfg(test)]
mod robust_cases;
mod sign_guard;
mod trimmed_mean;
mod uniform_mean;
mod weighted_mean;

use aggregator::Aggregator;
pub use averages::Averages;
pub use bounded_mean::BoundedMean;
pub use bulyan::{BULYAN_UPDATES_MAX, Bulyan};
pub use centred_clipping::CentredClipping;
pub use combination::Combination;
pub use coordinate_rule::CoordinateRule;
pub use exact_mean::{ExactMean, ZeroDivisorError};
pub use fair::{Afl, MixtureWeights, QFedAvg, Term};
pub use fed_nova::{step_factors, step_norm};
pub use flame::{FLAME_UPDATES_MAX, Flame};
use folkmoot_component::Component;
use folkmoot_protocol::Fault;
pub use fools_gold::{FOOLS_GOLD_UPDATES_MAX, FoolsGold};
pub use geometric_median::GeometricMedian;
pub use guided::{FedDf, FedLaw, FlTrust, Mixture};
pub use krum::{KRUM_UPDATES_MAX, Krum, MultiKrum};
pub use local_training::LocalTraining;
pub use measurement::{
    BLOCK, Distances, Extent, Measured, Measurement, Norms, Projections, Residuals, Signs, Similarities,
    Spread,
};
pub use metrics::{EvaluationSum, sum_metrics};
pub use norm_bound::NormBound;
pub use preparation::{Bucketing, MIXING_UPDATES_MAX, Mixing, Preparation};
use serde::{Deserialize, Deserializer, Serialize};
pub use sign_guard::{SIGN_GUARD_UPDATES_MAX, SignGuard};
pub use trimmed_mean::TrimmedMean;

/// The aggregator of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AggregatorChoice {
    /// Σ wᵢ·Δᵢ / Σ wᵢ, exactly (McMahan et al. 2017, algorithm 1).
    #[serde(deserialize_with = "no_field")]
    WeightedMean,
    /// A weighted mean that limits the influence of each update.
    BoundedMean(BoundedMean),
    /// The mean in which every update has weight 1.
    #[serde(deserialize_with = "no_field")]
    UniformMean,
    /// The median of each coordinate. One client moves no parameter by more than an honest client can.
    #[serde(deserialize_with = "no_field")]
    Median,
    /// The mean of each coordinate without its extreme values. One client moves no parameter by more than an
    /// honest client can.
    TrimmedMean(TrimmedMean),
    /// The one update that is closest to the others.
    Krum(Krum),
    /// The mean of the updates that are closest to the others.
    MultiKrum(MultiKrum),
    /// The weighted mean of updates that are scaled down to a maximum norm.
    NormBound(NormBound),
    /// The point with the smallest sum of distances to all updates.
    GeometricMedian(GeometricMedian),
    /// The mean of the values near the median of each coordinate, over updates that Krum selects one after another.
    Bulyan(Bulyan),
    /// A mean of differences to a common centre that are scaled down to a maximum norm, several times.
    CentredClipping(CentredClipping),
    /// SignGuard: the mean of the updates with a usual norm and usual signs, scaled down to the median norm.
    SignGuard(SignGuard),
    /// FoolsGold without memory: a mean in which updates that resemble another update of the round count less.
    FoolsGold(FoolsGold),
    /// FLAME: the mean of the majority of updates with similar directions, scaled down to the median norm, with noise.
    Flame(Flame),
    /// FedNova: a weighted mean of updates that are divided by the number of the client's local steps.
    #[serde(deserialize_with = "no_field")]
    FedNova,
    /// q-FedAvg: a mean in which clients with a larger loss count more, with a shorter step where the losses are steep.
    QFedAvg(QFedAvg),
    /// TERM: a mean in which clients with a larger loss count exponentially more, or less.
    Term(Term),
    /// AFL: a mean whose weights rise from version to version for clients with a large loss.
    Afl(Afl),
    /// FLTrust: a mean weighted by how well each update agrees with one that the coordinator trains on its own examples.
    FlTrust(FlTrust),
    /// FedLAW: a mean whose weights and shrinking the coordinator learns on its own examples.
    FedLaw(FedLaw),
    /// FedDF: the weighted mean, trained on the coordinator's own examples toward what the clients' models predict together.
    FedDf(FedDf),
    /// A rule of the task's own: a WebAssembly component.
    Component(Box<Component>),
}

impl Default for AggregatorChoice {
    /// Limits the influence of every client: a default must not let one client control the model.
    fn default() -> Self {
        AggregatorChoice::BoundedMean(BoundedMean::default())
    }
}

impl AggregatorChoice {
    /// Returns whether updates can be summed while they arrive. An update's factor then depends on that update
    /// alone, or only a few factors change when the round closes.
    ///
    /// The factor is the one that [`AggregatorChoice::combination`] returns for a single update without
    /// measurements.
    pub fn is_streaming(&self) -> bool {
        self.aggregator().is_streaming()
    }

    /// Returns the factor for summing an update of this weight on arrival. It is 1 for choices that are not
    /// streaming, whose updates are not summed on arrival.
    pub fn arrival_factor(&self, weight: u64) -> f64 {
        match self.is_streaming().then(|| self.combination(&[weight], &[1.0], &Measured::None)) {
            Some(Combination::Mean { factors, .. }) => factors[0],
            _ => 1.0,
        }
    }

    /// Returns the measurement over all updates that [`AggregatorChoice::combination`] needs.
    pub fn measurement(&self) -> Measurement {
        self.aggregator().measurement()
    }

    /// Returns the rule that combines n updates.
    ///
    /// `weights[i]` is the weight of update i, and `attenuations[i]`, at least 0, is its staleness factor. Means
    /// multiply both and divide by the weights alone. So stale updates move the model less, without raising the
    /// influence of the others (FedBuff: Nguyen et al. 2022, algorithm 1). Medians, trimmed means and Krum ignore
    /// both.
    ///
    /// A choice that needs more than one pass over the updates is combined by
    /// [`AggregatorChoice::measured_combination`]; this is its first step.
    ///
    /// # Panics
    /// If `measured` is not the result of [`AggregatorChoice::measurement`] over as many updates, or the choice is a component, which
    /// combines updates itself.
    pub fn combination(&self, weights: &[u64], attenuations: &[f64], measured: &Measured) -> Combination {
        self.aggregator().combination(weights, attenuations, measured)
    }

    /// Returns the number of updates, out of `updates`, that contribute to the result. Krum, Multi-Krum and Bulyan leave
    /// some updates out. FLAME keeps more than half of them. SignGuard, FoolsGold, FLTrust and components may leave out all but one, so this is 1; if
    /// SignGuard or FLTrust leaves out all, the result is 0. A median counts all updates, although each coordinate comes from one or two of them.
    pub fn combined(&self, updates: u64) -> u64 {
        self.aggregator().combined(updates)
    }

    /// Returns whether the rule leaves some updates out.
    pub fn selects(&self) -> bool {
        use AggregatorChoice::{Bulyan, Component, FlTrust, Flame, FoolsGold, Krum, MultiKrum, SignGuard};
        matches!(
            self,
            Krum(_)
                | MultiKrum(_)
                | Bulyan(_)
                | SignGuard(_)
                | FoolsGold(_)
                | Flame(_)
                | FlTrust(_)
                | Component(_)
        )
    }

    /// Returns the component, if the rule is the task's own.
    pub fn component(&self) -> Option<&Component> {
        match self {
            AggregatorChoice::Component(component) => Some(component),
            _ => None,
        }
    }

    /// Returns the number of the coordinator's own examples that the rule uses; `None` if it uses none.
    ///
    /// The coordinator computes on these examples while it combines the updates. So [`AggregatorChoice::combination`] alone is not
    /// such a rule.
    pub fn own_examples(&self) -> Option<u64> {
        match self {
            AggregatorChoice::FlTrust(rule) => Some(rule.examples),
            AggregatorChoice::FedLaw(rule) => Some(rule.examples),
            AggregatorChoice::FedDf(rule) => Some(rule.examples),
            _ => None,
        }
    }

    /// Lists the faults of the choice for cohorts of `cohort_min` to `cohort_max` updates.
    pub fn validate(&self, cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        self.aggregator().validate(cohort_min, cohort_max, faults);
    }

    fn aggregator(&self) -> &dyn Aggregator {
        match self {
            AggregatorChoice::WeightedMean => &weighted_mean::WeightedMean,
            AggregatorChoice::BoundedMean(aggregator) => aggregator,
            AggregatorChoice::UniformMean => &uniform_mean::UniformMean,
            AggregatorChoice::Median => &median::Median,
            AggregatorChoice::TrimmedMean(aggregator) => aggregator,
            AggregatorChoice::Krum(aggregator) => aggregator,
            AggregatorChoice::MultiKrum(aggregator) => aggregator,
            AggregatorChoice::NormBound(aggregator) => aggregator,
            AggregatorChoice::GeometricMedian(aggregator) => aggregator,
            AggregatorChoice::Bulyan(aggregator) => aggregator,
            AggregatorChoice::CentredClipping(aggregator) => aggregator,
            AggregatorChoice::SignGuard(aggregator) => aggregator,
            AggregatorChoice::FoolsGold(aggregator) => aggregator,
            AggregatorChoice::Flame(aggregator) => aggregator,
            AggregatorChoice::FedNova => &fed_nova::FedNova,
            AggregatorChoice::QFedAvg(aggregator) => aggregator,
            AggregatorChoice::Term(aggregator) => aggregator,
            AggregatorChoice::Afl(aggregator) => aggregator,
            AggregatorChoice::FlTrust(aggregator) => aggregator,
            AggregatorChoice::FedLaw(aggregator) => aggregator,
            AggregatorChoice::FedDf(aggregator) => aggregator,
            AggregatorChoice::Component(component) => &**component,
        }
    }
}

/// Rejects fields next to `kind`. For a variant without fields, serde would silently ignore them.
fn no_field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoField {}
    NoField::deserialize(deserializer).map(|NoField {}| ())
}
