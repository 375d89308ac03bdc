//! (i) The binary.

use crate::order::Order;
use crate::release;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

#[expect(clippy::cast_precision_loss, reason = "no binary is so large")]
pub(super) fn measure(_stage: &Stage, _order: &Order, report: &mut Report) {
    let length = std::fs::metadata(release::path()).expect("the binary").len();
    let figure = report.figure("size", "binary", Unit::Megabytes);
    figure.of("elect", Sample::once(length as f64 / 1e6));
}
