use std::borrow::Cow;

use folkmoot_protocol::{
    Plan,
    secure::{EXTRAS, MASKED_HEADER_BYTES, MaskedExtras, MaskedHeader, SecureTerms},
};
use folkmoot_secure_aggregation::{Masks, NoiseShare, Ring, RingError, packed_bytes};
use rand::CryptoRng;

use crate::{
    ValueFault, check_values, clip_norm,
    grid::{scale, to_grid},
    noise::{ScaleError, noised_steps},
};

/// The values and numbers of an update before they are masked.
#[derive(Clone, Copy, Debug)]
pub struct Unmasked<'a> {
    /// The model delta.
    pub delta: &'a [f32],
    /// The weight of the update, at most the plan's `weight_max`.
    pub weight: u64,
    /// The weight and the metrics that travel inside the mask.
    pub extras: MaskedExtras,
    /// The assignment's clipping norm, in steps of the plan's grid.
    pub clipping_norm: Option<u64>,
}

/// Why an update could not be masked. No part of it may be sent.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MaskError {
    /// A value cannot be summed.
    #[error(transparent)]
    Value(#[from] ValueFault),
    /// The plan's grid is too fine for its cohort.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The noise cannot be drawn.
    #[error(transparent)]
    Scale(#[from] ScaleError),
}

/// Builds a masked update: clips the delta, rounds it to the plan's grid as the coordinator would, multiplies it by the
/// weight, and masks it. So masked updates have the same sum as plain updates, bit for bit. If the terms ask for noise,
/// the client instead rounds at random and adds its share of the noise. `rng` is only used for that.
///
/// # Errors
/// [`MaskError`] for the first value that is not finite or outside the grid, or if no ring is large enough.
pub fn mask_update(
    header: &MaskedHeader,
    plan: &Plan,
    terms: &SecureTerms,
    masks: &Masks,
    unmasked: Unmasked<'_>,
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>, MaskError> {
    let Unmasked { delta, weight, extras, clipping_norm } = unmasked;
    let mut delta = Cow::from(delta);
    if let Some(steps) = clipping_norm {
        clip_norm(delta.to_mut(), &plan.grid, steps);
    }
    let bytes: Vec<u8> = delta.iter().flat_map(|value| value.to_le_bytes()).collect();
    // With noise, the client clips the update to the noise's norm, which works for any finite update.
    let value_max = if terms.noise.is_some() { f32::MAX } else { plan.grid.value_max };
    check_values(&bytes, value_max)?;
    let (grid, length) = (terms.grid(&plan.grid), delta.len() as u64);
    let ring = Ring::for_terms(&plan.grid, terms, length)?;
    let share = NoiseShare::of(terms, length).transpose().map_err(RingError::from)?;
    let values = match share {
        Some(share) => noised_steps(&delta, &grid, &share, rng)?,
        None => {
            let scale = scale(&grid, if terms.is_weighted { weight as f64 } else { 1.0 });
            delta.iter().map(|value| to_grid(*value, scale)).collect()
        }
    };
    let header = MaskedHeader { element_count: length, ..*header }.encode();
    let mut update =
        Vec::with_capacity(MASKED_HEADER_BYTES + packed_bytes(ring, length) as usize + 8 * EXTRAS);
    update.extend_from_slice(&header);
    update.extend(masks.mask(ring, &values, &extras.to_words()));
    Ok(update)
}
