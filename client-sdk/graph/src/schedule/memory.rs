//! Places values in the arena: two values that are never needed at the same time may share memory.

/// A buffer of the arena and the launches during which it is needed, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// The size, in elements or bytes; the unit is the same for all buffers.
    pub size: usize,
    /// The launch that writes the buffer.
    pub first: usize,
    /// The last launch that reads the buffer.
    pub last: usize,
}

/// Returns the offset of each buffer, and the size of the arena.
///
/// Places the largest buffers first, each in the tightest gap between buffers that are needed at the same time ("greedy
/// by size", Pisarchyk and Lee 2020).
pub fn place(lifetimes: &[Lifetime]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lifetimes.len()).collect();
    order.sort_by_key(|index| (std::cmp::Reverse(lifetimes[*index].size), lifetimes[*index].first, *index));
    let mut offsets = vec![0; lifetimes.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut arena = 0;
    for index in order {
        let own = lifetimes[index];
        let (mut end, mut best) = (0, None::<(usize, usize)>);
        // `placed` is sorted by offset.
        for other in &placed {
            let (offset, life) = (offsets[*other], lifetimes[*other]);
            if life.last < own.first || own.last < life.first {
                continue;
            }
            if offset >= end + own.size && best.is_none_or(|(gap, _)| offset - end < gap) {
                best = Some((offset - end, end));
            }
            end = end.max(offset + life.size);
        }
        let offset = best.map_or(end, |(_, offset)| offset);
        offsets[index] = offset;
        arena = arena.max(offset + own.size);
        let position = placed.partition_point(|other| offsets[*other] <= offset);
        placed.insert(position, index);
    }
    (offsets, arena)
}

/// Returns the maximum total size of buffers that are needed at the same time: a lower bound for the size of the arena.
pub fn most_alive(lifetimes: &[Lifetime]) -> usize {
    let mut changes: Vec<(usize, isize)> = Vec::new();
    for life in lifetimes {
        changes.push((life.first, life.size as isize));
        changes.push((life.last + 1, -(life.size as isize)));
    }
    changes.sort_unstable();
    let mut alive = 0;
    changes
        .into_iter()
        .map(|(_, change)| {
            alive += change;
            alive
        })
        .max()
        .unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_alive_is_overwritten(lives in prop::collection::vec((1usize..50, 0usize..30, 0usize..10), 1..60)) {
            let lives: Vec<Lifetime> = lives
                .into_iter()
                .map(|(size, first, length)| Lifetime { size, first, last: first + length })
                .collect();
            let (offsets, arena) = place(&lives);
            prop_assert!(arena >= most_alive(&lives));
            for (i, a) in lives.iter().enumerate() {
                prop_assert!(offsets[i] + a.size <= arena);
                for (j, b) in lives.iter().enumerate().take(i) {
                    let together = a.first <= b.last && b.first <= a.last;
                    let apart = offsets[i] + a.size <= offsets[j] || offsets[j] + b.size <= offsets[i];
                    prop_assert!(!together || apart);
                }
            }
        }
    }
}
