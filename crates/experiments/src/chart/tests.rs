//! Figures of extreme input are well-formed and show the right text.

use anyhow::Result;

use super::{Axis, Field, Group, Look, Marker, Panel, Series, contours, dots, lines};

const LOOK: Look = Look { colour: 9, dashed: true, marker: Marker::Diamond };
const BARE: Look = Look { colour: 0, dashed: false, marker: Marker::None };

fn axis(log: bool, range: Option<(f64, f64)>) -> Axis {
    Axis { label: "axis".into(), log, range }
}

fn series(name: &str, look: Look, points: &[(f64, f64)]) -> Series {
    let band = points.iter().map(|p| (p.1 - 1.0, p.1 + 1.0)).collect();
    Series { name: name.into(), look, points: points.to_vec(), band }
}

fn panel(log: bool, range: Option<(f64, f64)>, series: Vec<Series>) -> Panel {
    Panel { title: "panel".into(), x: axis(log, range), y: axis(log, range), series }
}

/// Lists of points with special cases.
fn hostile() -> Vec<Vec<(f64, f64)>> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    vec![
        vec![],
        vec![(1.0, 1.0)],
        vec![(0.0, 0.0)],
        vec![(2.0, 3.0); 4],
        vec![(nan, nan)],
        vec![(1.0, 2.0), (nan, 1.0), (2.0, inf), (-inf, 3.0), (4.0, 5.0)],
        vec![(0.0, -1.0), (-5.0, 0.0), (1.0, 2.0), (10.0, 0.0)],
        vec![(f64::MAX, f64::MIN), (f64::MIN, f64::MAX), (1.0, 1.0)],
        vec![(1e299, -1e299), (-1e299, 1e299)],
        vec![(5e-324, 1e-310), (0.0, 5e-324)],
        vec![(1e-200, 1e200), (1e200, 1e-200)],
        vec![(1.0, 1.0), (1.0 + 1e-15, 1.0 - 1e-15)],
        vec![(1e9, 1e9), (1e9 + 1.0, 1e9 + 2.0)],
    ]
}

