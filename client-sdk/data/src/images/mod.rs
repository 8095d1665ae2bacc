//! A folder of images: one folder for each class with PNG or JPEG files of the same size.

mod decode;

use std::path::{Path, PathBuf};

use decode::Image;
use folkmoot_engine::Labels;

use crate::{DataError, Fault, ReadOptions, content::Content, file};

/// The file extensions of images.
const EXTENSIONS: [&str; 3] = ["png", "jpg", "jpeg"];

/// Reads the images. Classes are numbered in the order of their folders' names; names that are all integers are sorted
/// numerically.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Content, DataError> {
    let classes = classes(path, options)?;
    let count: u64 = classes.iter().map(|images| images.len() as u64).sum();
    let mut features = Vec::new();
    let mut labels = Vec::new();
    let mut first: Option<(Image, PathBuf)> = None;
    for (class, images) in (0u32..).zip(&classes) {
        for file in images {
            let content = file::bytes(file, &options.limits)?;
            let image = Image::decode(&content, first.as_ref().map(|(image, _)| image), &options.limits);
            let mut image = image.map_err(|fault| DataError::invalid(file, fault))?;
            match &first {
                None => options.limits.expect_room(path, count, count.saturating_mul(image.values()))?,
                Some((expected, from)) => {
                    image.fit(expected, from).map_err(|fault| DataError::invalid(file, fault))?;
                }
            }
            image.push(&mut features);
            labels.push(class);
            first.get_or_insert_with(|| (image.without_samples(), file.clone()));
        }
    }
    let Some((image, _)) = first else { return Err(no_classes(path)) };
    Ok(Content { features, shape: image.shape(), labels: Labels::Classes(labels), groups: None })
}

/// Returns the images of each class.
fn classes(path: &Path, options: &ReadOptions) -> Result<Vec<Vec<PathBuf>>, DataError> {
    if !path.is_dir() {
        let fault = Fault::new(
            "images are read from a folder",
            "choose the folder that contains one folder per class",
        );
        return Err(DataError::invalid(path, fault));
    }
    let mut folders = file::entries(path, &options.limits)?;
    if let Some(stray) = folders.iter().find(|entry| is_image(entry)) {
        let fault =
            Fault::new("is not in the folder of a class", "move it into one, or choose the parent folder");
        return Err(DataError::invalid(stray, fault));
    }
    // Files beside the folders, such as a list of classes, are ignored.
    folders.retain(|entry| entry.is_dir());
    if folders.is_empty() {
        return Err(no_classes(path));
    }
    let numbers: Option<Vec<u64>> = folders.iter().map(|folder| file::name(folder).parse().ok()).collect();
    if numbers.is_some() {
        folders.sort_by_cached_key(|folder| file::name(folder).parse::<u64>().unwrap_or(u64::MAX));
    }
    folders.iter().map(|folder| images(folder, options)).collect()
}

/// Returns the images of one class.
fn images(folder: &Path, options: &ReadOptions) -> Result<Vec<PathBuf>, DataError> {
    let entries = file::entries(folder, &options.limits)?;
    if let Some(stray) = entries.iter().find(|entry| !is_image(entry)) {
        let remedy = "leave only images in the folders of the classes";
        let fault = Fault::new("is not a .png, .jpg or .jpeg file", remedy);
        return Err(DataError::invalid(stray, fault));
    }
    if entries.is_empty() {
        let fault = Fault::new("is a class without images", "add images, or remove the folder");
        return Err(DataError::invalid(folder, fault));
    }
    Ok(entries)
}

fn no_classes(path: &Path) -> DataError {
    let fault =
        Fault::new("has no folders of images", "put the images of each class into a folder of its own");
    DataError::invalid(path, fault)
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    path.is_file() && extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Cursor};

    use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage, Rgba, RgbaImage};

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
        assert!(
            message(&[("a/1.png", b"no".to_vec())]).contains("1.png: cannot be read as a PNG or JPEG image")
        );
        assert!(message(&[("a/notes.txt", vec![])]).contains("notes.txt: is not a .png"));
        assert!(
            message(&[("1.png", small.clone()), ("a/1.png", small)])
                .contains("is not in the folder of a class")
        );
    }

    #[test]
    fn a_large_image_is_refused_by_its_header() {
        let files = [("a/1.png", png(GrayImage::new(100, 10)))];
        let limits = Limits { image_pixels_max: 999, ..Limits::default() };
        let text = read_files(&files, &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err();
        assert!(text.contains("100 × 10 pixels") && text.contains("image_pixels_max"), "{text}");
    }
}
