//! The authority that issues client certificates.

use std::{path::PathBuf, sync::Arc};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, CertificateRevocationListDer, pem::PemObject},
    server::{VerifierBuilderError, WebPkiClientVerifier, danger::ClientCertVerifier},
};

use super::{TlsError, read, unusable};

/// The PEM files of the authority that issues client certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuthority {
    /// The authority's certificates.
    pub certificates: PathBuf,
    /// The lists of revoked certificates (CRLs). With it, every authority in a client's chain needs its list there.
    pub revocations: Option<PathBuf>,
}

impl ClientAuthority {
    /// Reads both files. Without revocations, the second one is empty.
    pub(super) fn read(&self) -> Result<[Vec<u8>; 2], TlsError> {
        let revocations = self.revocations.as_deref().map(read).transpose()?;
        Ok([read(&self.certificates)?, revocations.unwrap_or_default()])
    }

    /// Builds the verifier of client certificates from the bytes of both files.
    pub(super) fn verifier(
        &self,
        [certificates, revocations]: &[Vec<u8>; 2],
    ) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let refused = |error: &dyn ToString| unusable(&self.certificates, error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(certificates) {
            let certificate = certificate.map_err(|error| refused(&error))?;
            roots.add(certificate).map_err(|error| refused(&error))?;
        }
        let lists = self.lists(revocations)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_crls(lists).allow_unauthenticated().build().map_err(|error| match error {
            VerifierBuilderError::NoRootAnchors => refused(&"it has no certificate"),
            VerifierBuilderError::InvalidCrl(error) => self.refused_list(&format!("{error:?}")),
            other => refused(&other),
        })
    }

    fn lists(&self, bytes: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        if self.revocations.is_none() {
            return Ok(Vec::new());
        }
        let lists = CertificateRevocationListDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
        let lists = lists.map_err(|error| self.refused_list(&error))?;
        // Without a list, nothing would be revoked.
        if lists.is_empty() { Err(self.refused_list(&"it has no list")) } else { Ok(lists) }
    }

    fn refused_list(&self, detail: &dyn ToString) -> TlsError {
        let path = self.revocations.as_deref().unwrap_or(&self.certificates);
        TlsError::Revocations { path: path.display().to_string(), detail: detail.to_string() }
    }
}
