//! Errors before anything runs: they name the adapter, and do not affect other work.

use super::gpu;
use crate::GpuError;
use crate::program::STORAGE;

#[test]
fn a_kernel_that_does_not_compile_is_named_and_the_device_goes_on() {
    let Some(gpu) = gpu() else { return };
    let descriptor =
        wgpu::PipelineLayoutDescriptor { label: None, bind_group_layouts: &[], immediate_size: 0 };
    let layout = gpu.device.create_pipeline_layout(&descriptor);
    let broken = gpu.pipeline("a broken kernel", "fn main() { nonsense }", &layout);
    let Err(error) = broken else { panic!("it compiled") };
    assert!(matches!(error, GpuError::Kernel { .. }) && error.is_adapters_fault(), "{error}");
    let message = error.to_string();
    assert!(message.contains("a broken kernel") && message.contains(&gpu.report().name), "{message}");
    gpu.check().expect("the device itself is sound");
    let source = "@compute @workgroup_size(1) fn main() {}";
    gpu.pipeline("an empty kernel", source, &layout).expect("this one compiles");
}

#[test]
fn memory_that_is_not_there_is_refused_and_not_counted() {
    let Some(gpu) = gpu() else { return };
    let allowed = gpu.report().buffer_bytes_max;
    let refused = gpu.allocate("a test", allowed + 4, STORAGE);
    let Err(error) = refused else { panic!("it was given") };
    assert!(matches!(error, GpuError::TooLarge { .. }) && !error.is_adapters_fault(), "{error}");
    gpu.check().expect("the device itself is sound");
}
