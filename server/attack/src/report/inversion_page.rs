use folkmoot_simulation::report::Body;

use super::{Report, or_dash, percent};
use crate::{
    inversion::{Attempt, Inversion, PSNR_MAX, Victim},
    picture::{Shown, draw},
};

/// The maximum number of a victim's own examples in a drawing.
const ORIGINALS_MAX: usize = 4;

impl Report {
    /// Renders the inversion: a table of means, and a drawing for each victim.
    pub(super) fn inversion_body(&self, inversion: &Inversion) -> Body {
        let mut body = Body::default();
        let headings = [
            "Label guessed",
            "Error, dense layer",
            "PSNR, dense layer",
            "Error, search",
            "PSNR, search",
            "Clipping norm",
            "Noise multiplier",
        ];
        let rows: Vec<(String, Vec<String>)> = inversion
            .summaries
            .iter()
            .zip(&inversion.views)
            .map(|(summary, view)| {
                let name = match view.clients {
                    Some(clients) => format!("{} ({clients})", view.kind.name()),
                    None => view.kind.name().to_owned(),
                };
                let share = |value: Option<f64>| or_dash(value.map(percent));
                let number = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.3}")));
                let cells = vec![
                    share(summary.labels_right),
                    share(summary.analytic_error),
                    or_dash(summary.analytic_psnr.map(decibel)),
                    share(summary.searched_error),
                    or_dash(summary.searched_psnr.map(decibel)),
                    number(view.clipping_norm),
                    number(view.noise_multiplier),
                ];
                (name, cells)
            })
            .collect();
        body.table("What the coordinator sees", &headings, &rows);
        body.note(
            "An error is the mean squared error, as a share of that of a random guess: another example of the data. 0 % is \
             exact, and 100 % or more tells nothing. PSNR is the peak signal-to-noise ratio in dB. In a sum, a reconstruction and \
             a guess are compared with the nearest example of all clients, and the label with that of the victim.",
        );
        for view in &inversion.views {
            body.note(&format!("{}: {}", view.kind.name(), view.description));
        }
        for remark in &inversion.remarks {
            body.note(remark);
        }
        let drawings = inversion.victims.iter().enumerate();
        body.drawings(
            &drawings.map(|(number, victim)| self.drawing(inversion, number, victim)).collect::<Vec<_>>(),
        );
        body
    }

    fn drawing(&self, inversion: &Inversion, number: usize, victim: &Victim) -> (String, String) {
        let originals = victim.originals.iter().zip(&victim.labels).take(ORIGINALS_MAX);
        let mut shown: Vec<Shown<'_>> = originals
            .map(|(example, label)| Shown {
                name: vec!["original".into(), format!("class {label}")],
                example,
            })
            .collect();
        for seen in &victim.seen {
            let attempts = [("dense layer", &seen.analytic), ("search", &seen.searched)];
            for (method, attempt) in attempts {
                let Some(Attempt { example, relative_error, .. }) = attempt else { continue };
                let name =
                    vec![seen.view.name().to_owned(), format!("{method}: {}", percent(*relative_error))];
                shown.push(Shown { name, example });
            }
        }
        let labels =
            victim.labels.iter().take(ORIGINALS_MAX).map(u32::to_string).collect::<Vec<_>>().join(", ");
        let label = format!("victim {} and its reconstructions", number + 1);
        let ranges = (inversion.feature_low.as_slice(), inversion.feature_high.as_slice());
        let title = format!("Victim {}: {}", number + 1, guesses(victim, &labels));
        (title, draw(self.picture, &shown, ranges, &label))
    }
}

fn guesses(victim: &Victim, labels: &str) -> String {
    let guesses =
        victim.seen.iter().filter_map(|seen| Some(format!("{} from the {}", seen.label?, seen.view.name())));
    let guesses: Vec<String> = guesses.collect();
    let guessed =
        if guesses.is_empty() { String::new() } else { format!(", guessed {}", guesses.join(", ")) };
    format!("class {labels}{guessed}")
}

fn decibel(psnr: f64) -> String {
    if psnr >= PSNR_MAX { format!("≥ {PSNR_MAX:.0} dB") } else { format!("{psnr:.1} dB") }
}
