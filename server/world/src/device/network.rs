use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, standard_normal, uniform},
    setting::Check,
};

/// The maximum number of network classes of a model.
pub const NETWORK_CLASSES_MAX: usize = 64;

/// The transfer speeds of the devices. Each device belongs to one class of connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// The classes, at least one.
    pub classes: Vec<NetworkClass>,
    /// The standard deviation of the logarithm of the speed within a class.
    pub spread: f64,
}

/// One kind of connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkClass {
    /// The name of the class, which a client reports as its attribute `network`.
    pub name: String,
    /// The share of devices in this class, relative to the shares of the other classes.
    pub share: f64,
    /// The download speed, in megabits per second.
    pub download_mbps: f64,
    /// The upload speed, in megabits per second.
    pub upload_mbps: f64,
    /// The latency that is added to every transfer, in milliseconds.
    pub latency_milliseconds: f64,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the device.
    Down,
    /// From the device.
    Up,
}

impl Default for Network {
    /// Returns three classes with the speeds and round-trip times of WebPageTest's connectivity profiles "Cable" (for
    /// Wi-Fi), "LTE" and "3G". The shares are our own: most devices that train are on Wi-Fi, because clients are asked
    /// to wait for it.
    fn default() -> Self {
        let class = |name: &str, share, download_mbps, upload_mbps, latency_milliseconds| NetworkClass {
            name: name.to_owned(),
            share,
            download_mbps,
            upload_mbps,
            latency_milliseconds,
        };
        let classes = vec![
            class("wifi", 0.7, 5.0, 1.0, 28.0),
            class("4g", 0.25, 12.0, 12.0, 70.0),
            class("3g", 0.05, 1.6, 0.768, 300.0),
        ];
        Self { classes, spread: 0.0 }
    }
}

/// One device's connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// The index of the class in the model.
    pub(super) class: usize,
    pub(super) download_mbps: f64,
    pub(super) upload_mbps: f64,
    pub(super) latency_milliseconds: f64,
}

impl Network {
    pub(super) fn check(&self, check: &mut Check) {
        let count = self.classes.len();
        check.count("network.classes", count, (1..=NETWORK_CLASSES_MAX).contains(&count), "1 to 64 classes");
        for (index, class) in self.classes.iter().enumerate() {
            let field = |name: &str| format!("network.classes[{index}].{name}");
            check.not_negative(&field("share"), class.share);
            check.positive(&field("download_mbps"), class.download_mbps);
            check.positive(&field("upload_mbps"), class.upload_mbps);
            check.not_negative(&field("latency_milliseconds"), class.latency_milliseconds);
        }
        let total: f64 = self.classes.iter().map(|class| class.share).sum();
        let fine = count == 0 || (total.is_finite() && total > 0.0);
        check.require("network.classes", total, fine, "above 0 for all shares together");
        check.spread("network.spread", self.spread);
    }

    /// Draws the connection of one device. Without classes, which [`Network::check`] refuses, transfers take no time.
    pub(super) fn link(&self, client: u64, seed: u64) -> Link {
        let mut rng = Stream::new(seed, &[purpose::LINK, client]);
        let total: f64 = self.classes.iter().map(|class| class.share).sum();
        let mut rest = uniform(&mut rng) * total;
        let mut chosen = 0;
        for (index, class) in self.classes.iter().enumerate().filter(|(_, class)| class.share > 0.0) {
            chosen = index;
            rest -= class.share;
            if rest <= 0.0 {
                break;
            }
        }
        let factor = (self.spread * standard_normal(&mut rng)).exp();
        match self.classes.get(chosen) {
            Some(class) => Link {
                class: chosen,
                download_mbps: class.download_mbps * factor,
                upload_mbps: class.upload_mbps * factor,
                latency_milliseconds: class.latency_milliseconds,
            },
            None => Link {
                class: 0,
                download_mbps: f64::INFINITY,
                upload_mbps: f64::INFINITY,
                latency_milliseconds: 0.0,
            },
        }
    }
}

impl Link {
    /// Returns the seconds that a transfer takes.
    pub(super) fn seconds(&self, bytes: u64, direction: Direction) -> f64 {
        let mbps = match direction {
            Direction::Down => self.download_mbps,
            Direction::Up => self.upload_mbps,
        };
        self.latency_milliseconds / 1e3 + bytes as f64 * 8.0 / (mbps * 1e6)
    }
}
