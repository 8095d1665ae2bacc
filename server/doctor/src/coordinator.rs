use std::{net::SocketAddr, path::PathBuf, time::Duration};

use folkmoot_api::client::with_causes;
use folkmoot_edge::{near, tls::ROOT_FILE};
use folkmoot_protocol::Problem;
use folkmoot_service::{data_folder::FolderUse, host::HostConfig};
use reqwest::{Certificate, Client, redirect};
use serde::Deserialize;
use tokio::{net::TcpStream, time::timeout};

use crate::{
    VERSION,
    finding::{Finding, all_skipped},
};

const COORDINATOR: &str = "coordinator";
const READINESS: &str = "readiness";
const RUNNING_VERSION: &str = "coordinator_version";
pub const CHECKS: [&str; 3] = [COORDINATOR, READINESS, RUNNING_VERSION];

/// The longest time to wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// The longest time to wait for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Asks the coordinator at `server.listen`, if one is running, for its health, its readiness and its version. `used_by`
/// are the programs that use the data folder.
pub async fn check(config: &HostConfig, used_by: Option<FolderUse>) -> Vec<Finding> {
    let address = near(config.listen);
    if let Some(finding) = silent(address, used_by).await {
        let others = all_skipped(&CHECKS[1..], "No coordinator was asked.");
        return [finding].into_iter().chain(others).collect();
    }
    match Asked::new(config, address) {
        Ok(asked) => asked.findings().await,
        Err(reason) => strange(address, &reason),
    }
}

/// Judges an address at which nothing listens; `None` if something does.
async fn silent(address: SocketAddr, used_by: Option<FolderUse>) -> Option<Finding> {
    let is_served = used_by == Some(FolderUse::Served);
    let place = match address.port() {
        0 => "server.listen has port 0, so the address of a coordinator is unknown".to_owned(),
        _ => match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return None,
            _ => format!("Nothing listens at {address}"),
        },
    };
    Some(match is_served {
        false => Finding::skipped(COORDINATOR, format!("{place}.")),
        true => Finding::warning(
            COORDINATOR,
            format!("{place}, although a coordinator is running on the data folder."),
            "give this command the configuration and the flags of that coordinator, for example --listen",
        ),
    })
}

/// The findings about a program at the address that does not answer as a coordinator.
fn strange(address: SocketAddr, reason: &str) -> Vec<Finding> {
    let finding = Finding::failed(
        COORDINATOR,
        format!(
            "The program at {address} does not answer as a coordinator with this configuration: {reason}."
        ),
        "if it is a coordinator, give this command the same settings of TLS, and restart the coordinator after a change of its \
         certificate; otherwise stop the program, or change server.listen",
    );
    let others = all_skipped(&CHECKS[1..], "The coordinator does not answer.");
    [finding].into_iter().chain(others).collect()
}

/// A connection to the program at the address of the coordinator.
struct Asked {
    http: Client,
    address: SocketAddr,
    base: String,
}

/// The part of the OpenAPI description that names the version.
#[derive(Deserialize)]
struct Description {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    version: String,
}

