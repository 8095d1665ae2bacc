//! Images as they are, and by a schema.

use std::{fs, io::Cursor};

use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage, Rgba, RgbaImage};

use folkmoot_protocol::ImageFit;

use super::*;
use crate::{Dataset, Limits};

fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
    encoded(image, ImageFormat::Png)
}

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn gray(level: u8) -> GrayImage {
    GrayImage::from_pixel(2, 1, Luma([level]))
}

fn read_files(files: &[(&str, Vec<u8>)], options: &ReadOptions) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    crate::read(folder.path(), options).map_err(|error| error.to_string())
}

fn message(files: &[(&str, Vec<u8>)]) -> String {
    read_files(files, &ReadOptions::default()).unwrap_err()
}

#[test]
fn folders_are_classes() {
    let files = [
        ("dog/b.png", png(gray(255))),
        ("dog/a.PNG", png(gray(51))),
        ("cat/z.png", png(gray(0))),
        (".git/x.png", png(gray(0))),
    ];
    let dataset = read_files(&files, &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.feature_shape(), [1, 1, 2]);
    assert_eq!(dataset.examples.features(), [0.0, 0.0, 0.2, 0.2, 1.0, 1.0]);
    assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![0, 1, 1]));
}

#[test]
fn numbered_folders_are_in_the_order_of_numbers() {
    let files = [("10/a.png", png(gray(255))), ("2/a.png", png(gray(51)))];
    let dataset = read_files(&files, &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.features(), [0.2, 0.2, 1.0, 1.0]);
}

#[test]
fn colour_comes_channels_first() {
    let mut image = RgbImage::from_pixel(2, 1, Rgb([255, 0, 51]));
    image.put_pixel(1, 0, Rgb([0, 51, 255]));
    let opaque = RgbaImage::from_pixel(2, 1, Rgba([0, 0, 255, 255]));
    let wide = DynamicImage::ImageRgb16(image::ImageBuffer::from_pixel(2, 1, Rgb([65535, 0, 13107])));
    let files = [
        ("a/1.png", png(image)),
        ("a/2.png", png(gray(51))),
        ("a/3.png", png(opaque)),
        ("a/4.png", png(wide)),
    ];
    let dataset = read_files(&files, &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.feature_shape(), [3, 1, 2]);
    let rows: Vec<&[f32]> = dataset.examples.features().chunks(6).collect();
    assert_eq!(rows[0], [1.0, 0.0, 0.0, 0.2, 0.2, 1.0]);
    assert_eq!(rows[1], [0.2; 6]);
    assert_eq!(rows[2], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(rows[3], [1.0, 1.0, 0.0, 0.0, 0.2, 0.2]);
}

#[test]
fn jpeg_is_read() {
    let image = GrayImage::from_pixel(8, 8, Luma([128]));
    let files = [("a/1.jpg", encoded(image, ImageFormat::Jpeg))];
    let dataset = read_files(&files, &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.feature_shape(), [1, 8, 8]);
    assert!(dataset.examples.features().iter().all(|value| (value - 128.0 / 255.0).abs() < 0.01));
}

#[test]
fn what_does_not_fit_is_named() {
    let small = png(gray(0));
    let large = png(GrayImage::new(3, 1));
    let text = message(&[("a/1.png", small.clone()), ("a/2.png", large)]);
    assert!(text.contains("2.png: is 3 × 1 pixels, but ") && text.contains("1.png is 2 × 1; "), "{text}");
    let colour = png(RgbImage::new(2, 1));
    let text = message(&[("a/1.png", small.clone()), ("a/2.png", colour)]);
    assert!(text.contains("2.png: is in colour, but ") && text.contains("is grey"), "{text}");
    let glass = png(RgbaImage::from_pixel(2, 1, Rgba([0, 0, 0, 254])));
    assert!(message(&[("a/1.png", glass)]).contains("1.png: has transparent pixels"));
    assert!(message(&[("a/1.png", b"no".to_vec())]).contains("1.png: cannot be read as a PNG or JPEG image"));
    assert!(message(&[("a/notes.txt", vec![])]).contains("notes.txt: is not a .png"));
    assert!(
        message(&[("1.png", small.clone()), ("a/1.png", small)]).contains("is not in the folder of a class")
    );
}

#[test]
fn a_large_image_is_refused_by_its_header() {
    let files = [("a/1.png", png(GrayImage::new(100, 10)))];
    let limits = Limits { image_pixels_max: 999, ..Limits::default() };
    let text = read_files(&files, &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err();
    assert!(text.contains("100 × 10 pixels") && text.contains("image_pixels_max"), "{text}");
}

fn schema(width: u32, height: u32) -> ImageSchema {
    let classes = vec!["cat".into(), "dog".into()];
    let (mean, deviation) = (Vec::new(), Vec::new());
    ImageSchema { width, height, grey: true, fit: ImageFit::Crop, mean, deviation, classes }
}

fn by(schema: ImageSchema) -> ReadOptions {
    ReadOptions { schema: Some(schema.into()), ..ReadOptions::default() }
}

/// Returns the features of one image.
fn features_of(content: Vec<u8>, schema: ImageSchema) -> Vec<f32> {
    let files = [("dog/1.png", content)];
    read_files(&files, &by(schema)).unwrap().examples.features().to_vec()
}

/// An image of one row.
fn row(levels: &[u8]) -> Vec<u8> {
    png(GrayImage::from_raw(levels.len() as u32, 1, levels.to_vec()).unwrap())
}

#[test]
fn a_schema_numbers_classes_by_their_names() {
    let files = [("dog/1.png", png(gray(255)))];
    let dataset = read_files(&files, &by(schema(1, 1))).unwrap();
    assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![1]));
    let files = [("dog/1.png", png(gray(255))), ("bird/1.png", png(gray(255)))];
    let text = read_files(&files, &by(schema(1, 1))).unwrap_err();
    assert!(text.contains("bird: is not one of the schema's 2 classes"), "{text}");
}

