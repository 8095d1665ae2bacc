use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use folkmoot_data::{Dataset, ReadOptions};
use folkmoot_engine::{Examples, ImportLimits, Labels, Model, evaluate};
use folkmoot_simulation::{
    attack::Attack,
    chance::{Stream, shuffle},
    record::RoundRow,
    simulate::{DataSource, Outcome, Progress, Simulation, WorldSettings, simulate},
};

use super::{
    arm::Arm,
    series::{Series, Trial},
};
use crate::{Failure, clock};

/// The seed with which settings are tuned. Results are never measured with it.
const TUNING_SEED: u64 = 1000;
/// The share of the digits that is held out. Every version is evaluated on it.
const HELD_OUT_SHARE: f64 = 0.2;
/// The number of the random stream that selects the held-out examples.
const HELD_OUT: u64 = 1;

/// Runs the simulations of an experiment.
pub struct Lab {
    /// The number of runs of every arm, each with a different seed.
    pub seeds: u64,
    /// True for a quick run with few rounds.
    pub is_quick: bool,
    threads: usize,
    digits: Dataset,
}

/// Stops a simulation after a number of rounds. Abandoned rounds are included.
struct Counted {
    left: usize,
}

impl Progress for Counted {
    fn round(&mut self, _row: &RoundRow) {
        self.left = self.left.saturating_sub(1);
    }

    fn is_stopped(&self) -> bool {
        self.left == 0
    }
}

/// One simulation to run.
struct Errand {
    arm: usize,
    seed: u64,
}

impl Lab {
    /// Reads the digits and creates a `Lab`.
    ///
    /// # Errors
    /// If the digits cannot be read.
    pub fn new(seeds: u64, is_quick: bool, threads: usize) -> Result<Self, Failure> {
        let digits = folkmoot_data::read(&examples("digits/digits.csv"), &ReadOptions::default())?;
        Ok(Self { seeds, is_quick, threads, digits })
    }

    /// Returns all digits.
    pub fn digits(&self) -> &Dataset {
        &self.digits
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Reads the model file of the digits' perceptron, 64-64-10.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn digits_model(&self) -> Result<Bytes, Failure> {
        Ok(std::fs::read(examples("digits/model.onnx"))?.into())
    }

