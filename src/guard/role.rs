/// What a command is to elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What leads, alone: it gets the terminal, and all that elect inherited.
    Leads,
    /// What leads beside others in the same elect: it gets what they write to, and nothing that they would read.
    LeadsAmongOthers,
    /// What helps.
    Helps,
}

impl Role {
    /// Whether it runs as a leader's command: then it is told the token and the lease.
    pub(super) const fn leads(self) -> bool {
        matches!(self, Self::Leads | Self::LeadsAmongOthers)
    }
}
