use super::{Comparison, LeftOut, Shown, charts};
use crate::report::{
    RUNS_MAX, ReportError,
    html::Escaped,
    legend::legend,
    page::{Page, figures},
    tables::{self, Row},
};

/// Returns the cell of a variant in a column.
type Cell = fn(&Shown) -> &String;

/// A heading and the cells below it.
type Column = (String, Cell);

impl Comparison {
    /// Renders the report as an HTML page.
    ///
    /// # Errors
    /// [`ReportError`] if there are too many variants or none, or a plot cannot be drawn.
    pub fn html(&self) -> Result<String, ReportError> {
        let runs = self.variants.len();
        if runs == 0 || runs > RUNS_MAX {
            return Err(ReportError::RunCount { runs });
        }
        let shown = self.shown();
        let mut page = Page::new(&self.title, Some(&self.subtitle()));
        let explanation = format!("<p class=\"note\">{}</p>\n", self.explanation());
        page.section("Quality of the model", &(table(&self.quality(), &shown) + &explanation));
        let clients = charts::clients(self);
        if !clients.is_empty() {
            let body = table(&among_clients(), &shown) + CLIENTS + &self.legend() + &figures(&clients)?;
            page.section("Fairness to the clients", &body);
        }
        page.section("Cost", &table(&cost(), &shown));
        let curves = self.curves()?;
        if !curves.is_empty() {
            page.section("Curves", &curves);
        }
        let settings = self.variants.iter().map(|one| (one.name.as_str(), one.settings.as_slice()));
        let settings = tables::settings(settings, false);
        if !settings.is_empty() {
            page.section("Settings that differ", &settings);
        }
        if !self.left_out.is_empty() {
            page.section("Left out", &left_out(&self.left_out));
        }
        Ok(page.end())
    }

    fn legend(&self) -> String {
        legend(self.variants.iter().map(|variant| variant.name.as_str()).enumerate())
    }

    /// Renders the curves of all variants as HTML; empty if nothing was measured.
    ///
    /// # Errors
    /// [`ReportError`] if a plot cannot be drawn.
    pub(in crate::report) fn curves(&self) -> Result<String, ReportError> {
        let plots = charts::figures(self);
        if plots.is_empty() {
            return Ok(String::new());
        }
        Ok(self.legend() + &figures(&plots)? + CURVES)
    }

    fn subtitle(&self) -> String {
        let clients = self.variants.iter().flat_map(|variant| &variant.runs).map(|run| run.clients).max();
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let s = if seeds.len() == 1 { "" } else { "s" };
        format!(
            "{} variants in the same worlds of {} virtual clients, seed{s} {}",
            self.variants.len(),
            clients.unwrap_or_default(),
            seeds.join(", ")
        )
    }

    /// Explains the numbers of the table.
    fn explanation(&self) -> String {
        let difference = "A difference is that of the final values";
        match self.seeds.len() {
            1 => format!(
                "Only one seed was run, so nothing here has a confidence interval: a difference between two variants \
                 may be chance. Repeat the comparison with <code>--seeds 3</code> or more. {difference}."
            ),
            count => format!(
                "Each value is the mean over {count} seeds ± half of its 95 % t interval; without ±, it is the same \
                 with every seed. {difference} with the same seed, and its interval is that of paired samples. An \
                 interval that contains 0 shows no difference. “1 of {count} seeds” stands where only some seeds have \
                 a value."
            ),
        }
    }

    fn quality(&self) -> Vec<Column> {
        let name = &self.metric.name;
        let mut columns: Vec<Column> = vec![
            (format!("Final held-out {name}"), |shown| &shown.final_metric),
            ("Difference".to_owned(), |shown| &shown.difference),
            (format!("Best held-out {name}"), |shown| &shown.best_metric),
        ];
        if let Some(target) = self.target_shown() {
            columns.push((format!("Rounds until {target}"), |shown| &shown.rounds_to_target));
            columns.push((format!("Virtual time until {target}"), |shown| &shown.time_to_target));
            columns.push((format!("Traffic until {target}"), |shown| &shown.traffic_to_target));
        }
        columns
    }
}

/// Lists the variants that were not run, each with its reasons.
fn left_out(variants: &[LeftOut]) -> String {
    let row = |one: &LeftOut| {
        let reasons: Vec<String> = one.reasons.iter().map(|reason| Escaped(reason).to_string()).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
            Escaped(&one.variant),
            reasons.join("<br>")
        )
    };
    let rows: String = variants.iter().map(row).collect();
    format!(
        "<p class=\"note\">These variants do not fit the task, so they were not run.</p>\n<table>\n{rows}</table>\n"
    )
}

/// The explanation of the figures of the clients.
const CLIENTS: &str = "<p class=\"note\">Each client measures versions on its own held-out examples. The last one counts, and every client \
                       counts the same. A tenth is rounded up to whole clients. A plot has one point or line for each variant; \
                       the histogram counts the clients of all seeds together.</p>\n";

/// The explanation of the curves.
const CURVES: &str = "<p class=\"note\">A curve is the mean over the seeds, and its band is the 95 % t interval of the \
                      mean. Between two measured versions, values are interpolated linearly. A curve ends where the \
                      first of its seeds ends.</p>\n";

fn among_clients() -> Vec<Column> {
    let columns: [(&str, Cell); 5] = [
        ("Mean over the clients", |shown| &shown.client_mean),
        ("Worst tenth of the clients", |shown| &shown.worst_tenth),
        ("Best tenth of the clients", |shown| &shown.best_tenth),
        ("Deviation among the clients", |shown| &shown.client_deviation),
        ("Pareto optimal", |shown| &shown.pareto_optimal),
    ];
    columns.map(|(name, cell)| (name.to_owned(), cell)).to_vec()
}

fn cost() -> Vec<Column> {
    let columns: [(&str, Cell); 7] = [
        ("Sent to each client", |shown| &shown.down_per_client),
        ("Sent from each client", |shown| &shown.up_per_client),
        ("Virtual time", |shown| &shown.virtual_time),
        ("Committed rounds", |shown| &shown.committed),
        ("Abandoned rounds", |shown| &shown.abandoned),
        ("Drawn clients that dropped out", |shown| &shown.dropped),
        ("Paused after failures", |shown| &shown.paused),
    ];
    columns.map(|(name, cell)| (name.to_owned(), cell)).to_vec()
}

/// Renders a table with a row for each variant.
fn table(columns: &[Column], shown: &[Shown]) -> String {
    let row = |shown: &Shown| -> Row {
        (shown.variant.clone(), columns.iter().map(|(_, cell)| cell(shown).clone()).collect())
    };
    let rows: Vec<Row> = shown.iter().map(row).collect();
    tables::table("Variant", columns.iter().map(|(name, _)| name.as_str()), &rows, false)
}
