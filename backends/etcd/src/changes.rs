use elect_api::{Wake, awake, never};
use etcd_client::{Client, WatchOptions, WatchResponse, WatchStream};

use crate::fault::{Doing, Failure};
use crate::layout::Hall;

/// Looks out over the candidates, and the cells of an election. Ends with the first change, or when the
/// look-out breaks off.
pub(crate) async fn changed(mut client: Client, hall: Hall) -> Result<Wake, Failure> {
    let failed = |cause| Failure { doing: Doing::Look, cause };
    let all = || Some(WatchOptions::new().with_prefix());
    let mut stream = client.watch(hall.prefix(), all()).await.map_err(failed)?;
    stream.watch(hall.notes(), all()).await.map_err(failed)?;
    // One that is refused, for want of rights, leaves the other.
    let (mut answered, mut standing) = (0, 0);
    while answered < 2 {
        let Some(reply) = stream.message().await.map_err(failed)? else { return Ok(awake()) };
        if tells(&hall, &reply) {
            return Ok(awake());
        }
        let is_answer = reply.created() || reply.canceled();
        answered += u8::from(is_answer);
        standing += u8::from(is_answer && !reply.canceled());
    }
    if standing == 0 {
        return Ok(never());
    }
    Ok(Box::pin(listen(stream, hall)))
}

async fn listen(mut stream: WatchStream, hall: Hall) {
    while let Ok(Some(reply)) = stream.message().await {
        if tells(&hall, &reply) || reply.canceled() {
            return;
        }
    }
}

/// Whether there is something in it about this election, and not only about one that is nested deeper.
fn tells(hall: &Hall, reply: &WatchResponse) -> bool {
    let is_ours = |key: &[u8]| hall.number_of(key).is_some() || hall.is_watched(key);
    reply.events().iter().filter_map(|event| event.kv()).any(|kv| is_ours(kv.key()))
}
