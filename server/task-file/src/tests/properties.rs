//! For any input there is no panic, and the result is a description or faults with positions inside the file.

use proptest::prelude::*;

use super::{
    super::{TemplateChoices, read, template},
    TASK,
};

/// The pieces that the tests insert into a file: letters and TOML syntax.
const PIECES: [&str; 20] = [
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    "#",
    ".",
    ",",
    "0",
    "-1",
    "nan",
    "ä",
    "\"\"\"",
    "[[stop]]\n",
    "kind = 1\n",
    "\u{0}",
    "9999999999999999999",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    let lines = text.lines().count().max(1);
    match read("task.toml".as_ref(), text) {
        Ok(description) => prop_assert_eq!(description.validate(), []),
        Err(error) => {
            prop_assert!(!error.faults.is_empty());
            for fault in &error.faults {
                prop_assert!((1..=lines).contains(&fault.line), "{fault:?}\n{text}");
                let line = text.split('\n').nth(fault.line - 1).unwrap_or_default();
                prop_assert!((1..=line.chars().count() + 1).contains(&fault.column), "{fault:?}\n{text}");
                prop_assert!(!fault.message.is_empty() && !fault.remedy.is_empty());
            }
            prop_assert!(!error.text(true).is_empty());
        }
    }
    Ok(())
}

fn changed(text: &str, changes: &[(prop::sample::Index, Option<usize>)]) -> String {
    let mut letters: Vec<String> = text.chars().map(String::from).collect();
    for (at, piece) in changes {
        if letters.is_empty() {
            break;
        }
        let at = at.index(letters.len());
        match piece {
            Some(piece) => letters.insert(at, PIECES[*piece].to_owned()),
            None => {
                letters.remove(at);
            }
        }
    }
    letters.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_file_has_faults_within_it(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0..PIECES.len())), 1..12),
    ) {
        check(&changed(TASK, &changes))?;
    }

    #[test]
    fn lines_in_any_order_have_faults_within_the_file(order in Just(TASK.lines().collect::<Vec<_>>()).prop_shuffle()) {
        check(&order.join("\n"))?;
    }

    #[test]
    fn any_text_has_faults_within_it(text in "(?s).{0,80}") {
        check(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_damaged_template_has_faults_within_it(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0..PIECES.len())), 1..30),
    ) {
        let text = template(&TemplateChoices::default()).expect("the default template is right");
        check(&changed(&text, &changes))?;
    }
}
