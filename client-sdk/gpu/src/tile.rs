//! The tiling of matrix products: their division among workgroups and invocations.

/// The variants of the product kernel. All add in the same order, so the choice does not change a bit of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Tile {
    /// 128 by 128 through workgroup memory, 64 elements per invocation. For large matrices on hardware adapters.
    Large,
    /// 64 by 64 through workgroup memory, 64 elements per invocation.
    Medium,
    /// 64 by 64 through workgroup memory, 16 elements per invocation.
    Fine,
    /// 32 by 32 through workgroup memory, 16 elements per invocation.
    Small,
    /// Up to 64 by 64 without workgroup memory, 64 elements per invocation. For adapters on which reading is expensive
    /// and workgroup memory is no cheaper.
    Direct,
    /// Up to 32 by 32 for eight invocations that share elements of A. Needs subgroups of eight or more. For adapters
    /// that the CPU emulates, on which reading is expensive and a subgroup is a vector register.
    Subgroup,
}

/// Tiles of [`Tile::Subgroup`], and the relative cost of an element of C with each, measured on llvmpipe.
const SUBGROUP_TILES: [([usize; 2], usize); 5] =
    [([32, 32], 16), ([32, 16], 19), ([16, 32], 19), ([16, 16], 22), ([8, 64], 24)];
/// Tiles of [`Tile::Direct`], the blocks of their invocations, and the relative cost of an element of C with each,
/// measured on SwiftShader.
const DIRECT_TILES: [([usize; 2], [usize; 2], usize); 7] = [
    ([64, 64], [8, 8], 20),
    ([64, 32], [8, 8], 20),
    ([32, 64], [8, 8], 20),
    ([32, 32], [8, 8], 20),
    ([64, 16], [8, 4], 24),
    ([16, 64], [4, 8], 24),
    ([32, 32], [4, 4], 36),
];
/// The minimum number of multiplications for which the largest of these tiles is worth its long compile time.
const LARGE_PRODUCT: usize = 1 << 24;

/// The sizes of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// The rows and columns of C that a workgroup computes.
    pub(super) tile: [usize; 2],
    /// The rows and columns of C that an invocation computes.
    pub(super) block: [usize; 2],
}

/// The steps along k between two barriers, for variants with workgroup memory.
pub(super) const DEPTH: usize = 16;
/// The approximate number of tiles that keeps a GPU busy. If there are fewer, smaller tiles are used.
const TILES_WANTED: usize = 128;

impl Tile {
    /// All variants.
    pub(super) const ALL: [Self; 6] =
        [Self::Large, Self::Medium, Self::Fine, Self::Small, Self::Direct, Self::Subgroup];

    /// Returns the name of the variant, for logs and for [`crate::Gpu::set_tuning`].
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

    /// Returns whether the variant needs subgroup operations.
    pub(super) fn needs_subgroups(self) -> bool {
        self == Self::Subgroup
    }

    /// Returns this variant, or a smaller one if the matrices are small. `products` is the number of products.
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

    /// Returns the sizes for matrices with this many rows and columns, and sums of this many terms.
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

/// Returns the cheapest of these tiles for matrices with this many rows and columns. If two cost the same, returns the
/// larger.
fn direct_tile(rows: usize, columns: usize) -> ([usize; 2], [usize; 2]) {
    let cost = |(tile, _, element): &([usize; 2], [usize; 2], usize)| {
        rows.next_multiple_of(tile[0]) * columns.next_multiple_of(tile[1]) * element
    };
    let cheapest = DIRECT_TILES.iter().min_by_key(|tile| cost(tile));
    cheapest.map_or(([32, 32], [4, 4]), |(tile, block, _)| (*tile, *block))
}

/// Returns the cheapest tile for matrices with this many rows and columns.
fn subgroup_tile(rows: usize, columns: usize, is_large: bool) -> [usize; 2] {
    let tiles = &SUBGROUP_TILES[usize::from(!is_large)..];
    let cost = |(tile, element): &([usize; 2], usize)| {
        rows.next_multiple_of(tile[0]) * columns.next_multiple_of(tile[1]) * element
    };
    tiles.iter().min_by_key(|tile| cost(tile)).map_or(SUBGROUP_TILES[0].0, |(tile, _)| *tile)
}

impl Sizes {
    /// Returns the invocations of a workgroup, down and across the tile.
    pub(super) fn invocations(self) -> [usize; 2] {
        [self.tile[0] / self.block[0], self.tile[1] / self.block[1]]
    }

    /// Returns the number of elements that an invocation computes.
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
        assert_eq!(Tile::Large.fitted(2048, 1024, 1), Tile::Large);
        assert_eq!(Tile::Large.fitted(1024, 1024, 1), Tile::Medium);
        assert_eq!(Tile::Large.fitted(512, 512, 1), Tile::Small);
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
