use std::{net::IpAddr, time::Duration};

use reqwest::{Certificate, Url, redirect, tls};

use super::{HttpSettings, TransportError, tls::client_config};

const CONNECT_SECONDS_MAX: u64 = 10;

/// Creates a connection pool: TLS 1.3 only, without redirects.
///
/// A redirect would carry a signature to an address that it was not made for.
///
/// # Errors
/// [`TransportError::NoCertificate`] or [`TransportError::Certificate`] if the PEM holds no usable certificate;
/// [`TransportError::ClientCertificate`] if the client certificate or its key is not usable; [`TransportError::Pins`] if a
/// pin is invalid or there are too many.
pub fn build_http(settings: &HttpSettings) -> Result<reqwest::Client, TransportError> {
    build_http_from(settings, None)
}

/// Like [`build_http`], with connections that come from one of this machine's addresses. Load tests need it, because a
/// coordinator limits the connections of each address.
///
/// # Errors
/// As [`build_http`].
pub fn build_http_from(
    settings: &HttpSettings,
    address: Option<IpAddr>,
) -> Result<reqwest::Client, TransportError> {
    // Keep the crypto provider that the process has installed. Losing a race to install one is no error.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut builder = reqwest::Client::builder();
    builder = match client_config(settings)? {
        Some(config) => builder.tls_backend_preconfigured(config),
        None => builder.tls_backend_rustls().tls_version_min(tls::Version::TLS_1_3),
    };
    builder = builder
        .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
        .redirect(redirect::Policy::none())
        .local_address(address);
    if let Some(pem) = &settings.certificate_pem {
        let certificates = Certificate::from_pem_bundle(pem).map_err(TransportError::Certificate)?;
        if certificates.is_empty() {
            return Err(TransportError::NoCertificate);
        }
        builder = builder.tls_certs_only(certificates);
    }
    if settings.http1_only {
        builder = builder.http1_only();
    }
    builder.build().map_err(TransportError::Certificate)
}

/// Parses a coordinator's address: `https://host[:port]`, or an `http://` address of this machine. Plain HTTP is allowed
/// only to this machine, because requests carry keys and signatures.
///
/// # Errors
/// [`TransportError::Address`] for any other text.
pub fn parse_coordinator(text: &str) -> Result<Url, TransportError> {
    let error = || TransportError::Address(text.to_owned());
    let url = Url::parse(text).map_err(|_| error())?;
    let is_plain = url.path() == "/" && url.query().is_none() && url.username().is_empty();
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(&url));
    if is_plain && is_safe && url.has_host() { Ok(url) } else { Err(error()) }
}

fn is_this_machine(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::{super::ClientCertificate, *};

    #[test]
    fn an_address_is_https_or_this_machine() {
        for good in ["https://a.example", "https://a.example:8443/", "http://127.0.0.1:1", "http://[::1]:1"] {
            assert!(parse_coordinator(good).is_ok(), "{good}");
        }
        for bad in
            ["", "a.example", "http://a.example", "https://a.example/x", "ftp://a.example", "file:///x"]
        {
            assert!(parse_coordinator(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_certificate_has_to_be_one() {
        let settings = HttpSettings { certificate_pem: Some(b"nothing".to_vec()), ..HttpSettings::default() };
        assert!(matches!(build_http(&settings), Err(TransportError::NoCertificate)));
        let pinned = HttpSettings { pins: vec![format!("{}=", "A".repeat(43))], ..settings };
        assert!(matches!(build_http(&pinned), Err(TransportError::NoCertificate)));
    }

    #[test]
    fn a_pin_has_32_bytes_and_a_client_certificate_its_key() {
        for wrong in ["", "a.pem", "aGVsbG8=", &"A".repeat(44), &format!("{}==", "A".repeat(42))] {
            let settings = HttpSettings { pins: vec![wrong.to_owned()], ..HttpSettings::default() };
            assert!(matches!(build_http(&settings), Err(TransportError::Pins(_))), "{wrong}");
        }
        let too_many =
            HttpSettings { pins: vec![format!("{}=", "A".repeat(43)); 9], ..HttpSettings::default() };
        assert!(matches!(build_http(&too_many), Err(TransportError::Pins(_))));
        let certificate = ClientCertificate { chain_pem: b"none".to_vec(), key_pem: b"secret".to_vec() };
        assert!(
            !format!("{certificate:?}").contains("secret") && !format!("{certificate:?}").contains("115")
        );
        let settings = HttpSettings { client_certificate: Some(certificate), ..HttpSettings::default() };
        assert!(matches!(build_http(&settings), Err(TransportError::ClientCertificate(_))));
    }
}
