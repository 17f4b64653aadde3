//! A PostgreSQL server for this run, created from the binaries on this machine. It can be killed and started
//! again, and a standby may follow and replace it.
//!
//! A shell keeps it and waits for commands on its standard input: however this process ends, the server ends.

use std::{
    env, fs, io,
    io::Write,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use nix::unistd::User;

/// Longest wait for a server to accept connections.
const WITHIN: Duration = Duration::from_secs(60);
const PASSWORD: &str = "s3cret-of-the-faults";

/// Creates the server and runs it. `$1` is the folder of the binaries, `$2` the server's own.
const KEEPER: &str = r#"
trap : INT TERM
"$1/initdb" -D "$2/data" -U ringback --pwfile="$2/password" --auth=scram-sha-256 --encoding=UTF8 --no-locale \
    --no-sync >"$2/log" 2>&1 || exit 1
start() {
    "$1/postgres" -D "$2/data" -c listen_addresses= -c unix_socket_directories="$2" -c max_connections=200 \
        >>"$2/log" 2>&1 &
    server=$!
}
follow() {
    "$1/postgres" -D "$2/standby" -c listen_addresses= -c unix_socket_directories="$2/run" -c max_connections=200 \
        >>"$2/log" 2>&1 &
    standby=$!
}
start "$1" "$2"
while read -r word; do
    case $word in
        kill) kill -QUIT "$server"; wait "$server" ;;
        start) start "$1" "$2" ;;
        follow)
            PGPASSWORD=$(cat "$2/password") "$1/pg_basebackup" -h "$2" -U ringback -D "$2/standby" -R -X stream \
                -c fast >>"$2/log" 2>&1 && mkdir "$2/run" && follow "$1" "$2" ;;
        lose) kill -QUIT "$standby"; wait "$standby" ;;
        promote)
            follow "$1" "$2"
            tries=0
            until "$1/pg_ctl" promote -w -D "$2/standby" >>"$2/log" 2>&1 || [ "$tries" -ge 200 ]; do
                tries=$((tries + 1)); sleep 0.1
            done
            ln -sf "$2/run/.s.PGSQL.5432" "$2/.s.PGSQL.5432"
            server=$standby ;;
    esac
done
kill -QUIT "$server" ${standby:+"$standby"} 2>/dev/null
wait
"#;

/// A server.
pub struct Postgres {
    folder: PathBuf,
    keeper: Child,
    words: Option<ChildStdin>,
    /// Name of the data folder in use, within the server's folder.
    data: &'static str,
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

impl Postgres {
    /// Creates a server in a new folder below `parent` and waits until it is ready.
    pub fn start(parent: &Path) -> io::Result<Self> {
        let found = binaries()
            .ok_or_else(|| io::Error::other("no PostgreSQL found: install it with `apt-get install postgresql`"))?;
        // The path may have links to only some of the programs.
        let initdb = fs::canonicalize(found.join("initdb"))?;
        let binaries = initdb.parent().map_or(found, Path::to_path_buf);
        let folder = parent.join("postgres");
        fs::create_dir(&folder)?;
        fs::write(folder.join("password"), PASSWORD)?;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", KEEPER, "sh"])
            .arg(binaries)
            .arg(&folder)
            .current_dir(&folder);
        // PostgreSQL refuses to run as root.
        if fs::metadata("/proc/self")?.uid() == 0 {
            let somebody = ["postgres", "nobody"]
                .into_iter()
                .find_map(|name| User::from_name(name).ok().flatten());
            let user = somebody.ok_or_else(|| io::Error::other("neither of the users postgres and nobody exists"))?;
            for path in [&folder, &folder.join("password")] {
                chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
            }
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        let mut keeper = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let words = keeper.stdin.take();
        let server = Self {
            folder,
            keeper,
            words,
            data: "data",
        };
        server.until_ready()?;
        Ok(server)
    }

    /// Returns the path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Returns the URL of its database, without a proxy.
    pub fn url(&self) -> String {
        let host = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://ringback:{PASSWORD}@localhost/postgres?host={host}")
    }

    /// Returns the URL through a proxy.
    pub fn url_by(&self, proxy: &str) -> String {
        format!("postgres://ringback:{PASSWORD}@{proxy}/postgres")
    }

    fn say(&mut self, word: &str) -> io::Result<()> {
        let Some(words) = &mut self.words else { return Ok(()) };
        writeln!(words, "{word}")?;
        words.flush()
    }

    /// Kills it at once, as a crash would.
    pub fn kill(&mut self) -> io::Result<()> {
        self.say("kill")?;
        Ok(())
    }

    /// Starts it again, after its keeper has seen its end.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.say("start")
    }

    /// Creates a standby, which follows and is always a little behind.
    pub fn follow(&mut self) -> io::Result<()> {
        self.say("follow")
    }

    /// Cuts off the standby from all further changes.
    pub fn lose_standby(&mut self) -> io::Result<()> {
        self.say("lose")
    }

    /// Promotes the standby after the server was killed; it takes over the server's address.
    pub fn promote(&mut self) -> io::Result<()> {
        self.say("promote")?;
        self.data = "standby";
        self.until_ready()
    }

    /// Waits until it accepts connections.
    pub fn until_ready(&self) -> io::Result<()> {
        let began = Instant::now();
        while !self.is_ready() {
            if began.elapsed() > WITHIN {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(io::Error::other(format!("PostgreSQL did not start: {log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        let state = fs::read_to_string(self.folder.join(self.data).join("postmaster.pid")).unwrap_or_default();
        // A standby counts as ready before it accepts writes, and before it has the other's address.
        let is_in_place = self.data == "data" || self.socket().is_symlink();
        is_in_place && self.socket().exists() && state.lines().nth(7).is_some_and(|line| line.trim() == "ready")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.words = None;
        let _ = self.keeper.wait();
    }
}
