//! The conformance suite: behaviours that every backend must have.
//!
//! A case is a function over a storage. Each case creates its own organisation. So cases may run in any order,
//! repeatedly, and on a database with other data.

mod access;
mod admissions;
mod assignments;
mod audit;
mod blobs;
mod check_ins;
mod enrolments;
mod fixture;
pub mod flows;
mod leases;
mod ledgers;
mod lineage;
mod model_versions;
mod monitor;
mod races;
mod races_of_rounds;
mod rollouts;
mod rounds;
mod secure;
mod sessions;
mod sites;
mod tasks;
mod usage;
mod users;

use std::{future::Future, pin::Pin};

use folkmoot_storage::{Storage, StorageError};

/// A test case for one behaviour. It panics if the backend does not have that behaviour. `Err` is an unexpected storage
/// error.
pub type Case =
    for<'s> fn(&'s Storage) -> Pin<Box<dyn Future<Output = Result<(), StorageError>> + Send + 's>>;

macro_rules! cases {
    ($($module:ident::$case:ident,)*) => {
        /// All cases, with their names.
        pub const CASES: &[(&str, Case)] = &[
            $((concat!(stringify!($module), "::", stringify!($case)), |storage| Box::pin($module::$case(storage))),)*
        ];
    };
}

cases! {
    access::an_organisation_is_made_once,
    access::a_population_is_made_once,
    access::an_api_key_is_stored_and_revoked,
    access::the_last_key_of_an_admin_stays,
    access::of_admins_that_revoke_each_other_one_stays,
    access::a_rotated_key_has_two_secrets_for_a_while,
    access::the_last_use_of_a_key_is_recorded,
    sessions::a_session_is_stored_until_it_ends,
    sessions::a_person_has_a_session_without_a_key,
    sessions::a_session_is_renewed_once_at_a_time,
    sessions::the_open_sessions_of_an_organisation_are_listed_and_ended,
    access::a_token_is_stored_and_revoked,
    access::a_number_that_sql_cannot_hold_is_refused,
    enrolments::a_client_enrols_once_by_its_key,
    enrolments::a_token_that_is_spent_expired_or_revoked_enrols_nobody,
    enrolments::a_client_is_revoked_by_its_organisation_only,
    lineage::the_clients_of_a_token_are_listed_in_pages,
    lineage::a_revoked_client_closes_its_token,
    lineage::a_token_is_revoked_with_its_clients,
    lineage::no_client_outlives_a_token_that_is_revoked_with_its_clients,
    rollouts::a_rollout_is_stored_and_changed,
    rollouts::failures_of_devices_hold_a_rollout,
    rollouts::old_rollouts_take_no_reports,
    sites::who_downloads_models_is_a_setting,
    sites::sites_have_the_names_of_their_tokens,
    sites::what_a_site_does_is_recorded,
    users::a_token_names_its_user_where_users_are_protected,
    users::who_is_protected_does_not_change_under_the_enrolled,
    users::all_devices_of_a_user_count_as_one,
    check_ins::the_last_check_in_counts,
    check_ins::an_offer_ends,
    check_ins::a_later_offer_takes_the_place_of_an_earlier_one,
    check_ins::a_client_with_an_assignment_does_not_wait,
    check_ins::a_revoked_client_does_not_wait,
    check_ins::who_waits_comes_with_its_token,
    secure::a_message_is_recorded_once_while_its_step_is_open,
    secure::the_end_of_a_step_fixes_its_messages,
    secure::messages_go_with_their_round,
    tasks::a_model_is_stored_once,
    tasks::models_are_listed_newest_first,
    tasks::a_task_comes_back_as_it_was,
    tasks::a_change_of_state_is_told_once,
    tasks::a_task_and_its_first_version_are_stored_together,
    tasks::tasks_are_listed_in_pages,
    tasks::tasks_are_found_by_state_population_and_name,
    tasks::a_task_changes_its_state_by_revision,
    tasks::only_a_higher_endorsement_takes_the_place_of_one,
    tasks::drivers_see_active_tasks_and_open_rounds,
    admissions::of_two_that_saw_the_same_one_is_let_in,
    admissions::only_what_the_population_has_is_seen,
    admissions::a_task_starts_in_the_population_that_was_seen,
    admissions::however_many_come_at_once_one_is_let_in,
    model_versions::metrics_survive_bit_for_bit,
    model_versions::versions_are_listed_in_pages,
    model_versions::every_so_many_versions_are_listed,
    rounds::a_task_has_one_open_round,
    rounds::rounds_are_listed_in_pages,
    rounds::a_round_runs_to_its_commit,
    rounds::a_round_remembers_that_it_asked,
    rounds::a_round_is_abandoned,
    rounds::rounds_abandoned_in_a_row_are_counted,
    rounds::a_stale_revision_changes_nothing,
    rounds::a_cohort_that_is_not_free_stores_nothing,
    rounds::a_selection_keeps_its_state_with_its_draw,
    rounds::a_count_that_is_out_of_date_does_not_close,
    rounds::a_version_is_released_once,
    rounds::a_commit_that_cannot_be_whole_leaves_nothing,
    rounds::a_task_that_was_cancelled_stays_cancelled,
    rounds::a_large_cohort_is_stored_as_a_whole,
    assignments::an_update_counts_once,
    assignments::a_closed_round_accepts_nothing,
    assignments::a_dropped_assignment_stays_dropped,
    assignments::every_status_comes_back_as_it_was,
    assignments::the_first_report_stays,
    flows::who_failed_in_a_flow_is_counted_with_its_round,
    flows::an_update_that_finds_the_round_full_counts_in_the_next,
    flows::a_commit_leaves_behind_whom_it_names,
    flows::those_in_a_flow_are_counted_by_token,
    flows::what_clients_did_is_remembered,
    flows::who_had_all_the_time_has_failed,
    flows::an_update_is_of_its_assignment,
    flows::an_evaluation_runs_beside_a_training,
    flows::a_version_can_be_released_without_a_round,
    monitor::what_happened_is_counted,
    usage::what_is_used_adds_up,
    usage::a_full_organisation_enrols_nobody_else,
    usage::what_an_organisation_has_is_counted,
    leases::a_lease_has_one_holder,
    ledgers::a_release_is_charged_with_its_version,
    ledgers::a_commit_that_fails_charges_nothing,
    ledgers::a_leave_that_does_not_hold_any_more_releases_nothing,
    ledgers::a_collection_is_charged_once_before_any_version,
    ledgers::a_collection_is_charged_once_whoever_is_first,
    ledgers::a_collection_is_not_charged_under_other_settings,
    ledgers::what_bounds_privacy_is_an_entry,
    ledgers::the_terms_of_a_task_are_an_entry,
    ledgers::what_was_not_released_is_known,
    blobs::every_blob_of_a_row_is_named,
    blobs::a_state_is_needed_by_the_next_version_and_by_clients,
    blobs::weights_are_dropped_unless_a_rollout_names_them,
    blobs::a_rollout_and_a_drop_exclude_each_other,
    blobs::a_warm_start_is_listed,
    blobs::unknown_places_are_searched,
    audit::each_act_is_recorded_with_its_author,
    audit::what_fails_or_has_no_author_is_not_recorded,
    audit::acts_at_the_same_time_form_one_chain,
    audit::retention_removes_the_oldest_entries,
    races::the_last_use_of_a_token_is_spent_once,
    races::one_key_enrols_once,
    races::one_process_gets_the_lease,
    races::one_of_two_updates_counts,
    races::a_check_in_and_a_selection_leave_no_client_in_both,
    races::a_check_in_and_a_revocation_leave_nobody_waiting,
    races_of_rounds::one_round_is_opened,
    races_of_rounds::a_client_is_assigned_once,
    races_of_rounds::overlapping_cohorts_are_stored_whole_or_not,
    races_of_rounds::what_is_accepted_is_what_is_closed,
    races_of_rounds::one_driver_closes,
    races_of_rounds::a_request_that_is_given_up_leaves_nothing_half_done,
}

/// Runs all cases, one after the other.
///
/// # Panics
/// At the first failing case. Its name is the last one printed.
pub async fn run(storage: impl Into<Storage>) {
    let storage = storage.into();
    for (name, case) in CASES {
        eprintln!("case {name}");
        if let Err(error) = case(&storage).await {
            panic!("{name}: {error}");
        }
    }
}
