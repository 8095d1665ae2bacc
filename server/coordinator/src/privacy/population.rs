use folkmoot_privacy::{Delta, Epsilon, Unit};
use serde::{Deserialize, Serialize};

/// What holds for everybody in a population, whichever task they take part in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PopulationPrivacy {
    /// Whom the promises of its tasks protect. With [`Unit::User`] every enrolment names its user.
    pub unit: Unit,
    /// What all tasks together may spend. Without it only the tasks' own budgets end them.
    pub budget: Option<PopulationBudget>,
}

impl PopulationPrivacy {
    /// Says whether these settings promise less than those before: a budget is taken away, or allows a larger epsilon or
    /// delta.
    pub fn is_weaker_than(&self, before: &Self) -> bool {
        match (self.budget, before.budget) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(now), Some(then)) => now.epsilon > then.epsilon || now.delta > then.delta,
        }
    }
}

/// What all tasks of a population together may spend of a client, or of a user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PopulationBudget {
    /// At most.
    pub epsilon: Epsilon,
    /// At this delta.
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
