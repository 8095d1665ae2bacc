use folkmoot_simulation::record::RoundRow;

use super::{
    arm::Arm,
    estimate::Sample,
    plot::{Line, Panel},
    spread::Spread,
};

/// The number of points of a plotted curve.
const POINTS: usize = 80;

/// The result of one arm with one seed.
#[derive(Clone, Debug)]
pub struct Trial {
    pub rounds: Vec<RoundRow>,
    /// The number of trainings that clients did.
    pub client_rounds: u64,
    /// The success rate of the attack on the newest version; `None` for attacks without one.
    pub attack_success: Option<f64>,
}

/// The results of one arm with every seed.
#[derive(Clone, Debug)]
pub struct Series {
    pub arm: Arm,
    pub trials: Vec<Trial>,
}

/// The x axis of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Rounds, including abandoned ones.
    Rounds,
    /// Virtual minutes.
    Minutes,
}

/// The y axis of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    Accuracy,
    Loss,
}

impl Shows {
    fn of(self, row: &RoundRow) -> Option<f64> {
        let value = match self {
            Shows::Accuracy => row.held_out_metric,
            Shows::Loss => row.held_out_loss,
        };
        value.filter(|value| value.is_finite())
    }
}

impl Trial {
    /// Returns the mean over the last tenth of the evaluated rounds, because the last round alone is too noisy.
    pub fn late(&self, shows: Shows) -> Option<f64> {
        let measured: Vec<f64> = self.rounds.iter().filter_map(|row| shows.of(row)).collect();
        let skipped = measured.len() - measured.len().div_ceil(10);
        Spread::of(&measured[skipped..]).map(|spread| spread.mean)
    }

    /// Returns the mean over all evaluated rounds. This number combines speed and final value.
    pub fn area(&self, shows: Shows) -> Option<f64> {
        let measured: Vec<f64> = self.rounds.iter().filter_map(|row| shows.of(row)).collect();
        Spread::of(&measured).map(|spread| spread.mean)
    }

    /// Returns the index of the first row that reaches the target accuracy.
    fn reaching(&self, target: f64) -> Option<usize> {
        self.rounds.iter().position(|row| row.held_out_metric.is_some_and(|value| value >= target))
    }

    /// Returns the number of rounds until the accuracy was first reached; `None` if it was not.
    pub fn rounds_to(&self, target: f64) -> Option<f64> {
        self.reaching(target).map(|index| (index + 1) as f64)
    }

    /// Returns the virtual minutes until the accuracy was first reached; `None` if it was not.
    pub fn minutes_to(&self, target: f64) -> Option<f64> {
        self.reaching(target).map(|index| self.rounds[index].virtual_seconds / 60.0)
    }

    /// Returns the number of trainings until the accuracy was first reached; `None` if it was not.
    pub fn trainings_to(&self, target: f64) -> Option<f64> {
        let index = self.reaching(target)?;
        Some(self.rounds[..=index].iter().map(|row| row.client_rounds as f64).sum())
    }

    /// Returns the mean staleness over all accepted updates.
    pub fn staleness(&self) -> Option<f64> {
        let weigh = |row: &RoundRow| Some((row.staleness_mean? * row.reported as f64, row.reported as f64));
        let (sum, count) = self
            .rounds
            .iter()
            .filter_map(weigh)
            .fold((0.0, 0.0), |(sum, count), (more, reported)| (sum + more, count + reported));
        (count > 0.0).then(|| sum / count)
    }

    /// Returns the value at `x`: the last one that was measured at or before `x`.
    fn at(&self, x: f64, over: Over, shows: Shows) -> Option<f64> {
        let place = |(index, row): (usize, &RoundRow)| match over {
            Over::Rounds => (index + 1) as f64,
            Over::Minutes => row.virtual_seconds / 60.0,
        };
        let before = self.rounds.iter().enumerate().take_while(|row| place((row.0, row.1)) <= x);
        before.filter_map(|(_, row)| shows.of(row)).last()
    }

