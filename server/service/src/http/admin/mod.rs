//! The administrative endpoints, which need an API key with a sufficient role.

pub mod access;
pub mod aggregator;
pub mod api_keys;
pub mod audit;
mod called;
pub mod clients;
pub mod components;
mod cookie;
mod costly;
pub mod demo;
pub mod disclosure;
pub mod evaluation_data;
pub mod evaluations;
pub mod events;
pub mod models;
mod officers;
pub mod organisations;
pub mod overview;
pub mod populations;
pub mod privacy;
mod read;
pub(crate) mod renewal;
pub mod rollouts;
pub mod rounds;
pub mod session;
pub mod sessions;
pub mod sign_in;
pub mod sites;
pub mod stats;
pub mod system;
pub mod tasks;
pub mod tokens;
pub mod usage;
pub mod versions;
pub mod who;

use access::Gate;
use axum::{
    Router,
    handler::Handler,
    http::Method,
    middleware,
    routing::{MethodFilter, MethodRouter, get, on},
};
use folkmoot_protocol::Role;

use super::App;

/// An endpoint below `/v1/admin`, with the lowest role that may use it.
pub struct Endpoint {
    /// The method.
    pub method: Method,
    /// The path below `/v1/admin`.
    pub path: &'static str,
    /// The lowest role that may use the endpoint.
    pub role: Role,
    route: MethodRouter<App>,
}

/// Returns the routes below `/v1/admin`. Except for sign-in and `/me`, each route checks the caller's role first.
pub fn routes(app: &App) -> Router<App> {
    // A person who signs in has no session yet, so these routes have no gate.
    let session = get(session::get::get_session)
        .post(session::create::create_session)
        .delete(session::delete::delete_session);
    // Every role may ask for itself, which no gate expresses.
    let me = get(session::me::get_me);
    let open = Router::new().route("/session", session).route("/me", me).merge(sign_in::routes(app));
    endpoints().into_iter().fold(open, |router, endpoint| {
        let gate = Gate { app: app.clone(), role: endpoint.role };
        router.route(
            endpoint.path,
            endpoint.route.route_layer(middleware::from_fn_with_state(gate, access::check)),
        )
    })
}

/// Lists every endpoint with its role. Routes are built only from this list, so an endpoint without a role cannot
/// exist.
pub fn endpoints() -> Vec<Endpoint> {
    use Role::{Admin, Operator, PrivacyOfficer, Viewer};
    let (get, post) = (Method::GET, Method::POST);
    let of_work = vec![
        endpoint(&get, "/overview", Viewer, overview::get_overview),
        endpoint(&get, "/events", Viewer, events::listen),
        endpoint(&get, "/system", Operator, system::get_system),
        endpoint(&post, "/demo", Admin, demo::start_demo),
        endpoint(&post, "/models", Operator, models::create::create_model),
        endpoint(&post, "/models/parts", Operator, models::parts::find_parts),
        endpoint(&get, "/models", Viewer, models::list::list_models),
        endpoint(&get, "/models/{digest}/graph", Viewer, models::graph::get_graph),
        endpoint(&post, "/components", Operator, components::create::create_component),
        endpoint(&post, "/evaluation-data", Operator, evaluation_data::create::create_evaluation_data),
        endpoint(&post, "/tasks", Operator, tasks::create::create_task),
        endpoint(&post, "/tasks/check", Operator, tasks::check::check_task),
        endpoint(&get, "/tasks", Viewer, tasks::list::list_tasks),
        endpoint(&get, "/tasks/{id}", Viewer, tasks::get::get_task),
        endpoint(&post, "/tasks/{id}/activate", Operator, tasks::activate::activate_task),
        endpoint(&post, "/tasks/{id}/pause", Operator, tasks::pause::pause_task),
        endpoint(&post, "/tasks/{id}/resume", Operator, tasks::resume::resume_task),
        endpoint(&post, "/tasks/{id}/cancel", Operator, tasks::cancel::cancel_task),
        endpoint(&post, "/tasks/{id}/roll-back", Operator, tasks::roll_back::roll_back_task),
        endpoint(&get, "/tasks/{id}/endorsement", Viewer, tasks::endorsement::get_endorsement),
        endpoint(&post, "/tasks/{id}/endorsement", Operator, tasks::endorsement::publish_endorsement),
        endpoint(&get, "/tasks/{id}/series", Viewer, tasks::series::get_series),
        endpoint(&get, "/tasks/{id}/rounds", Viewer, rounds::list::list_rounds),
        endpoint(&get, "/tasks/{id}/stats", Viewer, stats::list::list_stats),
        endpoint(&get, "/rounds/{id}", Viewer, rounds::get::get_round),
        endpoint(&get, "/rounds/{id}/assignments", Viewer, rounds::assignments::list_assignments),
        endpoint(&get, "/tasks/{id}/evaluations", Viewer, evaluations::list::list_evaluations),
        endpoint(&get, "/tasks/{id}/evaluations/{number}", Viewer, evaluations::list::class_evaluations),
        endpoint(&get, "/tasks/{id}/versions", Viewer, versions::list::list_versions),
        endpoint(&get, "/tasks/{id}/versions/{number}/model", Viewer, versions::download::download_model),
        endpoint(&get, "/populations", Viewer, populations::list::list_populations),
        endpoint(&get, "/populations/{population}/clients", Viewer, populations::clients::get_clients),
        endpoint(&post, "/populations/{population}/clients", Admin, sites::set_kind::set_client_kind),
        endpoint(
            &post,
            "/populations/{population}/downloads",
            Admin,
            populations::set_downloads::set_viewers_download,
        ),
        endpoint(&get, "/populations/{population}/sites", Operator, sites::list::list_sites),
        endpoint(&get, "/populations/{population}/rollouts", Viewer, rollouts::list::list_rollouts),
        endpoint(&post, "/populations/{population}/rollouts", Operator, rollouts::create::create_rollout),
        endpoint(
            &post,
            "/populations/{population}/rollouts/{number}",
            Operator,
            rollouts::change::change_rollout,
        ),
        endpoint(
            &post,
            "/populations/{population}/privacy",
            PrivacyOfficer,
            populations::set_privacy::set_population_privacy,
        ),
        endpoint(&post, "/privacy/plan", Viewer, privacy::plan::plan),
        endpoint(&get, "/tasks/{id}/privacy", Viewer, privacy::statement::get_statement),
        endpoint(&get, "/populations/{population}/ledger", Viewer, privacy::ledger::list_ledger),
    ];
    of_work.into_iter().chain(access_endpoints()).chain(aggregator_endpoints()).collect()
}

