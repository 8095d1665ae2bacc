//! Decides which client figures the API may show when privacy is promised.
//!
//! A private task's model versions are noised and charged to a budget; example counts are not. Once a private task has
//! run in a population, no response contains exact figures that depend on one client's examples. `tests/disclosure`
//! lists the decision for every field of every response.

use folkmoot_protocol::{OrganisationId, PopulationName};
use folkmoot_rounds::{evaluation_views::Disclosed, refusal::Refusal};
use folkmoot_storage::TaskRecord;

use crate::http::App;

/// The explanation that replaces missing figures.
pub const WHY: &str = "Withheld: a private task runs or has run in this population. Example counts, training speeds and \
                       the times of single assignments are exact and carry no noise, so they are not shown.";

/// The disclosure rules for a population's clients and for one task of the population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disclosure {
    is_population_private: bool,
    is_task_private: bool,
}

impl Disclosure {
    /// Reads the disclosure rules of a population from the storage.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn of_population(
        app: &App,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<Self, Refusal> {
        let database = app.coordinator.storage.database()?;
        let is_population_private = database.has_private_tasks(organisation_id, population).await?;
        Ok(Self { is_population_private, is_task_private: false })
    }

    /// Reads the disclosure rules of a task and its population from the storage.
    ///
    /// # Errors
    /// Fails if the storage fails.
    pub async fn of_task(app: &App, task: &TaskRecord) -> Result<Self, Refusal> {
        let of_population =
            Self::of_population(app, task.organisation_id, &task.description.population).await?;
        Ok(Self { is_task_private: !task.description.privacy.is_none(), ..of_population })
    }

    /// Returns an exact figure that depends on clients' examples; `None` if a private task runs or has run in the
    /// population.
    pub fn of_clients<T>(self, figure: T) -> Option<T> {
        (!self.is_population_private && !self.is_task_private).then_some(figure)
    }

    /// Returns a figure that the task's clients measured or sent; `None` if the task is private.
    pub fn of_updates<T>(self, figure: T) -> Option<T> {
        (!self.is_task_private).then_some(figure)
    }

    /// Returns which figures of evaluations may be shown.
    pub fn of_evaluations(self) -> Disclosed {
        Disclosed { counts: self.of_clients(()).is_some(), measured: self.of_updates(()).is_some() }
    }

    /// Returns the explanation, if client figures are withheld.
    pub fn withheld(self) -> Option<String> {
        self.of_clients(()).is_none().then(|| WHY.to_owned())
    }
}

#[cfg(test)]
impl Disclosure {
    /// No task of the population is private.
    pub const OPEN: Self = Self { is_population_private: false, is_task_private: false };
    /// A task without privacy in a population that also has a private task.
    pub const PRIVATE_POPULATION: Self = Self { is_population_private: true, is_task_private: false };
    /// A private task.
    pub const PRIVATE_TASK: Self = Self { is_population_private: true, is_task_private: true };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_in_the_population_withholds_clients_and_one_of_the_task_withholds_updates() {
        let shown = |one: Disclosure| (one.of_clients(7), one.of_updates(7), one.withheld().is_some());
        assert_eq!(shown(Disclosure::OPEN), (Some(7), Some(7), false));
        assert_eq!(shown(Disclosure::PRIVATE_POPULATION), (None, Some(7), true));
        assert_eq!(shown(Disclosure::PRIVATE_TASK), (None, None, true));
        let draft = Disclosure { is_population_private: false, is_task_private: true };
        assert_eq!(shown(draft), (None, None, true));
    }
}
