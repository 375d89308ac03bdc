import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * Takes part in an election with Curator until the file UNTIL is there, at least once:
 *
 * <pre>CuratorPeer latch|selector|mutex HOST:PORT NODE ID UNTIL COMMAND...</pre>
 *
 * While it leads it runs the command, with its fencing token in ELECT_TOKEN: the czxid of its node.
 */
final class CuratorPeer {
    private static final int SESSION_MILLIS = 4000;

    private final CuratorFramework client;
    private final String node;
    private final String id;
    private final Path until;
    private final List<String> command;

    public static void main(String[] words) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(words[1])
                .sessionTimeoutMs(SESSION_MILLIS)
                .connectionTimeoutMs(SESSION_MILLIS)
                .retryPolicy(new ExponentialBackoffRetry(100, 5))
                .build()) {
            client.start();
            var peer = new CuratorPeer(client, words);
            switch (words[0]) {
                case "latch" -> peer.latch();
                case "selector" -> peer.selector();
                case "mutex" -> peer.mutex();
                default -> throw new IllegalArgumentException(words[0]);
            }
        }
    }

    private CuratorPeer(CuratorFramework client, String[] words) {
        this.client = client;
        node = words[2];
        id = words[3];
        until = Path.of(words[4]);
        command = Arrays.asList(words).subList(5, words.length);
    }

    private void latch() throws Exception {
        do {
            try (var latch = new LeaderLatch(client, node, id)) {
                latch.start();
                latch.await();
                lead();
            }
        } while (!Files.exists(until));
    }

    private void mutex() throws Exception {
        var mutex = new InterProcessMutex(client, node);
        do {
            mutex.acquire();
            try {
                lead();
            } finally {
                mutex.release();
            }
        } while (!Files.exists(until));
    }

    /** The executor outlasts the callback: a selector that is closed at once resigns by breaking off. */
    private void selector() throws Exception {
        do {
            var failure = new AtomicReference<Exception>();
            var listener = new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework same) {
                    try {
                        lead();
                    } catch (Exception thrown) {
                        failure.set(thrown);
                    }
                }
            };
            var executor = Executors.newSingleThreadExecutor();
            try (var selector = new LeaderSelector(client, node, executor, listener)) {
                selector.setId(id);
                selector.start();
                executor.shutdown();
                executor.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
            }
            if (failure.get() != null) {
                throw failure.get();
            }
        } while (!Files.exists(until));
    }

    private void lead() throws Exception {
        var builder = new ProcessBuilder(command).inheritIO();
        builder.environment().put("ELECT_TOKEN", Long.toString(token()));
        var code = builder.start().waitFor();
        if (code != 0) {
            throw new IllegalStateException("the command ended with " + code);
        }
    }

    /** The recipes do not tell their node; it is the only one here that belongs to our session. */
    private long token() throws Exception {
        var session = client.getZookeeperClient().getZooKeeper().getSessionId();
        for (var child : client.getChildren().forPath(node)) {
            Stat stat = client.checkExists().forPath(node + "/" + child);
            if (stat != null && stat.getEphemeralOwner() == session) {
                return stat.getCzxid();
            }
        }
        throw new IllegalStateException("no node of ours below " + node);
    }
}
