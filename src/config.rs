//! Settings of the service, read from flags and environment variables and validated once.

mod times;

use std::{
    collections::BTreeMap, ffi::OsStr, fs::File, io::Read as _, net::SocketAddr, path::PathBuf, sync::Arc,
    time::Duration,
};

use actors::call::Speculation;
use clap::{Arg, Args, Command, builder::TypedValueParser, error::ErrorKind};
use reqwest::Url;

use crate::load::LoadConfig;
use carriers::{kind::USUAL_RATE, registry, settings::CarrierSettings};
use domain::prices::PriceList;
use integrations::{calendars::CalendarConfig, deliveries::MailConfig};
use net::{
    http_client::{base_url, parse_base_url, parse_local_base_url},
    setting::{TrueOrFalse, listen_address, whole},
};
use providers::{babble::imperfect::Imperfection, config::ProviderConfig};
use rest::server::{Tls, TlsError, TlsFiles};
use sim::exchange::Script;
use storage::{DatabaseUrl, retention::Kept, without_password};

pub use times::{InvalidTimes, TimesConfig};

/// Longest `maxDurationSeconds` of an agent, plus a minute. A drain ends with its last call, and each call
/// has its own agent's limit, so with this value every call may end by itself.
const LONGEST_DRAIN_SECONDS: u64 = 14_400 + 60;

/// One week. No call lasts that long, and a clock cannot add arbitrarily many seconds to its time.
const MOST_DRAIN_SECONDS: u64 = 7 * 24 * 3_600;

/// Settings of `ringback serve`. Each flag has an environment variable of the same meaning.
#[derive(Debug, Clone, Args)]
pub struct ServeConfig {
    /// IP address and port to serve on, such as 127.0.0.1:8080 or 0.0.0.0:8080; not a host name
    #[arg(long, env = "RINGBACK_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub listen: SocketAddr,

    /// TLS certificate and key of the service
    #[command(flatten)]
    pub tls: TlsConfig,

    /// Address at which carriers reach this service; http:// or https:// [default: the address served]
    #[arg(long, env = "RINGBACK_PUBLIC_URL", value_parser = parse_base_url)]
    pub public_url: Option<String>,

    /// Address at which other nodes on the same database reach this one; http:// or https:// [default: the
    /// address served if the database is PostgreSQL and that address is not a wildcard, else none]
    #[arg(long, env = "RINGBACK_NODE_URL", value_parser = parse_node_url)]
    pub node_url: Option<String>,

    /// Seconds to wait at the start for a database server that is unreachable; 0 means for ever
    #[arg(long, env = "RINGBACK_START_WAIT_SECONDS", default_value_t = 60, value_parser = whole(0..=604_800_u64))]
    pub start_wait_seconds: u64,

    /// Times on which all nodes of a database agree
    #[command(flatten)]
    pub times: TimesConfig,

    /// Database and files
    #[command(flatten)]
    pub storage: StorageConfig,

    /// Carrier for calls whose agent has no phone number at another carrier
    #[arg(long, env = "RINGBACK_CARRIER", default_value = "simulated", value_parser = registry::name_parser())]
    pub carrier: String,

    /// Carrier accounts [default: the carriers' own environment variables]
    #[arg(skip)]
    pub carriers: Option<CarrierSettings>,

    /// Language models, speech recognition and speech synthesis
    #[command(flatten)]
    pub providers: ProviderConfig,

    /// Faults that the babble recogniser simulates
    #[command(flatten)]
    pub babble: Imperfection,

    /// Address of a telephone exchange (`ringback phones`) for the simulated carrier [default: one inside this process]
    #[arg(long, env = "RINGBACK_SIMULATED_URL", value_parser = parse_local_base_url)]
    pub simulated_url: Option<String>,

    /// Scripts that the phones of an exchange inside this process may follow
    #[arg(skip)]
    pub scripts: BTreeMap<String, Script>,

    /// Maximum number of concurrent calls
    #[arg(long, env = "RINGBACK_MAX_CALLS", default_value_t = 100, value_parser = whole(1..=100_000_u32))]
    pub max_calls: u32,

    /// Maximum number of clients that listen to calls of this node at once; an account may have half of them
    #[arg(long, env = "RINGBACK_MAX_LISTENERS", default_value_t = 400, value_parser = whole(0..=10_000_usize))]
    pub max_listeners: usize,

