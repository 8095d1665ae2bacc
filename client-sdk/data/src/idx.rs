//! The IDX format of MNIST, Fashion-MNIST and EMNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of
//! handwritten digits", section "File formats"): two zeros, an element type, the number of dimensions, the
//! dimensions as big-endian 32-bit numbers, and the elements.

use std::path::{Path, PathBuf};

use folkmoot_engine::Labels;

use crate::{
    DataError, Fault, ReadOptions,
    content::Content,
    file,
    pixels::{push, push_transposed},
};

/// The element type "unsigned byte", the only one in these data sets.
const UNSIGNED_BYTE: u8 = 0x08;

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Content, DataError> {
    let images_path = images_path(path, options)?;
    let labels_path = match &options.labels {
        Some(labels) => labels.clone(),
        None => labels_path(&images_path)?,
    };
    let images = file::inflated(&images_path, &options.limits)?;
    let ([count, height, width], pixels) =
        array(&images, "images").map_err(|fault| DataError::invalid(&images_path, fault))?;
    let labels = file::inflated(&labels_path, &options.limits)?;
    let ([label_count], labels) =
        array(&labels, "labels").map_err(|fault| DataError::invalid(&labels_path, fault))?;
    if label_count != count {
        let reason = format!("has {label_count} labels for {count} images");
        let remedy = format!("give the file of labels for {} with --labels", file::name(&images_path));
        return Err(DataError::invalid(&labels_path, Fault::new(reason, remedy)));
    }
    options.limits.expect_room(&images_path, count as u64, pixels.len() as u64)?;
    let mut features = Vec::with_capacity(pixels.len());
    match options.transposed {
        false => push(pixels, &mut features),
        true => {
            for image in pixels.chunks_exact((height * width).max(1)) {
                push_transposed(image, width, &mut features);
            }
        }
    }
    let shape = if options.transposed { vec![1, width, height] } else { vec![1, height, width] };
    let labels = Labels::Classes(labels.iter().map(|label| u32::from(*label)).collect());
    Ok(Content { features, shape, labels, groups: None })
}

/// Parses an IDX file. Returns its dimensions and its elements, whose number is the product of the dimensions.
fn array<'a, const RANK: usize>(content: &'a [u8], what: &str) -> Result<([usize; RANK], &'a [u8]), Fault> {
    let (magic, rest) = content.split_first_chunk().ok_or_else(|| Fault::damaged("is not an IDX file"))?;
    let [0, 0, element_type, found_rank] = *magic else {
        return Err(Fault::damaged("is not an IDX file: it does not begin with two zeros"));
    };
    if element_type != UNSIGNED_BYTE {
        let reason = format!("has elements of type {element_type:#04x}");
        return Err(Fault::new(reason, "choose a file of unsigned bytes (0x08), such as those of MNIST"));
    }
    if usize::from(found_rank) != RANK {
        let reason = format!("has {found_rank} dimensions, but {what} have {RANK}");
        return Err(Fault::new(
            reason,
            "give the file of images as data, and the file of labels with --labels",
        ));
    }
    let mut dimensions = [0; RANK];
    let mut data = rest;
    for dimension in &mut dimensions {
        let (size, rest) =
            data.split_first_chunk().ok_or_else(|| Fault::damaged("is truncated in its header"))?;
        *dimension = u32::from_be_bytes(*size) as usize;
        data = rest;
    }
    let elements = dimensions.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    if elements != Some(data.len()) {
        let reason = format!("declares the dimensions {dimensions:?}, but holds {} elements", data.len());
        return Err(Fault::damaged(reason));
    }
    Ok((dimensions, data))
}

/// Returns the file of images; a folder must contain exactly one file of training images.
fn images_path(path: &Path, options: &ReadOptions) -> Result<PathBuf, DataError> {
    let is_wanted = |name: &str| name.contains("train-images") && name.contains("idx3");
    let files = file::wanted(path, &options.limits, "file like train-images-idx3-ubyte", is_wanted)?;
    match &files[..] {
        [file] => Ok(file.clone()),
        several => {
            let names: Vec<String> = several.iter().map(|file| file::name(file)).collect();
            let reason = format!("the folder has several sets of training images: {}", names.join(", "));
            Err(DataError::invalid(path, Fault::new(reason, "choose one of these files")))
        }
    }
}

