//! One round of clients in all languages: what the stages before have built meets.

use super::{browser, kotlin, wheel};
use crate::outcome::Outcome;
use crate::process::{run_reading, spelled};
use crate::python;
use crate::workspace::Failure;

/// Runs the test; where one of the languages is missing it says so, as the stage of that language does.
///
/// # Errors
/// Returns what is not built yet, or that the test failed.
pub fn test() -> Result<Outcome, Failure> {
    if let Some(missing) = missing() {
        return Outcome::left_out(
            "languages",
            format!("there is no {missing}: `cargo xtask test --only install`"),
        );
    }
    let (interpreter, native, build) =
        (wheel::interpreter(), kotlin::native_folder(), kotlin::maven_folder());
    for (path, stage) in [(&interpreter, "python"), (&build.join("classpath.txt"), "kotlin")] {
        if !path.exists() {
            return Err(Failure(format!(
                "{} is not there: run `cargo xtask test --only {stage}`",
                path.display()
            )));
        }
    }
    let mut test = browser::node(&["--test", "--test-reporter=spec", "languages.mjs"])?;
    test.env("FOLKMOOT_PYTHON_PACKAGE", interpreter);
    test.env("FOLKMOOT_KOTLIN_BUILD", build).env("FOLKMOOT_KOTLIN_NATIVE", native);
    println!("xtask: languages: {}", spelled(&test));
    let mut outcome = Outcome::done();
    run_reading(&mut test, |line| outcome.add(browser::tested(line)))?;
    outcome.complete()
}

fn missing() -> Option<&'static str> {
    browser::missing()
        .or_else(|| (!python::is_present()).then_some("Python"))
        .or_else(|| (!kotlin::is_present()).then_some("Java with Maven"))
}
