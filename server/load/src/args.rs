//! The flags of `folkmoot load`.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Serialize, Serializer};

use super::{LoadError, limits};

/// Send the requests of many devices to a running coordinator, and report rates, latencies and failures.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The URL of the coordinator, for example https://127.0.0.1:8443.
    #[arg(env = "FOLKMOOT_URL", value_name = "URL")]
    pub url: String,
    /// The root certificate to trust (the coordinator's ca.pem). By default, the system's root certificates are
    /// trusted.
    #[arg(long, env = "FOLKMOOT_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// The enrolment token. Its devices stay enrolled after the test.
    #[arg(long, env = "FOLKMOOT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The API key of an operator, as ID.SECRET. Without --token, the test creates the population `load-test` and a token,
    /// and revokes the token and its devices at the end.
    #[arg(long, env = "FOLKMOOT_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub api_key: Option<String>,
    /// Allow a coordinator on another machine. Use it only for a coordinator that is yours.
    #[arg(long)]
    pub allow_remote: bool,
    /// The extent of the test.
    #[command(flatten)]
    pub settings: Settings,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// The extent of a load test.
#[derive(Clone, Debug, Serialize, clap::Args)]
pub struct Settings {
    /// The number of devices that enrol.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = at_most(1, limits::DEVICES_MAX))]
    pub devices: u32,
    /// The number of devices that stay connected and wait for work. The default is half of the devices.
    #[arg(long, value_name = "M", value_parser = at_most(0, limits::CONNECTED_MAX))]
    pub connected: Option<u32>,
    /// The number of check-ins per second that the other devices send together. `max` sends as many as the coordinator
    /// can answer, and 0 sends none.
    #[arg(long, default_value = "50", value_name = "R")]
    pub rate: Rate,
    /// The duration of the check-ins, in seconds.
    #[arg(long, default_value_t = 20, value_name = "S", value_parser = at_most(1, limits::SECONDS_MAX))]
    pub seconds: u32,
    /// The maximum number of requests at the same time, besides the devices that wait.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = at_most(1, limits::IN_FLIGHT_MAX))]
    pub in_flight: u32,
    /// The longest wait of a connected device, in seconds. Then it asks again.
    #[arg(
        long,
        default_value_t = 30,
        value_name = "S",
        value_parser = at_most(1, folkmoot_protocol::limits::LONG_POLL_SECONDS_MAX.into())
    )]
    pub wait_seconds: u32,
    /// Answer assignments of tasks with this many parameters by uploading an update of zeros. Without --token, the test
    /// creates such a task, and cancels it at the end. By default, devices give assignments up.
    #[arg(long, value_name = "P", value_parser = at_most(1, limits::PARAMETERS_MAX))]
    pub parameters: Option<u32>,
    /// The share of uploads that are slow, from 0 to 1.
    #[arg(long, default_value_t = 0.0, value_name = "CHANCE", value_parser = parse_chance)]
    pub slow: f64,
    /// The speed of slow uploads, in bytes per second.
    #[arg(
        long,
        default_value_t = 16_384,
        value_name = "BYTES",
        value_parser = at_most(limits::SLOW_BYTES_MIN, limits::SLOW_BYTES_MAX)
    )]
    pub slow_bytes: u32,
    /// The share of check-ins and uploads that drop the connection in the middle, from 0 to 1. An upload continues later.
    #[arg(long, default_value_t = 0.0, value_name = "CHANCE", value_parser = parse_chance)]
    pub drop: f64,
    /// The share of waits in which a connected device leaves early, from 0 to 1. It comes back later.
    #[arg(long, default_value_t = 0.0, value_name = "CHANCE", value_parser = parse_chance)]
    pub churn: f64,
    /// The longest time for which a device that left stays away, in seconds.
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = at_most(1, limits::AWAY_SECONDS_MAX))]
    pub away_seconds: u32,
    /// The seed for all random choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

fn at_most(min: i64, max: i64) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(min..=max)
}

impl Settings {
    /// Returns settings for one second, without slow uploads, dropped connections and churn.
    pub fn new(devices: u32, connected: u32, rate: Rate) -> Self {
        Self {
            devices,
            connected: Some(connected),
            rate,
            seconds: 1,
            in_flight: 16,
            wait_seconds: 30,
            parameters: None,
            slow: 0.0,
            slow_bytes: 1 << 20,
            drop: 0.0,
            churn: 0.0,
            away_seconds: 1,
            seed: 1,
        }
    }

    /// Returns the number of devices that wait.
    pub fn connected(&self) -> usize {
        self.connected.unwrap_or(self.devices / 2) as usize
    }

    /// Returns the number of devices that check in at the rate.
    pub fn storming(&self) -> usize {
        (self.devices as usize).saturating_sub(self.connected())
    }

