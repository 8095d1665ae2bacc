use folkmoot_simulation::report::{Body, Document};

use super::Report;
use crate::CannotAttack;

impl Report {
    /// Renders the report as an HTML page.
    ///
    /// # Errors
    /// If a plot cannot be drawn.
    pub fn html(&self) -> Result<String, CannotAttack> {
        let subtitle = format!(
            "Attacks on {} examples with {} virtual clients, first seed {}",
            self.examples, self.clients, self.seed
        );
        let mut document = Document::new(&format!("Attacks on {}", self.task), &subtitle);
        let mut meaning = Body::default();
        for statement in &self.statements {
            meaning.text(&format!(
                "{}: {} {}",
                capital(statement.attack),
                statement.meaning,
                statement.remedy
            ));
        }
        for reason in &self.left_out {
            meaning.note(&format!("Left out: {reason}."));
        }
        meaning.note(
            "An attack that fails here proves nothing: better attacks exist. An attack that succeeds shows a weakness that \
             clients would have.",
        );
        document.section("What it means", &meaning);
        if let Some(inversion) = &self.inversion {
            document.section("Inversion of updates", &self.inversion_body(inversion));
        }
        if let Some(membership) = &self.membership {
            document.section("Membership", &super::membership_page::body(membership)?);
        }
        if let Some(property) = &self.property {
            document.section("Property of a client", &super::property_page::body(property)?);
        }
        if let Some(poisoning) = &self.poisoning {
            document.section("Poisoning", &super::poisoning_page::body(poisoning)?);
        }
        Ok(document.end())
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
