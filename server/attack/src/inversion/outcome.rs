use serde::Serialize;

use super::{
    domain::Domain,
    view::{View, ViewKind},
};

/// The result of the inversion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inversion {
    /// The views.
    pub views: Vec<View>,
    /// The means over the victims, for each view.
    pub summaries: Vec<ViewSummary>,
    /// The attacks that do not apply, with the reason.
    pub remarks: Vec<String>,
    /// The least value of each feature.
    pub feature_low: Vec<f32>,
    /// The largest value of each feature.
    pub feature_high: Vec<f32>,
    /// The victims.
    pub victims: Vec<Victim>,
}

/// The means over the victims in one view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ViewSummary {
    /// The view.
    pub view: ViewKind,
    /// The share of the victims whose label was guessed; `None` if labels are not reconstructed.
    pub labels_right: Option<f64>,
    /// The mean relative error of the analytic reconstruction.
    pub analytic_error: Option<f64>,
    /// The mean peak signal-to-noise ratio of the analytic reconstruction, in dB.
    pub analytic_psnr: Option<f64>,
    /// The mean relative error of the search.
    pub searched_error: Option<f64>,
    /// The mean peak signal-to-noise ratio of the search, in dB.
    pub searched_psnr: Option<f64>,
}

/// A client whose examples were attacked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Victim {
    /// The indices of its examples in the data.
    pub examples: Vec<usize>,
    /// The label of each example.
    pub labels: Vec<u32>,
    /// The features of each example.
    pub originals: Vec<Vec<f32>>,
    /// The mean squared error of another example of the data as a guess, in units of the features' ranges.
    pub guess_squared_error: f64,
    /// The reconstructions in each view.
    pub seen: Vec<Seen>,
}

/// The reconstructions from one update.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The view.
    pub view: ViewKind,
    /// The guessed label.
    pub label: Option<u32>,
    /// True if an example of the victim has this label.
    pub label_is_right: Option<bool>,
    /// The reconstruction from the first dense layer.
    pub analytic: Option<Attempt>,
    /// The reconstruction by optimisation.
    pub searched: Option<Attempt>,
}

/// A reconstructed example.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// The mean squared error, in units of the features' ranges, to the nearest of the examples that have gone into the
    /// update: those of the victim, and in a sum those of all clients.
    pub squared_error: f64,
    /// The error divided by that of a random guess, which is compared with the same examples: 0 is exact, and with 1
    /// the update has revealed nothing.
    pub relative_error: f64,
    /// The peak signal-to-noise ratio in dB, at most [`super::PSNR_MAX`].
    pub psnr: f64,
    /// 1 minus the cosine between the observed update and that of the reconstruction. The attacker knows it, too.
    pub cosine_distance: f64,
    /// The features.
    pub example: Vec<f32>,
}

impl Inversion {
    /// Summarises the victims.
    pub(super) fn of(views: Vec<View>, victims: Vec<Victim>, remarks: Vec<String>, domain: &Domain) -> Self {
        let summary = |view: &View| {
            let seen =
                || victims.iter().flat_map(|victim| &victim.seen).filter(|seen| seen.view == view.kind);
            let analytic =
                |of: fn(&Attempt) -> f64| mean(seen().filter_map(|seen| seen.analytic.as_ref().map(of)));
            let searched =
                |of: fn(&Attempt) -> f64| mean(seen().filter_map(|seen| seen.searched.as_ref().map(of)));
            ViewSummary {
                view: view.kind,
                labels_right: mean(seen().filter_map(|seen| seen.label_is_right.map(f64::from))),
                analytic_error: analytic(|attempt| attempt.relative_error),
                analytic_psnr: analytic(|attempt| attempt.psnr),
                searched_error: searched(|attempt| attempt.relative_error),
                searched_psnr: searched(|attempt| attempt.psnr),
            }
        };
        let summaries = views.iter().map(summary).collect();
        let (feature_low, feature_high) = (domain.low.clone(), domain.high.clone());
        Self { views, summaries, remarks, feature_low, feature_high, victims }
    }
}

impl ViewSummary {
    /// Returns the smaller of the two mean errors; `None` if there is no reconstruction.
    pub fn best_error(&self) -> Option<f64> {
        [self.analytic_error, self.searched_error].into_iter().flatten().reduce(f64::min)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