    fn end(&self, over: Over) -> f64 {
        match over {
            Over::Rounds => self.rounds.len() as f64,
            Over::Minutes => self.rounds.last().map_or(0.0, |row| row.virtual_seconds / 60.0),
        }
    }
}

impl Series {
    /// Returns the mean and spread of `value` over the trials. Trials for which it is `None` are ignored.
    pub fn spread(&self, value: impl Fn(&Trial) -> Option<f64>) -> Option<Spread> {
        Spread::of(&self.trials.iter().filter_map(value).collect::<Vec<f64>>())
    }

    /// Returns the mean and spread, over the trials, of [`Trial::late`].
    pub fn late(&self, shows: Shows) -> Spread {
        self.spread(|trial| trial.late(shows)).unwrap_or_default()
    }

    /// Returns `value` of each trial, as a sample. If it is `None` for any trial, an
    /// [`Estimate`](super::estimate::Estimate) of the sample fails.
    pub fn sample(&self, value: impl Fn(&Trial) -> Option<f64>) -> Sample {
        let Arm { group, name, .. } = &self.arm;
        let values = self.trials.iter().filter_map(value).collect();
        Sample { name: format!("{group}, {name}"), values, seeds: self.trials.len() }
    }

    /// Returns the line of the means over the seeds, with 95 % intervals. With one seed, there are no intervals.
    pub fn line(&self, over: Over, shows: Shows) -> Line {
        let end = self.trials.iter().map(|trial| trial.end(over)).fold(0.0, f64::max);
        let points = (1..=POINTS).filter_map(|step| {
            let x = end * step as f64 / POINTS as f64;
            let spread = self.spread(|trial| trial.at(x, over, shows))?;
            Some((x, spread.mean, spread.half_width().unwrap_or(0.0)))
        });
        Line { name: self.arm.name.clone(), points: points.collect() }
    }
}

/// Returns the panel of a group of arms, over rounds.
pub fn panel(group: &[Series], shows: Shows) -> Panel {
    let lines = group.iter().map(|one| one.line(Over::Rounds, shows)).collect();
    Panel { title: group[0].arm.group.clone(), lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(metrics: &[Option<f64>]) -> Trial {
        let row = |(index, metric): (usize, &Option<f64>)| RoundRow {
            virtual_seconds: 60.0 * (index + 1) as f64,
            held_out_metric: *metric,
            client_rounds: 10,
            reported: index as u64,
            staleness_mean: Some(2.0),
            ..RoundRow::default()
        };
        Trial {
            rounds: metrics.iter().enumerate().map(row).collect(),
            client_rounds: 0,
            attack_success: None,
        }
    }

    #[test]
    fn a_target_is_reached_in_rounds_minutes_and_trainings() {
        let trial = trial(&[Some(0.2), None, Some(0.8), Some(0.6)]);
        assert_eq!(trial.rounds_to(0.8), Some(3.0));
        assert_eq!(trial.minutes_to(0.8), Some(3.0));
        assert_eq!(trial.trainings_to(0.8), Some(30.0));
        assert_eq!(trial.rounds_to(0.9), None);
        assert_eq!(trial.staleness(), Some(2.0));
    }

    #[test]
    fn the_late_mean_is_of_the_last_tenth_that_was_measured() {
        let mut metrics = vec![Some(0.0); 18];
        metrics.extend([Some(0.4), None, Some(0.6)]);
        assert_eq!(trial(&metrics).late(Shows::Accuracy), Some(0.5));
        assert_eq!(trial(&[None]).late(Shows::Accuracy), None);
    }

    #[test]
    fn a_curve_keeps_the_last_value_until_the_next() {
        let trial = trial(&[Some(0.2), None, Some(0.8)]);
        assert_eq!(trial.at(0.5, Over::Rounds, Shows::Accuracy), None);
        assert_eq!(trial.at(2.5, Over::Minutes, Shows::Accuracy), Some(0.2));
        assert_eq!(trial.at(3.0, Over::Rounds, Shows::Accuracy), Some(0.8));
    }
}
