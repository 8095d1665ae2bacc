//! The flags of `folkmoot attack`.

use std::path::PathBuf;

use super::{
    CannotAttack, Inputs,
    inversion::{InversionSettings, ViewChoice},
    limits::{ITERATIONS_MAX, RESTARTS_MAX, SEEDS_MAX, UPDATES_MAX, UPDATES_MIN, VICTIMS_MAX},
    membership::MembershipSettings,
    picture::{Picture, PictureChoice},
    poisoning::{PoisoningSettings, attacks},
    property::{Property, PropertySettings},
};

/// Attack a task before clients have it, and report what the attacks have found.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The task file.
    #[arg(value_name = "TASK.toml")]
    pub task: PathBuf,
    /// The model to train.
    #[arg(long, value_name = "FILE.onnx")]
    pub model: PathBuf,
    /// The examples of the clients: a file or folder in any format of `folkmoot client`.
    #[arg(long, value_name = "PATH")]
    pub data: PathBuf,
    /// The examples for evaluating versions under poisoning. By default, a share of the data is held out.
    #[arg(long, value_name = "PATH")]
    pub held_out: Option<PathBuf>,
    /// The column with the label.
    #[arg(long, value_name = "NAME")]
    pub label_column: Option<String>,
    /// The column with the owner of each example, for the natural partition.
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// The schema of a .csv file or of a folder of images, from `folkmoot data schema`, or a model that carries one. The
    /// default is the task's schema, if it has one.
    #[arg(long, value_name = "FILE", conflicts_with = "label_column")]
    pub schema: Option<PathBuf>,
    /// The file that describes the world of simulated runs, as for `folkmoot simulate`. If it has an adversary, the
    /// settings of its attack replace the default settings of this kind of attack.
    #[arg(long, value_name = "WORLD.toml")]
    pub world: Option<PathBuf>,
    /// The number of virtual clients.
    #[arg(long, value_name = "N")]
    pub clients: Option<usize>,
    /// The first seed. The default is the world's first seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The attacks, separated by commas: inversion, membership, property, poisoning, or kinds of poisoning such as
    /// sign_flip or backdoor. By default, all that fit the task.
    #[arg(long, value_name = "ATTACKS", value_delimiter = ',')]
    pub attacks: Vec<String>,
    /// The number of seeds for each poisoning: each seed is one run.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    pub seeds: u64,
    /// The number of clients whose updates are inverted.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=VICTIMS_MAX))]
    pub victims: u64,
    /// The number of examples of each victim. One is the worst case.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub victim_examples: u64,
    /// The number of steps of the search for an example; 0 for no search. Each step computes two updates for each feature.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=ITERATIONS_MAX))]
    pub iterations: u64,
    /// The number of starts of the search. The best result counts.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=RESTARTS_MAX))]
    pub restarts: u64,
    /// The number of updates in a sum under secure aggregation. The default is the fewest that a round of the task combines.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub cohort: Option<u64>,
    /// The clipping norm of the noisy update. The default is the task's clipping norm, or the median norm.
    #[arg(long, value_name = "NORM")]
    pub clipping_norm: Option<f64>,
    /// The noise multiplier of the noisy update. The default is the task's noise multiplier, or 1.
    #[arg(long, value_name = "NUMBER")]
    pub noise_multiplier: Option<f64>,
    /// The number of shadow models of the membership attack.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub shadows: usize,
    /// The property that is guessed from updates: class:3, feature:5=1 or above:5=0.5. Features are counted from 0. The
    /// default is the class with the most examples.
    #[arg(long, value_name = "PROPERTY")]
    pub property: Option<Property>,
    /// The number of examples of a client whose property is guessed. The default is 32, or fewer if the data is small.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub property_examples: Option<u64>,
    /// The share of the examples that have the property, in a client with the property: above 0, at most 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.25)]
    pub property_share: f64,
    /// The number of updates from which the attack learns the property. It then guesses the property for as many
    /// others.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(UPDATES_MIN..=UPDATES_MAX))]
    pub property_updates: u64,
    /// The share of hostile clients under poisoning: above 0, below 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub hostile_share: f64,
    /// Show examples as pictures of this size, for example 8x8, or `none` for bars. By default, images are pictures, and so
    /// are flat rows whose length is a square of 64 or more.
    #[arg(long, value_name = "SIZE")]
    pub picture: Option<PictureChoice>,
    /// The number of threads that compute. The result does not depend on this number.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Write the report to this folder, as report.html and report.json.
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// The settings of all attacks; `None` for attacks that were not chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The settings of the inversion of updates.
    pub inversion: Option<InversionSettings>,
    /// The settings of the attack on membership.
    pub membership: Option<MembershipSettings>,
    /// The settings of the attack on a property.
    pub property: Option<PropertySettings>,
    /// The settings of poisoning.
    pub poisoning: Option<PoisoningSettings>,
    /// The form of the pictures; `None` to show bars.
    pub picture: Option<Picture>,
    /// True if the operator has chosen the attacks. Otherwise, attacks that do not fit the task are left out.
    pub is_chosen: bool,
}

