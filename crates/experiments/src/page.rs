//! The page that shows an experiment beside the paper: sentences, tables, figures, all in one file.

use std::fmt::Write;

/// The section of an experiment.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The paper's findings.
    pub(crate) paper: &'static str,
    /// Our findings, one sentence each.
    pub(crate) found: Vec<String>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) tables: Vec<Table>,
}

/// A picture with its file and caption.
pub(crate) struct Figure {
    pub(crate) file: String,
    pub(crate) svg: String,
    pub(crate) caption: String,
}

/// A table; the first cell of a row names it.
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A cell: a value, and small words below it.
#[derive(Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) note: String,
    pub(crate) bold: bool,
    /// Highlighted.
    pub(crate) marked: bool,
}

impl Cell {
    /// Plain text.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem; color: #222 }
h1, h2 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem }
figure { margin: 1.5rem 0 } figure svg { max-width: 100%; height: auto }
figcaption, .settings { color: #555; font-size: 0.9rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: 0.8rem; margin: 1rem 0 }
caption { text-align: left; color: #555; padding-bottom: 0.4rem }
th, td { padding: 0.25rem 0.5rem; text-align: right; border-bottom: 1px solid #eee; vertical-align: top }
th:first-child, td:first-child { text-align: left } td small { color: #777; display: block; white-space: nowrap }
td.marked { background: #fdf0d5 } dt { font-weight: 600 } dd { margin: 0 0 0.6rem 0 }
";

/// The whole page.
pub(crate) fn html(settings: &str, sections: &[Section]) -> String {
    let mut page =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width\">\n";
    page += "<title>raysum: the paper's experiments</title>\n";
    let _ = writeln!(page, "<style>{STYLE}</style>\n</head>\n<body>");
    page += "<h1>Randomly Projected Additive Gaussian Processes for Regression: the experiments, \
             again</h1>\n";
    page += "<p>Delbridge, Bindel and Wilson's paper, its tables and figures computed anew by \
             raysum.</p>\n";
    let _ = writeln!(page, "<p class=\"settings\">{}</p>\n<ul>", escaped(settings));
    for Section { id, title, .. } in sections {
        let _ = writeln!(page, "<li><a href=\"#{id}\">{}</a></li>", escaped(title));
    }
    page += "</ul>\n";
    for section in sections {
        page += &section.html();
    }
    page + "</body>\n</html>\n"
}

impl Section {
    fn html(&self) -> String {
        let mut text = format!("<h2 id=\"{}\">{}</h2>\n<dl>\n", self.id, escaped(self.title));
        let _ = writeln!(text, "<dt>The paper</dt><dd>{}</dd>", escaped(self.paper));
        let _ = writeln!(text, "<dt>Here</dt><dd>{}</dd>\n</dl>", escaped(&self.found.join(" ")));
        for Figure { svg, caption, .. } in &self.figures {
            let caption = escaped(caption);
            let _ = writeln!(text, "<figure>\n{svg}\n<figcaption>{caption}</figcaption></figure>");
        }
        for table in &self.tables {
            text += &table.html();
        }
        text
    }
}

impl Table {
    fn html(&self) -> String {
        let mut text = format!(
            "<div class=\"wide\"><table>\n<caption>{}</caption>\n<tr>",
            escaped(&self.caption)
        );
        for name in &self.header {
            let _ = write!(text, "<th>{}</th>", escaped(name));
        }
        text += "</tr>\n";
        for row in &self.rows {
            text += "<tr>";
            row.iter().for_each(|cell| text += &cell.html());
            text += "</tr>\n";
        }
        text + "</table></div>\n"
    }
}

impl Cell {
    fn html(&self) -> String {
        let class = if self.marked { " class=\"marked\"" } else { "" };
        let value = escaped(&self.text);
        let value = if self.bold { format!("<b>{value}</b>") } else { value };
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!("<small>{}</small>", escaped(note)),
        };
        format!("<td{class}>{value}{note}</td>")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_become_markup() {
        let cell = Cell { text: "<b>&".into(), note: "\"n\"".into(), bold: true, marked: true };
        let html = cell.html();
        assert!(html.contains("<b>&lt;b&gt;&amp;</b><small>&quot;n&quot;</small>"), "{html}");
        let page = html_of("a < b");
        assert!(page.contains("a &lt; b") && !page.contains("http"));
    }

    fn html_of(settings: &str) -> String {
        html(settings, &[])
    }
}
