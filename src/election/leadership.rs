//! What a candidate knows of its leadership.

use elect_api::{Token, Validity};

/// A leadership: its token, and how long nobody else can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The same from the win to the end.
    pub token: Token,
    /// As proven by the newest renewal that anchors. It never goes back.
    pub validity: Validity,
}

impl Leadership {
    /// Takes in a newer proof. A proof whose anchor is older than a known one changes nothing.
    pub fn renew(&mut self, validity: Validity) {
        let later = match (self.validity, validity) {
            (Validity::Window { anchor: known, .. }, Validity::Window { anchor: new, .. }) => {
                new > known
            }
            _ => true,
        };
        if later {
            self.validity = validity;
        }
    }
}
