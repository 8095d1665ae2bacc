use chacha20::{
    ChaCha20,
    cipher::{KeyIvInit, StreamCipher},
};

/// The graph of the members that mask with each other: a random relabelling of a circulant graph, in which everyone has the
/// same degree (Bell et al. 2020, section 3, "Secure Single-Server Aggregation with (Poly)Logarithmic Overhead").
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    degree: usize,
    /// The member at each position of the circle.
    circle: Vec<u32>,
    /// The position of each member.
    positions: Vec<u32>,
}

impl Graph {
    /// Builds the graph of `members` members from a public seed. A degree of `members - 1` or more gives the full graph;
    /// any other degree must be even.
    pub fn new(members: usize, degree: usize, seed: &[u8; 32]) -> Self {
        let mut circle: Vec<u32> = (0..members as u32).collect();
        let mut random = Below::new(seed);
        for last in (1..members).rev() {
            circle.swap(last, random.next(last as u64 + 1) as usize);
        }
        let mut positions = vec![0; members];
        circle.iter().zip(0..).for_each(|(member, position)| positions[*member as usize] = position);
        Self { degree: degree.min(members.saturating_sub(1)), circle, positions }
    }

    /// Returns the neighbours of a member, in ascending order.
    pub fn neighbours(&self, member: u32) -> Vec<u32> {
        let count = self.circle.len();
        let position = self.positions[member as usize] as usize;
        let mut neighbours: Vec<u32> = if self.degree + 1 >= count {
            (0..count as u32).filter(|other| *other != member).collect()
        } else {
            let half = self.degree / 2;
            (1..=half)
                .flat_map(|step| [(position + step) % count, (position + count - step) % count])
                .map(|place| self.circle[place])
                .collect()
        };
        neighbours.sort_unstable();
        neighbours
    }
}

/// Unbiased random numbers below a bound, from the key stream of ChaCha20.
struct Below {
    cipher: ChaCha20,
}

impl Below {
    fn new(seed: &[u8; 32]) -> Self {
        Self { cipher: ChaCha20::new(&(*seed).into(), &[0; 12].into()) }
    }

    fn next(&mut self, bound: u64) -> u64 {
        // Numbers at or above the largest multiple of the bound would make small results more probable.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let mut bytes = [0; 8];
            self.cipher.apply_keystream(&mut bytes);
            let drawn = u64::from_le_bytes(bytes);
            if drawn < limit {
                return drawn % bound;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_mutual_distinct_and_as_many_as_the_degree() {
        for (members, degree) in [(2, 1), (3, 2), (9, 8), (10, 4), (100, 30), (101, 100), (33, 32)] {
            let graph = Graph::new(members, degree, &[members as u8; 32]);
            for member in 0..members as u32 {
                let neighbours = graph.neighbours(member);
                assert_eq!(neighbours.len(), degree, "{members} {degree}");
                assert!(neighbours.is_sorted_by(|a, b| a < b) && !neighbours.contains(&member));
                assert!(neighbours.iter().all(|other| graph.neighbours(*other).contains(&member)));
            }
        }
    }

    #[test]
    fn another_seed_gives_another_graph() {
        let graphs = [1, 2].map(|seed| Graph::new(100, 10, &[seed; 32]));
        assert!((0..100).any(|member| graphs[0].neighbours(member) != graphs[1].neighbours(member)));
    }
}
