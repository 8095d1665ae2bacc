/// A setting of `[notifications]` is wrong, or a secret that it names is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("notifications.{key}: {message}")]
pub struct NotificationConfigError {
    /// The key below `notifications`.
    pub key: String,
    /// The fault of the value, and its remedy.
    pub message: String,
}

impl NotificationConfigError {
    pub(crate) fn at(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// A channel could not deliver a notice.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The server cannot be reached, or the connection failed.
    #[error("{}", with_causes(.0))]
    Request(#[from] reqwest::Error),
    /// The server answered with a status other than 2xx.
    #[error("the server answered with status {0}; look into its log, and check the channel's URL and secret")]
    Status(u16),
    /// The mail server refused the message, or cannot be reached.
    #[error("{}", with_causes(.0))]
    Mail(#[from] lettre::transport::smtp::Error),
    /// The message cannot be written.
    #[error("the message cannot be written: {0}")]
    Message(#[from] lettre::error::Error),
    /// The server took too long.
    #[error("the server did not answer within {0} s")]
    Slow(u64),
}

/// Joins an error and its causes, because the first seldom says what went wrong. URLs can hold secrets, so they are left out.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = match error.downcast_ref::<reqwest::Error>() {
        Some(error) if error.is_connect() => "cannot connect".to_owned(),
        Some(error) if error.is_timeout() => "the server did not answer in time".to_owned(),
        Some(_) => "the request failed".to_owned(),
        None => error.to_string(),
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