impl Asked {
    fn new(config: &HostConfig, address: SocketAddr) -> Result<Self, String> {
        // A proxy of the environment does not lead to this machine's own address.
        let mut builder = Client::builder()
            .tls_backend_rustls()
            .timeout(ANSWER_MAX)
            .no_proxy()
            .redirect(redirect::Policy::none());
        if config.has_tls {
            let file = trusted(config);
            let pem = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| with_causes(&error))?;
            // The address need not be in the certificate: the check of the certificate compares its names.
            builder = builder.tls_certs_only(certificates).tls_danger_accept_invalid_hostnames(true);
        }
        let http = builder.build().map_err(|error| with_causes(&error))?;
        let scheme = if config.has_tls { "https" } else { "http" };
        Ok(Self { http, address, base: format!("{scheme}://{address}") })
    }

    async fn findings(&self) -> Vec<Finding> {
        match self.get("healthz").await {
            Ok((200, text)) if text == "ok\n" => {}
            Ok((status, _)) => {
                return strange(self.address, &format!("/healthz answers with status {status}"));
            }
            Err(error) => return strange(self.address, &error),
        }
        let healthy = Finding::ok(COORDINATOR, format!("A coordinator answers at {}.", self.base));
        let ready = readiness(self.get("readyz").await);
        let running = self.get("openapi.json").await.ok();
        let described = running.and_then(|(_, text)| serde_json::from_str::<Description>(&text).ok());
        vec![healthy, ready, version(described.map(|described| described.info.version).as_deref())]
    }

    /// Returns the status and the text of an answer.
    async fn get(&self, path: &str) -> Result<(u16, String), String> {
        let response = self.http.get(format!("{}/{path}", self.base)).send().await;
        let response = response.map_err(|error| with_causes(&error))?;
        let status = response.status().as_u16();
        response.text().await.map(|text| (status, text)).map_err(|error| with_causes(&error))
    }
}

/// Returns the file of the certificates to trust: the coordinator's own authority, or the operator's chain.
fn trusted(config: &HostConfig) -> PathBuf {
    match &config.certificate {
        Some(files) => files.chain.clone(),
        None => config.data.join(ROOT_FILE),
    }
}

/// Judges the answer of `/readyz`: its status and text, or the error.
fn readiness(answer: Result<(u16, String), String>) -> Finding {
    let reason = match answer {
        Ok((200, text)) => match text.lines().nth(1) {
            None => return Finding::ok(READINESS, "The coordinator is ready."),
            Some(more) => {
                let message = format!("The coordinator is ready, but has {more}.");
                return Finding::warning(READINESS, message, "read the log of the coordinator");
            }
        },
        Ok((status, text)) => match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => problem.detail,
            Err(_) => format!("/readyz answers with status {status}"),
        },
        Err(error) => error,
    };
    let remedy = "remove this cause, and read the log of the coordinator";
    Finding::failed(READINESS, format!("The coordinator is not ready: {reason}."), remedy)
}

/// Compares the version of the running coordinator with that of this program.
fn version(running: Option<&str>) -> Finding {
    match running {
        Some(running) if running == VERSION => Finding::ok(
            RUNNING_VERSION,
            format!("The coordinator has the version of this program, {running}."),
        ),
        Some(running) => Finding::warning(
            RUNNING_VERSION,
            format!("The coordinator has version {running}, and this program has {VERSION}."),
            "after an update, restart the coordinator; otherwise check it with its own program",
        ),
        None => Finding::skipped(RUNNING_VERSION, "The coordinator does not tell its version."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    #[test]
    fn readiness_has_a_reason() {
        let verdict = |status, text: &str| readiness(Ok((status, text.to_owned()))).verdict;
        assert_eq!(verdict(200, "ready\n"), Verdict::Ok);
        let failing = "ready\ntasks whose driver panicked and is being retried: 2; the log names them\n";
        assert_eq!(verdict(200, failing), Verdict::Warning);
        assert_eq!(verdict(503, "no problem document"), Verdict::Failed);
        assert_eq!(readiness(Err("timed out".into())).verdict, Verdict::Failed);
    }

    #[test]
    fn versions_are_compared() {
        assert_eq!(version(Some(VERSION)).verdict, Verdict::Ok);
        assert_eq!(version(Some("0.0.1")).verdict, Verdict::Warning);
        assert_eq!(version(None).verdict, Verdict::Skipped);
    }

    #[tokio::test]
    async fn silence_is_fine_unless_a_coordinator_is_running() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(silent(address, None).await, None);
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        let verdict = async |used_by| silent(unknown, used_by).await.unwrap().verdict;
        assert_eq!(verdict(None).await, Verdict::Skipped);
        assert_eq!(verdict(Some(FolderUse::Free)).await, Verdict::Skipped);
        assert_eq!(verdict(Some(FolderUse::Served)).await, Verdict::Warning);
    }
}
