use folkmoot_simulation::chance::{Stream, shuffle};

use crate::purpose;

/// Draws the members of each model: `result[model][example]`. Each example is in half of the models, so that every model has
/// about half of the examples and no example is in all models or in none.
pub fn draw(models: usize, examples: usize, seed: u64) -> Vec<Vec<bool>> {
    let mut rng = Stream::new(seed, &[purpose::HALVES]);
    let mut order: Vec<usize> = (0..models).collect();
    let of_example = |example: usize| {
        shuffle(&mut order, &mut rng);
        // With an odd number of models, the half is rounded down for every other example.
        let count = (models + example % 2) / 2;
        let mut is_in = vec![false; models];
        order[..count].iter().for_each(|model| is_in[*model] = true);
        is_in
    };
    let drawn: Vec<Vec<bool>> = (0..examples).map(of_example).collect();
    (0..models).map(|model| drawn.iter().map(|is_in| is_in[model]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_in_half_of_the_models() {
        let drawn = draw(9, 1000, 1);
        for example in 0..1000 {
            let count = drawn.iter().filter(|model| model[example]).count();
            assert!(count == 4 || count == 5, "{count}");
        }
        for model in &drawn {
            let count = model.iter().filter(|is_member| **is_member).count();
            assert!((400..600).contains(&count), "{count}");
        }
        assert_eq!(drawn, draw(9, 1000, 1));
        assert_ne!(drawn, draw(9, 1000, 2));
    }
}