    /// Dials per second; 0 means no limit
    #[arg(long, env = "RINGBACK_CALLS_PER_SECOND", value_parser = parse_rate, help = rates())]
    pub calls_per_second: Option<f64>,

    /// Maximum time a call may ring, in seconds
    #[arg(long, env = "RINGBACK_RING_TIMEOUT_SECONDS", default_value_t = 30, value_parser = whole(5..=600_u32))]
    pub ring_timeout_seconds: u32,

    /// Requests per second for each API key, with bursts of twice as many; 0 means no limit
    #[arg(long, env = "RINGBACK_RATE_LIMIT", default_value_t = 50, value_parser = whole(0..=100_000_u32))]
    pub rate_limit: u32,

    /// Thresholds above which new work is refused
    #[command(flatten)]
    pub load: LoadConfig,

    /// Origins whose pages may use the API, separated by commas; * allows all [default: none]
    #[arg(long, env = "RINGBACK_CORS_ORIGINS", value_delimiter = ',', value_parser = rest::parse_origin)]
    pub cors_origins: Vec<String>,

    /// Ends the user's turn after exactly this pause in milliseconds, for measurements [default: adaptive]
    #[arg(long, env = "RINGBACK_FIXED_PAUSE_MS", value_parser = whole(50..=5_000_u64))]
    pub fixed_pause_ms: Option<u64>,

    /// How much of a reply to prepare during a pause that may end the user's turn: nothing, its text, or its
    /// text and the first piece of speech
    #[arg(long, env = "RINGBACK_SPECULATION", value_enum, default_value_t = SpeculationMode::Voice)]
    pub speculation: SpeculationMode,

    /// Allow webhooks and document downloads to use addresses that are not public; the variable is true or false
    #[arg(long, env = "RINGBACK_ALLOW_PRIVATE_URLS", value_parser = TrueOrFalse)]
    pub allow_private_urls: bool,

    /// Outgoing mail after calls
    #[command(flatten)]
    pub mail: MailConfig,

    /// Price list for the cost of conversations: a JSON file, read at the start [default: no cost is shown]
    #[arg(long, env = "RINGBACK_PRICES", value_name = "FILE", value_parser = read_prices)]
    pub prices: Option<Arc<PriceList>>,

    /// Calendars for appointments
    #[command(flatten)]
    pub calendars: CalendarConfig,

    /// Maximum number of open connections; further ones wait
    #[arg(long, env = "RINGBACK_MAX_CONNECTIONS", default_value_t = 4_096, value_parser = whole(64..=1_000_000_u32))]
    pub max_connections: u32,

    /// Seconds that a connection may be idle, or may take to send the headers of a request
    #[arg(long, env = "RINGBACK_IDLE_SECONDS", default_value_t = 10, value_parser = whole(1..=3_600_u64))]
    pub idle_seconds: u64,

    /// Seconds that calls in progress may take to end after SIGTERM; at most one week [default: the longest
    /// possible call plus one minute]
    #[arg(long, env = "RINGBACK_DRAIN_SECONDS", default_value_t = LONGEST_DRAIN_SECONDS, hide_default_value = true,
          value_parser = whole(0..=MOST_DRAIN_SECONDS))]
    pub drain_seconds: u64,

    /// Seconds after SIGTERM during which this node still accepts requests and inbound calls if other nodes
    /// are alive, so that a proxy can see from GET /ready that it should stop sending traffic here
    #[arg(long, env = "RINGBACK_LEAVE_SECONDS", default_value_t = 3, value_parser = whole(0..=600_u64))]
    pub leave_seconds: u64,
}

impl ServeConfig {
    /// Returns the address at which other nodes reach this one when it serves at `bound`.
    pub fn node_address(&self, bound: SocketAddr) -> Option<String> {
        let reachable = self.storage.database_url.is_postgres() && !bound.ip().is_unspecified();
        let served = || reachable.then(|| format!("{}://{bound}", self.tls.scheme()));
        self.node_url.clone().or_else(served)
    }

    /// Returns how long to wait at the start for an unreachable database; none means for ever.
    pub fn start_wait(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.start_wait_seconds)).filter(|wait| !wait.is_zero())
    }

    /// Returns the dials per second; 0 means no limit.
    pub fn dials_per_second(&self) -> f64 {
        let granted = registry::named(&self.carrier).map_or(USUAL_RATE, |kind| kind.dials_per_second);
        self.calls_per_second.unwrap_or_else(|| granted.into())
    }
}

