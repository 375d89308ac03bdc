//! Patches of objects: merge patches, and JSON patches with paths.

use serde_json::Value;

use super::status::{Reply, internal, patch_fails, unknown_format};

/// Returns the object with a patch applied. A strategic patch is merged like a merge patch, so lists are
/// replaced as a whole.
pub(super) fn apply(object: &Value, content_type: &str, patch: &[u8]) -> Result<Value, Reply> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let parsed =
        || serde_json::from_slice::<Value>(patch).map_err(|_| internal("Invalid JSON Patch"));
    let mut patched = object.clone();
    match kind {
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            merge(&mut patched, &parsed()?);
        }
        "application/json-patch+json" => {
            for step in parsed()?.as_array().ok_or_else(|| internal("Invalid JSON Patch"))? {
                take(&mut patched, step).ok_or_else(patch_fails)?;
            }
        }
        _ => return Err(unknown_format()),
    }
    Ok(patched)
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        object.clone_from(patch);
        return;
    };
    if !object.is_object() {
        *object = Value::Object(serde_json::Map::new());
    }
    let Some(object) = object.as_object_mut() else { return };
    for (field, value) in patch {
        if value.is_null() {
            object.remove(field);
        } else {
            merge(object.entry(field).or_insert(Value::Null), value);
        }
    }
}

/// Applies one step of a JSON patch. Returns `None` if it does not fit.
fn take(object: &mut Value, step: &Value) -> Option<()> {
    let path = step["path"].as_str()?;
    let (parent, last) = path.rsplit_once('/')?;
    let field = last.replace("~1", "/").replace("~0", "~");
    match step["op"].as_str()? {
        "test" => (object.pointer(path)? == &step["value"]).then_some(()),
        "add" => {
            object.pointer_mut(parent)?.as_object_mut()?.insert(field, step["value"].clone());
            Some(())
        }
        "replace" => {
            object.pointer_mut(path)?.clone_from(&step["value"]);
            Some(())
        }
        "remove" => object.pointer_mut(parent)?.as_object_mut()?.remove(&field).map(drop),
        _ => None,
    }
}
