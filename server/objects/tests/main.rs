//! Tests blobs and stored updates.

mod blob;
#[cfg(test)]
mod update_store;
