//! Kills a process at one of its calls of `fsync` or `fdatasync`: just before the kernel executes the call,
//! or just after. The process is the unchanged program; a separate process watches its calls with `ptrace`.

use std::{collections::HashMap, fs, io};

use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

/// Arguments of `faults trace`.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// Process id
    #[arg(long)]
    pid: i32,
    /// The call at which it is killed, counted from 1; 0 only counts
    #[arg(long)]
    at: u64,
    /// Kill it after the call, not before
    #[arg(long)]
    after: bool,
}

/// Text before the number of calls if the tracer killed the process.
pub const KILLED: &str = "killed at ";
/// Text before the number of calls if the process ended by itself.
pub const ENDED: &str = "ended after ";

/// Traces until the process is gone.
pub fn trace(args: &TraceArgs) -> io::Result<bool> {
    let pid = Pid::from_raw(args.pid);
    // The whole process dies with its tracer, so that nothing is left waiting for one.
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = thread?.file_name();
        let thread = name.to_string_lossy().parse().map_err(io::Error::other)?;
        let thread = Pid::from_raw(thread);
        ptrace::seize(thread, options)?;
        ptrace::interrupt(thread)?;
    }
    println!("traced");
    let mut calls = Calls::default();
    loop {
        let stopped = match waitpid(None, Some(WaitPidFlag::__WALL)) {
            Ok(status) => status,
            Err(Errno::ECHILD) => break,
            Err(error) => return Err(error.into()),
        };
        let (thread, signal) = match stopped {
            WaitStatus::PtraceSyscall(thread) => {
                let is_due = match calls.stop(thread) {
                    Some(Moment::Before) => !args.after,
                    Some(Moment::After) => args.after,
                    None => false,
                };
                if is_due && args.at > 0 && calls.seen >= args.at {
                    kill(pid, Signal::SIGKILL)?;
                    println!("{KILLED}{}", calls.seen);
                    return Ok(true);
                }
                (thread, None)
            }
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) if thread == pid => break,
            _ => continue,
        };
        match ptrace::syscall(thread, signal) {
            // The thread is gone already; that is reported next.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    println!("{ENDED}{}", calls.seen);
    Ok(true)
}

enum Moment {
    Before,
    After,
}

/// State of the threads.
#[derive(Default)]
struct Calls {
    seen: u64,
    /// Threads in the kernel, and whether they are in a sync call.
    inside: HashMap<Pid, bool>,
}

impl Calls {
    /// Handles a stop of a thread on its way into the kernel, or out of it.
    fn stop(&mut self, thread: Pid) -> Option<Moment> {
        match self.inside.remove(&thread) {
            Some(syncs) => syncs.then_some(Moment::After),
            None => {
                let syncs = matches!(number(thread), Some(libc::SYS_fsync | libc::SYS_fdatasync));
                self.inside.insert(thread, syncs);
                self.seen += u64::from(syncs);
                syncs.then_some(Moment::Before)
            }
        }
    }
}

/// Returns the number of the system call that a thread makes.
fn number(thread: Pid) -> Option<i64> {
    let registers = ptrace::getregs(thread).ok()?;
    #[cfg(target_arch = "x86_64")]
    let number = registers.orig_rax;
    #[cfg(target_arch = "aarch64")]
    let number = registers.regs[8];
    i64::try_from(number).ok()
}
