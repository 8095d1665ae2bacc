use std::path::PathBuf;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::{Event, NotificationConfigError};

/// The largest number of channels of each kind.
const CHANNELS_MAX: usize = 100;
/// The longest name of a channel, in characters.
const NAME_CHARACTERS_MAX: usize = 40;
/// The largest number of recipients of a channel.
const RECIPIENTS_MAX: usize = 50;
/// The longest time without a version that can be configured, in hours: a year.
const STALLED_HOURS_LIMIT: u64 = 365 * 24;

/// The channels for notices. By default there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotificationConfig {
    /// The coordinator's address in links, for example `https://coordinator.example`. The default is `sign_in.url`, or else
    /// the address that the coordinator listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The time without a new version after which an active task counts as stalled, in hours. Raise it if your rounds
    /// take longer than a day.
    pub stalled_hours: u64,
    /// Addresses that get a POST request.
    pub webhooks: Vec<WebhookConfig>,
    /// Recipients of e-mails.
    pub emails: Vec<EmailConfig>,
}

impl Default for NotificationConfig {
    fn default() -> Self {
        Self { url: None, stalled_hours: 24, webhooks: Vec::new(), emails: Vec::new() }
    }
}

/// An address that gets a POST request for every notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// The name in the log and the console, in lower-case letters, digits and hyphens.
    pub name: String,
    /// The organisation whose notices go here.
    #[serde(default = "default_organisation")]
    pub organisation: String,
    /// The events to report: `task_completed`, `task_paused`, `task_stalled`, `budget_nearly_spent`. The default is
    /// all.
    #[serde(default = "all_events")]
    pub events: Vec<Event>,
    /// The body: `standard` for programs, `slack` for a chat.
    #[serde(default)]
    pub format: WebhookFormat,
    /// The URL, if it is no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A file that contains the URL. A chat's URL is a secret: whoever knows it can post.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_file: Option<PathBuf>,
    /// An environment variable that contains the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_variable: Option<String>,
    /// A file that contains the secret for signatures: `whsec_` and Base64. Only for the format `standard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,
    /// An environment variable that contains the secret for signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_variable: Option<String>,
}

/// The body of a webhook's request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookFormat {
    /// JSON with `type`, `timestamp` and `data`, signed if there is a secret.
    #[default]
    Standard,
    /// JSON with a `text`, as Slack's incoming webhooks take it.
    Slack,
}

/// Recipients of e-mails, and the server that takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmailConfig {
    /// The name in the log and the console, in lower-case letters, digits and hyphens.
    pub name: String,
    /// The organisation whose notices go here.
    #[serde(default = "default_organisation")]
    pub organisation: String,
    /// The events to tell. The default is all.
    #[serde(default = "all_events")]
    pub events: Vec<Event>,
    /// The name or address of the SMTP server.
    pub server: String,
    /// The port. The default is 587, 465 or 25, as `tls` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The encryption of the connection.
    #[serde(default)]
    pub tls: EmailTls,
    /// The user name at the server. Without it, the coordinator does not sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// A file that contains the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// An environment variable that contains the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_variable: Option<String>,
    /// The sender, for example `Folkmoot <folkmoot@example.com>`.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
}

/// The encryption of the connection to a mail server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmailTls {
    /// The connection begins in the clear and must change to TLS. The usual choice, port 587.
    #[default]
    Starttls,
    /// TLS from the first byte, port 465.
    Implicit,
    /// None. Only for a server on this machine, port 25.
    None,
}

fn default_organisation() -> String {
    "default".into()
}

fn all_events() -> Vec<Event> {
    Event::CHOICES.to_vec()
}

impl NotificationConfig {
    /// Returns whether there is no channel.
    pub fn is_empty(&self) -> bool {
        self.webhooks.is_empty() && self.emails.is_empty()
    }

