//! One round of clients in all languages: what the stages before have built meets.

use crate::workspace::{Failure, run as run_command, spelled};
use crate::{browser, kotlin, python, wheel};

/// Runs the test; where one of the languages is missing it says so, as the stage of that language does.
///
/// # Errors
/// Returns what is not built yet, or that the test failed.
pub fn test() -> Result<(), Failure> {
    if let Some(missing) = missing() {
        println!("xtask: languages: LEFT OUT, for there is no {missing}: `cargo xtask test --only install`");
        return Ok(());
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
    run_command(&mut test)
}

fn missing() -> Option<&'static str> {
    browser::missing()
        .or_else(|| (!python::is_present()).then_some("Python"))
        .or_else(|| (!kotlin::is_present()).then_some("Java with Maven"))
}
