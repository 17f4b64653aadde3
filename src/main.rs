//! The program: parses the command line, builds the app, serves, drains.

use std::{process::ExitCode, sync::Arc, time::Duration};

use domain::accounts;
use domain::time::SystemClock;
use integrations::documents::extract::child;
use net::{bind::way_out, http_client};
use providers::check;
use ringback::{
    app::App,
    cli::{
        AccountArgs, AccountCommand, CarriersCommand, CarriersStubArgs, Cli, Command, LoginLinkArgs, PhonesArgs,
        ProvidersCommand, ProvidersStubArgs, unknown::warn_of_unknown_settings,
    },
    config::ServeConfig,
    demo, telemetry,
};
use serde_json::json;
use sim::{
    exchange::{ExchangeSettings, run_phones},
    scenarios,
    stub_carriers::{run as stub_carriers, run::Wish},
    stub_providers::{self, StubSettings},
};
use storage::SqlStore;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// After a failed commit the page may be lost, and nothing that is not on disk may be acted on.
const STORAGE_FAILED: &str = "the database failed to write; stopping so that nothing is dialed twice";

/// Exit code of a service that got a second stop signal: calls were cut off.
const CUT_OFF: u8 = 3;

/// glibc's allocator kept 50 MiB in arenas of a service that had been busy and used none of it, and a little
/// more after each campaign, because gaps in one arena cannot be filled by another.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Error of `ringback bench`.
const BENCH_MOVED: &str = "`ringback bench` is now a separate program: run `ringback-bench` instead; `cargo build --release --workspace --bins` builds both";

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let cli = Cli::parsed();
    if let Command::Extract(args) = &cli.command {
        // Runs before there is anything that a document could reach.
        return child::run(args);
    }
    http_client::install_cryptography();
    let quiet = !matches!(cli.command, Command::Serve(_) | Command::Phones(_));
    telemetry::init_logs(cli.log_format, if quiet { "warn" } else { "info" });
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(workers) = cli.workers {
        runtime.worker_threads(usize::from(workers));
    }
    let outcome = match runtime.enable_all().build() {
        Ok(runtime) => runtime.block_on(run(cli.command)),
        Err(error) => Err(error.into()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("ringback: {error}");
        ExitCode::FAILURE
    })
}

async fn run(command: Command) -> Result<ExitCode, AnyError> {
    match command {
        Command::Serve(config) => serve(*config).await,
        Command::Demo(args) => demo::run(args).await,
        Command::Phones(args) => phones(args).await,
        Command::Providers(ProvidersCommand::Stub(args)) => stub_providers(args).await,
        Command::Providers(ProvidersCommand::Check(args)) => check::run(args).await,
        Command::Carriers(CarriersCommand::Check(args)) => carriers::check::run(args).await,
        Command::Carriers(CarriersCommand::Stub(args)) => stub_carrier(args).await,
        Command::Bench { .. } => Err(BENCH_MOVED.into()),
        Command::Account(command) => account(command).await,
        Command::Openapi { public_url } => openapi(&public_url),
        Command::Extract(args) => Ok(child::run(&args)),
    }
}

async fn serve(config: ServeConfig) -> Result<ExitCode, AnyError> {
    let grace = Duration::from_secs(config.drain_seconds);
    // Installed first: as soon as the listen address is printed, a stop signal may arrive.
    let mut stop = StopSignals::catch()?;
    warn_of_unknown_settings();
    // The database may be away for long.
    let opened = tokio::select! {
        opened = App::open(config) => opened?,
        () = stop.next() => return Ok(ExitCode::SUCCESS),
    };
    let app = App::serve(opened).await?;
    println!("Ringback listens on {}", app.url);
    tokio::select! {
        () = stop.next() => {}
        () = app.storage_failed() => return Err(STORAGE_FAILED.into()),
        why = app.refused() => return Err(why.into()),
    }
    tracing::info!(
        seconds = grace.as_secs(),
        "draining; a second signal drops calls in progress"
    );
    let (storage_failed, last_word) = (app.storage_failed(), app.last_word());
    tokio::select! {
        () = app.stop(grace) => Ok(ExitCode::SUCCESS),
        // A second signal stops the service immediately.
        () = stop.next() => {
            let signed_off = last_word.await;
            tracing::warn!(
                signed_off,
                "second stop signal, calls cut off; another node or the next start settles them"
            );
            Ok(ExitCode::from(CUT_OFF))
        }
        () = storage_failed => Err(STORAGE_FAILED.into()),
    }
}

