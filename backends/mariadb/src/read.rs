//! The values in a packet.

use crate::error::Failure;

/// What is left of a packet.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Failure> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Failure> {
        let (byte, rest) = self.0.split_first().ok_or(CUT)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(crate) fn short(&mut self) -> Result<u16, Failure> {
        Ok(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    /// The bytes before the next zero, which ends them.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Failure> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or(CUT)?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// A number whose first byte is the number, or says how many bytes it has.
    pub(crate) fn number(&mut self) -> Result<u64, Failure> {
        let length = match self.byte()? {
            small @ 0..=0xFA => return Ok(small.into()),
            0xFC => 2,
            0xFD => 3,
            0xFE => 8,
            _ => return Err(Failure::Odd("a number that is none")),
        };
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(self.take(length)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// A column of a row, `None` if it is NULL.
    pub(crate) fn column(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.0.first() == Some(&0xFB) {
            self.byte()?;
            return Ok(None);
        }
        let length = self.number()?;
        let bytes = self.take(usize::try_from(length).map_err(|_| CUT)?)?;
        Ok(Some(bytes.to_vec()))
    }
}

const CUT: Failure = Failure::Odd("a packet that ends too soon");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_length_are_read_and_cut_ones_refused() {
        for (bytes, number) in [
            (&[250][..], 250),
            (&[0xFC, 1, 1], 257),
            (&[0xFD, 1, 0, 1], 65537),
            (&[0xFE, 0, 0, 0, 0, 0, 0, 0, 1], 1 << 56),
        ] {
            assert_eq!(Reader(bytes).number().ok(), Some(number));
            assert!(Reader(&bytes[..bytes.len() - 1]).number().is_err());
        }
        assert!(Reader(&[0xFF, 1]).number().is_err());
    }

    #[test]
    fn columns_are_bytes_or_null() {
        let mut reader = Reader(&[0xFB, 2, b'o', b'k', 0, 9]);
        assert_eq!(reader.column().ok(), Some(None));
        assert_eq!(reader.column().ok(), Some(Some(b"ok".to_vec())));
        assert_eq!(reader.column().ok(), Some(Some(Vec::new())));
        assert!(reader.column().is_err());
    }
}
