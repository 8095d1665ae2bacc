use super::{Cost, Row};
use crate::Failure;

/// Prints the rows.
pub fn print(rows: &[Row], is_json: bool) -> Result<(), Failure> {
    if is_json {
        for row in rows {
            println!("{}", serde_json::to_string(row)?);
        }
        return Ok(());
    }
    println!(
        "| database | what | CPU µs without | with | ratio | µs from beginning to end without | with | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for Row { database, what, without, with } in rows {
        let both = |part: fn(&Cost) -> f64| {
            let (without, with) = (part(without), part(with));
            format!("{without:.0} | {with:.0} | {:.2}", with / without)
        };
        let (cpu, elapsed) = (both(|cost| cost.cpu_microseconds), both(|cost| cost.microseconds));
        println!("| {database} | {what} | {cpu} | {elapsed} |");
    }
    Ok(())
}
