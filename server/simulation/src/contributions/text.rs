use std::fmt::Write as _;

use super::Contributions;

/// The number of clients at each end of the ranking that are printed.
const PRINTED_AT_AN_END: usize = 10;

impl Contributions {
    /// Formats the table and its cost for a terminal. Of many clients, it has the first and the last.
    pub fn text(&self) -> String {
        let count = self.clients.len();
        let mut text = format!(
            "{:<20} {:>6} {:>9} {:>14} {:>8}\n",
            "CLIENT", "ROUNDS", "SHAPLEY", "LEAVE ONE OUT", "SHARE"
        );
        for (place, one) in self.clients.iter().enumerate() {
            if place >= PRINTED_AT_AN_END && place + PRINTED_AT_AN_END < count {
                continue;
            }
            let name = format!("{}{}", one.client, if one.is_hostile { " (hostile)" } else { "" });
            let share = one.share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
            let (rounds, shapley, left_out) = (one.rounds, one.shapley, one.leave_one_out);
            let _ = writeln!(text, "{name:<20} {rounds:>6} {shapley:>+9.4} {left_out:>+14.4} {share:>8}");
        }
        let between = count.saturating_sub(2 * PRINTED_AT_AN_END);
        if between > 0 {
            let _ = writeln!(
                text,
                "\n{between} clients between the best and the worst are not shown; --json prints all."
            );
        }
        let sign = if self.is_larger_better { "" } else { "negative " };
        let _ = write!(
            text,
            "\nValues are in units of the {sign}held-out {}; below 0, a client has hurt the model.\n\
             They took {} evaluations of models. {} rounds are exact, {} are sampled, {} changed too little, and {} have no value.\n\
             Of the gain of {:.4} in these rounds, {:.4} is not divided.",
            self.metric,
            self.evaluations,
            self.exact_rounds,
            self.sampled_rounds,
            self.truncated_rounds,
            self.left_out_rounds,
            self.gain,
            // No negative zero.
            self.undivided + 0.0
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contributions::ClientContribution;

    #[test]
    fn the_best_and_the_worst_clients_are_printed() {
        let client = |client: usize| ClientContribution {
            client,
            is_hostile: client == 30,
            rounds: 2,
            shapley: 0.3 - 0.02 * client as f64,
            leave_one_out: -0.01,
            share: (client < 30).then_some(0.125),
        };
        let mut found = Contributions { clients: (0..31).map(client).collect(), ..Contributions::default() };
        let text = found.text();
        assert!(text.contains("0                         2   +0.3000        -0.0100   12.5 %"), "{text}");
        assert!(text.contains("30 (hostile)              2   -0.3000        -0.0100        -"), "{text}");
        assert!(text.contains("11 clients between") && text.contains("negative held-out"), "{text}");
        assert_eq!(text.lines().filter(|line| line.ends_with('%')).count(), 19);
        found.clients.truncate(20);
        assert!(!found.text().contains("between the best"));
    }
}
