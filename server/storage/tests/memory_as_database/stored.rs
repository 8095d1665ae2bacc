//! Reads all stored data back from both storages.

use folkmoot_coordinator::task::TaskFilter;
use folkmoot_storage::{
    ApiKeyRepository, AssignmentRepository, CheckInRepository, ClientRepository, EvaluationRepository,
    EvaluationSource, ModelRepository, ModelVersionRepository, ParticipationRepository, PopulationRepository,
    RoundRepository, TaskRepository, TokenRepository,
};

use super::{
    same::same,
    settings::{
        CLIENTS, ORGANISATIONS, POPULATIONS, TASKS, client, digest, name, organisation, population, task,
    },
    world::World,
};

impl World {
    /// Compares the answers of every reading method.
    pub async fn read_all(&mut self) -> Result<(), String> {
        for number in 0..ORGANISATIONS {
            self.read_organisation(number).await?;
        }
        for number in 0..TASKS {
            self.read_task(number).await?;
        }
        for number in 0..CLIENTS {
            let _ = same!(self, client(client(number)));
            let _ = same!(self, outstanding_assignment(client(number)));
            let _ = same!(self, token(&name(number)));
            for before in [None, Some(client(number))] {
                let _ =
                    same!(self, clients_of_token(organisation(number % 2), &name(4 + number % 2), 3, before));
            }
            let _ = same!(self, api_key(&name(number)));
        }
        for id in self.assignments.clone() {
            let _ = same!(self, assignment(id));
            let _ = same!(self, report(id));
        }
        let _ = same!(self, needed_logs());
        let _ = same!(self, tasks_to_drive());
        Ok(())
    }

    async fn read_organisation(&mut self, number: u64) -> Result<(), String> {
        let id = organisation(number);
        let _ = same!(self, populations(id));
        let _ = same!(self, tokens(id));
        let _ = same!(self, api_keys(id));
        for before in (0..TASKS).map(|number| Some(task(number))).chain([None]) {
            let _ = same!(self, tasks(id, &TaskFilter::default(), 2, before));
        }
        for number in 0..3 {
            let _ = same!(self, model(id, digest(number)));
        }
        for number in 0..POPULATIONS {
            let population = population(number);
            let _ = same!(self, client_count(id, &population));
            let _ = same!(self, has_clients(id, &population, 2));
            let _ = same!(self, waiting(id, &population, self.now));
            for number in 0..TASKS {
                let waiting = same!(self, waiting_for(id, &population, task(number), self.now));
                self.reached.waiting += waiting.map_or(0, |waiting| waiting.len());
            }
        }
        Ok(())
    }

    async fn read_task(&mut self, number: u64) -> Result<(), String> {
        let id = task(number);
        let _ = same!(self, task_of_any_organisation(id));
        for number in 0..ORGANISATIONS {
            let _ = same!(self, task(organisation(number), id));
        }
        let _ = same!(self, latest_model_version(id));
        let _ = same!(self, unfinished_rounds(id));
        let _ = same!(self, unfinished_round(id));
        let _ = same!(self, round_counts(id));
        let _ = same!(self, first_round_at(id));
        let _ = same!(self, outstanding(id));
        let _ = same!(self, participations(id));
        let _ = same!(self, evaluations(id));
        let _ = same!(self, evaluation_slices(id));
        for source in [EvaluationSource::Central, EvaluationSource::Federated] {
            let _ = same!(self, last_evaluated(id, source));
        }
        for number in 0..6 {
            let _ = same!(self, model_version(id, number));
            let _ = same!(self, model_versions(id, 2, Some(number)));
            let _ = same!(self, rounds(id, 2, Some(number)));
            let _ = same!(self, evaluations_at(id, number));
            let _ = same!(self, abandoned_in_a_row(id, number));
        }
        let from_the_newest: Option<u64> = None;
        let _ = same!(self, model_versions(id, 9, from_the_newest));
        let rounds = same!(self, rounds(id, 9, from_the_newest)).map_err(|error| error.to_string())?;
        for record in rounds {
            let round = record.round.id;
            let _ = same!(self, round(record.organisation_id, round));
            let _ = same!(self, round(organisation(2), round));
            let _ = same!(self, assignments(round));
            let _ = same!(self, accepted_updates(round));
            let _ = same!(self, report_counts(round));
            let _ = same!(self, flow_counts(id, round));
        }
        Ok(())
    }
}
