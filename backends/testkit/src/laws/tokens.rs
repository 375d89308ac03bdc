//! Law 5: tokens rise strictly, whatever happens between two leaders.

use elect_api::Token;

use crate::{Contender, Shared, election};

fn assert_rising(tokens: &[Token]) {
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "tokens do not rise: {tokens:?}");
}

/// Tokens rise from candidate to candidate.
pub async fn tokens_rise_from_leader_to_leader(bench: Shared) {
    let mut tokens = Vec::new();
    for _ in 0..10 {
        let mut leader = Contender::new(&bench, "a").await;
        tokens.push(leader.lead().await);
        leader.resign().await;
    }
    assert_rising(&tokens);
}

/// Tokens rise with each leadership of the same seat.
pub async fn tokens_rise_when_one_seat_leads_again(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    let mut tokens = Vec::new();
    for _ in 0..5 {
        tokens.push(leader.lead().await);
        leader.resign().await;
    }
    assert_rising(&tokens);
}

/// Tokens rise even if no leader resigns.
pub async fn tokens_rise_when_leaders_crash(bench: Shared) {
    let mut tokens = Vec::new();
    for _ in 0..5 {
        let mut leader = Contender::new(&bench, "a").await;
        tokens.push(leader.wait_until_leading().await);
        leader.crash().await;
    }
    assert_rising(&tokens);
}

/// Tokens rise even if the store has lost its record of them.
pub async fn tokens_rise_when_the_election_is_made_anew(bench: Shared) {
    let mut tokens = Vec::new();
    // One seat lives through all rounds.
    let mut veteran = Contender::new(&bench, "veteran").await;
    for _ in 0..3 {
        let mut leader = Contender::new(&bench, "a").await;
        for contender in [&mut leader, &mut veteran] {
            tokens.push(contender.lead().await);
            contender.resign().await;
        }
        bench.wipe(&election()).await;
    }
    assert_rising(&tokens);
}
