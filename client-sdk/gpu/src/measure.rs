//! Measures an adapter: the fastest tiling of matrix products, and the peak speeds.

use std::time::Duration;

use folkmoot_graph::Graph;
use folkmoot_graph::op::ElementOp;
use serde::Serialize;

use super::GpuError;
use super::device::Gpu;
use super::once::Once;
use super::tile::Tile;

/// Time since a fixed moment. The caller provides the clock, because the engine has none.
pub type Clock<'a> = &'a dyn Fn() -> Duration;

/// The number of measurements of the same work. The fastest one counts.
const REPETITIONS: usize = 5;
/// The approximate duration of a measurement, long enough that the latency of a submission does not matter.
const MEASURED: Duration = Duration::from_millis(20);
/// The maximum number of runs in one submission.
const RUNS_MAX: usize = 64;

/// The peak speeds of an adapter, as reached by the engine's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AdapterPeak {
    /// Billions of floating-point operations per second in a large matrix product.
    pub matmul_gflops: f64,
    /// Billions of bytes per second in a copy, read plus written.
    pub bandwidth_gb_per_s: f64,
}

impl Gpu {
    /// Measures every tiling of matrix products and keeps the fastest. The tiling does not change results, because all
    /// tilings add in the same order. A tiling that gives another result on this adapter is not used.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device fails.
    pub async fn tune(&mut self, clock: Clock<'_>) -> Result<(), GpuError> {
        let size = if self.is_software() { 256 } else { 2048 };
        let mut fastest: Option<(Duration, Tile)> = None;
        let mut expected: Option<Vec<f32>> = None;
        for tile in self.usable_tiles() {
            self.set_tile(tile);
            let once = self.once(&product([size; 3]))?;
            let time = self.time(&once, clock).await?;
            let found = once.outputs().await?.swap_remove(0);
            let is_right = *expected.get_or_insert_with(|| found.clone()) == found;
            if is_right && fastest.is_none_or(|(best, _)| time < best) {
                fastest = Some((time, tile));
            }
        }
        if let Some((_, tile)) = fastest {
            self.set_tile(tile);
        }
        Ok(())
    }

    /// Returns the name of the current tiling, to store for [`Gpu::set_tuning`].
    pub fn tuning(&self) -> &'static str {
        self.traits().tile.name()
    }

    /// Applies the tiling that an earlier tuning run found fastest on this adapter. Returns `false` if the name is
    /// unknown or the adapter cannot use it.
    pub fn set_tuning(&mut self, name: &str) -> bool {
        let found = self.usable_tiles().into_iter().find(|tile| tile.name() == name);
        found.map(|tile| self.set_tile(tile)).is_some()
    }

    /// Measures the adapter's peaks.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device fails.
    pub async fn measure(&self, clock: Clock<'_>) -> Result<AdapterPeak, GpuError> {
        let (size, elements) = if self.is_software() { (512, 1 << 22) } else { (4096, 1 << 25) };
        let matmul_gflops = self.product_gflops([size; 3], clock).await?;
        let copied = self.time(&self.once(&copy(elements))?, clock).await?;
        let bytes = 2 * elements * size_of::<f32>();
        Ok(AdapterPeak { matmul_gflops, bandwidth_gb_per_s: bytes as f64 / copied.as_secs_f64() / 1e9 })
    }

    /// Measures billions of floating-point operations per second in the product of `[m, k]` and `[k, n]`.
    ///
    /// # Errors
    /// Returns a [`GpuError`] if the device fails.
    pub async fn product_gflops(&self, dims: [usize; 3], clock: Clock<'_>) -> Result<f64, GpuError> {
        let flops = 2.0 * dims.map(|size| size as f64).into_iter().product::<f64>();
        let time = self.time(&self.once(&product(dims))?, clock).await?;
        Ok(flops / time.as_secs_f64() / 1e9)
    }

    /// Prepares a graph with nonzero inputs: zeros could be faster than other numbers.
    fn once(&self, graph: &Graph) -> Result<Once, GpuError> {
        let output = graph.nodes.last().expect("there is a node to measure").output;
        let once = Once::new(self, graph, &[output])?;
        let numbers = |length: usize| (0..length).map(|index| (index % 251) as f32 / 251.0 - 0.5).collect();
        let inputs: Vec<Vec<f32>> = once.input_lengths().map(numbers).collect();
        let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        once.upload(&inputs);
        Ok(once)
    }

    /// Returns the time of one run of a graph.
    async fn time(&self, once: &Once, clock: Clock<'_>) -> Result<Duration, GpuError> {
        let run = async |runs: usize| {
            let begin = clock();
            self.finished(once.run(0, runs)?).await?;
            Ok::<_, GpuError>(clock().saturating_sub(begin))
        };
        run(1).await?;
        let single = run(1).await?.max(Duration::from_micros(1));
        let runs = (MEASURED.as_secs_f64() / single.as_secs_f64()).ceil() as usize;
        let runs = runs.clamp(1, RUNS_MAX);
        let mut fastest = Duration::MAX;
        for _ in 0..REPETITIONS {
            fastest = fastest.min(run(runs).await? / runs as u32);
        }
        Ok(fastest)
    }

    fn usable_tiles(&self) -> Vec<Tile> {
        let has_subgroups = self.traits().subgroups;
        Tile::ALL.into_iter().filter(|tile| has_subgroups || !tile.needs_subgroups()).collect()
    }

    fn is_software(&self) -> bool {
        self.report().kind == "software"
    }
}

fn product([m, k, n]: [usize; 3]) -> Graph {
    let mut graph = Graph::default();
    let (a, b) = (graph.add_input(&[m, k]), graph.add_input(&[k, n]));
    graph.matmul(a, b, false, false).expect("the shapes of a product fit");
    graph
}

fn copy(elements: usize) -> Graph {
    let mut graph = Graph::default();
    let x = graph.add_input(&[elements]);
    graph.element(ElementOp::Negate, &[x]).expect("one shape always fits");
    graph
}