/// Returns the help of `RINGBACK_CALLS_PER_SECOND`.
fn rates() -> String {
    let rates = registry::rates();
    format!(
        "Dials per second; 0 means no limit [default: the rate that RINGBACK_CARRIER grants every account: {rates}]"
    )
}

/// TLS certificate and key of the service. Set both files or neither.
#[derive(Debug, Clone, Default, Args)]
pub struct TlsConfig {
    /// PEM file with the certificate, followed by its issuers' certificates; the service then serves https://
    /// and reloads a renewed file within a minute [default: http://]
    #[arg(long = "tls-cert", env = "RINGBACK_TLS_CERT")]
    pub certificate: Option<PathBuf>,

    /// PEM file with the certificate's private key
    #[arg(long = "tls-key", env = "RINGBACK_TLS_KEY")]
    pub key: Option<PathBuf>,
}

impl TlsConfig {
    /// Returns the certificate in use, or `None` if none is set.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file and its fault.
    pub fn load(&self) -> Result<Option<Tls>, TlsError> {
        let files = TlsFiles::of(self.certificate.as_deref(), self.key.as_deref())?;
        files.map(Tls::load).transpose()
    }

    /// Returns whether the service speaks TLS.
    pub fn is_set(&self) -> bool {
        self.certificate.is_some()
    }

    /// Returns the scheme of the service's addresses: `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_set() { "https" } else { "http" }
    }
}

/// Values of `RINGBACK_SPECULATION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SpeculationMode {
    /// Ask the language model only once the turn is over
    Off,
    /// Ask it with the words so far
    Text,
    /// Ask it with the words so far and synthesise the first piece of its reply
    Voice,
}

impl SpeculationMode {
    /// Returns the value as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Text => "text",
            Self::Voice => "voice",
        }
    }
}

impl From<SpeculationMode> for Speculation {
    fn from(mode: SpeculationMode) -> Self {
        match mode {
            SpeculationMode::Off => Self::Off,
            SpeculationMode::Text => Self::Text,
            SpeculationMode::Voice => Self::Voice,
        }
    }
}

/// Database, files and retention.
#[derive(Debug, Clone, Args)]
pub struct StorageConfig {
    /// Database as sqlite://FILE or postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = "sqlite://ringback.db",
          value_parser = DatabaseUrlParser)]
    pub database_url: DatabaseUrl,

    /// Folder for recordings, synthesised speech and the dial journal
    #[arg(long, env = "RINGBACK_DATA_DIR", default_value = "ringback-data")]
    pub data_dir: PathBuf,

    /// Retention periods of the data that calls leave behind
    #[command(flatten)]
    pub kept: Kept,
}

/// Parses a node's own address. Other nodes append paths to it, so it must have no path or query.
fn parse_node_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme().starts_with("http"));
    let beyond = url.and_then(|url| {
        let path = Some(url.path()).filter(|path| !path.trim_end_matches('/').is_empty());
        [path, url.query(), url.fragment()]
            .into_iter()
            .flatten()
            .next()
            .map(str::to_owned)
    });
    match beyond {
        Some(beyond) => Err(format!(
            "leave out `{beyond}`: write the node's own address without a path or query, such as http://10.0.0.5:8080"
        )),
        None => base_url(text).ok_or_else(|| "write the node's own address, such as http://10.0.0.5:8080".into()),
    }
}

/// Parser of the database address. Unlike the parsers of other settings, it does not show the password when
/// it refuses a value.
#[derive(Clone)]
struct DatabaseUrlParser;

