use serde::{Deserialize, Serialize};

use super::fault::Faults;

/// A training of weights that only one client keeps. It uses the same examples, optimizer and batches as the training
/// of the shared weights. `fed_rep` and `ditto` come before the training of the shared weights; `p_fed_me` and `apfl`
/// train both in the same steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PersonalTraining {
    /// First the personal tensors are trained, with the others fixed; then the others, with the personal ones fixed
    /// (FedRep: Collins et al. 2021, "Exploiting shared representations for personalized federated learning", algorithm 1). It
    /// requires `personal`.
    FedRep {
        /// Passes over the local examples with the others fixed, at least 1. The passes of `epochs` follow.
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [5])))]
        epochs: u32,
    },
    /// Each client has a second model of its own, with which it predicts. Its loss has the additional term
    /// lambda/2 · ‖v − w‖², where v are its own weights and w those of the version (Ditto: Li et al. 2021, "Ditto: fair and robust
    /// federated learning through personalization", algorithm 1). It excludes `personal`.
    Ditto {
        /// The coefficient, 0 or more. With 0, a client's own model learns from its own examples alone; with a higher one, it
        /// stays nearer to the shared model.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.1])))]
        lambda: f32,
        /// Passes over the local examples for the client's own model, at least 1. The passes of `epochs` follow.
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [1])))]
        epochs: u32,
    },
    /// For each batch, the client takes `steps` steps of its own model θ, whose loss has the additional term lambda/2 · ‖θ − w‖². Then
    /// its local model moves: w ← w − `learning_rate` · lambda · (w − θ). The change of w is the update, and the client predicts with
    /// θ (pFedMe: T Dinh et al. 2020, "Personalized federated learning with Moreau envelopes", algorithm 1). θ starts with the
    /// version. It excludes `personal`.
    PFedMe {
        /// The strength with which θ is drawn to w, above 0. The paper uses 15 to 30.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [15.0])))]
        lambda: f32,
        /// The step of w toward θ, above 0 and at most 1 / lambda. The paper uses 0.005 and 0.01. The optimizer's
        /// learning rate applies to θ.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.01])))]
        learning_rate: f32,
        /// The steps of θ for each batch, from 1 to 1000. The paper uses 5.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000), extend("examples" = [5])))]
        steps: u32,
    },
    /// Each client has a second model v, and predicts with the mixture alpha·v + (1 − alpha)·w. In each step, w descends its own
    /// loss, and v that of the mixture (APFL: Deng et al. 2020, "Adaptive personalized federated learning", algorithm 1). It needs
    /// plain SGD and excludes `personal`.
    Apfl {
        /// The share of v in the mixture, above 0 and at most 1. With 1, v learns from the client's own examples alone.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "examples" = [0.5])))]
        alpha: f32,
        /// Whether each client adapts its share: in the first step of a training, alpha descends the loss of the mixture by the
        /// learning rate (equation 11 of the paper), and stays within 0 and 1. Then `alpha` is the share of a client's first training.
        #[serde(default)]
        adaptive: bool,
    },
}

/// The most steps of a client's own model for each batch (pFedMe).
const STEPS_MAX: u32 = 1000;

impl PersonalTraining {
    /// Returns the passes over the local examples of a phase that comes first. `None` if both models are trained in the same steps.
    pub fn first_epochs(self) -> Option<u32> {
        match self {
            Self::FedRep { epochs } | Self::Ditto { epochs, .. } => Some(epochs),
            Self::PFedMe { .. } | Self::Apfl { .. } => None,
        }
    }

    /// Returns the number of steps for each batch of the shared weights' training.
    pub fn steps_per_batch(self) -> u32 {
        match self {
            Self::PFedMe { steps, .. } => steps,
            _ => 1,
        }
    }

    /// Returns the number of gradients in each step on the shared weights.
    pub fn gradients_per_step(self) -> u32 {
        if matches!(self, Self::Apfl { .. }) { 2 } else { 1 }
    }

    /// Returns whether each client has a whole model of its own.
    pub fn is_whole_model(self) -> bool {
        !matches!(self, Self::FedRep { .. })
    }