impl Args {
    /// Returns the number of threads. The default is one for each core.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// Returns the settings of the attacks on these inputs.
    ///
    /// # Errors
    /// If a number is out of range, or the pictures do not match the features.
    pub fn settings(&self, inputs: &Inputs) -> Result<Settings, CannotAttack> {
        let range = |field, value: f64, fine: bool, allowed| match fine {
            true => Ok(()),
            false => Err(CannotAttack::Range { field, value, allowed }),
        };
        let share = self.hostile_share;
        range("--hostile-share", share, share > 0.0 && share < 1.0, "above 0 and below 1")?;
        let of_property = self.property_share;
        range(
            "--property-share",
            of_property,
            of_property > 0.0 && of_property <= 1.0,
            "above 0 and at most 1",
        )?;
        if let Some(norm) = self.clipping_norm {
            let most = f64::from(inputs.description.grid.value_max);
            range("--clipping-norm", norm, norm > 0.0 && norm <= most, "above 0 and at most grid.value_max")?;
        }
        if let Some(multiplier) = self.noise_multiplier {
            let fine = (0.01..=1e6).contains(&multiplier);
            range("--noise-multiplier", multiplier, fine, "0.01 to 1e6")?;
        }
        let picture = Picture::of(inputs.training.examples.feature_shape(), self.picture)?;
        let seed = inputs.world.seed;
        let last = seed.checked_add(self.seeds - 1);
        let last = last.ok_or(CannotAttack::Range {
            field: "--seed",
            value: seed as f64,
            allowed: "smaller, so that all seeds are numbers of 64 bits",
        })?;
        let views = ViewChoice {
            cohort: self.cohort,
            clipping_norm: self.clipping_norm,
            noise_multiplier: self.noise_multiplier,
        };
        let has = |name: &str| self.attacks.is_empty() || self.attacks.iter().any(|attack| attack == name);
        let families = ["inversion", "membership", "property", "poisoning"];
        let kinds: Vec<String> =
            self.attacks.iter().filter(|attack| !families.contains(&attack.as_str())).cloned().collect();
        let seeds: Vec<u64> = (seed..=last).collect();
        let chosen = PoisoningSettings { kinds, seeds, share };
        let has_all_kinds = has("poisoning");
        if has_all_kinds {
            // Reject a misspelt name, even if `poisoning` chooses all kinds, too.
            attacks(inputs, &chosen)?;
        }
        Ok(Settings {
            inversion: has("inversion").then(|| InversionSettings {
                seed,
                victims: self.victims as usize,
                examples: self.victim_examples as usize,
                iterations: self.iterations,
                restarts: self.restarts,
                views,
                is_picture: picture.is_some(),
            }),
            membership: has("membership").then_some(MembershipSettings { seed, shadows: self.shadows }),
            property: has("property").then(|| self.property_settings(seed, views)),
            poisoning: match has_all_kinds {
                true => Some(PoisoningSettings { kinds: Vec::new(), ..chosen }),
                false => Some(chosen).filter(|chosen| !chosen.kinds.is_empty()),
            },
            picture,
            is_chosen: !self.attacks.is_empty(),
        })
    }

    fn property_settings(&self, seed: u64, views: ViewChoice) -> PropertySettings {
        PropertySettings {
            seed,
            property: self.property,
            examples: self.property_examples.map(|count| count as usize),
            share: self.property_share,
            // Half of them have the property.
            updates: self.property_updates.next_multiple_of(2) as usize,
            views,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches};

    use super::*;

    fn parse(flags: &str) -> Result<Args, String> {
        let words = ["attack", "task.toml", "--model", "m.onnx", "--data", "d.csv"];
        let words = words.into_iter().chain(flags.split_whitespace());
        let matches = Args::augment_args(Command::new("attack")).try_get_matches_from(words);
        matches.and_then(|matches| Args::from_arg_matches(&matches)).map_err(|error| error.to_string())
    }

    #[test]
    fn every_number_has_a_limit() {
        for (flags, word) in [
            ("--seeds 0", "1..=100"),
            ("--victims 65", "1..=64"),
            ("--iterations 100001", "0..=100000"),
            ("--restarts 0", "1..=100"),
            ("--property-updates 10", "20..=2000"),
            ("--property class", "it must be class:NUMBER"),
            ("--cohort 0", "1..=100000"),
            ("--picture 8", "8x8"),
        ] {
            let error = parse(flags).unwrap_err();
            assert!(error.contains(word), "{flags}: {error}");
        }
        let args = parse("--attacks inversion,backdoor --picture 4x2").unwrap();
        assert_eq!(args.attacks, ["inversion", "backdoor"]);
        assert_eq!(args.picture, Some(PictureChoice::Size(4, 2)));
        assert_eq!((args.victims, args.shadows, args.seeds), (4, 8, 3));
    }
}
