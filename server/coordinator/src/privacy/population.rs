use folkmoot_privacy::{Delta, Epsilon, Unit};
use serde::{Deserialize, Serialize};

/// The privacy settings of a population. They apply to all of its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PopulationPrivacy {
    /// The unit that the population's tasks protect. With [`Unit::User`], every enrolment names its user.
    pub unit: Unit,
    /// The budget for all tasks together. Without it, only the tasks' own budgets apply.
    pub budget: Option<PopulationBudget>,
}

impl PopulationPrivacy {
    /// Returns whether these settings promise less than `before`: the budget was removed, or its epsilon or delta
    /// was raised.
    pub fn is_weaker_than(&self, before: &Self) -> bool {
        match (self.budget, before.budget) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(now), Some(then)) => now.epsilon > then.epsilon || now.delta > then.delta,
        }
    }

    /// Returns whether these settings protect single clients where `before` protects users, who may have several.
    pub fn protects_fewer_than(&self, before: &Self) -> bool {
        self.unit != before.unit && before.unit == Unit::User
    }
}

/// The maximum that all tasks of a population together may spend on a client or user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PopulationBudget {
    /// The largest total epsilon.
    pub epsilon: Epsilon,
    /// The delta at which epsilon holds.
    pub delta: Delta,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_weaker_that_allows_more_or_is_gone() {
        let of = |epsilon, delta| PopulationPrivacy {
            unit: Unit::Client,
            budget: Some(PopulationBudget {
                epsilon: Epsilon::new(epsilon).unwrap(),
                delta: Delta::new(delta).unwrap(),
            }),
        };
        let (none, before) = (PopulationPrivacy::default(), of(8.0, 1e-6));
        for (now, is_weaker) in [
            (none, true),
            (of(8.1, 1e-6), true),
            (of(7.0, 1e-5), true),
            (before, false),
            (of(8.0, 1e-7), false),
        ] {
            assert_eq!(now.is_weaker_than(&before), is_weaker, "{now:?}");
        }
        assert!(!before.is_weaker_than(&none) && !none.is_weaker_than(&none));
    }
}
