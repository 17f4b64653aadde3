//! Figures drawn as SVG: panels beside each other over one axis, measured lines and dashed targets.

use std::path::Path;

use plotters::{
    chart::ChartBuilder,
    coord::Shift,
    element::{Circle, PathElement, Text},
    prelude::{DrawingArea, IntoDrawingArea, SVGBackend},
    series::{DashedLineSeries, LineSeries},
    style::{BLACK, Color, IntoFont, Palette, Palette99, RGBColor, WHITE},
};

use super::BenchError;

/// Pixels of a panel.
const PANEL: (u32, u32) = (560, 400);

/// Room above the highest point, as a share.
const HEADROOM: f64 = 1.15;

const TARGET: RGBColor = RGBColor(150, 150, 150);

/// Measured points, joined in order.
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Position and value.
    pub points: Vec<(f64, f64)>,
}

/// One set of axes.
pub struct Panel {
    /// Title above the panel.
    pub title: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Decimal places of a value.
    pub digits: usize,
    /// Measured lines.
    pub lines: Vec<Line>,
    /// Named limits that the lines should stay below.
    pub targets: Vec<(String, f64)>,
}

/// Draws panels beside each other over an axis called `over`.
pub fn draw(file: &Path, over: &str, panels: &[Panel]) -> Result<(), BenchError> {
    let mut text = String::new();
    {
        let count = u32::try_from(panels.len())?;
        let root = SVGBackend::with_string(&mut text, (PANEL.0 * count, PANEL.1)).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, panel) in root.split_evenly((1, panels.len())).iter().zip(panels) {
            panel.draw(area, over)?;
        }
        root.present()?;
    }
    Ok(std::fs::write(file, text)?)
}

impl Panel {
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>, over: &str) -> Result<(), BenchError> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let last = points().map(|(x, _)| *x).fold(1.0, f64::max) * 1.05;
        let values = points().map(|(_, y)| *y).chain(self.targets.iter().map(|(_, y)| *y));
        let highest = values.fold(f64::MIN_POSITIVE, f64::max) * HEADROOM;
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..last, 0.0..highest)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc(over)
            .y_desc(self.unit)
            .y_label_formatter(&|value| format!("{value:.0$}", self.digits))
            .x_label_formatter(&|value| format!("{value:.0}"))
            .draw()?;
        for (name, limit) in &self.targets {
            let ends = [(0.0, *limit), (last, *limit)];
            chart.draw_series(DashedLineSeries::new(ends, 6, 4, TARGET.stroke_width(1)))?;
            let label = format!("target {name} {limit}");
            let place = (last * 0.02, limit + highest * 0.035);
            chart.draw_series([Text::new(label, place, ("sans-serif", 12).into_font().color(&TARGET))])?;
        }
        for (n, line) in self.lines.iter().enumerate() {
            let color = Palette99::pick(n).to_rgba();
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(2)))?
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
            chart.draw_series(line.points.iter().map(|point| Circle::new(*point, 3, color.filled())))?;
        }
        chart
            .configure_series_labels()
            .background_style(WHITE)
            .border_style(BLACK.mix(0.2))
            .draw()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_holds_its_words_lines_and_targets() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plot.svg");
        let panel = Panel {
            title: "Response".into(),
            unit: "ms",
            digits: 0,
            lines: vec![Line {
                name: "p99".into(),
                points: vec![(100.0, 12.0), (300.0, 21.0)],
            }],
            targets: vec![("p99".into(), 30.0)],
        };
        draw(&file, "calls at once", &[panel]).unwrap();
        let svg = std::fs::read_to_string(&file).unwrap();
        for word in ["Response", "calls at once", "ms", "p99", "target p99 30"] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
