//! The flags of `folkmoot demo`.

use std::path::PathBuf;

use folkmoot_protocol::Codec;

use super::{
    data::DemoModel,
    error::DemoError,
    report::{PrivacyReport, SettingsReport},
    vanish,
};

/// More clients would need more open files than a process may usually have.
const CLIENTS_MAX: i64 = 200;
const ROUNDS_MAX: i64 = 10_000;

/// Train a digit classifier over real HTTPS on this machine: a coordinator and its clients in one process.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The number of rounds. The default is 30; with --epsilon it is 10, with --browser 100.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=ROUNDS_MAX))]
    pub rounds: Option<u32>,
    /// The model to train.
    #[arg(long, value_enum, default_value_t = DemoModel::Mlp)]
    pub model: DemoModel,
    /// The number of clients. The default is 20; with --epsilon it is 100, with --browser 3.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=CLIENTS_MAX))]
    pub clients: Option<u32>,
    /// The number of clients that train in each round. The default is half of the clients; with --epsilon it is all
    /// of them, with --browser all of them and the page.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub cohort: Option<u32>,
    /// The concentration of the Dirichlet distribution that splits the digits over the clients. With 100 the split is
    /// even; with 0.1 most clients have only a few different digits.
    #[arg(long, default_value_t = 1.0, value_parser = parse_alpha)]
    pub alpha: f64,
    /// The seed for splitting the digits into held-out examples and clients' parts.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Train with differential privacy until this epsilon is spent. Use many clients: with few, the noise hides
    /// everything that the model could learn.
    #[arg(long, value_parser = parse_epsilon)]
    pub epsilon: Option<f64>,
    /// The delta of the privacy budget: the probability with which epsilon may fail to hold.
    #[arg(long, default_value_t = 1e-5, value_parser = parse_share, requires = "epsilon")]
    pub delta: f64,
    /// The codec of the clients' updates: eden:4, eden:1, top_k:0.01, fp16, qsgd:15 and others. By default, updates
    /// are not compressed.
    #[arg(long)]
    pub codec: Option<Codec>,
    /// Mask the clients' updates, so that the coordinator sees only their sum. Needs at least 7 clients in a round.
    #[arg(long, conflicts_with_all = ["codec", "browser"])]
    pub secure_aggregation: bool,
    /// The share of the clients that stop for good in the middle of a round, once half of the rounds are over. The
    /// others finish the training, so enough clients for a round must remain.
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with = "browser")]
    pub vanish: Option<f64>,
    /// The folder for model.onnx, report.json, accuracy.svg and the data of the run.
    #[arg(long, value_name = "DIR", default_value = "demo-output")]
    pub out: PathBuf,
    /// Print one JSON object per line instead of progress bars.
    #[arg(long)]
    pub json: bool,
    /// Keep the coordinator and the clients running after the training, until ctrl-c.
    #[arg(long)]
    pub keep_open: bool,
    /// Serve a web page on which you draw digits and train together with the clients. Each round waits for the page.
    /// The page needs the package that `cargo xtask wasm` builds, and is served without TLS until ctrl-c.
    #[arg(long, conflicts_with_all = ["cohort", "epsilon", "keep_open"])]
    pub browser: bool,
    /// The port of the page on this machine; 0 lets the system choose.
    #[arg(long, default_value_t = 8080, requires = "browser")]
    pub port: u16,
    /// The folder of the browser package.
    #[arg(long, value_name = "DIR", default_value = "wasm/js/dist", requires = "browser")]
    pub package: PathBuf,
}

