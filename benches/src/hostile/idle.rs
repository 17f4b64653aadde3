//! Idle sockets: the memory of each in a service that has nothing else to do.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    BenchError,
    processes::{Process, ServiceSettings, create_account, free_address},
};

/// Connections opened concurrently: by default the kernel's queue is no longer.
const AT_ONCE: usize = 64;
/// Longest time for the service to accept the opened connections.
const ACCEPTS_WITHIN: Duration = Duration::from_secs(60);

/// Silence after which a connection counts as idle: longer than the service keeps the HTTP buffers of a
/// connection (1 s) and its allocator keeps free memory (10 s).
const IDLE_AFTER: Duration = Duration::from_secs(15);

/// Kind that sends nothing.
pub const SILENT: &str = "not a byte";

/// Returns the kinds and the KiB that each socket of that kind takes.
pub async fn measure(sockets: u32) -> Result<Vec<(&'static str, f64)>, BenchError> {
    let mut figures = Vec::new();
    for (kind, request) in [(SILENT, None), ("kept after an answer", Some("GET /public/health"))] {
        println!("{sockets} idle sockets, {kind} …");
        let folder = tempfile::Builder::new().prefix("ringback-bench-hostile-").tempdir()?;
        let mut settings = ServiceSettings::new(folder.path(), free_address()?)?;
        settings.environment = vec![
            ("RINGBACK_MAX_CONNECTIONS", (sockets + 64).to_string()),
            // On a busy machine the last socket is opened long after the first.
            ("RINGBACK_IDLE_SECONDS", "600".to_owned()),
        ];
        create_account(&settings).await?;
        let service = Process::service(&settings).await?;
        sleep(Duration::from_secs(1)).await;
        let (before, idle) = (service.resident_mib()?, service.sockets()?);
        let held = open(settings.listen, sockets, request).await?;
        let limit = Instant::now() + ACCEPTS_WITHIN;
        while service.sockets()? < idle + u64::from(sockets) {
            if Instant::now() > limit {
                return Err(format!("the service holds {} of {sockets} sockets", service.sockets()? - idle).into());
            }
            sleep(Duration::from_millis(50)).await;
        }
        let each = |resident: f64| (resident - before) * 1024.0 / f64::from(sockets);
        let opened = each(service.resident_mib()?);
        sleep(IDLE_AFTER).await;
        let later = each(service.resident_mib()?);
        drop(held);
        println!(
            "  {opened:.1} KiB each when the last is open, {later:.1} KiB {} s later",
            IDLE_AFTER.as_secs()
        );
        figures.push((kind, later));
        service.kill().await?;
    }
    Ok(figures)
}

async fn open(at: SocketAddr, sockets: u32, request: Option<&'static str>) -> Result<Vec<TcpStream>, BenchError> {
    let mut opening = JoinSet::new();
    let mut held = Vec::new();
    for _ in 0..sockets {
        opening.spawn(open_one(at, request));
        if opening.len() >= AT_ONCE
            && let Some(opened) = opening.join_next().await
        {
            held.push(opened??);
        }
    }
    while let Some(opened) = opening.join_next().await {
        held.push(opened??);
    }
    Ok(held)
}

async fn open_one(at: SocketAddr, request: Option<&'static str>) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(at).await?;
    if let Some(line) = request {
        let request = format!("{line} HTTP/1.1\r\nhost: {at}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        // The response is small and comes in one piece.
        let mut answer = [0; 4_096];
        if stream.read(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(stream)
}
