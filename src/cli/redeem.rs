use clap::Args;
use elect_api::Ticket;

use super::BackendUrl;

/// The arguments of `elect redeem`, which a guardian calls and people do not. All of them come as
/// variables: a URL may carry a password, which a command line would show to everybody.
#[derive(Args, Debug)]
pub struct RedeemArgs {
    /// The store that keeps the election
    #[arg(long, env = "ELECT_BACKEND", value_name = "URL")]
    pub backend: BackendUrl,

    /// The election that the ticket is for
    #[arg(long, env = "ELECT_ELECTION", value_name = "NAME")]
    pub election: String,

    /// The ticket
    #[arg(long, env = "ELECT_TICKET", value_name = "TICKET")]
    pub ticket: Ticket,
}
