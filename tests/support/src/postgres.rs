//! Databases on a PostgreSQL server: that of `TEST_POSTGRES_URL`, or else one of this process, created from the
//! binaries on this machine. With neither, the tests print that they are skipped; if `CI` is set they fail.
//!
//! A shell keeps the process's own server and waits for the end of its standard input: however this process
//! ends, the server ends and its folder is removed.

use std::{
    env, fs,
    io::Write,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use sqlx::{AnyConnection, AssertSqlSafe, Connection};
use uuid::Uuid;

/// Longest wait for a new server to accept connections.
const WITHIN: Duration = Duration::from_secs(60);

/// Creates the server, runs it, and cleans up. `$1` is the folder of the binaries, `$2` the server's own.
const KEEPER: &str = r#"
trap : INT TERM
"$1/initdb" -D "$2/data" -U ringback --pwfile="$2/password" --auth=scram-sha-256 --encoding=UTF8 --no-locale \
    --no-sync >"$2/log" 2>&1 &&
    "$1/postgres" -D "$2/data" -c listen_addresses= -c unix_socket_directories="$2" -c fsync=off \
        -c full_page_writes=off -c max_connections=100 >>"$2/log" 2>&1 &
server=$!
cat >/dev/null
if [ -f "$2/data/postmaster.pid" ]; then kill -INT "$(head -n 1 "$2/data/postmaster.pid")"; fi
wait "$server"
rm -rf "$2"
"#;

/// Name of a server's socket in its folder.
pub const SOCKET: &str = ".s.PGSQL.5432";

/// Password of the user `ringback`.
const PASSWORD: &str = "s3cret-of-the-tests";

/// A server, and its URL for a user that may create databases.
struct Server {
    admin_url: String,
    /// Its standard input is open as long as this process lives.
    _keeper: Option<Child>,
}

static SERVER: OnceLock<Option<Server>> = OnceLock::new();

/// An empty database; dropping this drops it.
pub struct Database {
    /// URL, including the password.
    pub url: String,
    name: String,
}

/// Creates a database; returns `None` if there is no server, after printing so.
pub async fn database() -> Option<Database> {
    let server = server()?;
    let name = format!("ringback_test_{}", Uuid::new_v4().simple());
    execute(&server.admin_url, &format!("CREATE DATABASE {name}")).await;
    let mut url = reqwest::Url::parse(&server.admin_url).unwrap();
    url.set_path(&name);
    Some(Database { url: url.into(), name })
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = server() else { return };
        // Runs in its own thread, because this may be dropped inside of a runtime.
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(execute(&server.admin_url, &drop));
        });
        let _ = dropping.join();
    }
}

/// A server of this process with its own history; its user `ringback` and the password are the usual ones.
pub struct OwnServer {
    folder: PathBuf,
    /// Its standard input is open as long as this lives.
    keeper: Child,
}

impl OwnServer {
    /// Starts a server; returns `None` without the binaries.
    pub fn start() -> Option<Self> {
        binaries().map(|binaries| start(&binaries))
    }

    /// Returns the path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(SOCKET)
    }
}

/// Returns the URL of the database `postgres` of a server that listens in this folder, at [`SOCKET`].
pub fn address_in(folder: &Path) -> String {
    let host = folder.display().to_string().replace('/', "%2F");
    format!("postgres://ringback:{PASSWORD}@localhost/postgres?host={host}")
}

/// Runs a statement on a new connection.
pub async fn execute(url: &str, sql: &str) {
    sqlx::any::install_default_drivers();
    net::http_client::install_cryptography();
    let mut conn = AnyConnection::connect(url).await.unwrap();
    let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut conn).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    conn.close().await.unwrap();
}

fn server() -> Option<&'static Server> {
    SERVER.get_or_init(find).as_ref()
}

fn find() -> Option<Server> {
    if let Some(admin_url) = env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty()) {
        return Some(Server {
            admin_url,
            _keeper: None,
        });
    }
    if let Some(binaries) = binaries() {
        let OwnServer { folder, keeper } = start(&binaries);
        return Some(Server {
            admin_url: address_in(&folder),
            _keeper: Some(keeper),
        });
    }
    let way_out = "no PostgreSQL server: install one (`apt-get install postgresql`), or set TEST_POSTGRES_URL to an \
                   address whose user may make databases";
    assert!(env::var("CI").is_err(), "{way_out}");
    // Written directly to standard error, because the test harness captures other output.
    let _ = writeln!(std::io::stderr(), "SKIPPED, the tests on PostgreSQL: {way_out}");
    None
}

/// Returns the folder with `initdb` and `postgres`: on the path, or in Debian's location, the newest version.
fn binaries() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path()).collect())
        .unwrap_or_default();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    let folders = env::split_paths(&path).chain(versions.into_iter().map(|version| version.join("bin")));
    let mut complete = folders.filter(|folder| ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file()));
    complete.next()
}

fn start(binaries: &Path) -> OwnServer {
    let folder = tempfile::Builder::new()
        .prefix("ringback-pg-")
        .tempdir()
        .unwrap()
        .keep();
    fs::write(folder.join("password"), PASSWORD).unwrap();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", KEEPER, "sh"])
        .arg(binaries)
        .arg(&folder)
        .current_dir(&folder);
    // PostgreSQL refuses to run as root.
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        let (user, group) = somebody();
        for path in [&folder, &folder.join("password")] {
            chown(path, Some(user), Some(group)).unwrap();
        }
        command.uid(user).gid(group);
    }
    // Leaves this process's group, because it must outlive the end of that group by a moment.
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let keeper = command.spawn().unwrap();
    let socket = folder.join(SOCKET);
    let began = Instant::now();
    // The socket exists before the server is ready, so the state file is checked too.
    while !(socket.exists() && ready(&folder)) {
        let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(began.elapsed() < WITHIN, "PostgreSQL did not start: {}", log());
        thread::sleep(Duration::from_millis(20));
    }
    OwnServer { folder, keeper }
}

fn ready(folder: &Path) -> bool {
    let state = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    state.lines().nth(7).is_some_and(|line| line.trim() == "ready")
}

/// Returns a user without rights: the server's own, or nobody.
fn somebody() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let find = |wanted: &str| {
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let mut found = fields.filter(|fields| fields[0] == wanted);
        found
            .next()
            .map(|fields| (fields[2].parse().unwrap(), fields[3].parse().unwrap()))
    };
    find("postgres").or_else(|| find("nobody")).unwrap()
}
