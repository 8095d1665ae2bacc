use serde::Serialize;

use crate::{
    record::{RecordError, RoundRow, Row},
    report::{Comparison, LeftOut, VariantSummary},
    spread::students_t::CONFIDENCE,
};

/// The summaries of a comparison as JSON.
#[derive(Serialize)]
struct Document<'a> {
    title: &'a str,
    metric: &'a str,
    is_larger_better: bool,
    /// The value of the metric to reach.
    target: Option<f64>,
    /// The level of all intervals.
    confidence: f64,
    seeds: &'a [u64],
    /// The name of the variant with which the others are compared.
    baseline: Option<&'a str>,
    variants: Vec<VariantSummary>,
    /// The variants that do not fit the task, with their faults.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'a [LeftOut],
}

/// Returns the file `comparison.json`: the summary of every variant, with the value of each seed.
///
/// # Errors
/// [`RecordError`] if the summaries cannot be written as JSON.
pub fn summaries_json(comparison: &Comparison) -> Result<String, RecordError> {
    let document = Document {
        title: &comparison.title,
        metric: &comparison.metric.name,
        is_larger_better: comparison.metric.is_larger_better,
        target: comparison.target(),
        confidence: CONFIDENCE,
        seeds: &comparison.seeds,
        baseline: comparison.variants.get(comparison.baseline).map(|variant| variant.name.as_str()),
        variants: comparison.summaries(),
        left_out: &comparison.left_out,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Returns the file `comparison.csv`: one row for each variant, seed and round, with the columns of `rounds.csv`.
///
/// # Errors
/// [`RecordError`] if a row cannot be written.
pub fn rounds_csv(comparison: &Comparison) -> Result<Vec<u8>, RecordError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    let columns = RoundRow::COLUMNS.iter().map(|column| column.name);
    writer.write_record(["variant", "seed"].into_iter().chain(columns))?;
    for variant in &comparison.variants {
        for (seed, run) in comparison.seeds.iter().zip(&variant.runs) {
            for row in &run.rounds {
                writer.serialize((&variant.name, seed, row))?;
            }
        }
    }
    writer.into_inner().map_err(|error| RecordError::Write(error.into_error()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Metric, SeedRun, Variant};

    #[test]
    fn every_round_is_a_row_with_its_variant_and_seed() {
        let row = |round_number: u64| RoundRow { round_number, bytes_up: 7, ..RoundRow::default() };
        let run = |last: u64| SeedRun { rounds: (1..=last).map(row).collect(), ..SeedRun::default() };
        let variant =
            |name: &str| Variant { name: name.into(), runs: vec![run(2), run(1)], settings: vec![] };
        let comparison = Comparison {
            title: "digits".into(),
            metric: Metric::default(),
            target: Some(0.9),
            seeds: vec![1, 2],
            variants: vec![variant("a"), variant("b, c")],
            baseline: 0,
            left_out: Vec::new(),
        };
        let csv = String::from_utf8(rounds_csv(&comparison).unwrap()).unwrap();
        let begins: Vec<String> =
            csv.lines().map(|line| line.split(",committed").next().unwrap().into()).collect();
        assert!(begins[0].starts_with("variant,seed,round_number,version,outcome,"), "{csv}");
        assert_eq!(
            begins[1..],
            ["a,1,1,", "a,1,2,", "a,2,1,", "\"b, c\",1,1,", "\"b, c\",1,2,", "\"b, c\",2,1,"]
        );
        let json: serde_json::Value = serde_json::from_str(&summaries_json(&comparison).unwrap()).unwrap();
        assert_eq!((&json["confidence"], &json["baseline"]), (&0.95.into(), &"a".into()));
        assert_eq!(json["variants"][1]["committed"]["values"], serde_json::json!([2.0, 1.0]));
        assert!(json["variants"][0]["difference"].is_null());
    }
}
