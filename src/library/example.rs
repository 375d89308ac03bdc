//! Adds lines to a file, one a second, on one machine at a time: `lines URL ELECTION FILE`. INT ends it.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use elect::{Campaign, Leadership};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("where is the election? etcd://HOST, for example")?;
    let election = arguments.next().ok_or("which election?")?;
    let file = arguments.next().ok_or("which file?")?;
    let campaign = Campaign::new(&url, &election)?.grace(2 * SECOND);
    loop {
        // Dropping this future leaves the queue.
        let leadership = tokio::select! {
            won = campaign.lead() => match won {
                Err(elect::Error::Unreached(why)) => {
                    eprintln!("trying again: {why}");
                    continue;
                }
                won => won?,
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        let validity = leadership.validity();
        tokio::select! {
            added = add_lines(&leadership, &file) => added?,
            why = validity.lost() => eprintln!("leads no more: {why}"),
            _ = tokio::signal::ctrl_c() => {
                // The next candidate leads once this has returned.
                leadership.resign().await?;
                return Ok(());
            }
        }
        // Nothing is added from here on, so the leadership may be dropped, and the loop waits for a new one.
    }
}

async fn add_lines(leadership: &Leadership, file: &str) -> Result<(), Box<dyn Error>> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    let validity = leadership.validity();
    // A program that was stopped meanwhile checks before it goes on.
    while validity.is_valid() {
        // A file takes every write. A resource that compares tokens would refuse one smaller than it has seen.
        writeln!(file, "{} {}", leadership.token(), leadership.id())?;
        tokio::time::sleep(SECOND).await;
    }
    Ok(())
}
