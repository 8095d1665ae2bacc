//! The coordinator's way to the members.

use std::{collections::BTreeMap, error::Error, path::PathBuf, time::Duration};

use folkmoot_client::{HttpSettings, build_http};
use folkmoot_protocol::{
    AssignmentId,
    secure::{
        CommitteeAgreed, CommitteeChecked, CommitteeKey, CommitteeQuestion, CommitteeRefusal, CommitteeRound,
    },
};
use folkmoot_unmasking::{AskError, Committee};
use futures::future::BoxFuture;
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The time limit of a sum. A member sums a million values of a thousand clients in about ten seconds.
const SUM_TIMEOUT: Duration = Duration::from_secs(600);
/// The time limit of the other questions.
const CHECK_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest refusal, and the largest answer to a question that does not ask for a sum, in bytes. An answer can list
/// all clients of the largest cohort.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// The number of characters of a member's reason that are kept.
const DETAIL_MAX: usize = 300;

/// A member of committees, in the coordinator's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberConfig {
    /// The member's public key, which it shows when it starts.
    pub key: CommitteeKey,
    /// The member's address, for example `https://member.example:8443`.
    pub url: String,
    /// A file that contains the member's access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// An environment variable that contains the member's access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_variable: Option<String>,
    /// A file with the root certificates to trust, as PEM. The default is the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_certificate: Option<PathBuf>,
}

/// A member's configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("committee.members: {url}: {message}")]
pub struct MemberConfigError {
    url: String,
    message: String,
}

/// The members that a coordinator can reach, over HTTPS.
#[derive(Default)]
pub struct HttpCommittee {
    members: BTreeMap<CommitteeKey, Way>,
}

struct Way {
    client: Client,
    base: Url,
    token: String,
}

impl MemberConfig {
    /// Checks the values beyond their types, without reading files.
    ///
    /// # Errors
    /// [`MemberConfigError`] if the address is not one of HTTPS, or there is not exactly one source of the token.
    pub fn check(&self) -> Result<Url, MemberConfigError> {
        let url = Url::parse(&self.url).map_err(|error| self.wrong(&error))?;
        let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
            return Err(self.wrong(&"the address must begin with https://"));
        }
        if url.path() != "/" {
            return Err(self.wrong(&"the address must have no path"));
        }
        match (&self.token_file, &self.token_variable) {
            (None, None) => {
                Err(self.wrong(&"give token_file or token_variable; the member's file `token` has the token"))
            }
            (Some(_), Some(_)) => Err(self.wrong(&"give either token_file or token_variable")),
            _ => Ok(url),
        }
    }

    fn wrong(&self, message: &impl ToString) -> MemberConfigError {
        MemberConfigError { url: self.url.clone(), message: message.to_string() }
    }

    fn way(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Way, MemberConfigError> {
        let base = self.check()?;
        let token = match (&self.token_file, &self.token_variable) {
            (Some(path), _) => std::fs::read_to_string(path)
                .map_err(|error| self.wrong(&format!("token_file {}: {error}", path.display())))?,
            (None, Some(name)) => {
                variable(name).ok_or_else(|| self.wrong(&format!("the variable {name} is not set")))?
            }
            (None, None) => String::new(),
        };
        let token = token.trim().to_owned();
        if token.is_empty() {
            return Err(self.wrong(&"the access token is empty"));
        }
        let read = |path: &PathBuf| {
            let failed = |error| self.wrong(&format!("root_certificate {}: {error}", path.display()));
            std::fs::read(path).map_err(failed)
        };
        let certificate_pem = self.root_certificate.as_ref().map(read).transpose()?;
        let client = build_http(&HttpSettings { certificate_pem, ..HttpSettings::default() });
        Ok(Way { client: client.map_err(|error| self.wrong(&error))?, base, token })
    }
}

