//! How a product is divided among workgroups and invocations.

/// The variants of the product kernel. All add up a sum in the same order, so that the choice changes no bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Tile {
    /// 128 by 128 through workgroup memory, 64 elements an invocation: for large matrices on real devices.
    Large,
    /// 64 by 64 through workgroup memory, 64 elements an invocation.
    Medium,
    /// 64 by 64 through workgroup memory, 16 elements an invocation.
    Fine,
    /// 32 by 32 through workgroup memory, 16 elements an invocation.
    Small,
    /// Up to 64 by 64 without workgroup memory, 64 elements an invocation: where reading is expensive and workgroup memory
    /// no cheaper.
    Direct,
    /// Up to 32 by 32 for eight invocations that hand elements of A to each other. Needs subgroups of eight or more;
    /// made for processors that imitate a device, where reading is expensive and a subgroup is a vector register.
    Subgroup,
}

/// Tiles of [`Tile::Subgroup`], and what an element of C costs with each, relative to the others: measured on llvmpipe.
const SUBGROUP_TILES: [([usize; 2], usize); 5] =
    [([32, 32], 16), ([32, 16], 19), ([16, 32], 19), ([16, 16], 22), ([8, 64], 24)];
/// Tiles of [`Tile::Direct`] and the blocks of their invocations, and what an element of C costs with each, relative to
/// the others: measured on SwiftShader.
const DIRECT_TILES: [([usize; 2], [usize; 2], usize); 7] = [
    ([64, 64], [8, 8], 20),
    ([64, 32], [8, 8], 20),
    ([32, 64], [8, 8], 20),
    ([32, 32], [8, 8], 20),
    ([64, 16], [8, 4], 24),
    ([16, 64], [4, 8], 24),
    ([32, 32], [4, 4], 36),
];
/// Multiplications from which the largest of these pays for taking longest to compile.
const LARGE_PRODUCT: usize = 1 << 24;

/// The sizes of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Rows and columns of C that a workgroup computes.
    pub(super) tile: [usize; 2],
    /// Rows and columns that an invocation computes.
    pub(super) block: [usize; 2],
}

/// Steps along k between two barriers, for the variants with workgroup memory.
pub(super) const DEPTH: usize = 16;
/// Tiles that keep a device busy, about: with fewer, they are made smaller.
const TILES_WANTED: usize = 64;

impl Tile {
    /// All variants.
    pub(super) const ALL: [Self; 6] =
        [Self::Large, Self::Medium, Self::Fine, Self::Small, Self::Direct, Self::Subgroup];

    /// The name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Large => "large",
            Self::Medium => "medium",
            Self::Fine => "fine",
            Self::Small => "small",
            Self::Direct => "direct",
            Self::Subgroup => "subgroup",
        }
    }

    /// Whether it works only with the subgroup operations.
    pub(super) fn needs_subgroups(self) -> bool {
        self == Self::Subgroup
    }

    /// This variant, or a smaller one if the matrices are small. `products` is how many there are.
    pub(super) fn fitted(self, rows: usize, columns: usize, products: usize) -> Self {
        let smaller = match self {
            Self::Large => Self::Medium,
            Self::Medium | Self::Fine => Self::Small,
            Self::Small | Self::Direct | Self::Subgroup => return self,
        };
        let [tile_rows, tile_columns] = self.sizes(rows, columns, 1).tile;
        let tiles = rows.div_ceil(tile_rows) * columns.div_ceil(tile_columns) * products;
        let is_filled = rows > tile_rows / 2 && columns > tile_columns / 2;
        if is_filled && tiles >= TILES_WANTED { self } else { smaller.fitted(rows, columns, products) }
    }

    /// The sizes for matrices of so many rows and columns, and sums of so many terms.
    pub(super) fn sizes(self, rows: usize, columns: usize, terms: usize) -> Sizes {
        let (tile, block) = match self {
            Self::Large => ([128, 128], [8, 8]),
            Self::Medium => ([64, 64], [8, 8]),
            Self::Fine => ([64, 64], [4, 4]),
            Self::Small => ([32, 32], [4, 4]),
            Self::Direct => direct_tile(rows, columns),
            Self::Subgroup => {
                let tile = subgroup_tile(rows, columns, rows * columns * terms >= LARGE_PRODUCT);
                (tile, [tile[0], tile[1] / 8])
            }
        };
        Sizes { tile, block }
    }
}

/// The cheapest of these for matrices of so many rows and columns, the larger of two.
fn direct_tile(rows: usize, columns: usize) -> ([usize; 2], [usize; 2]) {
    let cost = |(tile, _, element): &([usize; 2], [usize; 2], usize)| {
        rows.next_multiple_of(tile[0]) * columns.next_multiple_of(tile[1]) * element
    };
    let cheapest = DIRECT_TILES.iter().min_by_key(|tile| cost(tile));
    cheapest.map_or(([32, 32], [4, 4]), |(tile, block, _)| (*tile, *block))
}

/// The cheapest tile for matrices of so many rows and columns.
fn subgroup_tile(rows: usize, columns: usize, is_large: bool) -> [usize; 2] {
    let tiles = &SUBGROUP_TILES[usize::from(!is_large)..];
    let cost = |(tile, element): &([usize; 2], usize)| {
        rows.next_multiple_of(tile[0]) * columns.next_multiple_of(tile[1]) * element
    };
    tiles.iter().min_by_key(|tile| cost(tile)).map_or(SUBGROUP_TILES[0].0, |(tile, _)| *tile)
}

impl Sizes {
    /// Invocations of a workgroup down and across the tile.
    pub(super) fn invocations(self) -> [usize; 2] {
        [self.tile[0] / self.block[0], self.tile[1] / self.block[1]]
    }

    /// Elements that an invocation computes.
    pub(super) fn sums(self) -> usize {
        self.block[0] * self.block[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_matrices_get_small_tiles() {
        assert_eq!(Tile::Large.fitted(4096, 4096, 1), Tile::Large);
        assert_eq!(Tile::Large.fitted(1024, 1024, 1), Tile::Large);
        assert_eq!(Tile::Large.fitted(512, 512, 1), Tile::Medium);
        assert_eq!(Tile::Large.fitted(32, 4096, 1), Tile::Small);
        assert_eq!(Tile::Subgroup.sizes(10, 200, 32).tile, [16, 32]);
        assert_eq!(Tile::Subgroup.sizes(96, 208, 320).tile, [32, 16]);
        assert_eq!(Tile::Subgroup.sizes(512, 512, 512).tile, [32, 32]);
    }

    #[test]
    fn every_variant_keeps_the_limits() {
        for tile in Tile::ALL {
            let sizes = tile.sizes(1000, 1000, 1000);
            let invocations: usize = sizes.invocations().iter().product();
            assert!(invocations <= 256, "{}", tile.name());
            assert!((sizes.tile[0] + sizes.tile[1]) * DEPTH * 4 <= 16_384, "{}", tile.name());
        }
    }
}