    /// Checks that the flags fit each other. `connections_max` is the number of connections that the limit of open
    /// files allows.
    ///
    /// # Errors
    /// [`LoadError`] says which flag to change.
    pub fn check(&self, connections_max: usize) -> Result<(), LoadError> {
        let (devices, connected, storming) = (self.devices as usize, self.connected(), self.storming());
        if connected > devices {
            return Err(LoadError::TooFewDevices { connected, devices });
        }
        if storming == 0 && self.rate != Rate::PerSecond(0) {
            return Err(LoadError::NoneToCheckIn { devices });
        }
        if let Rate::PerSecond(rate) = self.rate {
            let needed = rate.div_ceil(limits::RATE_PER_DEVICE_MAX) as usize;
            if needed > storming {
                let (max, missing) = (limits::RATE_PER_DEVICE_MAX, needed - storming);
                return Err(LoadError::TooFast { rate, devices: storming, max, missing });
            }
        }
        let in_flight = self.in_flight as usize;
        let needed = connected + in_flight;
        if needed > connections_max {
            return Err(LoadError::OpenFiles { needed, open: connections_max });
        }
        let (parameters, max) = (self.parameters.unwrap_or(0) as usize, limits::UPDATE_BYTES_MAX);
        if parameters * 4 * in_flight > max {
            return Err(LoadError::Memory { in_flight, parameters, max });
        }
        Ok(())
    }
}

/// The rate of check-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// This many per second, whether or not the coordinator has answered earlier ones.
    PerSecond(u32),
    /// The next one as soon as the coordinator has answered one.
    Max,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("a number from 0 to {} or `max` is expected", limits::RATE_MAX);
        match text {
            "max" => Ok(Self::Max),
            _ => match text.parse() {
                Ok(rate) if rate <= limits::RATE_MAX => Ok(Self::PerSecond(rate)),
                _ => Err(refused()),
            },
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => write!(f, "{rate}"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::PerSecond(rate) => serializer.serialize_u32(*rate),
            Self::Max => serializer.serialize_str("max"),
        }
    }
}

fn parse_chance(text: &str) -> Result<f64, String> {
    let chance: f64 = text.parse().map_err(|_| "a number from 0 to 1 is expected".to_owned())?;
    if (0.0..=1.0).contains(&chance) { Ok(chance) } else { Err("it must be from 0 to 1".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn parse(flags: &str) -> Result<Args, String> {
        let words = ["load", "https://127.0.0.1:8443"].into_iter().chain(flags.split_whitespace());
        Command::try_parse_from(words).map(|command| command.args).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_is_enough() {
        let settings = parse("").unwrap().settings;
        assert_eq!((settings.devices, settings.connected(), settings.storming()), (100, 50, 50));
        assert_eq!((settings.rate, settings.seconds), (Rate::PerSecond(50), 20));
        assert_eq!((settings.slow, settings.drop, settings.churn), (0.0, 0.0, 0.0));
        settings.check(1024).unwrap();
    }

    #[test]
    fn every_number_has_a_limit() {
        for (flags, word) in [
            ("--devices 0", "1..=1000000"),
            ("--devices 1000001", "1..=1000000"),
            ("--connected 100001", "0..=100000"),
            ("--rate 100001", "100000 or `max`"),
            ("--rate fast", "100000 or `max`"),
            ("--seconds 0", "1..=86400"),
            ("--seconds 86401", "1..=86400"),
            ("--in-flight 0", "1..=10000"),
            ("--in-flight 10001", "1..=10000"),
            ("--wait-seconds 61", "1..=60"),
            ("--parameters 0", "1..=100000000"),
            ("--slow-bytes 1023", "1024..=1073741824"),
            ("--away-seconds 3601", "1..=3600"),
            ("--slow 1.1", "from 0 to 1"),
            ("--drop=-0.1", "from 0 to 1"),
            ("--churn nan", "from 0 to 1"),
        ] {
            let error = parse(flags).unwrap_err();
            assert!(error.contains(word), "{flags}: {error}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_together_are_refused_with_the_flag_to_change() {
        for (flags, open_files, word) in [
            ("--devices 4 --connected 5", 1024, "raise --devices or lower --connected"),
            ("--devices 4 --connected 4", 1024, "set --rate 0"),
            ("--devices 4 --connected 4 --rate max", 1024, "set --rate 0"),
            ("--devices 10 --connected 5 --rate 51", 1024, "raise --devices by 1"),
            ("--devices 1000 --connected 800", 863, "`ulimit -n`"),
            ("--parameters 10000000 --in-flight 64", 1024, "lower --in-flight or --parameters"),
        ] {
            let error = parse(flags).unwrap().settings.check(open_files).unwrap_err().to_string();
            assert!(error.contains(word), "{flags}: {error}");
        }
        for (flags, open_files) in [
            ("--devices 4 --connected 4 --rate 0", 1024),
            ("--devices 10 --connected 5 --rate 50", 1024),
            ("--devices 10 --rate max", 1024),
            ("--devices 1000 --connected 800", 800 + 64),
        ] {
            parse(flags).unwrap().settings.check(open_files).unwrap();
        }
    }
}
