//! The OpenAPI description of every endpoint, generated from the code: `GET /openapi.json` and
//! `server/api/openapi.json`.

mod device;
mod health;

use std::sync::LazyLock;

use axum::{Router, body::Bytes, http::header, response::IntoResponse, routing::get};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::{App, admin};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Folkmoot coordinator",
        description = "Devices sign their requests with an Ed25519 key; operators send an API key with a role. \
            Errors are problem documents (RFC 9457) with a stable code.",
        license(name = "MIT OR Apache-2.0")
    ),
    modifiers(&Schemes),
    components(schemas(folkmoot_protocol::secure::SecureAnswered)),
    paths(
        device::enrol,
        device::check_in,
        device::ask,
        device::secure_progress,
        device::secure_message,
        device::get_blob,
        device::get_model,
        device::report_model,
        device::upload_status,
        device::upload_update,
        device::report,
        device::abort,
        admin::session::create::create_session,
        admin::session::get::get_session,
        admin::session::delete::delete_session,
        admin::session::me::get_me,
        admin::sign_in::list::list_providers,
        admin::sign_in::start::start_sign_in,
        admin::sign_in::callback::finish_sign_in,
        admin::sign_in::device::begin_device_sign_in,
        admin::sign_in::device::finish_device_sign_in,
        admin::overview::get_overview,
        admin::events::listen,
        admin::system::get_system,
        admin::demo::start_demo,
        admin::models::create::create_model,
        admin::models::parts::find_parts,
        admin::models::list::list_models,
        admin::models::graph::get_graph,
        admin::components::create::create_component,
        admin::evaluation_data::create::create_evaluation_data,
        admin::evaluations::list::list_evaluations,
        admin::evaluations::list::class_evaluations,
        admin::tasks::create::create_task,
        admin::tasks::check::check_task,
        admin::tasks::list::list_tasks,
        admin::tasks::get::get_task,
        admin::tasks::activate::activate_task,
        admin::tasks::pause::pause_task,
        admin::tasks::resume::resume_task,
        admin::tasks::cancel::cancel_task,
        admin::tasks::roll_back::roll_back_task,
        admin::tasks::endorsement::get_endorsement,
        admin::tasks::endorsement::publish_endorsement,
        admin::tasks::series::get_series,
        admin::rounds::list::list_rounds,
        admin::rounds::get::get_round,
        admin::rounds::assignments::list_assignments,
        admin::stats::list::list_stats,
        admin::versions::list::list_versions,
        admin::versions::download::download_model,
        admin::populations::list::list_populations,
        admin::populations::clients::get_clients,
        admin::sites::set_kind::set_client_kind,
        admin::populations::set_downloads::set_viewers_download,
        admin::sites::list::list_sites,
        admin::rollouts::list::list_rollouts,
        admin::rollouts::create::create_rollout,
        admin::rollouts::change::change_rollout,
        admin::populations::set_privacy::set_population_privacy,
        admin::privacy::plan::plan,
        admin::privacy::statement::get_statement,
        admin::privacy::ledger::list_ledger,
        admin::tokens::create::create_token,
        admin::tokens::list::list_tokens,
        admin::tokens::revoke::revoke_token,
        admin::tokens::clients::list_clients_of_token,
        admin::tokens::revoke_clients::revoke_clients_of_token,
        admin::audit::list_audit,
        admin::api_keys::create::create_api_key,
        admin::api_keys::list::list_api_keys,
        admin::api_keys::revoke::revoke_api_key,
        admin::api_keys::rotate::rotate_api_key,
        admin::sessions::list::list_sessions,
        admin::sessions::end::end_session,
        admin::sessions::end_of_person::end_sessions_of_person,
        admin::clients::get::get_client,
        admin::clients::revoke::revoke_client,
        admin::organisations::list::list_organisations,
        admin::organisations::create::create_organisation,
        admin::organisations::set_quotas::set_quotas,
        admin::organisations::close::close_organisation,
        admin::usage::get::get_usage,
        admin::usage::list::list_usage,
        admin::aggregator::assignments::get_held_assignment,
        admin::aggregator::assignments::get_held_task,
        admin::aggregator::admit::admit,
        admin::aggregator::updates::accept_update,
        admin::aggregator::updates::refuse_update,
        admin::aggregator::rounds::find_work,
        admin::aggregator::rounds::take_sum,
        health::healthz,
        health::readyz,
        health::metrics,
        openapi_json,
    )
)]
struct Document;

struct Schemes;

impl Modify for Schemes {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("ID.SECRET")
            .description(Some("An API key, or the session of a person. The scope names the lowest role that may use the endpoint."))
            .build();
        let signature = ApiKeyValue::with_description(
            folkmoot_protocol::headers::SIGNATURE,
            "The client's Ed25519 signature over the request. See docs/protocol.md.",
        );
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("api_key", SecurityScheme::Http(bearer));
        components.add_security_scheme("client_signature", SecurityScheme::ApiKey(ApiKey::Header(signature)));
    }
}

/// Returns the document as indented JSON.
///
/// # Panics
/// Never: the document is plain data.
pub fn document() -> String {
    Document::openapi().to_pretty_json().expect("the document is plain data")
}

/// Returns the route of the document, which needs no key.
pub fn routes() -> Router<App> {
    Router::new().route("/openapi.json", get(openapi_json))
}

/// Returns this document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations",
    responses((status = 200, content_type = "application/json", description = "This document", body = Object))
)]
async fn openapi_json() -> impl IntoResponse {
    /// Built once, because anybody may request it.
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| document().into());
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    #[test]
    fn the_committed_document_is_what_the_code_says() {
        let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
        let committed =
            std::fs::read_to_string(Path::new(&package).join("../api/openapi.json")).unwrap_or_default();
        let is_current = committed.trim_end() == document().trim_end();
        assert!(is_current, "run `cargo xtask openapi` and commit server/api/openapi.json");
    }

    #[test]
    fn every_admin_endpoint_is_described_with_its_role() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let mut described = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            let Some(path) = path.strip_prefix("/v1/admin") else { continue };
            if ["/session", "/me"].contains(&path) || path.starts_with("/sign-in") {
                // Signing in needs no key, and `/me` no role.
                continue;
            }
            for (method, operation) in operations.as_object().unwrap() {
                let role = operation["security"][0]["api_key"][0].as_str().unwrap();
                described.insert((method.to_uppercase(), path.to_owned(), role.to_owned()));
            }
        }
        let served: BTreeSet<_> = admin::endpoints()
            .into_iter()
            .map(|endpoint| {
                let role = endpoint.role.name().to_owned();
                (endpoint.method.to_string(), endpoint.path.to_owned(), role)
            })
            .collect();
        assert_eq!(described, served);
    }
}