/// Tags are closed, attributes quoted, text escaped and numbers finite.
fn assert_well_formed(svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let mut open = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{part}");
        let entities = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"];
        for (at, _) in text.match_indices('&') {
            assert!(entities.iter().any(|e| text[at..].starts_with(e)), "{text}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains("NaN") && !tag.contains("inf"), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().expect("a tag has a name"));
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The texts of a figure in their order.
fn texts(svg: &str) -> Vec<&str> {
    let parts = svg.split("<text ").skip(1);
    parts.filter_map(|part| Some(part.split_once('>')?.1.split_once('<')?.0.trim())).collect()
}

#[test]
fn lines_of_hostile_points_are_well_formed() -> Result<()> {
    let ranges =
        [None, Some((1.0, 1.0)), Some((f64::NAN, 1.0)), Some((-1.0, 9.0)), Some((9.0, 2.0))];
    for points in hostile() {
        for log in [false, true] {
            for range in ranges {
                for look in [LOOK, BARE] {
                    let panel = panel(log, range, vec![series("a name", look, &points)]);
                    let svg = lines(&[panel.clone(), panel], 2)?;
                    assert_well_formed(&svg);
                    assert!(svg.contains("a name"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn lines_of_nothing_are_well_formed() -> Result<()> {
    assert_well_formed(&lines(&[], 0)?);
    assert_well_formed(&lines(&[], 3)?);
    assert_well_formed(&lines(&[panel(true, None, vec![])], 0)?);
    Ok(())
}

#[test]
fn a_band_may_be_shorter_than_its_line_or_upside_down() -> Result<()> {
    let mut one = series("s", LOOK, &[(1.0, 1.0), (2.0, 4.0), (3.0, 2.0)]);
    one.band = vec![(2.0, -1.0), (f64::NAN, 1.0)];
    assert_well_formed(&lines(&[panel(true, None, vec![one])], 1)?);
    Ok(())
}

#[test]
fn names_are_escaped_and_long_ones_shortened() -> Result<()> {
    let names = ["a <b> & \"c\"", "tab\tand\u{0}bell\u{7}", &"very long ".repeat(500)];
    let mut long = panel(false, None, vec![]);
    long.title = names[2].into();
    long.x.label = names[2].into();
    long.series = names.iter().map(|n| series(n, LOOK, &[(0.0, 0.0), (1.0, 1.0)])).collect();
    let svg = lines(&[long], 1)?;
    assert_well_formed(&svg);
    assert!(svg.contains("a &lt;b&gt; &amp; &quot;c&quot;"), "{svg}");
    assert!(svg.contains("very long") && svg.len() < 20_000, "{}", svg.len());
    Ok(())
}

#[test]
fn a_name_stands_once_in_the_legend_of_all_panels() -> Result<()> {
    let one = panel(false, None, vec![series("only once", LOOK, &[(0.0, 0.0), (1.0, 1.0)])]);
    let svg = lines(&[one.clone(), one.clone(), one], 3)?;
    assert_eq!(texts(&svg).iter().filter(|t| **t == "only once").count(), 1);
    Ok(())
}

#[test]
fn a_dashed_line_has_gaps_and_stays_inside_its_panel() -> Result<()> {
    let count = |look: Look| -> Result<usize> {
        let one = Series { band: vec![], ..series("", look, &[(-1e9, 0.0), (1e9, 1.0)]) };
        let mut one = panel(false, Some((-1.0, 1.0)), vec![one]);
        one.y.range = Some((0.0, 1.0));
        Ok(lines(&[one], 1)?.matches("#0072B2").count())
    };
    assert_eq!(count(BARE)?, 1);
    let dashes = count(Look { dashed: true, ..BARE })?;
    assert!((20..60).contains(&dashes), "{dashes}");
    Ok(())
}

#[test]
fn ticks_are_round_numbers() -> Result<()> {
    let ticks = |log: bool, range: (f64, f64)| -> Result<Vec<String>> {
        let svg = lines(&[panel(log, Some(range), vec![])], 1)?;
        let texts = texts(&svg);
        let until = texts.iter().position(|t| *t == "axis").expect("the label");
        Ok(texts[..until].iter().map(|t| (*t).to_owned()).collect())
    };
    assert_eq!(ticks(true, (1.0, 377.0))?, ["1", "10", "100"]);
    assert_eq!(ticks(true, (0.02, 3.0))?, ["0.03", "0.1", "0.3", "1", "3"]);
    assert_eq!(ticks(true, (1.0, 4000.0))?, ["1", "10", "100", "1000"]);
    assert_eq!(ticks(true, (0.03, 2.0))?, ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
    assert_eq!(ticks(true, (1e-5, 1.0))?, ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"]);
    assert_eq!(ticks(true, (3.1, 4.6))?, ["3.5", "4.0", "4.5"]);
    assert_eq!(ticks(false, (-1.0, 1.0))?, ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
    assert_eq!(ticks(false, (0.0, 2e6))?, ["0", "0.5×10⁶", "1.0×10⁶", "1.5×10⁶", "2.0×10⁶"]);
    Ok(())
}

#[test]
fn dots_of_hostile_values_are_well_formed() -> Result<()> {
    let looks = [("first <&".to_owned(), LOOK), ("second".to_owned(), BARE)];
    assert_well_formed(&dots(&[], &[], &axis(true, None))?);
    for points in hostile() {
        for log in [false, true] {
            for range in [None, Some((0.5, 2.0)), Some((0.0, 0.0))] {
                let group = |p: &(f64, f64)| Group {
                    label: "data & more ".repeat(9),
                    dots: vec![Some(*p), None, Some(*p)],
                };
                let groups: Vec<Group> = points.iter().map(group).collect();
                let svg = dots(&looks, &groups, &axis(log, range))?;
                assert_well_formed(&svg);
                assert!(svg.contains("first &lt;&amp;") && svg.contains("second"));
            }
        }
    }
    Ok(())
}

#[test]
fn contours_of_hostile_functions_are_well_formed() -> Result<()> {
    let functions: [&dyn Fn(f64, f64) -> f64; 9] = [
        &|_, _| 0.0,
        &|_, _| 3.0,
        &|_, _| f64::NAN,
        &|_, _| f64::INFINITY,
        &|_, _| 1e-320,
        &|x, y| if x > 0.0 { f64::NAN } else { x * y },
        &|x, y| 1.0 / (x * y),
        &|x, y| 1e299 * (x + y),
        &|x, y| f64::from((x * 7.0).sin() * (y * 5.0).cos() > 0.0),
    ];
    assert_well_formed(&contours(&[], 1.0, "x", "y")?);
    for value in functions {
        for half in [1.0, 0.0, -2.0, f64::NAN, f64::INFINITY, 1e-150] {
            let title = "a <&".to_owned();
            let svg = contours(&[Field { title, value }], half, "x", "")?;
            assert_well_formed(&svg);
            assert!(svg.contains("a &lt;&amp;"));
        }
    }
    Ok(())
}