    /// Reads the model file of the digits' CNN.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn digits_cnn(&self) -> Result<Bytes, Failure> {
        Ok(std::fs::read(examples("digits/cnn.onnx"))?.into())
    }

    /// Runs every arm with every seed.
    ///
    /// # Errors
    /// If one of the simulations fails.
    pub fn run(&self, arms: Vec<Arm>) -> Result<Vec<Series>, Failure> {
        let seeds = 1..=self.seeds;
        let errands = (0..arms.len()).flat_map(|arm| seeds.clone().map(move |seed| Errand { arm, seed }));
        let trials = self.perform(&arms, errands.collect())?;
        let count = usize::try_from(self.seeds)?;
        let mut trials = trials.into_iter();
        Ok(arms
            .into_iter()
            .map(|arm| Series { arm, trials: trials.by_ref().take(count).collect() })
            .collect())
    }

    /// Selects the best arm of each family with the tuning seed, and then runs this arm with every seed. The arm with
    /// the largest `score` is the best. A trial without a score is the worst. Among equal arms, the first one is
    /// selected.
    ///
    /// # Errors
    /// If one of the simulations fails.
    pub fn run_best(
        &self,
        families: Vec<Vec<Arm>>,
        score: impl Fn(&Trial) -> Option<f64>,
    ) -> Result<Vec<Series>, Failure> {
        let candidates: Vec<(usize, Arm)> = families
            .into_iter()
            .enumerate()
            .flat_map(|(family, arms)| arms.into_iter().map(move |arm| (family, arm)))
            .collect();
        let (families, arms): (Vec<usize>, Vec<Arm>) = candidates.into_iter().unzip();
        let errands = (0..arms.len()).map(|arm| Errand { arm, seed: TUNING_SEED }).collect();
        let trials = self.perform(&arms, errands)?;
        let mut best: BTreeMap<usize, (f64, Arm)> = BTreeMap::new();
        for ((family, arm), trial) in families.into_iter().zip(arms).zip(&trials) {
            let score = score(trial).unwrap_or(f64::NEG_INFINITY);
            if best.get(&family).is_none_or(|(before, _)| score > *before) {
                best.insert(family, (score, arm));
            }
        }
        self.run(best.into_values().map(|(_, arm)| arm).collect())
    }

    /// Runs simulations, several at a time. Returns the results in the order of `errands`.
    fn perform(&self, arms: &[Arm], errands: Vec<Errand>) -> Result<Vec<Trial>, Failure> {
        let begun = clock::start();
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, Trial>> = Mutex::new(BTreeMap::new());
        let failure: Mutex<Option<String>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(errand) = errands.get(index) else { break };
                        let arm = &arms[errand.arm];
                        match self.simulate(arm, errand.seed) {
                            Ok(trial) => {
                                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                                done.insert(index, trial);
                                let seconds = begun.elapsed().as_secs();
                                let (count, of) = (done.len(), errands.len());
                                eprintln!(
                                    "{count} of {of} simulations, {seconds} s: {}, {}",
                                    arm.group, arm.name
                                );
                            }
                            Err(error) => {
                                let text = format!("{}, {}, {}: {error}", arm.group, arm.name, arm.tuned);
                                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                                break;
                            }
                        }
                    }
                });
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure.into()),
            None => Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()),
        }
    }

    fn simulate(&self, arm: &Arm, seed: u64) -> Result<Trial, Failure> {
        let settings = WorldSettings { seed, ..arm.world.clone() };
        let is_made = settings.synthetic.is_some();
        let (training, held_out) = self.split(seed)?;
        let source = match (is_made, settings.held_out_of_clients) {
            (true, _) => DataSource::Made,
            (false, true) => {
                let training = arm.data.clone().unwrap_or_else(|| self.digits.clone());
                DataSource::Given { training, held_out: None }
            }
            (false, false) => DataSource::Given { training, held_out: Some(held_out.clone()) },
        };
        let simulation = Simulation {
            description: arm.task.clone(),
            onnx: arm.onnx.clone(),
            settings,
            source,
            trace: None,
            threads: 1,
            kept: None,
            evaluate_every: arm.evaluate_every,
            sabotage: None,
            functions: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut progress = Counted { left: arm.rounds_max };
        let outcome = runtime.block_on(async { Box::pin(simulate(simulation, &mut progress)).await })?;
        let attack_success = if is_made { None } else { attack_success(arm, &outcome, &held_out)? };
        Ok(Trial { rounds: outcome.rounds, client_rounds: outcome.client_rounds, attack_success })
    }

    /// Splits the digits into training and held-out examples, differently for each seed.
    fn split(&self, seed: u64) -> Result<(Dataset, Examples), Failure> {
        let examples = &self.digits.examples;
        let mut order: Vec<usize> = (0..examples.len()).collect();
        shuffle(&mut order, &mut Stream::new(seed, &[HELD_OUT]));
        let count = (examples.len() as f64 * HELD_OUT_SHARE) as usize;
        let (held_out, training) = order.split_at(count);
        let training = Dataset { examples: examples.subset(training)?, groups: None };
        Ok((training, examples.subset(held_out)?))
    }
}

/// Returns the attack's success rate on the newest version, measured over the held-out examples that the attack
/// targets.
fn attack_success(arm: &Arm, outcome: &Outcome, held_out: &Examples) -> Result<Option<f64>, Failure> {
    let wanted = match arm.world.adversary.as_ref().map(|adversary| &adversary.attack) {
        Some(Attack::Backdoor(backdoor)) => backdoor.triggered(held_out)?,
        Some(Attack::LabelFlip(flip)) => {
            let Labels::Classes(classes) = held_out.labels() else { return Ok(None) };
            let told: Vec<usize> = (0..classes.len()).filter(|index| classes[*index] == flip.from).collect();
            let told = held_out.subset(&told)?;
            let wanted = Labels::Classes(vec![flip.to; told.len()]);
            Examples::new(told.features().to_vec(), told.feature_shape().to_vec(), wanted)?
        }
        _ => return Ok(None),
    };
    let limits = ImportLimits { model_bytes_max: arm.onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(&arm.onnx, &limits)?;
    let metrics = evaluate(&model, &outcome.weights, &wanted, arm.task.plan.loss)?;
    Ok(Some(metrics.correct_count as f64 / metrics.example_count.max(1) as f64))
}

/// Returns the path of a file in the folder `examples`.
fn examples(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}
