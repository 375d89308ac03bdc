//! The protocol between client and server: packets, the login, and statements with their answers.
//!
//! A packet has a length of three bytes, a number, and a payload. A connection is a dialogue: one command, one answer.

use std::io;

use elect_remote::{Destination, Encryption, Trouble, Witness};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::error::{Failure, Refusal};
use crate::login;
use crate::read::Reader;

/// The longest payload of one packet. A longer one goes on in the next, which elect neither needs nor reads.
pub(crate) const LONGEST: usize = 0xFF_FFFF;
/// `utf8mb4_general_ci`, which all versions know.
const CHARSET: u8 = 45;
const OK: u8 = 0;
const NULL: u8 = 0xFB;
const END: u8 = 0xFE;
pub(crate) const REFUSAL: u8 = 0xFF;
/// The longest packet that begins with `END` and is one. Longer ones are rows.
const LONGEST_END: usize = 8;

/// What elect does, in the server's bits: affected rows are those found, a database from the start, the protocol of
/// version 4.1, transactions, and logins by plugins.
const ABILITIES: u32 = 1 | 2 | 4 | 8 | 0x200 | 0x2000 | 0x8000 | 0x0008_0000;
const NEEDED: u32 = 8 | 0x200 | 0x8000 | 0x0008_0000;
const TLS: u32 = 0x800;

/// What a client sends.
#[derive(Debug)]
pub(crate) enum Command {
    Ping,
    Query(String),
}

/// The answer to a statement.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The number of rows that the statement found.
    Done(u64),
    Rows(Vec<Row>),
}

/// The columns of a row.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// A connection that has logged in.
pub(crate) struct Wire {
    stream: BufReader<elect_remote::Stream>,
    /// The number of the next packet.
    next: u8,
    /// Whether the server let us in without TLS only because it remembers the password since another login.
    pub(crate) is_remembered: bool,
}

/// The first packet of a server.
#[derive(Debug)]
pub(crate) struct Greeting {
    abilities: u32,
    pub(crate) salt: Vec<u8>,
    pub(crate) plugin: String,
}

impl Wire {
    /// Connects to a destination and logs in.
    ///
    /// # Errors
    /// Why the server cannot be used.
    pub(crate) async fn open(
        destination: &Destination,
        encryption: &Encryption,
        (user, database): (&str, &str),
        witness: &Witness,
    ) -> Result<Self, Failure> {
        let stream = destination.way.connect(witness).await.map_err(Failure::Way)?;
        let mut wire = Self { stream: BufReader::new(stream), next: 0, is_remembered: false };
        let greeting = Greeting::read(&wire.receive().await?)?;
        let secured = encryption.secured(&destination.way).map_err(Failure::Way)?;
        let mut abilities = ABILITIES;
        let mut is_private = destination.way.host().is_none();
        match (secured, encryption) {
            (Some(secured), _) if greeting.abilities & TLS > 0 => {
                abilities |= TLS;
                wire.send(&head(abilities)).await?;
                if !wire.stream.buffer().is_empty() {
                    return Err(Failure::Odd("bytes before TLS"));
                }
                let stream = secured.over(wire.stream.into_inner(), witness).await;
                wire.stream = BufReader::new(stream.map_err(Failure::Way)?);
                is_private = true;
            }
            (Some(_), Encryption::Required(_)) => return Err(Failure::Way(Trouble::NoTls)),
            _ => {}
        }
        let password = destination.password.as_ref().map_or("", |password| password.reveal());
        let (plugin, proof) = match login::proof(&greeting.plugin, password, &greeting.salt) {
            Some(proof) => (greeting.plugin.as_str(), proof),
            // The server then asks for what the user has.
            None => (login::NATIVE, Vec::new()),
        };
        let mut packet = head(abilities).to_vec();
        packet.extend([user.as_bytes(), &[0]].concat());
        packet.push(u8::try_from(proof.len()).unwrap_or_default());
        packet.extend([&proof, database.as_bytes(), &[0], plugin.as_bytes(), &[0]].concat());
        wire.send(&packet).await?;
        wire.log_in(plugin.to_owned(), password, is_private).await?;
        Ok(wire)
    }

    /// Answers what the server asks until it lets us in.
    async fn log_in(
        &mut self,
        mut plugin: String,
        password: &str,
        is_private: bool,
    ) -> Result<(), Failure> {
        loop {
            let packet = self.receive().await?;
            let mut reader = Reader(&packet);
            match reader.byte()? {
                OK => return Ok(()),
                END => {
                    plugin = String::from_utf8_lossy(reader.text()?).into_owned();
                    let salt = reader.0.strip_suffix(&[0]).unwrap_or(reader.0);
                    let proof = login::proof(&plugin, password, salt);
                    let proof =
                        proof.ok_or_else(|| Failure::Refused(Refusal::Plugin(plugin.clone())))?;
                    self.send(&proof).await?;
                }
                login::MORE if plugin == login::SHA2 => match reader.byte()? {
                    login::ACCEPTED => self.is_remembered = !is_private,
                    // The server has not seen the password yet, and asks for it.
                    login::WHOLE if is_private => {
                        self.send(&[password.as_bytes(), &[0]].concat()).await?;
                    }
                    login::WHOLE => return Err(Failure::Refused(Refusal::Exposed)),
                    _ => return Err(Failure::Odd("an unknown step of the login")),
                },
                _ => return Err(Failure::Odd("an unknown answer to the login")),
            }
        }
    }