#[test]
fn images_of_all_sizes_and_colours_become_one_shape() {
    let colour = RgbImage::from_pixel(5, 7, Rgb([255, 0, 51]));
    let files = [("cat/1.png", png(colour)), ("dog/1.png", png(gray(51)))];
    let mean = vec![0.0, 0.2, 0.2];
    let wanted = ImageSchema { grey: false, mean, deviation: vec![0.5, 1.0, 1.0], ..schema(2, 2) };
    let dataset = read_files(&files, &by(wanted)).unwrap();
    assert_eq!(dataset.examples.feature_shape(), [3, 2, 2]);
    let near = |found: &[f32], expected: [f32; 3]| {
        let of_channel = found.iter().zip(expected.into_iter().flat_map(|value| [value; 4]));
        assert!(of_channel.clone().all(|(one, other)| (one - other).abs() < 1e-6), "{found:?}");
    };
    let (first, second) = dataset.examples.features().split_at(12);
    near(first, [2.0, -0.2, 0.0]);
    near(second, [0.4, 0.0, 0.0]);
    let red = png(RgbImage::from_pixel(2, 2, Rgb([255, 0, 0])));
    assert_eq!(features_of(red, schema(1, 1)), [0.299]);
}

#[test]
fn an_image_is_cropped_padded_or_stretched() {
    let wide = || row(&[255, 0, 0, 51]);
    let fit = |fit| ImageSchema { fit, ..schema(2, 1) };
    assert_eq!(features_of(wide(), schema(2, 1)), [0.0, 0.0]);
    let stretched = features_of(wide(), fit(ImageFit::Stretch));
    // The triangle gives the four pixels the weights 0.75, 0.75, 0.25 and 0, from the nearer side.
    let near = |one: f32, other: f32| (one - other).abs() < 1e-6;
    assert!(near(stretched[0], 0.75 / 1.75) && near(stretched[1], 0.15 / 1.75), "{stretched:?}");
    let square = ImageSchema { mean: vec![0.5], ..fit(ImageFit::Pad) };
    let padded = features_of(wide(), ImageSchema { width: 4, height: 3, ..square });
    assert_eq!(padded[..4], [0.0; 4]);
    assert_eq!(padded[4..8], [0.5, -0.5, -0.5, -0.3]);
    assert_eq!(padded[8..], [0.0; 4]);
}