/// Signals that ask a process to stop.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Catches the signals; they no longer end the process by themselves.
    fn catch() -> Result<Self, AnyError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn phones(args: PhonesArgs) -> Result<ExitCode, AnyError> {
    let mut settings = ExchangeSettings {
        log: args.log,
        max_calls: args.max_calls,
        seed: args.seed,
        line_noise_dbfs: args.line_noise_dbfs,
        spread_frames: true,
        announce_to: Some(args.announce_to),
        scripts: scenarios::scripts(&scenarios::all()),
        ..ExchangeSettings::at(args.listen)
    };
    if let Some(rings) = args.pick_up_ms.map(Duration::from_millis) {
        settings.pick_up = rings..=rings;
    }
    let mut stop = StopSignals::catch()?;
    run_phones(settings, async move { stop.next().await }).await?;
    Ok(ExitCode::SUCCESS)
}

/// Runs until a stop signal.
async fn stub_providers(args: ProvidersStubArgs) -> Result<ExitCode, AnyError> {
    let mut stop = StopSignals::catch()?;
    let stubs = stub_providers::start(StubSettings {
        models_of: None,
        listen: args.listen,
        times: args.times.times(),
        seed: args.seed,
        key: args.key,
        keep_log: false,
    })
    .await
    .map_err(|error| {
        let way_out = way_out(&error, "--listen");
        format!("--listen {}: cannot listen there: {error}{way_out}", args.listen)
    })?;
    println!("Stub providers listen on {}", stubs.url());
    stop.next().await;
    Ok(ExitCode::SUCCESS)
}

/// Runs until a stop signal.
async fn stub_carrier(args: CarriersStubArgs) -> Result<ExitCode, AnyError> {
    let mut stop = StopSignals::catch()?;
    let listen = args.listen;
    let stub = stub_carriers::start(Wish {
        carrier: args.carrier,
        listen,
        service: args.service,
        untidy: args.untidy,
        cut_after: args.cut_after_seconds.map(Duration::from_secs),
    })
    .await
    .map_err(|error| format!("--listen {listen}: {error}"))?;
    print!("{}", stub.shell());
    stop.next().await;
    Ok(ExitCode::SUCCESS)
}

/// Prints the response of `GET /public/openapi.json`, for people and diffs.
fn openapi(address: &str) -> Result<ExitCode, AnyError> {
    println!(
        "{}",
        serde_json::to_string_pretty(&rest::openapi::description(address))?
    );
    Ok(ExitCode::SUCCESS)
}

async fn account(command: AccountCommand) -> Result<ExitCode, AnyError> {
    let storage = match &command {
        AccountCommand::Create(AccountArgs { storage, .. })
        | AccountCommand::RegenerateKey(AccountArgs { storage, .. })
        | AccountCommand::LoginLink(LoginLinkArgs { storage, .. }) => storage,
    };
    let (url, clock) = (storage.database_url.secret(), Arc::new(SystemClock));
    let store = match &command {
        AccountCommand::Create(_) => SqlStore::open_beside(url, clock).await,
        AccountCommand::RegenerateKey(_) | AccountCommand::LoginLink(_) => SqlStore::open_existing(url, clock).await,
    };
    let store = store.map_err(|error| format!("DATABASE_URL {}: {error}", storage.database_url))?;
    let shown = match &command {
        AccountCommand::Create(args) => serde_json::to_string_pretty(&accounts::create(&store, &args.email).await?)?,
        AccountCommand::RegenerateKey(args) => {
            let key = accounts::regenerate_key(&store, &args.email).await?;
            serde_json::to_string_pretty(&json!({ "apiKey": key }))?
        }
        AccountCommand::LoginLink(args) => args.link(&accounts::login_link(&store, args.email.as_deref()).await?),
    };
    println!("{shown}");
    Ok(ExitCode::SUCCESS)
}
