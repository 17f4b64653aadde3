//! Reads a certificate and its key from PEM files into the configuration of TLS handshakes. Error texts never
//! show a file's content, because it may be the key.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    InconsistentKeys, ServerConfig,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};
use sha2::{Digest, Sha256};

/// Setting with the path of the certificate.
const CERTIFICATE: &str = "RINGBACK_TLS_CERT";

/// Setting with the path of the key.
const KEY: &str = "RINGBACK_TLS_KEY";

/// Maximum size of a file. A certificate chain has a few kilobytes, so a larger file is the wrong one.
const MAX_BYTES: u64 = 1024 * 1024;

/// An error in the certificate or key files. The texts appear in the log and on the command line.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// One of the two settings is missing.
    #[error(
        "{set} {path}: {missing} is not set; set it to the file of the {what}, or leave both out and serve http://"
    )]
    Alone {
        /// Setting that is set.
        set: &'static str,
        /// Path in that setting.
        path: String,
        /// Setting that is missing.
        missing: &'static str,
        /// Expected content of the missing file.
        what: &'static str,
    },
    /// A file cannot be read.
    #[error("{setting} {path}: cannot read it: {error}")]
    Unreadable {
        /// Setting that names the file.
        setting: &'static str,
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        error: io::Error,
    },
    /// A file has the wrong content.
    #[error("{setting} {path}: {why}")]
    Damaged {
        /// Setting that names the file.
        setting: &'static str,
        /// Path of the file.
        path: String,
        /// Problem and its solution.
        why: &'static str,
    },
    /// The certificate and the key do not fit together.
    #[error("{0}")]
    Unusable(String),
}

/// Paths of a certificate with its chain, and of its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// Content of both files.
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// State of the files at one moment.
pub(super) struct Reading {
    /// Hash that changes with the files; `None` if one could not be read.
    pub(super) fingerprint: Option<[u8; 32]>,
    /// Configuration for handshakes, or the error.
    pub(super) outcome: Result<Arc<ServerConfig>, TlsError>,
}

impl TlsFiles {
    /// Returns the files of these two settings, or `None` if neither is set.
    ///
    /// # Errors
    ///
    /// Returns an error if only one is set.
    pub fn of(certificate: Option<&Path>, key: Option<&Path>) -> Result<Option<Self>, TlsError> {
        let alone = |set, path: &Path, missing, what| {
            Err(TlsError::Alone {
                set,
                path: path.display().to_string(),
                missing,
                what,
            })
        };
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), None) => alone(CERTIFICATE, certificate, KEY, "certificate's private key"),
            (None, Some(key)) => alone(KEY, key, CERTIFICATE, "key's certificate"),
            (Some(certificate), Some(key)) => Ok(Some(Self {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            })),
        }
    }

    /// Reads both files. Blocks on the disk.
    pub(super) fn read(&self) -> Reading {
        let contents = match self.contents() {
            Ok(contents) => contents,
            Err(why) => {
                return Reading {
                    fingerprint: None,
                    outcome: Err(why),
                };
            }
        };
        Reading {
            fingerprint: Some(contents.fingerprint()),
            outcome: self.configured(&contents).map(Arc::new),
        }
    }

    fn contents(&self) -> Result<Contents, TlsError> {
        let read = |setting, path: &Path| {
            read_small(path).map_err(|error| TlsError::Unreadable {
                setting,
                path: path.display().to_string(),
                error,
            })
        };
        Ok(Contents {
            certificate: read(CERTIFICATE, &self.certificate)?,
            key: read(KEY, &self.key)?,
        })
    }

    fn configured(&self, contents: &Contents) -> Result<ServerConfig, TlsError> {
        let damaged = |setting, path: &Path, why| TlsError::Damaged {
            setting,
            path: path.display().to_string(),
            why,
        };
        let chain = chain(&contents.certificate).map_err(|why| damaged(CERTIFICATE, &self.certificate, why))?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key)
            .map_err(|error| damaged(KEY, &self.key, no_key(&error, &contents.key)))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| TlsError::Unusable(self.misfit(&error)))?;
        // The only protocol that the server supports.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Describes why a certificate and a key cannot be used.
    fn misfit(&self, error: &rustls::Error) -> String {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => format!(
                "{KEY} {key}: is not the key of the first certificate in {certificate} ({CERTIFICATE}); use that \
                 certificate's key, and put the service's own certificate before those of its issuers"
            ),
            rustls::Error::InvalidCertificate(_) => {
                format!(
                    "{CERTIFICATE} {certificate}: its first certificate cannot be read: {error}; have it issued again"
                )
            }
            error => format!("{KEY} {key}: cannot be used: {error}; RSA, ECDSA (P-256, P-384) and Ed25519 keys can"),
        }
    }
}

impl Contents {
    fn fingerprint(&self) -> [u8; 32] {
        let of = |bytes: &[u8]| Sha256::digest(bytes);
        let both = Sha256::new()
            .chain_update(of(&self.certificate))
            .chain_update(of(&self.key));
        both.finalize().into()
    }
}

fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // Reading a pipe would block.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB; name a file in PEM"));
    }
    Ok(bytes)
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(
            "there is no certificate in it; name a file in PEM, with `-----BEGIN CERTIFICATE-----`, the service's own \
             certificate first",
        ),
        Ok(chain) => Ok(chain),
        Err(_) => Err("it is damaged: a part of it is no PEM; copy it again from where it was issued"),
    }
}

fn no_key(error: &pem::Error, pem: &[u8]) -> &'static str {
    let encrypted = b"ENCRYPTED";
    match error {
        _ if pem.windows(encrypted.len()).any(|word| word == encrypted) => {
            "its key is encrypted; decrypt it with `openssl pkey -in THAT -out PLAIN`, and name PLAIN"
        }
        pem::Error::NoItemsFound => {
            "there is no private key in it; name a file in PEM, with `-----BEGIN PRIVATE KEY-----` (or `EC PRIVATE KEY`, \
             `RSA PRIVATE KEY`)"
        }
        // The error may quote a line of the key.
        _ => "it is damaged: a part of it is no PEM; copy it again from where it was made",
    }
}
