use folkmoot_protocol::{ErrorCode, Problem};

use super::tls::LiveCertificate;

/// The longest part of a wrong name that an error repeats, in characters.
const SHOWN_CHARACTERS_MAX: usize = 64;

/// The names of the coordinator. Clients sign each request for the name that they use, so that a request that was
/// recorded at one coordinator is worth nothing at another.
#[derive(Default)]
pub struct Names {
    certificate: Option<LiveCertificate>,
    listed: Vec<String>,
}

impl Names {
    /// Creates the names: those in the certificate, and those in the configuration.
    pub fn new(certificate: Option<LiveCertificate>, listed: Vec<String>) -> Self {
        Self { certificate, listed }
    }

    /// Checks a name that a request was signed for. Every name is right behind a proxy that terminates TLS, unless the
    /// configuration lists the names.
    ///
    /// # Errors
    /// [`ErrorCode::AudienceMismatch`] if it is not a name of this coordinator.
    pub fn check(&self, audience: &str) -> Result<(), Box<Problem>> {
        // In URLs, IPv6 addresses are in brackets.
        let name = audience.trim_start_matches('[').trim_end_matches(']');
        let is_known = self.listed.iter().any(|listed| listed.eq_ignore_ascii_case(name))
            || match &self.certificate {
                Some(certificate) => certificate.has_name(name),
                None => self.listed.is_empty(),
            };
        if is_known {
            return Ok(());
        }
        let shown: String = name.chars().take(SHOWN_CHARACTERS_MAX).collect();
        let detail = format!(
            "the request is signed for `{shown}`, which is not a name of this coordinator; use an address that its \
             certificate names, or add the name to server.host_names"
        );
        Err(Box::new(Problem::new(ErrorCode::AudienceMismatch, detail)))
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;
    use crate::tls::{self, CertificateFiles};

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn is_known(names: &Names, audience: &str) -> bool {
        match names.check(audience) {
            Ok(()) => true,
            Err(problem) => {
                assert_eq!(problem.code, ErrorCode::AudienceMismatch);
                false
            }
        }
    }

    #[test]
    fn a_coordinator_has_the_names_of_its_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let in_certificate = ["fl.example".to_owned(), "::1".to_owned()];
        tls::ensure_authority(folder.path(), &in_certificate, NOW).unwrap();
        let certificate = LiveCertificate::load(CertificateFiles::own(folder.path()), None, NOW).unwrap();
        let names = Names::new(Some(certificate), vec!["late.example".into()]);
        for right in
            ["localhost", "127.0.0.1", "fl.example", "FL.example", "[::1]", "late.example", "fl.example."]
        {
            assert!(is_known(&names, right), "{right}");
        }
        for wrong in ["", "[]", "127.0.0.2", "example", "a.fl.example", "fl.example:8443", "*"] {
            assert!(!is_known(&names, wrong), "{wrong}");
        }
    }

    #[test]
    fn behind_a_proxy_the_listed_names_count_and_without_any_all() {
        assert!(is_known(&Names::default(), "anything"));
        let names = Names::new(None, vec!["fl.example".into()]);
        assert!(is_known(&names, "fl.example") && !is_known(&names, "localhost"));
    }
}