impl TypedValueParser for DatabaseUrlParser {
    type Value = DatabaseUrl;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<DatabaseUrl, clap::Error> {
        let text = value.to_string_lossy();
        DatabaseUrl::parse(&text).map_err(|why| {
            let shown = without_password(&text);
            let message = format!("invalid value '{shown}' for '--database-url <DATABASE_URL>': {why}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

/// Largest size of a price list in bytes.
const MAX_PRICES_BYTES: u64 = 4 * 1_024 * 1_024;

/// Reads a price list. The caller's error names the setting and the path.
fn read_prices(path: &str) -> Result<Arc<PriceList>, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_PRICES_BYTES).read_to_string(&mut text));
    match read {
        Ok(size) if size as u64 == MAX_PRICES_BYTES => Err("the file is too large: write less than 4 MiB".into()),
        Ok(_) => PriceList::parse(&text).map(Arc::new).map_err(|why| why.to_string()),
        Err(why) => Err(format!(
            "cannot read the file: {why}; name a readable JSON file, or unset RINGBACK_PRICES"
        )),
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && (0.0..=10_000.0).contains(&rate) => Ok(rate),
        _ => Err("write a number from 0 to 10000".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn a_nodes_own_address_has_no_path_and_no_query() {
        assert_eq!(parse_node_url("http://10.0.0.5:8080/").unwrap(), "http://10.0.0.5:8080");
        assert_eq!(parse_node_url("https://n1.example").unwrap(), "https://n1.example");
        for (url, named) in [
            ("http://10.0.0.5:8080/node1", "/node1"),
            ("http://10.0.0.5:8080/?node=1", "node=1"),
            ("http://10.0.0.5#1", "`1`"),
            ("10.0.0.5:8080", "own address"),
            ("node1:8080", "own address"),
            ("ftp://10.0.0.5", "own address"),
        ] {
            let refused = parse_node_url(url).unwrap_err();
            assert!(
                refused.contains(named) && refused.contains("http://10.0.0.5:8080"),
                "{refused}"
            );
        }
    }

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        serve: ServeConfig,
    }

    #[test]
    fn a_faulty_price_list_is_refused_at_the_start_with_its_path() {
        let of =
            |path: &str| Program::try_parse_from(["ringback", "--prices", path]).map(|program| program.serve.prices);
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/prices.example.json");
        assert_eq!(of(example).unwrap().unwrap().currency(), "USD");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.json");
        let path = path.to_str().unwrap();
        let refused = |named: &str| {
            let why = of(path).unwrap_err().to_string();
            assert!(
                why.contains(path) && why.contains("--prices") && why.contains(named),
                "{why}"
            );
        };
        refused("cannot read the file");
        std::fs::write(path, "{").unwrap();
        refused("at line 1 column 1; docs/prices.md describes the format");
        std::fs::write(path, vec![b' '; 5 << 20]).unwrap();
        refused("write less than 4 MiB");
    }

    #[test]
    fn times_are_settings_that_are_checked_against_each_other() {
        let of = |arguments: &[&str]| {
            let config = Program::parse_from(["ringback"].iter().chain(arguments)).serve;
            config.times.times()
        };
        assert_eq!(of(&[]), Ok(domain::node_times::Times::default()));
        let tenth = [
            "--heartbeat-ms",
            "300",
            "--dead-after-ms",
            "1500",
            "--send-within-ms",
            "500",
        ];
        assert_eq!(of(&tenth).unwrap().dead_after.as_millis(), 1_500);
        let why = of(&["--dead-after-ms", "12000"]).unwrap_err().to_string();
        assert_eq!(
            why,
            "RINGBACK_DEAD_AFTER_MS is 12000: set it to at least 15000 (3 × RINGBACK_SEND_WITHIN_MS)"
        );
    }

    #[test]
    fn other_nodes_reach_a_node_where_it_serves_if_that_is_an_address() {
        let of = |listen: &str, arguments: &[&str]| {
            let config = Program::parse_from(["ringback"].iter().chain(arguments)).serve;
            config.node_address(listen.parse().unwrap())
        };
        let postgres = ["--database-url", "postgres://ada@db/ringback"];
        assert_eq!(of("10.0.0.7:8080", &postgres).as_deref(), Some("http://10.0.0.7:8080"));
        assert_eq!(of("0.0.0.0:8080", &postgres), None);
        assert_eq!(of("10.0.0.7:8080", &[]), None);
        let named = ["--node-url", "http://node-1:8080/"];
        assert_eq!(of("0.0.0.0:8080", &named).as_deref(), Some("http://node-1:8080"));
    }

    #[test]
    fn without_a_rate_of_its_own_no_more_is_dialed_than_the_carrier_grants_everybody() {
        for (arguments, rate) in [
            (&["--carrier", "twilio"][..], 1.0),
            (&["--carrier", "signalwire"], 1.0),
            (&["--carrier", "vonage"], 3.0),
            (&["--carrier", "telnyx"], 10.0),
            (&["--carrier", "twilio", "--calls-per-second", "40"], 40.0),
            (&["--carrier", "vonage", "--calls-per-second", "0"], 0.0),
        ] {
            let config = Program::parse_from(["ringback"].iter().chain(arguments)).serve;
            assert!((config.dials_per_second() - rate).abs() < f64::EPSILON, "{arguments:?}");
        }
    }
}
