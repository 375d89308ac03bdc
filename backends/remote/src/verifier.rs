//! Checks of a server's certificate that accept more than the usual ones, as some settings of clients ask for.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Accepts a certificate for any name. The server still has to prove that it has the key.
#[derive(Debug)]
pub(crate) struct Lenient {
    /// Checks all but the name; `None` if any certificate is accepted.
    usual: Option<Arc<WebPkiServerVerifier>>,
    signatures: WebPkiSupportedAlgorithms,
}

impl Lenient {
    /// Accepts any certificate.
    pub(crate) fn any(provider: &CryptoProvider) -> Self {
        Self { usual: None, signatures: provider.signature_verification_algorithms }
    }

    /// Accepts the certificates that these authorities have signed.
    ///
    /// # Errors
    /// There is no authority.
    pub(crate) fn of_authorities(
        authorities: RootCertStore,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, VerifierBuilderError> {
        let usual = WebPkiServerVerifier::builder_with_provider(
            Arc::new(authorities),
            Arc::clone(provider),
        );
        Ok(Self { usual: Some(usual.build()?), ..Self::any(provider) })
    }
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(usual) = &self.usual else { return Ok(ServerCertVerified::assertion()) };
        // The name is checked last.
        match usual.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                NotValidForName | NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.signatures)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.signatures)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.supported_schemes()
    }
}