/// Returns the file of labels: `train-labels-idx1-ubyte` for `train-images-idx3-ubyte`, with or without gzip.
fn labels_path(images: &Path) -> Result<PathBuf, DataError> {
    let name = file::name(images);
    let unknown = |reason: String| {
        let fault = Fault::new(reason, "give the file of labels with --labels");
        DataError::Options { path: images.to_owned(), fault }
    };
    if !name.contains("images") {
        let reason = "the images file has no `images` in its name, so the name of the labels file is unknown";
        return Err(unknown(reason.into()));
    }
    let labels = name.replace("images", "labels").replace("idx3", "idx1");
    let plain = labels.strip_suffix(".gz").unwrap_or(&labels);
    let found = [labels.clone(), plain.to_owned(), format!("{plain}.gz")]
        .into_iter()
        .map(|name| images.with_file_name(name))
        .find(|path| path.is_file());
    found.ok_or_else(|| unknown(format!("the same folder has no {labels}")))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use flate2::{Compression, write::GzEncoder};

    use super::*;
    use crate::Dataset;

    /// Returns a file in the published layout.
    fn idx(dimensions: &[u32], elements: &[u8]) -> Vec<u8> {
        let mut file = vec![0, 0, 8, dimensions.len() as u8];
        file.extend(dimensions.iter().flat_map(|size| size.to_be_bytes()));
        file.extend(elements);
        file
    }

    fn gzipped(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads the first of these files.
    fn read_files(files: &[(&str, Vec<u8>)], options: &ReadOptions) -> Result<Dataset, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        crate::read(&folder.path().join(files[0].0), options).map_err(|error| error.to_string())
    }

    /// Returns two images with two rows and three columns.
    fn images() -> Vec<u8> {
        idx(&[2, 2, 3], &[0, 51, 102, 153, 204, 255, 255, 0, 0, 0, 0, 51])
    }

    #[test]
    fn images_find_their_labels() {
        let files = [("train-images-idx3-ubyte", images()), ("train-labels-idx1-ubyte", idx(&[2], &[9, 4]))];
        let dataset = read_files(&files, &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [1, 2, 3]);
        assert_eq!(dataset.examples.features()[..7], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![9, 4]));
        let zipped = [
            ("t10k-images.idx3-ubyte.gz", gzipped(&images())),
            ("t10k-labels.idx1-ubyte", idx(&[2], &[9, 4])),
        ];
        assert_eq!(read_files(&zipped, &ReadOptions::default()).unwrap(), dataset);
    }

    #[test]
    fn a_folder_means_its_training_images() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: Vec<u8>| fs::write(folder.path().join(name), content).unwrap();
        write("train-images-idx3-ubyte", images());
        write("train-labels-idx1-ubyte", idx(&[2], &[1, 2]));
        write("t10k-images-idx3-ubyte", idx(&[1, 1, 1], &[0]));
        let dataset = crate::read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![1, 2]));
        write("emnist-letters-train-images-idx3-ubyte", images());
        let message = crate::read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("several sets") && message.contains("emnist-letters"), "{message}");
    }

    #[test]
    fn transposed_images_are_turned() {
        let files = [
            ("emnist-images-idx3-ubyte", idx(&[1, 2, 3], &[0, 51, 102, 153, 204, 255])),
            ("emnist-labels-idx1-ubyte", idx(&[1], &[1])),
        ];
        let options = ReadOptions { transposed: true, ..ReadOptions::default() };
        let dataset = read_files(&files, &options).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [1, 3, 2]);
        assert_eq!(dataset.examples.features(), [0.0, 0.6, 0.2, 0.8, 0.4, 1.0]);
    }

    #[test]
    fn lying_and_foreign_headers_are_refused() {
        let message = |images: Vec<u8>, labels: Vec<u8>| {
            let files = [("a-images-idx3-ubyte", images), ("a-labels-idx1-ubyte", labels)];
            read_files(&files, &ReadOptions::default()).unwrap_err()
        };
        let labels = || idx(&[2], &[1, 2]);
        let huge = idx(&[u32::MAX, u32::MAX, u32::MAX], &[0; 6]);
        assert!(message(huge, labels()).contains("holds 6 elements; the file is damaged"));
        assert!(message(vec![0, 0, 8], labels()).contains("is not an IDX file"));
        assert!(message(vec![0, 0, 13, 3, 0], labels()).contains("type 0x0d"));
        assert!(message(labels(), labels()).contains("has 1 dimensions, but images have 3"));
        let text = message(images(), idx(&[1], &[1]));
        assert!(text.contains("a-labels-idx1-ubyte: has 1 labels for 2 images"), "{text}");
        let text = read_files(&[("images-idx3-ubyte", images())], &ReadOptions::default()).unwrap_err();
        assert!(text.contains("the same folder has no labels-idx1-ubyte; give the file of labels"), "{text}");
    }
}
