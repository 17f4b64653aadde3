//! A stub carrier for manual use: it has its own address, simulated phones behind it, and prints the
//! environment that makes a service use it.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use domain::time::SystemClock;

use super::{
    Callbacks, NUMBER, StubBase, StubCarrierSettings,
    telnyx::{API_KEY, CONNECTION, TelnyxSettings, TelnyxStub},
    twilio::{ACCOUNT, Flavour, SIGNING_KEY, TOKEN, TwilioStub},
    vonage::{APPLICATION, PRIVATE_KEY, SIGNATURE_SECRET, VonageFaults, VonageStub},
};

/// Frames of a telephone per second.
const FRAMES_A_SECOND: u64 = 50;

/// Carriers whose stubs can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Name {
    /// Twilio
    Twilio,
    /// SignalWire
    Signalwire,
    /// Telnyx
    Telnyx,
    /// Vonage
    Vonage,
}

impl Name {
    /// Returns the value of `RINGBACK_CARRIER`.
    fn as_str(self) -> &'static str {
        match self {
            Self::Twilio => "twilio",
            Self::Signalwire => "signalwire",
            Self::Telnyx => "telnyx",
            Self::Vonage => "vonage",
        }
    }
}

/// Options of a run.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Carrier.
    pub carrier: Name,
    /// Listen address; port 0 takes a free port.
    pub listen: SocketAddr,
    /// Base URL of the service, without a trailing slash.
    pub service: String,
    /// Sends every report twice; those of Telnyx also late and in another order.
    pub untidy: bool,
    /// Time until the first media socket of each call breaks, to the second.
    pub cut_after: Option<Duration>,
}

enum Stub {
    Twilio(TwilioStub),
    Telnyx(TelnyxStub),
    Vonage(VonageStub),
}

/// A stub that runs until this is dropped.
pub struct Running {
    stub: Stub,
    carrier: Name,
    service: String,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("carrier", &self.carrier)
            .finish_non_exhaustive()
    }
}

/// Starts a stub.
///
/// # Errors
/// Returns an error if the stub cannot listen or its phones do not start.
pub async fn start(wish: Wish) -> Result<Running, Box<dyn std::error::Error + Send + Sync>> {
    let cut_after = wish.cut_after.map(|after| after.as_secs() * FRAMES_A_SECOND);
    let settings = StubCarrierSettings {
        listen: wish.listen,
        service: wish.service.clone(),
        callbacks: if wish.untidy {
            Callbacks::Twice
        } else {
            Callbacks::InOrder
        },
        cut_after,
        ..StubCarrierSettings::on_loopback(Arc::new(SystemClock), &[])
    };
    let stub = match wish.carrier {
        Name::Twilio => Stub::Twilio(TwilioStub::start(Flavour::Twilio, settings).await?),
        Name::Signalwire => Stub::Twilio(TwilioStub::start(Flavour::SignalWire, settings).await?),
        Name::Telnyx => Stub::Telnyx(TelnyxStub::start(TelnyxSettings::of(settings)).await?),
        Name::Vonage => Stub::Vonage(VonageStub::start(settings, VonageFaults::default()).await?),
    };
    Ok(Running {
        stub,
        carrier: wish.carrier,
        service: wish.service,
    })
}

impl Running {
    /// Returns the base URL of its API, which also takes requests for inbound calls.
    pub fn url(&self) -> String {
        let base: &StubBase = match &self.stub {
            Stub::Twilio(stub) => stub,
            Stub::Vonage(stub) => stub,
            Stub::Telnyx(stub) => stub,
        };
        base.here()
    }

    /// Returns the environment variables that make a service use this stub: names and values.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("RINGBACK_CARRIER", self.carrier.as_str().to_owned()),
            ("RINGBACK_PUBLIC_URL", self.service.clone()),
        ];
        variables.extend(match (&self.stub, self.carrier) {
            (Stub::Twilio(stub), Name::Signalwire) => vec![
                ("SIGNALWIRE_BASE_URL", stub.url()),
                ("SIGNALWIRE_PROJECT_ID", ACCOUNT.to_owned()),
                ("SIGNALWIRE_TOKEN", TOKEN.to_owned()),
                ("SIGNALWIRE_SIGNING_KEY", SIGNING_KEY.to_owned()),
                ("SIGNALWIRE_PHONE_NUMBER", NUMBER.to_owned()),
            ],
            (Stub::Twilio(stub), _) => vec![
                ("TWILIO_BASE_URL", stub.url()),
                ("TWILIO_ACCOUNT_SID", ACCOUNT.to_owned()),
                ("TWILIO_AUTH_TOKEN", TOKEN.to_owned()),
                ("TWILIO_PHONE_NUMBER", NUMBER.to_owned()),
            ],
            (Stub::Telnyx(stub), _) => vec![
                ("TELNYX_BASE_URL", stub.url()),
                ("TELNYX_API_KEY", API_KEY.to_owned()),
                ("TELNYX_PUBLIC_KEY", stub.public_key()),
                ("TELNYX_CONNECTION_ID", CONNECTION.to_owned()),
                ("TELNYX_PHONE_NUMBER", NUMBER.to_owned()),
            ],
            (Stub::Vonage(stub), _) => vec![
                ("VONAGE_BASE_URL", stub.url()),
                ("VONAGE_APPLICATION_ID", APPLICATION.to_owned()),
                ("VONAGE_PRIVATE_KEY", PRIVATE_KEY.trim_end().to_owned()),
                ("VONAGE_SIGNATURE_SECRET", SIGNATURE_SECRET.to_owned()),
                ("VONAGE_PHONE_NUMBER", NUMBER.to_owned()),
            ],
        });
        variables
    }

    /// Returns the environment as shell commands, with further facts as comments.
    pub fn shell(&self) -> String {
        let (url, service) = (self.url(), &self.service);
        let mut lines = format!(
            "# Stub of {} listens on {url}\n\
             # Phones call in to {service}: curl {url}/v1/inbound -d '{{\"from\":\"+15550100010\",\"to\":\"{NUMBER}\"}}'\n",
            self.carrier.as_str()
        );
        for (name, value) in self.environment() {
            // None of the values contains a quote.
            lines.push_str(&format!("export {name}='{value}'\n"));
        }
        lines
    }
}