impl HttpCommittee {
    /// Reads tokens and certificates of the configured members. `variable` returns environment variables.
    ///
    /// # Errors
    /// [`MemberConfigError`] for the first member that cannot be used.
    pub fn new(
        configs: &[MemberConfig],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, MemberConfigError> {
        let mut members = BTreeMap::new();
        for config in configs {
            if members.insert(config.key, config.way(variable)?).is_some() {
                return Err(config.wrong(&"its key is listed twice"));
            }
        }
        Ok(Self { members })
    }

    async fn asked(
        &self,
        member: &CommitteeKey,
        endpoint: &str,
        question: &impl Serialize,
        (timeout, bytes_max): (Duration, u64),
    ) -> Result<Vec<u8>, AskError> {
        let way = self.members.get(member).ok_or(AskError::Unknown)?;
        let url = way.base.join(&format!("/v1/committee/{endpoint}"));
        let url = url.map_err(|error| AskError::Unreachable(error.to_string()))?;
        let body = serde_json::to_vec(question).map_err(|error| AskError::Invalid(error.to_string()))?;
        let sent = way
            .client
            .post(url)
            .bearer_auth(&way.token)
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .timeout(timeout)
            .body(body)
            .send();
        let mut response = sent.await.map_err(|error| AskError::Unreachable(with_causes(&error)))?;
        let mut answer = Vec::new();
        loop {
            match response.chunk().await {
                Ok(None) => break,
                Ok(Some(piece)) if (answer.len() + piece.len()) as u64 > bytes_max => {
                    return Err(AskError::Invalid(format!("it has more than {bytes_max} bytes")));
                }
                Ok(Some(piece)) => answer.extend_from_slice(&piece),
                Err(error) => return Err(AskError::Unreachable(with_causes(&error))),
            }
        }
        if response.status().is_success() {
            return Ok(answer);
        }
        Err(match serde_json::from_slice(&answer) {
            Ok(CommitteeRefusal { code, detail }) => AskError::Refused {
                code: code.chars().take(DETAIL_MAX).collect(),
                detail: detail.chars().take(DETAIL_MAX).collect(),
            },
            Err(_) => AskError::Invalid(format!("the member answered {}", response.status())),
        })
    }

    async fn asked_for<T: DeserializeOwned>(
        &self,
        member: &CommitteeKey,
        endpoint: &str,
        round: &CommitteeRound,
    ) -> Result<T, AskError> {
        let answer = self.asked(member, endpoint, round, (CHECK_TIMEOUT, ANSWER_BYTES_MAX)).await?;
        serde_json::from_slice(&answer).map_err(|error| AskError::Invalid(error.to_string()))
    }
}

impl Committee for HttpCommittee {
    fn knows(&self, member: &CommitteeKey) -> bool {
        self.members.contains_key(member)
    }

    fn check<'a>(
        &'a self,
        member: &'a CommitteeKey,
        round: &'a CommitteeRound,
    ) -> BoxFuture<'a, Result<Vec<AssignmentId>, AskError>> {
        Box::pin(async {
            let CommitteeChecked { unreadable } = self.asked_for(member, "check", round).await?;
            Ok(unreadable)
        })
    }

    fn agree<'a>(
        &'a self,
        member: &'a CommitteeKey,
        round: &'a CommitteeRound,
    ) -> BoxFuture<'a, Result<String, AskError>> {
        Box::pin(async {
            let CommitteeAgreed { signature } = self.asked_for(member, "agree", round).await?;
            Ok(signature)
        })
    }

    fn sum<'a>(
        &'a self,
        member: &'a CommitteeKey,
        question: &'a CommitteeQuestion,
    ) -> BoxFuture<'a, Result<Vec<u8>, AskError>> {
        // A value takes at most 62 bits.
        let bytes_max = question.round.parameter_count.saturating_mul(8).saturating_add(ANSWER_BYTES_MAX);
        Box::pin(self.asked(member, "sum", question, (SUM_TIMEOUT, bytes_max)))
    }
}

/// Joins an error and its causes, because the first seldom says what went wrong.
fn with_causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