    /// Returns the name of the kind, as in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::FedRep { .. } => "fed_rep",
            Self::Ditto { .. } => "ditto",
            Self::PFedMe { .. } => "p_fed_me",
            Self::Apfl { .. } => "apfl",
        }
    }

    /// Lists numbers that are out of range, and settings of the plan that contradict this one.
    pub(super) fn list_faults(self, context: &PlanContext, faults: &mut Faults) {
        let number = self.list_number_faults(faults);
        let (is_whole, is_beside) = (self.is_whole_model(), self.first_epochs().is_none());
        let is_mixture = matches!(self, Self::Apfl { .. });
        for (is_wrong, allowed) in [
            (!is_whole && !context.is_divided, "absent without personal"),
            (is_whole && context.is_divided, "absent with personal"),
            (is_whole && context.keeps_statistics, "absent with statistics = keep_local"),
            // The accountant counts the steps of `epochs` alone.
            (context.is_private, "absent with example_privacy"),
            (is_beside && context.has_proximal_term, "fed_rep or ditto with a proximal_term"),
            (
                is_beside && context.is_mixed,
                "fed_rep or ditto with mixed precision, because only the CPU trains two models at once",
            ),
            (
                is_mixture && !context.is_plain_sgd,
                "another kind unless the optimizer is sgd without momentum and weight_decay",
            ),
            (
                is_mixture && context.has_constraints,
                "another kind with l1 or value_range, which would count as a part of the mixture's gradient",
            ),
            (
                matches!(self, Self::PFedMe { .. }) && context.selects,
                "another kind with small_loss_selection, which measures the weights that travel, not those of the step",
            ),
        ] {
            if is_wrong {
                faults.add("personal_training", number, allowed);
            }
        }
    }

    /// Lists numbers that are out of range. Returns the number that represents the kind in messages.
    fn list_number_faults(self, faults: &mut Faults) -> f64 {
        match self {
            Self::FedRep { epochs } => {
                faults.expect_at_least_one("personal_training.fed_rep.epochs", epochs.into());
                epochs.into()
            }
            Self::Ditto { lambda, epochs } => {
                faults.expect_not_negative("personal_training.ditto.lambda", lambda);
                faults.expect_at_least_one("personal_training.ditto.epochs", epochs.into());
                epochs.into()
            }
            Self::PFedMe { lambda, learning_rate, steps } => {
                faults.expect_positive("personal_training.p_fed_me.lambda", lambda);
                let (field, step) = ("personal_training.p_fed_me.learning_rate", learning_rate * lambda);
                faults.expect_positive(field, learning_rate);
                // Rounding must not refuse 1 / lambda.
                if step > 1.000_001 {
                    faults.add(field, learning_rate.into(), "at most 1 / lambda, or w would move past θ");
                }
                if !(1..=STEPS_MAX).contains(&steps) {
                    faults.add("personal_training.p_fed_me.steps", steps.into(), "1 to 1000");
                }
                lambda.into()
            }
            Self::Apfl { alpha, .. } => {
                if !(alpha > 0.0 && alpha <= 1.0) {
                    faults.add("personal_training.apfl.alpha", alpha.into(), "above 0 and at most 1");
                }
                alpha.into()
            }
        }
    }
}

