//! The equation of an `Einsum`: `bij,bjk->bik`, with or without the arrow, with or without `...`.

use std::collections::BTreeMap;

/// An index of the equation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// One of the axes that `...` represents, counted from the last.
    Ellipsis(usize),
    /// A letter.
    Letter(char),
}

/// The labels of a tensor's axes.
pub(super) type Labels = Vec<Label>;

/// The labels of the operands and of the result.
#[derive(Debug, PartialEq)]
pub(super) struct Equation {
    pub(super) operands: Vec<Labels>,
    pub(super) output: Labels,
}

const ELLIPSIS: &str = "...";

/// Parses an equation for operands of these ranks.
///
/// # Errors
/// Returns the fault or the unsupported part, as a predicate.
pub(super) fn parse(text: &str, ranks: &[usize]) -> Result<Equation, &'static str> {
    let text: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (&text[..], None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != ranks.len() {
        return Err("has a number of inputs that differs from its number of terms");
    }
    let mut operands = Vec::new();
    for (term, rank) in terms.iter().zip(ranks) {
        let hidden = if term.contains(ELLIPSIS) {
            let letters = term.chars().filter(|character| *character != '.').count();
            rank.checked_sub(letters).ok_or("has a term with more labels than the input has dimensions,")?
        } else {
            0
        };
        let labels = labels(term, hidden)?;
        if labels.len() != *rank {
            return Err("has a term whose number of labels differs from the input's dimensions,");
        }
        if has_repetition(&labels) {
            return Err("repeats a label in one term (a diagonal), which is not supported,");
        }
        operands.push(labels);
    }
    let hidden = operands.iter().flatten().filter_map(|label| match label {
        Label::Ellipsis(index) => Some(index + 1),
        Label::Letter(_) => None,
    });
    let hidden = hidden.max().unwrap_or(0);
    let output = match right {
        Some(term) => labels(term, hidden)?,
        None => implied(&operands, hidden),
    };
    if has_repetition(&output) {
        return Err("repeats a label in the result");
    }
    if output.iter().any(|label| !operands.iter().any(|operand| operand.contains(label))) {
        return Err("has a label that is only in the result,");
    }
    Ok(Equation { operands, output })
}

fn labels(term: &str, hidden: usize) -> Result<Labels, &'static str> {
    let (before, ellipsis, after) = match term.split_once(ELLIPSIS) {
        Some((before, after)) => (before, hidden, after),
        None => (term, 0, ""),
    };
    let is_valid = |text: &str| text.chars().all(|character| character.is_ascii_alphabetic());
    if !is_valid(before) || !is_valid(after) {
        return Err("has a label that is not a letter");
    }
    let letters = |text: &str| text.chars().map(Label::Letter).collect::<Labels>();
    let ellipsis = (0..ellipsis).rev().map(Label::Ellipsis).collect();
    Ok([letters(before), ellipsis, letters(after)].concat())
}

/// Returns the labels of the result if the equation has no arrow: the ellipsis, then all letters that occur once,
/// sorted.
fn implied(operands: &[Labels], hidden: usize) -> Labels {
    let mut counts: BTreeMap<Label, usize> = BTreeMap::new();
    for label in operands.iter().flatten().filter(|label| matches!(label, Label::Letter(_))) {
        *counts.entry(*label).or_default() += 1;
    }
    let once = counts.into_iter().filter(|(_, count)| *count == 1).map(|(label, _)| label);
    (0..hidden).rev().map(Label::Ellipsis).chain(once).collect()
}

fn has_repetition(labels: &[Label]) -> bool {
    (1..labels.len()).any(|position| labels[..position].contains(&labels[position]))
}

#[cfg(test)]
mod tests {
    use super::Label::{Ellipsis, Letter};
    use super::*;

    #[test]
    fn the_result_is_implied_or_written() {
        let equation = parse("ij, jk", &[2, 2]).unwrap();
        assert_eq!(equation.output, [Letter('i'), Letter('k')]);
        let equation = parse("...ij,...jk->...ki", &[4, 3]).unwrap();
        assert_eq!(equation.operands[1], [Ellipsis(0), Letter('j'), Letter('k')]);
        assert_eq!(equation.output, [Ellipsis(1), Ellipsis(0), Letter('k'), Letter('i')]);
    }

    #[test]
    fn what_is_not_supported_is_said() {
        assert!(parse("ii->i", &[2]).unwrap_err().contains("diagonal"));
        assert!(parse("ij->k", &[2]).unwrap_err().contains("only"));
        assert!(parse("i1->i", &[2]).unwrap_err().contains("letter"));
        assert!(parse("ij", &[2, 2]).unwrap_err().contains("inputs"));
        assert!(parse("ijk", &[2]).unwrap_err().contains("dimensions"));
    }
}
