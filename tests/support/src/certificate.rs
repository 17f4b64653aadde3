//! A self-signed certificate for `localhost` and 127.0.0.1, and clients that trust only it.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rest::server::{Tls, TlsFiles};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING as P256, EcdsaKeyPair, KeyPair},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use tempfile::TempDir;
use tokio::{io, net::TcpStream};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Certificate and key files in their own folder.
pub struct SelfSigned {
    folder: TempDir,
    pub pair: Pair,
}

/// A certificate and its key.
#[derive(Clone)]
pub struct Pair {
    pub certificate: CertificateDer<'static>,
    /// PKCS#8.
    key: Vec<u8>,
}

impl Pair {
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&P256, &random).unwrap().as_ref().to_vec();
        let pair = EcdsaKeyPair::from_pkcs8(&P256, &key, &random).unwrap();
        let body = to_be_signed(pair.public_key().as_ref());
        let signature = pair.sign(&random, &body).unwrap();
        let whole = sequence(&[&body, &algorithm(), &bits(signature.as_ref())]);
        Self {
            certificate: whole.into(),
            key,
        }
    }

    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    pub fn key_pem(&self) -> String {
        pem("PRIVATE KEY", &self.key)
    }

    /// Returns the same key in the format of older tools (SEC1), which is the last part of the newer format.
    pub fn sec1_pem(&self) -> String {
        let wrapped = self.key.len() - 109;
        pem("EC PRIVATE KEY", &self.key[wrapped..])
    }

    /// Returns a connector for clients that trust only this certificate.
    pub fn connector(&self) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
    }

    pub async fn connect(&self, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::from(address.ip());
        self.connector().connect(name, stream).await
    }

    /// Returns an HTTP client that trusts only this certificate.
    pub fn http(&self) -> reqwest::ClientBuilder {
        let trusted = reqwest::Certificate::from_der(&self.certificate).unwrap();
        net::http_client::builder().tls_certs_only([trusted])
    }
}

impl SelfSigned {
    pub fn new() -> Self {
        let made = Self {
            folder: tempfile::tempdir().unwrap(),
            pair: Pair::new(),
        };
        made.write(&made.pair.certificate_pem(), &made.pair.key_pem());
        made
    }

    /// Writes the two files.
    pub fn write(&self, certificate: &str, key: &str) {
        fs::write(self.certificate_path(), certificate).unwrap();
        fs::write(self.key_path(), key).unwrap();
    }

    pub fn certificate_path(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    pub fn key_path(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// Loads the files as the service does.
    pub fn load(&self) -> Result<Tls, String> {
        let (certificate, key) = (self.certificate_path(), self.key_path());
        let files = TlsFiles::of(Some(&certificate), Some(&key));
        let tls = files.and_then(|files| Tls::load(files.unwrap()));
        tls.map_err(|error| error.to_string())
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Encodes one element of DER: its tag, its length, its parts.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    let mut all = vec![tag];
    match length {
        [0, short @ 0..128] => all.push(short),
        [0, byte] => all.extend([0x81, byte]),
        [high, low] => all.extend([0x82, high, low]),
    }
    all.extend(body);
    all
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    der(0x30, parts)
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    der(0x03, &[&[0], bytes])
}

fn oid(encoded: &[u8]) -> Vec<u8> {
    der(0x06, &[encoded])
}

/// Returns ecdsa-with-SHA256 (RFC 5758).
fn algorithm() -> Vec<u8> {
    sequence(&[&oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])])
}

/// Returns the inner part of a certificate (RFC 5280, 4.1) with a key of P-256 (RFC 5480), valid from 2020 to 2049.
fn to_be_signed(public_key: &[u8]) -> Vec<u8> {
    let common_name = sequence(&[&oid(&[0x55, 4, 3]), &der(0x0c, &[b"localhost"])]);
    let name = sequence(&[&der(0x31, &[&common_name])]);
    let validity = sequence(&[&der(0x17, &[b"200101000000Z"]), &der(0x17, &[b"491231235959Z"])]);
    let curve = [
        oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]),
        oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]),
    ];
    let key = sequence(&[&sequence(&[&curve[0], &curve[1]]), &bits(public_key)]);
    let names = sequence(&[
        &der(0x82, &[b"localhost"]),
        &der(0x87, &[&Ipv4Addr::LOCALHOST.octets()]),
    ]);
    let alternative_names = sequence(&[&oid(&[0x55, 0x1d, 0x11]), &der(0x04, &[&names])]);
    let extensions = der(0xa3, &[&sequence(&[&alternative_names])]);
    let version = der(0xa0, &[&der(0x02, &[&[2]])]);
    let serial = der(0x02, &[&[1]]);
    sequence(&[
        &version,
        &serial,
        &algorithm(),
        &name,
        &validity,
        &name,
        &key,
        &extensions,
    ])
}
