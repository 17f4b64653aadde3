# docker build -t ringback .                                    the service
# docker build -t ringback --build-arg PACKAGES=espeak-ng .     with the local voice of RINGBACK_TTS=espeak
# docker run --network host -e RINGBACK_LISTEN=127.0.0.1:8080 -v ringback:/data ringback

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked --package ringback && cp target/release/ringback /ringback

FROM debian:bookworm-slim
ARG PACKAGES=""
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates $PACKAGES \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin ringback \
    && install -d -o ringback -g ringback /data
COPY --from=build /ringback /usr/local/bin/ringback
USER ringback
WORKDIR /data
VOLUME /data
ENV RINGBACK_LISTEN=0.0.0.0:8080 DATABASE_URL=sqlite:///data/ringback.db RINGBACK_DATA_DIR=/data/ringback-data
EXPOSE 8080
# The image has no curl; bash opens the connection itself. Bash has no TLS: with a certificate an open port suffices.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 || exit 1; [[ -n $RINGBACK_TLS_CERT ]] && exit 0; printf 'GET /public/health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r status <&3 && [[ $status == *' 200 '* ]]"]
# With a stop timeout of 14580 s, calls in progress end by themselves.
CMD ["ringback", "serve"]
