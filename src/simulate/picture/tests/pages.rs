//! Tests of pages and drawings with any content.

use std::collections::BTreeSet;

use super::{frontier, hostile, ms, report};
use crate::simulate::picture::drawing::{LETTER, NARROW, STYLE, Size, WIDE};
use crate::simulate::picture::markup::count;
use crate::simulate::picture::{Frontier, Point, Report, Section};

#[test]
fn pages_and_drawings_are_well_formed_for_any_text() {
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..100 {
        let report = hostile(&mut random);
        let (svg, html) = (report.svg(), report.html());
        assert_well_formed(&svg);
        assert_well_formed(html.strip_prefix("<!DOCTYPE html>\n").expect("a page"));
        for text in [svg, html] {
            assert!(
                !text.contains("<script") && !text.contains(['\u{1b}', '\u{ffff}', '\u{202e}'])
            );
            assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
        }
    }
}

#[test]
fn pages_and_drawings_load_nothing() {
    let report = report();
    for text in [report.svg(), report.html()] {
        let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for word in ["://", "src=", "href=", "@import", "<script", "javascript"] {
            assert!(!text.contains(word), "{word}");
        }
        assert!(text.contains("--seed 42") && text.contains("<desc>"));
    }
}

/// Checks that each tag ends where it should, each value has quotes, and no text has characters of markup.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.trim_end();
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!open.is_empty() || before.is_empty(), "text beside the root: {before:?}");
        assert_text(before);
        let (tag, behind) = after.split_once('>').expect("the end of a tag");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let values: Vec<&str> = attributes.trim_end_matches('/').split('"').collect();
            assert!(values.len() % 2 == 1, "{tag}");
            for pair in values.chunks_exact(2) {
                let key = pair[0].trim().strip_suffix('=').expect("a value");
                assert!(
                    key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
                    "{tag}"
                );
                assert_text(pair[1]);
            }
            if !tag.ends_with('/') {
                open.push(name.trim_end_matches('/'));
            }
        }
        rest = behind;
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest:?}");
}

fn assert_text(text: &str) {
    for part in text.split('&').skip(1) {
        let entities = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(entities.iter().any(|entity| part.starts_with(entity)), "{text:?}");
    }
}

/// Returns the texts in the drawings of one size: their classes, their words, and their extent: left, top, right,
/// bottom.
fn texts(html: &str, size: Size) -> Vec<(String, String, [f64; 4])> {
    let class = format!("<svg class=\"{}\"", size.class);
    let drawings = html.split("<svg ").map(|it| format!("<svg {it}"));
    let drawings: Vec<String> = drawings.filter(|it| it.starts_with(&class)).collect();
    let elements = drawings.iter().flat_map(|it| it.split("<text ").skip(1));
    let texts = elements.map(|element| {
        let value = |key: &str| {
            let (_, rest) = element.split_once(&format!("{key}=\""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        let length = |key| value(key).and_then(|it| it.parse::<f64>().ok()).expect("a length");
        let (_, text) = element.split_once('>').expect("the end of a tag");
        let (text, _) = text.split_once("</text>").expect("an end");
        let class = element.split_once('>').filter(|it| it.0.contains("class")).and(value("class"));
        let class = class.unwrap_or_default();
        let wide = LETTER * count(text.chars().count());
        let before = match class.as_str() {
            class if class.ends_with("end") => wide,
            class if class.contains("middle") => wide / 2.0,
            _ => 0.0,
        };
        let (left, base) = (length("x") - before, length("y"));
        (class, text.to_owned(), [left, base - 10.0, left + wide, base + 3.0])
    });
    texts.collect()
}

fn meet(one: [f64; 4], other: [f64; 4]) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

/// Returns points as `ttl` makes them: six within 12 s have the same rate, and one is far away.
fn crowded(random: &mut fastrand::Rng) -> Frontier {
    let seconds = [4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 45, 60, 90, 120, 180];
    let points = seconds.iter().map(|ttl| Point {
        x: ms(ttl * 900 + random.u64(..300)),
        y: match ttl {
            4 => 64.0,
            5..20 => 4.37,
            20..180 => 0.08,
            _ => 0.0,
        },
        label: format!("{ttl}s"),
        is_advised: *ttl == 20,
    });
    Frontier { points: points.collect(), ..frontier() }
}

#[test]
fn labels_of_a_frontier_cover_no_other_one_and_none_is_left_out() {
    let mut random = fastrand::Rng::with_seed(10);
    for number in 0..50 {
        let mut frontier = crowded(&mut random);
        if number > 0 {
            let y = |point: &mut Point| point.y = f64::from(random.u32(..1_000)) / 100.0;
            frontier.points.iter_mut().for_each(y);
        }
        let html = Report { sections: vec![Section::Frontier(frontier)], ..report() }.html();
        for size in [WIDE, NARROW] {
            let texts = texts(&html, size);
            let is_label = |class: &str| class.starts_with("label");
            let labels = texts.iter().filter(|(class, ..)| is_label(class)).count();
            assert!(labels == 15 || number > 0, "{labels}: {texts:?}");
            for (number, (class, text, area)) in texts.iter().enumerate() {
                let mut others = texts[number + 1..].iter();
                let covers = others.find(|other| is_label(&other.0) && meet(*area, other.2));
                assert_eq!(covers, None, "{class} {text} {area:?}");
            }
        }
    }
}

#[test]
fn pictures_of_a_page_have_all_text_within_them_on_any_screen() {
    let mut random = fastrand::Rng::with_seed(11);
    let crowd = Section::Frontier(crowded(&mut random));
    let mut far = frontier();
    far.points.truncate(1);
    far.points.extend([Point { x: ms(3_000_000), ..far.points[0].clone() }]);
    let mut report = report();
    report.sections.extend([crowd, Section::Frontier(far)]);
    let html = report.html();
    for size in [WIDE, NARROW] {
        let texts = texts(&html, size);
        assert!(texts.len() > 100, "{}", texts.len());
        for (class, text, area) in texts {
            assert!(area[0] >= 0.0 && area[2] <= size.width, "{class} {text} {area:?}");
        }
    }
    // The table scrolls, but its caption does not.
    let caption = html.find("<p class=\"caption\">What each TTL gives and costs</p>");
    assert!(caption < html.find("class=\"scrolls\"") && caption.is_some(), "{html}");
}

/// The test matters for paper without colours: each state that is not plain has its own pattern.
#[test]
fn states_are_told_apart_without_colours() {
    let mut patterns = BTreeSet::new();
    for class in ["serves", "stopped", "cut-off", "dead"] {
        let (_, rule) = STYLE.split_once(&format!("\n.{class} {{ fill: url(#")).expect(class);
        let (name, _) = rule.split_once(')').expect("an end");
        assert!(patterns.insert(name) && report().svg().contains(&format!("id=\"{name}\"")));
    }
}
