//! Chooses and opens an adapter, and records failures and measurements.

use std::{
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use folkmoot_engine::{
    Adapter, AdapterReport, Gpu, GpuError, Precision, TrainError, Trainer, TrainingPlan, block_on,
};
use folkmoot_protocol::BlobDigest;

use super::{
    AdapterId, Device, DeviceError, Devices, Placement,
    known::Known,
    memory::{LEFT_ALONE_DAYS, Preference, plan_digest},
};

impl From<&AdapterReport> for AdapterId {
    fn from(report: &AdapterReport) -> Self {
        Self { name: report.name.clone(), driver: report.driver.clone() }
    }
}

impl From<&AdapterReport> for Placement {
    fn from(report: &AdapterReport) -> Self {
        Self { device: report.name.clone(), energy_class: report.energy_class, adapter: Some(report.into()) }
    }
}

impl Devices {
    pub(super) fn place_beside_cpu(
        &self,
        trainer: &mut Trainer,
        plan: &TrainingPlan,
        model: BlobDigest,
    ) -> Result<Placement, DeviceError> {
        let mut known = self.lock();
        let before = known.memory.clone();
        let placed = match self.wanted {
            Device::Auto => self.place_where_faster(&mut known, trainer, plan, model),
            _ => self.place_on_gpu(&mut known, trainer),
        };
        if known.memory != before {
            self.save(&known);
        }
        placed
    }

    /// If a device failure moved the training back to the CPU, records the fault and returns the new placement.
    pub fn came_back(&self, placement: &Placement, trainer: &Trainer) -> Option<Placement> {
        let id = placement.adapter.as_ref().filter(|_| trainer.gpu().is_none())?;
        let fault = trainer.gpu_fault()?;
        tracing::warn!(adapter = id.name, %fault, "the adapter failed; training continues on the CPU");
        let mut known = self.lock();
        known.gpu = None;
        if self.learn(&mut known, id, fault) {
            self.save(&known);
        }
        Some(Placement::cpu())
    }

    /// Falls back to the CPU if the device cannot be used, unless the plan needs 16-bit numbers.
    fn place_where_faster(
        &self,
        known: &mut Known,
        trainer: &mut Trainer,
        plan: &TrainingPlan,
        model: BlobDigest,
    ) -> Result<Placement, DeviceError> {
        match (self.place_on_faster(known, trainer, plan, model), plan.precision) {
            (Err(DeviceError::Train(TrainError::Gpu(GpuError::NoAdapter))), Precision::Mixed) => {
                Err(TrainError::NoHalfPrecision.into())
            }
            (Err(error), Precision::Single) => {
                tracing::info!(%error, "training runs on the CPU");
                Ok(Placement::cpu())
            }
            (placed, _) => placed,
        }
    }

    fn place_on_faster(
        &self,
        known: &mut Known,
        trainer: &mut Trainer,
        plan: &TrainingPlan,
        model: BlobDigest,
    ) -> Result<Placement, DeviceError> {
        if plan.precision == Precision::Mixed {
            return self.place_on_gpu(known, trainer);
        }
        let (adapter, digest) = (self.adapter(known)?, plan_digest(model, plan));
        let id = AdapterId::from(adapter.report());
        let faster = match known.memory.preference(&digest, &id) {
            Some(faster) => faster,
            None => {
                let faster = self.compare(known, &adapter, trainer)?;
                known.memory.remember_preference(&digest, &id, faster, self.host.now());
                faster
            }
        };
        match faster {
            Preference::Cpu => Ok(Placement::cpu()),
            Preference::Gpu => self.place_on_gpu(known, trainer),
        }
    }

    /// Measures which device is faster. A plan that the adapter cannot run is assigned to the CPU.
    fn compare(
        &self,
        known: &mut Known,
        adapter: &Adapter,
        trainer: &Trainer,
    ) -> Result<Preference, DeviceError> {
        let gpu = self.open(known, adapter)?;
        let compared = trainer.compare(&gpu, &|| self.host.elapsed());
        match self.learning(known, adapter, compared) {
            Ok(comparison) => {
                let seconds = |time: Duration| time.as_secs_f64();
                tracing::info!(
                    adapter = adapter.report().name,
                    cpu_seconds = comparison.cpu.map(seconds),
                    gpu_seconds = seconds(comparison.gpu),
                    "measured a step"
                );
                Ok(if comparison.prefers_gpu() { Preference::Gpu } else { Preference::Cpu })
            }
            Err(TrainError::Gpu(error @ (GpuError::Unsupported { .. } | GpuError::TooLarge { .. }))) => {
                tracing::info!(%error, "the adapter cannot run this plan; training runs on the CPU");
                Ok(Preference::Cpu)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn place_on_gpu(&self, known: &mut Known, trainer: &mut Trainer) -> Result<Placement, DeviceError> {
        let adapter = self.adapter(known)?;
        let gpu = self.open(known, &adapter)?;
        let used = trainer.use_gpu(&gpu);
        self.learning(known, &adapter, used)?;
        Ok(adapter.report().into())
    }

    /// Returns the requested adapter, unless it is excluded after a failure.
    fn adapter(&self, known: &mut Known) -> Result<Adapter, DeviceError> {
        let now = self.host.now();
        let found = known.adapters.get_or_insert_with(|| block_on(Adapter::all()));
        let has_real = found.iter().any(|adapter| !is_software(adapter.report()));
        let wanted = found.iter().filter(|adapter| is_wanted(&self.wanted, adapter.report(), has_real));
        let mut left_alone = None;
        for adapter in wanted {
            let Some(fault) = known.memory.fault(&adapter.report().into(), now) else {
                return Ok(adapter.clone());
            };
            left_alone.get_or_insert_with(|| DeviceError::LeftAlone {
                adapter: adapter.report().name.clone(),
                days: LEFT_ALONE_DAYS,
                detail: fault.detail.clone(),
            });
        }
        let name = match &self.wanted {
            Device::Named(name) => Some(name.as_str()),
            _ => None,
        };
        // If no adapter has this name, the engine's error lists the available ones.
        let none = match name.map(|name| Adapter::pick(found, Some(name))) {
            Some(Err(error)) => error,
            _ => GpuError::NoAdapter,
        };
        Err(left_alone.unwrap_or_else(|| none.into()))
    }

    /// Returns the open adapter, or opens it with the fastest tuning.
    fn open(&self, known: &mut Known, adapter: &Adapter) -> Result<Gpu, DeviceError> {
        if let Some(gpu) = &known.gpu {
            return Ok(gpu.clone());
        }
        let opened = block_on(Gpu::open(adapter)).map_err(TrainError::from);
        let mut gpu = self.learning(known, adapter, opened)?;
        let id = AdapterId::from(adapter.report());
        if !known.memory.tuning(&id).is_some_and(|name| gpu.set_tuning(name)) {
            let tuned = block_on(gpu.tune(&|| self.host.elapsed())).map_err(TrainError::from);
            self.learning(known, adapter, tuned)?;
            known.memory.remember_tuning(&id, gpu.tuning(), self.host.now());
        }
        known.gpu = Some(gpu.clone());
        Ok(gpu)
    }

    /// Returns the result unchanged. If it is an error that the adapter caused, records a fault.
    fn learning<T>(
        &self,
        known: &mut Known,
        adapter: &Adapter,
        result: Result<T, TrainError>,
    ) -> Result<T, TrainError> {
        if let Err(TrainError::Gpu(error)) = &result {
            self.learn(known, &adapter.report().into(), error);
        }
        result
    }

    /// If the adapter caused this error, records a fault and closes the adapter. Returns whether it did.
    fn learn(&self, known: &mut Known, id: &AdapterId, error: &GpuError) -> bool {
        if error.is_adapters_fault() {
            (known.gpu, known.adapters) = (None, None);
            known.memory.remember_fault(id, &error.to_string(), self.host.now());
        }
        error.is_adapters_fault()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // `Known` is consistent after every statement, so a poisoned lock is safe to use.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, known: &Known) {
        let Some(store) = &self.store else { return };
        if let Err(error) = store.save(&known.memory) {
            tracing::warn!(%error, "could not store what was learnt about the graphics adapters");
        }
    }
}

/// Returns whether this adapter may be used. `has_real` means that at least one adapter is not emulated.
fn is_wanted(wanted: &Device, report: &AdapterReport, has_real: bool) -> bool {
    match wanted {
        Device::Auto => !is_software(report),
        Device::Cpu => false,
        Device::Gpu => !has_real || !is_software(report),
        Device::Named(name) => report.name.to_lowercase().contains(&name.to_lowercase()),
    }
}

fn is_software(report: &AdapterReport) -> bool {
    report.kind == "software"
}

#[cfg(test)]
impl Devices {
    /// Destroys the open adapter, as if it had been unplugged.
    pub(crate) fn break_adapter(&self) {
        self.lock().gpu.as_ref().expect("a training has opened it").destroy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, kind: &'static str) -> AdapterReport {
        AdapterReport {
            name: name.into(),
            driver: "1.0".into(),
            backend: "vulkan".into(),
            kind,
            energy_class: "high",
            half_precision: true,
            subgroups: true,
            timestamps: true,
            binding_bytes_max: 1 << 30,
            buffer_bytes_max: 1 << 30,
            workgroup_invocations_max: 256,
            workgroup_memory_bytes: 1 << 14,
        }
    }

    #[test]
    fn an_imitation_is_taken_by_name_or_where_there_is_nothing_else() {
        let (card, imitation) = (report("Radeon 9", "discrete"), report("llvmpipe", "software"));
        assert!(is_wanted(&Device::Auto, &card, true) && !is_wanted(&Device::Auto, &imitation, false));
        assert!(is_wanted(&Device::Gpu, &card, true) && !is_wanted(&Device::Gpu, &imitation, true));
        assert!(is_wanted(&Device::Gpu, &imitation, false));
        let named = Device::Named("LLVM".into());
        assert!(is_wanted(&named, &imitation, true) && !is_wanted(&named, &card, true));
    }

    /// `auto` measures a plan on both devices once and then reuses the result.
    #[test]
    fn where_a_plan_is_faster_is_measured_once() {
        use folkmoot_engine::{Examples, ImportLimits, Labels, LocalOptimizer, Loss, Model, onnx::build};
        let host = crate::Host::system().unwrap();
        let devices = Devices::new(Device::Gpu, host);
        let mut known = devices.lock();
        let Ok(adapter) = devices.adapter(&mut known) else {
            assert!(std::env::var("FOLKMOOT_GPU").is_err(), "there has to be an adapter");
            eprintln!("SKIPPED: there is no graphics adapter");
            return;
        };
        let model = Model::from_onnx(&build::mlp(&[4, 8, 2], 1), &ImportLimits::default()).unwrap();
        let examples =
            Examples::new(vec![0.5; 40], vec![4], Labels::Classes((0..10).map(|row| row % 2).collect()));
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let trainer = Trainer::new(&model, &model.initial_weights(), plan.clone(), &examples.unwrap(), 1);
        let (mut trainer, digest) = (trainer.unwrap(), BlobDigest::of(b"model"));
        let (id, key) = (AdapterId::from(adapter.report()), plan_digest(digest, &plan));
        assert_eq!(known.memory.preference(&key, &id), None);
        let placed = devices.place_on_faster(&mut known, &mut trainer, &plan, digest).unwrap();
        let faster = known.memory.preference(&key, &id).expect("it was measured");
        assert_eq!(placed.device == "cpu", faster == Preference::Cpu);
        assert_eq!(trainer.progress().step, 0, "the training itself was not touched");
        for wanted in [Preference::Gpu, Preference::Cpu] {
            known.memory.remember_preference(&key, &id, wanted, devices.host.now());
            let placed = devices.place_on_faster(&mut known, &mut trainer, &plan, digest).unwrap();
            assert_eq!(placed.device == "cpu", wanted == Preference::Cpu, "what is known is not measured");
            assert_eq!(placed.device != "cpu", trainer.gpu().is_some());
            trainer = Trainer::new(
                &model,
                &model.initial_weights(),
                plan.clone(),
                &Examples::new(vec![0.5; 8], vec![4], Labels::Classes(vec![0, 1])).unwrap(),
                1,
            )
            .unwrap();
        }
    }
}
