//! A small writer of SVG.

use std::fmt::Write as _;

/// Height of text in pixels.
pub const TEXT: f64 = 11.0;

/// A picture.
#[derive(Debug)]
pub struct Svg {
    size: (f64, f64),
    body: String,
}

impl Svg {
    /// Creates an empty picture of a width and height in pixels.
    pub fn new(width: f64, height: f64) -> Self {
        Self {
            size: (width, height),
            body: String::new(),
        }
    }

    /// Draws a line through points.
    pub fn line(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        let mut path = String::new();
        for (x, y) in points {
            let _ = write!(path, "{x:.0},{y:.0} ");
        }
        let path = path.trim_end();
        let _ = writeln!(
            self.body,
            r#"<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>"#
        );
    }

    /// Fills a rectangle.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.0}" y="{y:.0}" width="{width:.0}" height="{height:.0}" fill="{colour}"/>"#
        );
    }

    /// Draws a dot.
    pub fn dot(&mut self, (x, y): (f64, f64), colour: &str) {
        let _ = writeln!(self.body, r#"<circle cx="{x:.0}" cy="{y:.0}" r="4" fill="{colour}"/>"#);
    }

    /// Writes text that begins at a place.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, colour: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.0}" y="{y:.0}" fill="{colour}">{text}</text>"#
        );
    }

    /// Returns the file.
    pub fn file(&self) -> String {
        let (width, height) = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"{TEXT}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }
}
