use std::time::Duration;

use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{
        Mailbox,
        header::{ContentType, Header, HeaderName, HeaderValue},
    },
    transport::smtp::authentication::Credentials,
};

use crate::{DeliveryError, EmailConfig, EmailTls, Notice, NotificationConfigError, secret};

/// The time limit for the whole conversation with the server.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Recipients of e-mails, and the server that takes them.
pub(crate) struct Email {
    from: Mailbox,
    to: Vec<Mailbox>,
    transport: AsyncSmtpTransport<Tokio1Executor>,
}

impl std::fmt::Debug for Email {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Email").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

/// Tells mail programs not to answer, for example with a note of absence (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

impl Email {
    /// Reads the password of a channel.
    pub fn new(
        config: &EmailConfig,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, NotificationConfigError> {
        let server = config.server.as_str();
        let refused = |error: lettre::transport::smtp::Error| config.error("server", error.to_string());
        let builder = match config.tls {
            EmailTls::Starttls => {
                AsyncSmtpTransport::<Tokio1Executor>::starttls_relay(server).map_err(refused)?
            }
            EmailTls::Implicit => AsyncSmtpTransport::<Tokio1Executor>::relay(server).map_err(refused)?,
            EmailTls::None => AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server),
        };
        let mut builder = builder.timeout(Some(TIMEOUT));
        if let Some(port) = config.port {
            builder = builder.port(port);
        }
        let password = secret::read(
            "password",
            config.password_file.as_deref(),
            config.password_variable.as_deref(),
            environment,
        )
        .map_err(|error| config.error(&error.key, error.message))?;
        if let (Some(user), Some(password)) = (&config.user, password) {
            builder = builder.credentials(Credentials::new(user.clone(), password.text().to_owned()));
        }
        Ok(Self {
            from: config.mailbox("from", &config.from)?,
            to: config.to.iter().map(|to| config.mailbox("to", to)).collect::<Result<_, _>>()?,
            transport: builder.build(),
        })
    }

    pub async fn send(&self, notice: &Notice) -> Result<(), DeliveryError> {
        let message = self.message(notice)?;
        match tokio::time::timeout(TIMEOUT, self.transport.send(message)).await {
            Ok(sent) => Ok(sent.map(drop)?),
            Err(_) => Err(DeliveryError::Slow(TIMEOUT.as_secs())),
        }
    }

    fn message(&self, notice: &Notice) -> Result<Message, lettre::error::Error> {
        let domain = self.from.email.domain();
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(format!("[Folkmoot] {}", notice.subject()))
            // The same for every repetition, so that mail programs show one.
            .message_id(Some(format!("<{}@{domain}>", notice.id)))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            message = message.to(to.clone());
        }
        message.body(notice.to_string())
    }
}