    /// Returns a copy to print: without the paths of URLs, which can be secrets.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut shown = self.clone();
        for webhook in &mut shown.webhooks {
            webhook.url = webhook.url.as_ref().map(|url| match Url::parse(url) {
                Ok(url) => format!("{}/…", url.origin().ascii_serialization()),
                Err(_) => "…".into(),
            });
        }
        shown
    }

    /// Validates the values. Reads no file and sends no request.
    ///
    /// # Errors
    /// [`NotificationConfigError`] names the first setting that is wrong.
    pub fn check(&self) -> Result<(), NotificationConfigError> {
        if let Some(url) = &self.url
            && !Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http") && url.path() == "/")
        {
            let message = format!(
                "`{url}` is not the address of a coordinator; give https://HOST[:PORT] without a path"
            );
            return Err(NotificationConfigError::at("url", message));
        }
        if !(1..=STALLED_HOURS_LIMIT).contains(&self.stalled_hours) {
            let message = format!("it is {}; it must be 1 to {STALLED_HOURS_LIMIT}", self.stalled_hours);
            return Err(NotificationConfigError::at("stalled_hours", message));
        }
        for (key, length) in [("webhooks", self.webhooks.len()), ("emails", self.emails.len())] {
            if length > CHANNELS_MAX {
                let message = format!("there are {length} channels; there may be {CHANNELS_MAX}");
                return Err(NotificationConfigError::at(key, message));
            }
        }
        let webhooks = self.webhooks.iter().map(|one| ("webhooks", &one.name, &one.events));
        let emails = self.emails.iter().map(|one| ("emails", &one.name, &one.events));
        let mut names = Vec::new();
        for (kind, name, events) in webhooks.chain(emails) {
            check_name(kind, name)?;
            if names.contains(&name) {
                let message = "another channel has this name; choose a different one";
                return Err(NotificationConfigError::at(format!("{kind}.{name}.name"), message));
            }
            names.push(name);
            if events.is_empty() || events.contains(&Event::Test) {
                let choices = Event::CHOICES.map(Event::name).join(", ");
                let message = format!("give one or more of {choices}, or leave the setting out for all");
                return Err(NotificationConfigError::at(format!("{kind}.{name}.events"), message));
            }
        }
        self.webhooks.iter().try_for_each(WebhookConfig::check)?;
        self.emails.iter().try_for_each(EmailConfig::check)
    }
}

fn check_name(kind: &str, name: &str) -> Result<(), NotificationConfigError> {
    let is_letter = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    if (1..=NAME_CHARACTERS_MAX).contains(&name.len()) && name.chars().all(is_letter) {
        return Ok(());
    }
    let message =
        format!("a name has 1 to {NAME_CHARACTERS_MAX} characters: lower-case letters, digits and hyphens");
    Err(NotificationConfigError::at(format!("{kind}.{name}.name"), message))
}

impl WebhookConfig {
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> NotificationConfigError {
        NotificationConfigError::at(format!("webhooks.{}.{key}", self.name), message)
    }

    fn check(&self) -> Result<(), NotificationConfigError> {
        let given = [self.url.is_some(), self.url_file.is_some(), self.url_variable.is_some()];
        if given.iter().filter(|is_given| **is_given).count() != 1 {
            return Err(self.error("url", "give one of url, url_file and url_variable"));
        }
        if self.format == WebhookFormat::Slack
            && (self.secret_file.is_some() || self.secret_variable.is_some())
        {
            let message =
                "a chat does not verify signatures; remove the secret, or set format = \"standard\"";
            return Err(self.error("format", message));
        }
        match &self.url {
            Some(url) => self.checked_url(url).map(drop),
            None => Ok(()),
        }
    }

    /// Parses the URL. Errors do not quote it, because it can be a secret.
    pub(crate) fn checked_url(&self, url: &str) -> Result<Url, NotificationConfigError> {
        let url = Url::parse(url).map_err(|error| self.error("url", format!("it is not a URL: {error}")))?;
        match url.scheme() == "https" || (url.scheme() == "http" && url.host_str().is_some_and(is_here)) {
            true => Ok(url),
            false => {
                Err(self.error("url", "it must begin with https://; http:// is allowed only on this machine"))
            }
        }
    }
}

impl EmailConfig {
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> NotificationConfigError {
        NotificationConfigError::at(format!("emails.{}.{key}", self.name), message)
    }

    fn check(&self) -> Result<(), NotificationConfigError> {
        if self.server.is_empty() {
            return Err(self.error("server", "it is empty; give the name of your SMTP server"));
        }
        if self.tls == EmailTls::None && !is_here(&self.server) {
            let message =
                "mail and password would cross the network in the clear; set \"starttls\" or \"implicit\"";
            return Err(self.error("tls", message));
        }
        let has_password = self.password_file.is_some() || self.password_variable.is_some();
        if self.user.is_some() != has_password {
            return Err(self.error("user", "give a user and a password, or none of the two"));
        }
        if !(1..=RECIPIENTS_MAX).contains(&self.to.len()) {
            return Err(self
                .error("to", format!("there are {} recipients; give 1 to {RECIPIENTS_MAX}", self.to.len())));
        }
        self.mailbox("from", &self.from)?;
        self.to.iter().try_for_each(|to| self.mailbox("to", to).map(drop))
    }

    pub(crate) fn mailbox(
        &self,
        key: &str,
        text: &str,
    ) -> Result<lettre::message::Mailbox, NotificationConfigError> {
        text.parse().map_err(|error| self.error(key, format!("`{text}` is not an e-mail address: {error}")))
    }
}

/// Returns whether a host is this machine.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
