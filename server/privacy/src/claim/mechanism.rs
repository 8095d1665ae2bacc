/// Independent Gaussian noise on every round's sum, added by the coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian;

/// DP-FTRL with tree aggregation: noise on every node of a binary tree over the rounds.
#[derive(Clone, Copy, Debug)]
pub struct Tree;

/// DP-FTRL with a buffered linear Toeplitz (BLT) factorisation.
#[derive(Clone, Copy, Debug)]
pub struct Blt;

/// Gaussian noise of which every client adds a share to its update before it masks it. Only the sum of all shares is seen.
#[derive(Clone, Copy, Debug)]
pub struct DistributedGaussian;

/// Gaussian noise that every client adds to its own update before it leaves the device.
#[derive(Clone, Copy, Debug)]
pub struct LocalGaussian;