impl Args {
    /// Returns the number of rounds to train.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(self.unless_given(30, 10, 100))
    }

    fn clients(&self) -> u32 {
        self.clients.unwrap_or(self.unless_given(20, 100, 3))
    }

    fn unless_given(&self, plain: u32, private: u32, browser: u32) -> u32 {
        match (self.epsilon, self.browser) {
            (Some(_), _) => private,
            (None, true) => browser,
            (None, false) => plain,
        }
    }

    /// Validates combinations of flags and computes the defaults that depend on other flags.
    ///
    /// # Errors
    /// [`DemoError::CohortTooLarge`] if the cohort is larger than the number of clients.
    /// [`DemoError::TooManyVanish`] if it is larger than the number of clients that remain.
    pub fn settings(&self) -> Result<SettingsReport, DemoError> {
        let (is_private, clients) = (self.epsilon.is_some(), self.clients());
        let takers = clients + u32::from(self.browser);
        let is_all = is_private || self.browser;
        let cohort = self.cohort.unwrap_or(if is_all { takers } else { clients.div_ceil(2) });
        if cohort > takers {
            return Err(DemoError::CohortTooLarge { cohort, clients });
        }
        let vanishing = self.vanish.map_or(0, |share| vanish::clients_of(share, clients));
        if cohort + vanishing > takers {
            return Err(DemoError::TooManyVanish { cohort, clients, vanishing });
        }
        Ok(SettingsReport {
            model: self.model,
            clients,
            cohort,
            alpha: self.alpha,
            seed: self.seed,
            privacy: self.epsilon.map(|epsilon| PrivacyReport { epsilon, delta: self.delta }),
            codec: self.codec,
            secure_aggregation: self.secure_aggregation,
            vanish: self.vanish,
        })
    }
}

fn parse_alpha(text: &str) -> Result<f64, String> {
    let alpha: f64 = text.parse().map_err(|_| "a number is expected".to_owned())?;
    if alpha.is_finite() && alpha > 0.0 { Ok(alpha) } else { Err("it must be above 0 and finite".to_owned()) }
}

fn parse_epsilon(text: &str) -> Result<f64, String> {
    let epsilon: f64 = text.parse().map_err(|_| "a number is expected".to_owned())?;
    if epsilon > 0.0 && epsilon <= 1000.0 {
        Ok(epsilon)
    } else {
        Err("it must be above 0 and at most 1000".to_owned())
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "a number is expected".to_owned())?;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err("it must be above 0 and below 1".to_owned()) }
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
        let words = std::iter::once("demo").chain(flags.split_whitespace());
        Command::try_parse_from(words).map(|command| command.args).map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_are_twenty_clients_ten_of_them_a_round() {
        let args = parse("").unwrap();
        assert_eq!((args.rounds(), args.out.as_path()), (30, std::path::Path::new("demo-output")));
        assert_eq!(args.settings().unwrap(), crate::report::test_settings());
        assert_eq!(parse("--model cnn").unwrap().model, DemoModel::Cnn);
        let private = parse("--epsilon 8 --delta 1e-5").unwrap();
        let settings = private.settings().unwrap();
        assert_eq!((private.rounds(), settings.clients, settings.cohort), (10, 100, 100));
        assert_eq!(settings.privacy.map(|privacy| (privacy.epsilon, privacy.delta)), Some((8.0, 1e-5)));
        let browser = parse("--browser --port 0").unwrap();
        let settings = browser.settings().unwrap();
        // The page is part of the cohort.
        assert_eq!((browser.rounds(), settings.clients, settings.cohort), (100, 3, 4));
        assert_eq!(parse("--clients 1").unwrap().settings().unwrap().cohort, 1);
        assert_eq!(parse("--vanish 0.5").unwrap().settings().unwrap().vanish, Some(0.5));
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_reason() {
        for (flags, word) in [
            ("--clients 0", "1..=200"),
            ("--rounds 0", "1..=10000"),
            ("--cohort 0", "1.."),
            ("--alpha 0", "above 0"),
            ("--alpha=-1", "above 0"),
            ("--alpha nan", "above 0"),
            ("--alpha many", "a number"),
            ("--epsilon 0", "above 0"),
            ("--epsilon 8 --delta 1", "below 1"),
            ("--delta 0.1", "--epsilon"),
            ("--browser --cohort 2", "--cohort"),
            ("--browser --epsilon 8", "--epsilon"),
            ("--port 8080", "--browser"),
            ("--vanish 0", "above 0"),
            ("--vanish 1", "below 1"),
            ("--vanish nan", "above 0"),
            ("--vanish 0.2 --browser", "--browser"),
        ] {
            let error = parse(flags).unwrap_err();
            assert!(error.contains(word), "{flags}: {error}");
        }
        let error = parse("--clients 4 --cohort 5").unwrap().settings().unwrap_err();
        assert!(error.to_string().contains("lower --cohort"), "{error}");
        for flags in ["--vanish 0.6", "--vanish 0.1 --epsilon 8", "--vanish 0.1 --clients 4 --cohort 4"] {
            let error = parse(flags).unwrap().settings().unwrap_err();
            assert!(error.to_string().contains("lower --vanish"), "{flags}: {error}");
        }
    }
}