/// Pillow 13 on an image of floats with 7 rows and 9 columns, `x[i, j] = (i * i + 3 * j) / 100`, after
/// `resize((3, 2), Image.Resampling.BILINEAR)`.
const PILLOW: [f32; 6] = [0.07657, 0.15907, 0.24157, 0.2468, 0.3293, 0.4118];

#[test]
fn resizing_agrees_with_pillow() {
    let image = image::ImageBuffer::from_fn(9, 7, |x, y| Luma([((y * y + 3 * x) * 655) as u16]));
    let stretched = ImageSchema { fit: ImageFit::Stretch, ..schema(3, 2) };
    let found = features_of(png(DynamicImage::ImageLuma16(image)), stretched);
    let scale = 100.0 * 655.0 / 65535.0;
    for (found, expected) in found.iter().zip(PILLOW) {
        assert!((found / scale - expected).abs() < 2e-4, "{found} for {expected}");
    }
}

/// If the height grew to that of the schema first, the widest image that the limit allows would need 268 GB.
#[test]
fn proportions_cost_no_memory() {
    let wide = png(GrayImage::new(1 << 22, 1));
    let stretched = ImageSchema { fit: ImageFit::Stretch, ..schema(2, 4096) };
    assert_eq!(features_of(wide, stretched), [0.0; 8192]);
}

#[test]
fn photographs_are_turned_upright() {
    let mut image = GrayImage::from_pixel(16, 8, Luma([0]));
    (0..8).for_each(|y| (8..16).for_each(|x| image.put_pixel(x, y, Luma([255]))));
    let plain = encoded(image, ImageFormat::Jpeg);
    // Orientation 6: the top of the picture is at the right of the stored pixels.
    let exif = [
        &[0xff, 0xe1, 0, 34][..],
        b"Exif\0\0MM\0*\0\0\0\x08",
        &[0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0],
    ];
    let turned = [&plain[..2], &exif.concat(), &plain[2..]].concat();
    let features = features_of(turned, schema(1, 2));
    assert!(features[0] < 0.2 && features[1] > 0.8, "{features:?}");
    assert!((features_of(plain, schema(1, 2))[0] - 0.5).abs() < 0.1);
}

#[test]
fn a_schema_is_derived_and_scales_its_own_images() {
    let folder = tempfile::tempdir().unwrap();
    for (name, levels) in [("10", &[0, 51][..]), ("9", &[102, 255])] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("1.png"), row(levels)).unwrap();
    }
    let inferred = infer(folder.path(), &ImageInferOptions::default()).unwrap();
    assert_eq!((inferred.image_count, &inferred.class_counts[..]), (2, &[1, 1][..]));
    let schema = inferred.schema;
    assert_eq!((schema.width, schema.height, schema.grey), (2, 1, true));
    assert_eq!(schema.classes, ["9", "10"]);
    let features = crate::read(folder.path(), &by(schema)).unwrap().examples.features().to_vec();
    let mean = features.iter().sum::<f32>() / 4.0;
    let square = features.iter().map(|value| value * value).sum::<f32>() / 4.0;
    assert!(mean.abs() < 1e-3 && (square - 1.0).abs() < 1e-3, "{features:?}");
    fs::write(folder.path().join("10/2.png"), row(&[0])).unwrap();
    let text = infer(folder.path(), &ImageInferOptions::default()).unwrap_err().to_string();
    assert!(text.contains("2.png: is 1 × 1 pixels, but earlier images are 2 × 1; "), "{text}");
    let options = ImageInferOptions { size: Some((1, 1)), ..ImageInferOptions::default() };
    assert_eq!(infer(folder.path(), &options).unwrap().image_count, 3);
}
