//! What the API shows of clients, where privacy is promised.
//!
//! A model version is noised and charged; an example count is neither. So where a task with privacy runs or has run, no
//! answer has exact figures that depend on one client's examples. `tests/disclosure` has the decision for every field of every
//! answer.

use folkmoot_protocol::{OrganisationId, PopulationName};
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::TaskRecord;

use crate::http::App;

/// Says why figures are missing.
pub const WHY: &str = "Withheld: a task with privacy runs or has run in this population. Example counts, training speeds and \
                       the times of single assignments are exact and carry no noise, so they are not shown.";

/// What may be shown of a population's clients, and of one of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disclosure {
    is_population_private: bool,
    is_task_private: bool,
}

impl Disclosure {
    /// Looks at a population.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn of_population(
        app: &App,
        organisation_id: OrganisationId,
        population: &PopulationName,
    ) -> Result<Self, Refusal> {
        let database = app.coordinator.storage.database()?;
        let is_population_private = database.has_private_tasks(organisation_id, population).await?;
        Ok(Self { is_population_private, is_task_private: false })
    }

    /// Looks at a task and its population.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn of_task(app: &App, task: &TaskRecord) -> Result<Self, Refusal> {
        let of_population =
            Self::of_population(app, task.organisation_id, &task.description.population).await?;
        Ok(Self { is_task_private: !task.description.privacy.is_none(), ..of_population })
    }

    /// Returns an exact figure that depends on clients' examples, unless a task with privacy runs or has run in the
    /// population.
    pub fn of_clients<T>(self, figure: T) -> Option<T> {
        (!self.is_population_private && !self.is_task_private).then_some(figure)
    }

    /// Returns what a task's clients measured or sent, unless the task promises privacy.
    pub fn of_updates<T>(self, figure: T) -> Option<T> {
        (!self.is_task_private).then_some(figure)
    }

    /// Says why figures of clients are missing, where they are.
    pub fn withheld(self) -> Option<String> {
        self.of_clients(()).is_none().then(|| WHY.to_owned())
    }
}

#[cfg(test)]
impl Disclosure {
    /// Where nobody was promised anything.
    pub const OPEN: Self = Self { is_population_private: false, is_task_private: false };
    /// A task without privacy in a population in which another one has it.
    pub const PRIVATE_POPULATION: Self = Self { is_population_private: true, is_task_private: false };
    /// A task with privacy.
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
