//! Runs one test in which clients in all languages take part in the same rounds. Earlier stages must have built them.

use super::{browser, kotlin, wheel};
use crate::outcome::Outcome;
use crate::process::{run_reading, spelled};
use crate::python;
use crate::workspace::Failure;

/// Runs the test, or skips it if the tools of a language are missing.
///
/// # Errors
/// Fails if a tool is missing on a build server, a package is not built, or the test fails.
pub fn test() -> Result<Outcome, Failure> {
    if let Some(missing) = missing() {
        return Outcome::left_out(
            "languages",
            format!("{missing} is missing. Run `cargo xtask test --only install`"),
        );
    }
    let (interpreter, native, build) =
        (wheel::interpreter(), kotlin::native_folder(), kotlin::maven_folder());
    for (path, stage) in [(&interpreter, "python"), (&build.join("classpath.txt"), "kotlin")] {
        if !path.exists() {
            return Err(Failure(format!(
                "{} does not exist. Build it with `cargo xtask test --only {stage}`",
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
