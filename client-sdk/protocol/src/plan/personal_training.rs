use serde::{Deserialize, Serialize};

use super::fault::Faults;

/// A training of what only one client keeps. It comes before the training of what travels, on the same examples and with
/// the same optimizer and batches.
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
}

impl PersonalTraining {
    /// Returns the passes over the local examples.
    pub fn epochs(self) -> u32 {
        match self {
            Self::FedRep { epochs } | Self::Ditto { epochs, .. } => epochs,
        }
    }

    /// Returns whether each client has a whole model of its own.
    pub fn is_whole_model(self) -> bool {
        matches!(self, Self::Ditto { .. })
    }

    /// Lists numbers that are out of range, and settings of the plan that contradict this one.
    pub(super) fn list_faults(self, context: &PlanContext, faults: &mut Faults) {
        let (field, epochs) = match self {
            Self::FedRep { epochs } => ("personal_training.fed_rep.epochs", epochs),
            Self::Ditto { lambda, epochs } => {
                faults.expect_not_negative("personal_training.ditto.lambda", lambda);
                ("personal_training.ditto.epochs", epochs)
            }
        };
        faults.expect_at_least_one(field, epochs.into());
        let is_whole = self.is_whole_model();
        for (is_wrong, allowed) in [
            (!is_whole && !context.is_divided, "absent without personal"),
            (is_whole && context.is_divided, "absent with personal"),
            (is_whole && context.keeps_statistics, "absent with statistics = keep_local"),
            // The accountant counts the steps of `epochs` alone.
            (context.is_private, "absent with example_privacy"),
        ] {
            if is_wrong {
                faults.add("personal_training", epochs.into(), allowed);
            }
        }
    }
}

/// The settings of a plan that a personal training must fit.
pub(super) struct PlanContext {
    /// True if some tensors are personal.
    pub is_divided: bool,
    /// True if clients keep their own running statistics.
    pub keeps_statistics: bool,
    /// True if single examples are protected.
    pub is_private: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(one: PersonalTraining, context: [bool; 3]) -> Vec<&'static str> {
        let [is_divided, keeps_statistics, is_private] = context;
        let mut faults = Faults::default();
        one.list_faults(&PlanContext { is_divided, keeps_statistics, is_private }, &mut faults);
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
    fn a_kind_is_a_key_with_its_settings() {
        let json = r#"{"ditto":{"lambda":0.5,"epochs":2}}"#;
        let read: PersonalTraining = serde_json::from_str(json).unwrap();
        assert_eq!(read, PersonalTraining::Ditto { lambda: 0.5, epochs: 2 });
        assert!(serde_json::from_str::<PersonalTraining>(r#"{"ditto":{"lambda":0.5,"epoch":2}}"#).is_err());
    }
}
