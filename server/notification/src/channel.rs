use std::time::Duration;

use folkmoot_protocol::Timestamp;

use crate::{
    DeliveryError, Event, Notice, NotificationConfig, NotificationConfigError, email::Email, webhook::Webhook,
};

/// A place that notices go to.
#[derive(Debug)]
pub struct Channel {
    /// The name.
    pub name: String,
    /// The name of the organisation whose notices go here.
    pub organisation: String,
    events: Vec<Event>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Webhook(Box<Webhook>),
    Email(Box<Email>),
}

impl Channel {
    /// Returns `webhook` or `email`.
    pub fn kind(&self) -> &'static str {
        match self.way {
            Way::Webhook(_) => "webhook",
            Way::Email(_) => "email",
        }
    }

    /// Returns whether a notice goes here.
    pub fn wants(&self, notice: &Notice) -> bool {
        self.organisation == notice.organisation
            && (notice.event == Event::Test || self.events.contains(&notice.event))
    }

    /// Sends a notice once. Returns when the other side has taken it.
    ///
    /// # Errors
    /// If the other side did not confirm the notice, which may have arrived nevertheless.
    pub async fn send(&self, notice: &Notice, now: Timestamp) -> Result<(), DeliveryError> {
        match &self.way {
            Way::Webhook(webhook) => webhook.send(notice, now).await,
            Way::Email(email) => email.send(notice).await,
        }
    }
}

/// All channels of a coordinator.
#[derive(Debug)]
pub struct Channels {
    /// The channels, in the order of the configuration.
    pub all: Vec<Channel>,
    /// The coordinator's address in links, without a slash at its end.
    pub url: String,
    /// The time without a new version after which an active task counts as stalled.
    pub stalled_after: Duration,
}

impl Channels {
    /// Creates the channels of a configuration, which must have been checked. Reads the files and environment variables
    /// that it names, and sends no request. `url` is the address of the coordinator for links, if the configuration has
    /// none.
    ///
    /// # Errors
    /// [`NotificationConfigError`] if a secret cannot be read.
    pub fn new(
        config: &NotificationConfig,
        url: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, NotificationConfigError> {
        let channel = |name: &str, organisation: &str, events: &[Event], way| Channel {
            name: name.to_owned(),
            organisation: organisation.to_owned(),
            events: events.to_vec(),
            way,
        };
        let webhooks = config.webhooks.iter().map(|one| {
            let way = Way::Webhook(Box::new(Webhook::new(one, environment)?));
            Ok(channel(&one.name, &one.organisation, &one.events, way))
        });
        let emails = config.emails.iter().map(|one| {
            let way = Way::Email(Box::new(Email::new(one, environment)?));
            Ok(channel(&one.name, &one.organisation, &one.events, way))
        });
        Ok(Self {
            all: webhooks.chain(emails).collect::<Result<_, _>>()?,
            url: config.url.as_deref().unwrap_or(url).trim_end_matches('/').to_owned(),
            stalled_after: Duration::from_secs(config.stalled_hours.saturating_mul(3600)),
        })
    }

    /// Returns whether a channel of this organisation wants this event.
    pub fn want(&self, organisation: &str, event: Event) -> bool {
        self.all.iter().any(|channel| channel.organisation == organisation && channel.events.contains(&event))
    }
}
