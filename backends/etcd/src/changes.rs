use elect_api::{Wake, awake, never};
use etcd_client::{Client, WatchOptions, WatchResponse, WatchStream};

use crate::error::{Doing, Failure};
use crate::layout::Keyspace;

/// Watches the candidates and the cells of an election. The wake ends with the first change, or when the watch breaks
/// off.
pub(crate) async fn changed(mut client: Client, keyspace: Keyspace) -> Result<Wake, Failure> {
    let failed = |cause| Failure { doing: Doing::Read, cause };
    let all = || Some(WatchOptions::new().with_prefix());
    let mut stream = client.watch(keyspace.prefix(), all()).await.map_err(failed)?;
    stream.watch(keyspace.notes(), all()).await.map_err(failed)?;
    // If etcd refuses one of the two watches, for lack of rights, the other stands.
    let (mut answered, mut standing) = (0, 0);
    while answered < 2 {
        let Some(reply) = stream.message().await.map_err(failed)? else { return Ok(awake()) };
        if tells(&keyspace, &reply) {
            return Ok(awake());
        }
        let is_answer = reply.created() || reply.canceled();
        answered += u8::from(is_answer);
        standing += u8::from(is_answer && !reply.canceled());
    }
    if standing == 0 {
        return Ok(never());
    }
    Ok(Box::pin(listen(stream, keyspace)))
}

async fn listen(mut stream: WatchStream, keyspace: Keyspace) {
    while let Ok(Some(reply)) = stream.message().await {
        if tells(&keyspace, &reply) || reply.canceled() {
            return;
        }
    }
}

/// Returns whether a reply has a change of this election, rather than of one that is nested deeper.
fn tells(keyspace: &Keyspace, reply: &WatchResponse) -> bool {
    let is_ours = |key: &[u8]| keyspace.number_of(key).is_some() || keyspace.is_watched(key);
    reply.events().iter().filter_map(|event| event.kv()).any(|kv| is_ours(kv.key()))
}
