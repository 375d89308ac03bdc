//! The scripts. The server carries out each in one step.

use elect_record::table::{Body, Key, Range, Tag};
use redis::Cmd;

/// The name of the epoch of a store without an id ends so.
pub(crate) const NONE: &str = "none";

/// What each script begins with: the epoch. A replica answers nothing, as it may lack what was acknowledged.
const EPOCH: &str = r"
local root, key = KEYS[1], KEYS[#KEYS]
local replication = redis.call('INFO', 'replication')
local function said(text, name) return string.match(text, name .. ':([^\r\n]*)') or '' end
if said(replication, 'role') ~= 'master' then return {err = 'READONLY it is a replica'} end
local server = redis.call('INFO', 'server')
local id = redis.call('HGET', root, 'id') or 'none'
local epoch = said(server, 'run_id') .. '-' .. said(replication, 'master_replid') .. '-' .. id
local function tag_of(row) return row and string.match(row, '^[^\n]*') or '' end
";

/// Answers with the epoch, and the field, the text and the cells of each row.
const READ: &str = r"
local found = {epoch}
local function add(field, row, cells)
    table.insert(found, field)
    table.insert(found, row)
    table.insert(found, cells or '')
end
if ARGV[1] == 'row' then
    local row = redis.call('HMGET', key, ARGV[2], ARGV[2] .. '/cells')
    if row[1] then add(ARGV[2], row[1], row[2]) end
    return found
end
if ARGV[1] == 'leaders' then
    for _, field in ipairs(redis.call('HKEYS', root)) do
        if string.find(field, '/leader$') then
            local row = redis.call('HMGET', root, field, field .. '/cells')
            add(field, row[1], row[2])
        end
    end
    return found
end
local row = redis.call('HMGET', root, ARGV[2], ARGV[2] .. '/cells')
if row[1] then add(ARGV[2], row[1], row[2]) end
local all, cells = redis.call('HGETALL', key), {}
for place = 1, #all, 2 do cells[all[place]] = all[place + 1] end
for field, row in pairs(cells) do
    if not string.find(field, '/cells$') then add(field, row, cells[field .. '/cells']) end
end
return found
";

/// Answers whether the row is written. Those who wait are told first, as that may be refused, and hear of it
/// afterwards: nothing comes between the steps of a script.
const PUT: &str = r"
if epoch ~= ARGV[2] or tag_of(redis.call('HGET', key, ARGV[1])) ~= ARGV[3] then return 0 end
for place = 7, #ARGV do
    local told = redis.pcall('PUBLISH', ARGV[place], '')
    if type(told) == 'table' and told.err then return told end
end
local put
if ARGV[5] == 'same' then
    put = redis.pcall('HSET', key, ARGV[1], ARGV[4])
else
    put = redis.pcall('HSET', key, ARGV[1], ARGV[4], ARGV[1] .. '/cells', ARGV[6])
end
if type(put) == 'table' and put.err then return put end
return 1
";

/// Answers whether the row is gone.
const DELETE: &str = r"
local row = redis.call('HGET', key, ARGV[1])
if not row then return 1 end
if tag_of(row) ~= ARGV[2] then return 0 end
for place = 3, #ARGV do
    local told = redis.pcall('PUBLISH', ARGV[place], '')
    if type(told) == 'table' and told.err then return told end
end
redis.call('HDEL', key, ARGV[1], ARGV[1] .. '/cells')
return 1
";

/// Gives the store an id.
const MAKE: &str = r"
if id ~= 'none' then return 0 end
local made = redis.pcall('HSET', root, 'id', ARGV[1])
if type(made) == 'table' and made.err then return made end
return 1
";

/// What lets a script of Redis 7 write where the memory is full. A lease is renewed in place, and takes no more.
const IN_PLACE: &str = "#!lua flags=allow-oom\n";

/// The scripts for the rows of one prefix.
pub(crate) struct Scripts {
    prefix: String,
    read: String,
    put: String,
    put_in_place: String,
    delete: String,
    make: String,
}

impl Scripts {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            read: format!("{EPOCH}{READ}"),
            put: format!("{EPOCH}{PUT}"),
            put_in_place: format!("{IN_PLACE}{EPOCH}{PUT}"),
            delete: format!("{EPOCH}{DELETE}"),
            make: format!("{EPOCH}{MAKE}"),
        }
    }

    /// The key of what must not be lost without the id. All keys of the prefix are in one slot of a cluster.
    pub(crate) fn root(&self) -> String {
        format!("{{{}}}", self.prefix)
    }

    /// The channel of a row: of its requests, if `suffix` says so.
    pub(crate) fn channel(&self, key: Key<'_>, suffix: &str) -> String {
        format!("{}:{key}{suffix}", self.prefix)
    }

    /// What people allow a user: keys, channels, commands.
    pub(crate) fn rights(&self) -> String {
        let prefix = &self.prefix;
        format!(
            "~{{{prefix}}}* &{prefix}:* +eval +info +hget +hset +hdel +hmget +hkeys +hgetall +publish +subscribe \
             +unsubscribe +ping +select +asking"
        )
    }

    /// Asks where the keys are.
    pub(crate) fn probe(&self) -> Cmd {
        let mut probe = redis::cmd("HGET");
        probe.arg(self.root()).arg("id");
        probe
    }

    fn of_elections(&self, election: &str) -> String {
        format!("{}:{election}", self.root())
    }

    /// The keys and the field of a row. A lost key of waiters loses no more than their order.
    fn place(&self, key: Key<'_>) -> (Vec<String>, String) {
        if matches!(key.document, Key::LEADER | Key::DATA) || key.election == Key::STORE {
            (vec![self.root()], key.to_string())
        } else {
            (vec![self.root(), self.of_elections(key.election)], key.document.to_owned())
        }
    }

    pub(crate) fn read(&self, range: Range<'_>) -> Cmd {
        match range {
            Range::Row(key) => {
                let (keys, field) = self.place(key);
                eval(&self.read, &keys, &["row", &field])
            }
            Range::Leaders => eval(&self.read, &[self.root()], &["leaders"]),
            Range::Candidates(election) => {
                let keys = [self.root(), self.of_elections(election)];
                let leader = Key { election, document: Key::LEADER };
                eval(&self.read, &keys, &["candidates", &leader.to_string()])
            }
        }
    }

    /// `has_flags` is whether the server knows flags of scripts.
    pub(crate) fn put(
        &self,
        (key, epoch): (Key<'_>, &str),
        (expected, tag): (Option<&Tag>, &str),
        body: &Body,
        channels: &[String],
        has_flags: bool,
    ) -> Cmd {
        let script = if has_flags && expected.is_some() { &self.put_in_place } else { &self.put };
        let (keys, field) = self.place(key);
        let expected = expected.map_or("", |Tag(tag)| tag);
        let row = format!("{tag}\n{}", body.head);
        let cells = if body.has_same_cells { ["same", ""] } else { ["other", &body.cells] };
        let mut put = eval(script, &keys, &[&field, epoch, expected, &row]);
        put.arg(&cells).arg(channels);
        put
    }

    pub(crate) fn delete(&self, key: Key<'_>, Tag(tag): &Tag, channels: &[String]) -> Cmd {
        let (keys, field) = self.place(key);
        let mut delete = eval(&self.delete, &keys, &[&field, tag]);
        delete.arg(channels);
        delete
    }

    pub(crate) fn make(&self, id: &str) -> Cmd {
        eval(&self.make, &[self.root()], &[id])
    }
}

fn eval(script: &str, keys: &[String], arguments: &[&str]) -> Cmd {
    let mut eval = redis::cmd("EVAL");
    eval.arg(script).arg(keys.len()).arg(keys).arg(arguments);
    eval
}

/// The election and the document that a field names. Fields of waiters name no election.
pub(crate) fn named(field: &str) -> Option<(&str, &str)> {
    field.split_once('/')
}
