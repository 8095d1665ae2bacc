//! The authority that issues client certificates.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

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
    /// The lists of revoked certificates (CRLs). With it, every authority in a client's chain needs its list there, and
    /// only one.
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
        let lists = self.lists(revocations, &roots)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_crls(lists).allow_unauthenticated().build().map_err(|error| match error {
            VerifierBuilderError::NoRootAnchors => refused(&"it has no certificate"),
            VerifierBuilderError::InvalidCrl(error) => self.refused_list(&format!("{error:?}")),
            other => refused(&other),
        })
    }

    fn lists(
        &self,
        bytes: &[u8],
        roots: &RootCertStore,
    ) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        if self.revocations.is_none() {
            return Ok(Vec::new());
        }
        let lists = CertificateRevocationListDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
        let lists = lists.map_err(|error| self.refused_list(&error))?;
        // Without a list, nothing would be revoked.
        if lists.is_empty() {
            return Err(self.refused_list(&"it has no list"));
        }
        let mut issuers = HashSet::new();
        for list in &lists {
            let issuer = issuer(list).map_err(|error| self.refused_list(&error))?;
            // The verifier would use only the first list of an issuer.
            if !issuers.insert(issuer) {
                let reason =
                    "two of its lists have the same issuer; keep only the newest list of each authority";
                return Err(self.refused_list(&reason));
            }
        }
        if roots.roots.iter().any(|root| !issuers.contains(&*root.subject)) {
            let reason = format!(
                "an authority of {} has no list; add the list of each of them, with the authority's subject as its issuer",
                self.certificates.display()
            );
            return Err(self.refused_list(&reason));
        }
        Ok(lists)
    }

    fn refused_list(&self, detail: &dyn ToString) -> TlsError {
        let path = self.revocations.as_deref().unwrap_or(&self.certificates);
        TlsError::Revocations { path: path.display().to_string(), detail: detail.to_string() }
    }
}

/// Returns the name of the issuer of a list, without its tag and length.
fn issuer(list: &CertificateRevocationListDer<'_>) -> yasna::ASN1Result<Vec<u8>> {
    yasna::parse_der(list, |reader| {
        reader.read_sequence(|reader| {
            let issuer = reader.next().read_sequence(|body| {
                // The version, which every list with extensions has, and the algorithm come before the issuer.
                for _ in 0..2 {
                    body.next().read_der()?;
                }
                let issuer = body.next().read_tagged_der()?;
                while body.read_optional(|reader| reader.read_der())?.is_some() {}
                Ok(issuer.value().to_vec())
            })?;
            reader.next().read_der()?;
            reader.next().read_der()?;
            Ok(issuer)
        })
    })
}
