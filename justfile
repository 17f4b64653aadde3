# Short names of the commands in CONTRIBUTING.md.

# List the verbs
default:
    @just --list

# Serve on http://127.0.0.1:8080
run *arguments:
    cargo run --release -- serve {{ arguments }}

# Run a whole campaign on simulated phones
demo *arguments:
    cargo run -- demo {{ arguments }}

# Run the tests, or those whose name contains a word
test *words:
    cargo test --workspace {{ words }}

# Compile everything without running it
check:
    cargo check --workspace --all-targets

# Check format, lints and dependencies
lint:
    .ci/run lint

# Run what decides whether a change lands, or one part of it
ci *part:
    .ci/run {{ part }}

# Run the long checks and all measurements
nightly:
    .ci/nightly

# Run a bench, such as `just bench turns --only interrupt`
bench *arguments:
    cargo build --release --workspace --bins
    target/release/ringback-bench {{ arguments }}

# Write the generated documents again, and check all documents
docs:
    cargo run -- openapi > target/openapi.json
    cp target/openapi.json tests/openapi.json
    UPDATE_DOCS=1 cargo test --test it settings_page
    cargo test --test it documents

# Check the dashboard's rules, then its pages in a browser, or some scenarios of it
dashboard *scenarios:
    node --test tests/dashboard/unit/
    cargo build --workspace --bins
    tests/dashboard/run target/debug/ringback {{ scenarios }}