/// The settings of a plan that a personal training must fit.
#[derive(Clone, Copy, Default)]
pub(super) struct PlanContext {
    /// True if some tensors are personal.
    pub is_divided: bool,
    /// True if clients keep their own running statistics.
    pub keeps_statistics: bool,
    /// True if single examples are protected.
    pub is_private: bool,
    /// True if a proximal term pulls the shared weights toward the version.
    pub has_proximal_term: bool,
    /// True with mixed precision.
    pub is_mixed: bool,
    /// True if the optimizer is SGD without momentum and weight decay.
    pub is_plain_sgd: bool,
    /// True with an l1 penalty or a range of values.
    pub has_constraints: bool,
    /// True if steps leave out examples with large losses.
    pub selects: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(one: PersonalTraining, context: [bool; 3]) -> Vec<&'static str> {
        let [is_divided, keeps_statistics, is_private] = context;
        let context = PlanContext { is_divided, keeps_statistics, is_private, ..PlanContext::default() };
        fields_in(one, context)
    }

    fn fields_in(one: PersonalTraining, context: PlanContext) -> Vec<&'static str> {
        let mut faults = Faults::default();
        one.list_faults(&context, &mut faults);
        faults.0.iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn each_kind_has_its_conditions() {
        let fed_rep = |epochs| PersonalTraining::FedRep { epochs };
        let ditto = |lambda, epochs| PersonalTraining::Ditto { lambda, epochs };
        let (divided, nothing) = ([true, false, false], [false; 3]);
        let [of_head, of_model] = ["personal_training.fed_rep.epochs", "personal_training.ditto.epochs"];
        assert_eq!(fields(fed_rep(2), divided), [""; 0]);
        assert_eq!(fields(fed_rep(0), divided), [of_head]);
        assert_eq!(fields(fed_rep(2), nothing), ["personal_training"]);
        assert_eq!(fields(fed_rep(2), [true, true, false]), [""; 0]);
        assert_eq!(fields(ditto(0.0, 1), nothing), [""; 0]);
        assert_eq!(fields(ditto(-1.0, 0), nothing), ["personal_training.ditto.lambda", of_model]);
        for wrong in [divided, [false, true, false], [false, false, true]] {
            assert_eq!(fields(ditto(1.0, 1), wrong), ["personal_training"], "{wrong:?}");
        }
    }

    #[test]
    fn two_models_in_the_same_steps_have_their_conditions() {
        let moreau = |lambda, learning_rate, steps| PersonalTraining::PFedMe { lambda, learning_rate, steps };
        let apfl = |alpha| PersonalTraining::Apfl { alpha, adaptive: true };
        let plain = PlanContext { is_plain_sgd: true, ..PlanContext::default() };
        assert_eq!(fields_in(moreau(15.0, 1.0 / 15.0, 5), PlanContext::default()), [""; 0]);
        let [lambda, rate, steps] =
            ["lambda", "learning_rate", "steps"].map(|key| format!("personal_training.p_fed_me.{key}"));
        assert_eq!(fields_in(moreau(0.0, 0.0, 0), plain), [lambda, rate.clone(), steps]);
        assert_eq!(fields_in(moreau(15.0, 0.1, 5), plain), [rate]);
        assert_eq!(fields_in(apfl(1.0), plain), [""; 0]);
        for alpha in [0.0, 1.5, f32::NAN] {
            assert_eq!(fields_in(apfl(alpha), plain), ["personal_training.apfl.alpha"], "{alpha}");
        }
        assert_eq!(fields_in(apfl(0.5), PlanContext::default()), ["personal_training"], "needs plain SGD");
        for wrong in [
            PlanContext { is_divided: true, ..plain },
            PlanContext { keeps_statistics: true, ..plain },
            PlanContext { is_private: true, ..plain },
            PlanContext { has_proximal_term: true, ..plain },
            PlanContext { is_mixed: true, ..plain },
        ] {
            for one in [moreau(15.0, 0.01, 5), apfl(0.5)] {
                assert_eq!(fields_in(one, wrong), ["personal_training"], "{one:?}");
            }
        }
    }

    #[test]
    fn a_kind_is_a_key_with_its_settings() {
        let json = r#"{"ditto":{"lambda":0.5,"epochs":2}}"#;
        let read: PersonalTraining = serde_json::from_str(json).unwrap();
        assert_eq!(read, PersonalTraining::Ditto { lambda: 0.5, epochs: 2 });
        assert!(serde_json::from_str::<PersonalTraining>(r#"{"ditto":{"lambda":0.5,"epoch":2}}"#).is_err());
        let moreau = PersonalTraining::PFedMe { lambda: 15.0, learning_rate: 0.01, steps: 5 };
        for one in [read, moreau, PersonalTraining::Apfl { alpha: 0.5, adaptive: false }] {
            let written = serde_json::to_value(one).unwrap();
            assert!(written.get(one.name()).is_some(), "{written}");
            assert_eq!(serde_json::from_value::<PersonalTraining>(written).unwrap(), one);
        }
    }

    #[test]
    fn two_models_in_the_same_steps_need_plain_gradients_of_the_same_examples() {
        let p_fed_me = PersonalTraining::PFedMe { lambda: 15.0, learning_rate: 0.01, steps: 5 };
        let apfl = PersonalTraining::Apfl { alpha: 0.5, adaptive: false };
        let context = PlanContext { is_plain_sgd: true, ..PlanContext::default() };
        let constrained = PlanContext { has_constraints: true, ..context };
        let selecting = PlanContext { selects: true, ..context };
        let refused = |one, context| !fields_in(one, context).is_empty();
        assert_eq!([constrained, selecting].map(|context| refused(apfl, context)), [true, false]);
        assert_eq!([constrained, selecting].map(|context| refused(p_fed_me, context)), [false, true]);
    }
}