/// Lists the endpoints of edge aggregators.
fn aggregator_endpoints() -> Vec<Endpoint> {
    use Role::Aggregator;
    use aggregator::{admit, assignments, rounds, updates};
    let (get, post) = (Method::GET, Method::POST);
    vec![
        endpoint(&get, "/aggregator/assignments/{id}", Aggregator, assignments::get_held_assignment),
        endpoint(&get, "/aggregator/tasks/{id}", Aggregator, assignments::get_held_task),
        endpoint(&post, "/aggregator/admissions", Aggregator, admit::admit),
        endpoint(&post, "/aggregator/updates", Aggregator, updates::accept_update),
        endpoint(&post, "/aggregator/refusals", Aggregator, updates::refuse_update),
        endpoint(&post, "/aggregator/rounds", Aggregator, rounds::find_work),
        endpoint(&post, "/aggregator/rounds/{id}/sum", Aggregator, rounds::take_sum),
    ]
}

/// Lists the endpoints about credentials, clients and organisations.
fn access_endpoints() -> Vec<Endpoint> {
    use Role::{Admin, Operator, PrivacyOfficer, System, Viewer};
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    vec![
        endpoint(&post, "/tokens", Operator, tokens::create::create_token),
        endpoint(&get, "/tokens", Viewer, tokens::list::list_tokens),
        endpoint(&delete, "/tokens/{id}", Operator, tokens::revoke::revoke_token),
        endpoint(&get, "/tokens/{id}/clients", Admin, tokens::clients::list_clients_of_token),
        endpoint(
            &post,
            "/tokens/{id}/revoke-clients",
            Admin,
            tokens::revoke_clients::revoke_clients_of_token,
        ),
        endpoint(&get, "/usage", Viewer, usage::get::get_usage),
        endpoint(&get, "/audit", PrivacyOfficer, audit::list_audit),
        endpoint(&post, "/api-keys", PrivacyOfficer, api_keys::create::create_api_key),
        endpoint(&get, "/api-keys", PrivacyOfficer, api_keys::list::list_api_keys),
        endpoint(&delete, "/api-keys/{id}", PrivacyOfficer, api_keys::revoke::revoke_api_key),
        endpoint(&post, "/api-keys/{id}/rotate", PrivacyOfficer, api_keys::rotate::rotate_api_key),
        endpoint(&get, "/sessions", Admin, sessions::list::list_sessions),
        endpoint(&delete, "/sessions/{id}", Admin, sessions::end::end_session),
        endpoint(&post, "/sessions/end", Admin, sessions::end_of_person::end_sessions_of_person),
        endpoint(&get, "/clients/{id}", Admin, clients::get::get_client),
        endpoint(&post, "/clients/{id}/revoke", Admin, clients::revoke::revoke_client),
        endpoint(&get, "/organisations", System, organisations::list::list_organisations),
        endpoint(&post, "/organisations", System, organisations::create::create_organisation),
        endpoint(&get, "/organisations/usage", System, usage::list::list_usage),
        endpoint(&post, "/organisations/{id}/quotas", System, organisations::set_quotas::set_quotas),
        endpoint(&post, "/organisations/{id}/close", System, organisations::close::close_organisation),
    ]
}

fn endpoint<H: Handler<T, App>, T: 'static>(
    method: &Method,
    path: &'static str,
    role: Role,
    handler: H,
) -> Endpoint {
    let filter =
        MethodFilter::try_from(method.clone()).expect("GET, POST and DELETE are methods that axum routes");
    Endpoint { method: method.clone(), path, role, route: on(filter, handler) }
}
