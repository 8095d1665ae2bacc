use std::sync::{Mutex, PoisonError};

use folkmoot_protocol::Timestamp;

use crate::Channels;

/// The latest deliveries of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelState {
    /// The time of the latest successful delivery.
    pub delivered_at: Option<Timestamp>,
    /// The error of the latest attempt, if that failed.
    pub error: Option<String>,
    /// The number of notices that wait for another attempt.
    pub waiting: u64,
}

/// A channel as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSummary {
    /// The name.
    pub name: String,
    /// The name of the organisation whose notices go there.
    pub organisation: String,
    /// `webhook` or `email`.
    pub kind: &'static str,
    /// The latest deliveries by this process.
    pub state: ChannelState,
}

/// The channels and their latest deliveries, for everybody who reads while others deliver.
#[derive(Debug, Default)]
pub struct Board {
    channels: Mutex<Vec<ChannelSummary>>,
}

impl Board {
    pub(crate) fn new(channels: &Channels) -> Self {
        let summary = |channel: &crate::Channel| ChannelSummary {
            name: channel.name.clone(),
            organisation: channel.organisation.clone(),
            kind: channel.kind(),
            state: ChannelState::default(),
        };
        Self { channels: Mutex::new(channels.all.iter().map(summary).collect()) }
    }

    /// Returns the channels, in the order of the configuration.
    pub fn channels(&self) -> Vec<ChannelSummary> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the state of a channel.
    pub(crate) fn update(&self, index: usize, change: impl FnOnce(&mut ChannelState)) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get_mut(index) {
            change(&mut channel.state);
        }
    }
}
