//! Plain pages that come from the server itself, without scripts and styles.

use rest::WAYS_OUT;

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} - Ringback</title>\n\
         <h1>{title}</h1>\n{body}\n</html>\n"
    )
}

/// Returns the page for an address at which browsers cannot sign in.
pub fn elsewhere() -> String {
    let ways: String = WAYS_OUT
        .iter()
        .map(|way| format!("<li>{}</li>\n", marked(way)))
        .collect();
    page(
        "Signing in needs HTTPS",
        &format!(
            "<p>The dashboard cannot be used at this address. It is neither HTTPS at the address in \
             <code>RINGBACK_PUBLIC_URL</code> nor a loopback address, so anybody on the way could read the key. \
             There are three ways out:</p>\n<ul>\n{ways}</ul>\n<p>Programs with an API key are not affected.</p>"
        ),
    )
}

/// Returns the page for a database without accounts.
pub fn no_account() -> String {
    page(
        "There is no account yet",
        "<p>Create one on the machine of the service, with the same database settings:</p>\n\
         <pre>ringback account create --email you@example.com</pre>\n\
         <p>It prints the API key, once. Then print a link that signs a browser in:</p>\n\
         <pre>ringback account login-link</pre>\n\
         <p>Open the link, or load this page again and sign in with the e-mail address and the key.</p>",
    )
}

/// Turns text between backquotes into code.
fn marked(text: &str) -> String {
    let mut parts = text.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    for (number, part) in parts.enumerate() {
        html.push_str(if number % 2 == 0 { "<code>" } else { "</code>" });
        html.push_str(part);
    }
    html
}
