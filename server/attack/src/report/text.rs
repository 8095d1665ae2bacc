use std::fmt::Write as _;

use super::{Report, or_dash, percent, property_page};

impl Report {
    /// Formats the report for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(inversion) = &self.inversion {
            let [label, dense, search] = ["label", "dense layer", "search"];
            let _ = writeln!(text, "{:<24} {label:>8} {dense:>18} {search:>18}", "inversion of updates");
            for summary in &inversion.summaries {
                let error = |error: Option<f64>, psnr: Option<f64>| {
                    or_dash(error.zip(psnr).map(|(error, psnr)| format!("{} ({psnr:.0} dB)", percent(error))))
                };
                let _ = writeln!(
                    text,
                    "  {:<22} {:>8} {:>18} {:>18}",
                    summary.view.name(),
                    or_dash(summary.labels_right.map(percent)),
                    error(summary.analytic_error, summary.analytic_psnr),
                    error(summary.searched_error, summary.searched_psnr)
                );
            }
            text += "  Errors are shares of that of a random guess.\n\n";
        }
        if let Some(membership) = &self.membership {
            let [area, one, tenth] = ["area", "found at 1 %", "0.1 % false alarms"];
            let _ = writeln!(text, "{:<44} {area:>6} {one:>14} {tenth:>19}", "membership");
            for variant in &membership.variants {
                let attacks =
                    [("loss", &variant.loss_threshold), ("likelihood ratio", &variant.likelihood_ratio)];
                for (name, roc) in attacks {
                    let _ = writeln!(
                        text,
                        "  {:<42} {:>6.3} {:>14} {:>19}",
                        format!("{name}, {}", variant.name),
                        roc.auc,
                        percent(roc.true_positives_at_1_percent),
                        percent(roc.true_positives_at_0_1_percent)
                    );
                }
            }
            text += "\n";
        }
        if let Some(property) = &self.property {
            text += &property_page::text(property);
        }
        if let Some(poisoning) = &self.poisoning {
            let _ = writeln!(
                text,
                "poisoning by {:<21} {:<20} {:<24} success",
                percent(poisoning.share),
                poisoning.metric,
                "difference"
            );
            for (outcome, shown) in poisoning.attacks.iter().zip(poisoning.comparison.shown()) {
                let success = outcome.success.as_ref().and_then(|success| success.show(0.01, "%"));
                let _ = writeln!(
                    text,
                    "  {:<32} {:<20} {:<24} {}",
                    shown.variant,
                    shown.final_metric,
                    shown.difference,
                    or_dash(success)
                );
            }
            for reason in &poisoning.left_out {
                let _ = writeln!(text, "  left out: {reason}");
            }
            text += "\n";
        }
        for statement in &self.statements {
            let _ = writeln!(text, "{}\n{}\n", statement.meaning, statement.remedy);
        }
        for reason in &self.left_out {
            let _ = writeln!(text, "left out: {reason}");
        }
        text
    }
}