    /// Sends a command, and waits for its answer.
    ///
    /// # Cancellation
    /// The connection can be used no more.
    pub(crate) async fn ask(&mut self, command: &Command) -> Result<Answer, Failure> {
        self.next = 0;
        match command {
            Command::Ping => self.send(&[0x0E]).await?,
            Command::Query(text) => self.send(&[&[3], text.as_bytes()].concat()).await?,
        }
        let packet = self.receive().await?;
        let mut reader = Reader(&packet);
        let columns = match packet.first() {
            Some(&OK) => {
                reader.byte()?;
                return Ok(Answer::Done(reader.number()?));
            }
            // It asks for a local file.
            Some(&NULL) => return Err(Failure::Odd("a request for a file")),
            _ => reader.number()?,
        };
        for _ in 0..columns {
            self.receive().await?;
        }
        self.receive().await?;
        let mut rows = Vec::new();
        loop {
            let packet = self.receive().await?;
            if packet.first() == Some(&END) && packet.len() <= LONGEST_END {
                return Ok(Answer::Rows(rows));
            }
            let mut reader = Reader(&packet);
            let row = (0..columns).map(|_| reader.column()).collect::<Result<Row, _>>()?;
            rows.push(row);
        }
    }

    /// Ends when the server says something unasked, or closes the connection.
    pub(crate) async fn disturbed(&mut self) {
        let _ = self.stream.fill_buf().await;
    }

    async fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        if payload.len() >= LONGEST {
            return Err(Failure::Refused(Refusal::TooLong(LONGEST)));
        }
        let [one, two, three, ..] = payload.len().to_le_bytes();
        let packet = [&[one, two, three, self.next], payload].concat();
        self.next = self.next.wrapping_add(1);
        self.stream.write_all(&packet).await?;
        Ok(self.stream.flush().await?)
    }

    /// The next packet. A refusal is an error.
    async fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head).await?;
        let [one, two, three, number] = head;
        let length = u32::from_le_bytes([one, two, three, 0]);
        // A server that refuses a new connection may count from 1.
        let is_next = number == self.next || (self.next, number) == (0, 1);
        if !is_next || length as usize >= LONGEST {
            return Err(Failure::Odd("a packet that is too long, or of another protocol"));
        }
        self.next = number.wrapping_add(1);
        let mut payload = Vec::new();
        // The length is a stranger's word, so room is made as bytes come.
        let read = (&mut self.stream).take(length.into()).read_to_end(&mut payload).await?;
        if read < length as usize {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        match payload.first() {
            Some(&REFUSAL) => Err(Failure::Refused(Refusal::read(&payload[1..])?)),
            Some(_) => Ok(payload),
            None => Err(Failure::Odd("an empty packet")),
        }
    }
}

/// The beginning of a login, which alone asks for TLS.
fn head(abilities: u32) -> [u8; 32] {
    let mut head = [0; 32];
    head[..4].copy_from_slice(&abilities.to_le_bytes());
    head[4..8].copy_from_slice(&0x00FF_FFFF_u32.to_le_bytes());
    head[8] = CHARSET;
    head
}

impl Greeting {
    pub(crate) fn read(packet: &[u8]) -> Result<Self, Failure> {
        let mut reader = Reader(packet);
        if reader.byte()? != 10 {
            return Err(Failure::Odd("another version of the protocol"));
        }
        // The version, which the first answer tells again, and the number of the connection.
        reader.text()?;
        reader.take(4)?;
        let mut salt = reader.take(8)?.to_vec();
        reader.take(1)?;
        let low = reader.short()?;
        reader.take(3)?;
        let abilities = u32::from(reader.short()?) << 16 | u32::from(low);
        if abilities & NEEDED != NEEDED {
            return Err(Failure::Odd("a server that is too old"));
        }
        let length = usize::from(reader.byte()?);
        reader.take(10)?;
        let rest = reader.take(length.saturating_sub(8).max(13))?;
        salt.extend(rest.strip_suffix(&[0]).unwrap_or(rest));
        let plugin = reader.text().unwrap_or(reader.0);
        let plugin = String::from_utf8_lossy(plugin).into_owned();
        Ok(Self { abilities, salt, plugin })
    }
}
